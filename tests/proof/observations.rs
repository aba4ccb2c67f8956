//! The promise: an agent never destroys what it has not seen, and is not refused where it has seen what is there.
//!
//! A case is a random history of three sessions on three files, with another hand among them and a server that ends and
//! is started again. Each step is compared with the model: the code of the answer exactly, and the bytes of every file.
//! After a kill a session may have lost what it saw last, and then a refusal is exactly that of what it saw before.

mod model;
mod step;
pub(crate) mod world;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::{Either, select};
use toolfs_core::argument::RawCall;
use toolfs_core::error::Code;
use toolfs_core::id::SessionId;
use toolfs_core::outcome::ToolResult;
use toolfs_core::planted::Fault as Planted;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::faulty::{Fault, Hold, Operation};
use toolfs_tools::{
    CallError, Caller, CloseSession, ExecuteRequest, ExecuteResponse, ForgetObservations, ForgetPaths,
};

use self::model::{Ending, Model};
use self::step::{Call, FILES, SESSIONS, Spelling, Step};
use self::world::{End, Place, ROOT, Store, World};
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, sweep};

pub(crate) const PROMISE: Promise = Promise {
    name: "observations",
    says: "a change lands exactly on what its session saw last",
    full_size: 20_000,
    controls: &[
        Control::Planted(Planted::GateKeepsTheLast),
        Control::Planted(Planted::GateTrustsTheUnseen),
        Control::Planted(Planted::GateForgetsNothing),
    ],
    control_size: 2_000,
    prove: |task| sweep(task, run),
};

/// About how many steps a case has.
const STEPS: usize = 20;

fn run(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let place = if rng.bool() { Place::Memory } else { Place::Disk };
    let store = match rng.u32(..10) {
        0..6 => Store::Memory,
        // Written at once, soon, and only when the server ends.
        6 => Store::Embedded { write_behind: Duration::ZERO },
        7 => Store::Embedded { write_behind: Duration::from_millis(1) },
        _ => Store::Embedded { write_behind: Duration::from_secs(3_600) },
    };
    let steps: Vec<Step> = (0..rng.usize(STEPS / 2..=STEPS * 3 / 2)).map(|_| Step::draw(&mut rng)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut history = History::begin(place, store).await;
        for (index, step) in steps.iter().enumerate() {
            if let Err(violation) = history.go_on(step).await {
                let number = index + 1;
                let violation =
                    Some(format!("over {place:?} and {store:?}, step {number}, {step:?}: {violation}"));
                return Case { steps: number as u64, violation, ..Case::default() };
            }
        }
        Case { steps: steps.len() as u64, ..Case::default() }
    })
}

/// A case on its way.
struct History {
    world: World,
    store: Store,
    model: Model,
    sessions: Vec<SessionId>,
    closed: Vec<SessionId>,
}

/// What is wrong with a step.
type Violation = String;

impl History {
    async fn begin(place: Place, store: Store) -> History {
        let world = World::new(place, store);
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(world.open().await);
        }
        History { world, store, model: Model::new(), sessions, closed: Vec::new() }
    }

    async fn go_on(&mut self, step: &Step) -> Result<(), Violation> {
        match step {
            Step::SlowRead { session, file, meanwhile } => {
                self.read_slowly(*session, *file, meanwhile).await?;
            }
            Step::Reopen { session } => {
                let opened = self.world.open().await;
                let closed = std::mem::replace(&mut self.sessions[*session], opened);
                self.closed.push(closed.clone());
                let close = CloseSession { caller: Caller::Local, session: closed };
                self.world.executor.close_session(close).await.unwrap();
                self.model.forget_all(*session);
                self.closed_stay_closed().await?;
            }
            Step::Restart(end) => {
                self.world.restart(*end);
                match (self.store, end) {
                    (Store::Memory, End::Drained | End::Killed) | (Store::Embedded { .. }, End::Drained) => {
                        self.model.settle();
                    }
                    (Store::Embedded { .. }, End::Killed) => self.model.crash(),
                }
                self.closed_stay_closed().await?;
            }
            Step::Call { .. }
            | Step::Put { .. }
            | Step::Remove { .. }
            | Step::Touch { .. }
            | Step::Forget { .. } => self.do_at_once(step).await?,
        }
        self.compare_files()
    }

    /// A step that may also come while a read is on its way.
    async fn do_at_once(&mut self, step: &Step) -> Result<(), Violation> {
        match step {
            Step::Call { session, file, spelling, call, dry_run } => {
                self.call(*session, *file, *spelling, call, *dry_run).await?;
            }
            Step::Put { file, content } => {
                self.world.put(FILES[*file], content);
                self.model.files[*file] = Some(content.to_vec());
            }
            Step::Remove { file } => {
                if self.model.files[*file].take().is_some() {
                    self.world.remove(FILES[*file]);
                }
            }
            Step::Touch { file } => {
                if self.model.there(*file).is_some() {
                    let tick = self.model.now();
                    self.world.touch(FILES[*file], tick);
                }
            }
            Step::Forget { session, file } => self.forget(*session, *file).await,
            Step::SlowRead { .. } | Step::Reopen { .. } | Step::Restart(_) => {
                panic!("such a step takes its time: {step:?}")
            }
        }
        Ok(())
    }

    async fn call(
        &mut self,
        session: Option<usize>,
        file: usize,
        spelling: Spelling,
        call: &Call,
        dry_run: bool,
    ) -> Result<(), Violation> {
        let code = execute(&self.world, self.request(session, file, spelling, call, dry_run)).await?;
        let endings = self.model.endings(session, file, call);
        let ending = the_one(endings, code)?;
        if let Some(session) = session {
            self.model.learn(session, file, call, code);
        }
        if dry_run {
            return Ok(());
        }
        if let Some(content) = ending.content {
            self.model.files[file] = Some(content);
        }
        if let (Some(session), Some(seen)) = (session, ending.observed) {
            let order = self.model.now();
            self.model.observe(session, file, seen, order);
        }
        Ok(())
    }

    /// Holds the answer of a read while other steps are done: it observed what was there when it began.
    async fn read_slowly(
        &mut self,
        session: usize,
        file: usize,
        meanwhile: &[Step],
    ) -> Result<(), Violation> {
        let call = Call::Read { offset: 1 };
        let order = self.model.now();
        let ending = self.model.endings(Some(session), file, &call).remove(0);
        let reads = self.world.provider.operations();
        let reads = reads.iter().filter(|operation| **operation == Operation::ReadLines).count();
        let hold = Hold::new();
        self.world.provider.on(Operation::ReadLines, reads + 1, Fault::HoldAfter(hold.clone()));

        let request = self.request(Some(session), file, Spelling::Plain, &call, false);
        let executor = Arc::clone(&self.world.executor);
        let mut read = pin!(async move { code_of(executor.execute(&AbortSignal::new(), request).await) });
        let early = match select(&mut read, pin!(hold.reached())).await {
            // It ended before it came to the file, and the hold must not stop another read.
            Either::Left((code, _)) => {
                hold.release();
                Some(code)
            }
            Either::Right(_) => None,
        };
        let mut result = Ok(());
        for step in meanwhile {
            result = self.do_at_once(step).await;
            if result.is_err() {
                break;
            }
        }
        hold.release();
        let code = match early {
            Some(code) => code,
            None => read.await,
        };
        result?;
        the_one(vec![ending.clone()], code?)?;
        if let Some(seen) = ending.observed {
            self.model.observe(session, file, seen, order);
        }
        Ok(())
    }

    async fn forget(&mut self, session: usize, file: Option<usize>) {
        let scope = match file {
            Some(file) => ForgetPaths::Paths(vec![FILES[file].to_owned()]),
            None => ForgetPaths::All,
        };
        let session_id = self.sessions[session].clone();
        let request = ForgetObservations { caller: Caller::Local, session: session_id, scope };
        self.world.executor.forget_observations(&AbortSignal::new(), request).await.unwrap();
        match file {
            Some(file) => self.model.forget(session, file),
            None => self.model.forget_all(session),
        }
    }

    fn request(
        &self,
        session: Option<usize>,
        file: usize,
        spelling: Spelling,
        call: &Call,
        dry_run: bool,
    ) -> ExecuteRequest {
        let path = match spelling {
            Spelling::Plain => FILES[file].to_owned(),
            Spelling::Dotted => format!("./{}", FILES[file]),
            Spelling::Absolute => format!("{ROOT}//{}", FILES[file]),
        };
        ExecuteRequest {
            caller: Caller::Local,
            session: session.map(|session| self.sessions[session].clone()),
            request_id: None,
            tool_call_id: String::new(),
            dry_run,
            want_diff: false,
            call: Some(raw(path, call)),
        }
    }

    async fn closed_stay_closed(&self) -> Result<(), Violation> {
        for session in &self.closed {
            let call = Call::Read { offset: 1 };
            let request = self.request(None, 0, Spelling::Plain, &call, false);
            let request = ExecuteRequest { session: Some(session.clone()), ..request };
            match self.world.executor.execute(&AbortSignal::new(), request).await {
                Err(CallError::SessionNotFound) => {}
                other => return Err(format!("a closed session was answered: {other:?}")),
            }
        }
        Ok(())
    }

    fn compare_files(&self) -> Result<(), Violation> {
        for (file, expected) in FILES.iter().zip(&self.model.files) {
            let found = self.world.get(file);
            if found != *expected {
                return Err(format!("`{file}` holds {}, not {}", shown(&found), shown(expected)));
            }
        }
        Ok(())
    }
}

async fn execute(world: &World, request: ExecuteRequest) -> Result<Option<Code>, Violation> {
    code_of(world.executor.execute(&AbortSignal::new(), request).await)
}

/// The code of a refusal; `None` when the call worked.
fn code_of(answer: Result<ExecuteResponse, CallError>) -> Result<Option<Code>, Violation> {
    let answer = answer.map_err(|error| format!("it reached no tool: {error}"))?;
    Ok(match answer.result {
        ToolResult::Done(_) => None,
        ToolResult::Refused(error) | ToolResult::PublishedNotDurable(_, error) => Some(error.code()),
    })
}

/// The ending that has the code of the answer.
fn the_one(endings: Vec<Ending>, code: Option<Code>) -> Result<Ending, Violation> {
    let expected: Vec<String> = endings.iter().map(|ending| told(ending.code)).collect();
    endings
        .into_iter()
        .find(|ending| ending.code == code)
        .ok_or_else(|| format!("it ended in {}, not in {}", told(code), expected.join(" or ")))
}

fn told(code: Option<Code>) -> String {
    code.map_or_else(|| "success".to_owned(), |code| code.to_string())
}

fn raw(path: String, call: &Call) -> RawCall {
    let file_path = Some(path);
    match call {
        Call::Read { offset } => {
            RawCall::Read { file_path, offset: Some(i64::try_from(*offset).unwrap()), limit: None }
        }
        Call::Write(content) => {
            RawCall::Write { file_path, content: Some(String::from_utf8(content.to_vec()).unwrap()) }
        }
        Call::Edit { old, new, all } => RawCall::Edit {
            file_path,
            old_string: Some((*old).to_owned()),
            new_string: Some((*new).to_owned()),
            replace_all: Some(*all),
        },
    }
}

fn shown(content: &Option<Vec<u8>>) -> String {
    match content {
        Some(content) => format!("\"{}\"", content.escape_ascii()),
        None => "nothing".to_owned(),
    }
}
