//! Random histories against the promise in its simplest form: a change lands exactly when the file is what the session
//! saw last.

use std::collections::HashMap;

use proptest::prelude::*;
use toolfs_core::argument::RawCall;
use toolfs_core::error::Code;
use toolfs_core::id::SessionId;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{Caller, CloseSession, ExecuteRequest, ForgetObservations, ForgetPaths};

use crate::support::{World, code, edit, read, request, write};

const FILES: [&str; 3] = ["a.txt", "dir/b.txt", "dir/deep/c.txt"];
const SESSIONS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Read,
    Write(&'static str),
    Edit(&'static str, &'static str),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call { session: usize, file: usize, call: Call, dry_run: bool },
    PutOutside { file: usize, content: &'static str },
    DeleteOutside { file: usize },
    Forget { session: usize, file: usize },
    ForgetAll { session: usize },
    Reopen { session: usize },
}

fn content() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "x", "xy", "xyx", "y\n"])
}

fn call() -> impl Strategy<Value = Call> {
    let strings = prop::sample::select(vec![("x", "y"), ("x", ""), ("y", "xx"), ("xy", "z")]);
    prop_oneof![
        3 => Just(Call::Read),
        3 => content().prop_map(Call::Write),
        3 => strings.prop_map(|(old, new)| Call::Edit(old, new)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (session, file) = (0..SESSIONS, 0..FILES.len());
    prop_oneof![
        20 => (session.clone(), file.clone(), call(), prop::bool::weighted(0.15))
            .prop_map(|(session, file, call, dry_run)| Step::Call { session, file, call, dry_run }),
        3 => (file.clone(), content()).prop_map(|(file, content)| Step::PutOutside { file, content }),
        2 => file.clone().prop_map(|file| Step::DeleteOutside { file }),
        1 => (session.clone(), file).prop_map(|(session, file)| Step::Forget { session, file }),
        1 => session.clone().prop_map(|session| Step::ForgetAll { session }),
        1 => session.prop_map(|session| Step::Reopen { session }),
    ]
}

/// What a session knows of a file: nothing, or what was there.
type Knowledge = Option<Option<String>>;

#[derive(Debug, Default)]
struct Model {
    files: HashMap<usize, String>,
    seen: HashMap<(usize, usize), Option<String>>,
}

impl Model {
    /// What a call ends in, and the content that it leaves (`None`: the one that was there).
    fn judge(&self, session: usize, file: usize, call: Call) -> (Option<Code>, Option<String>) {
        let there = self.files.get(&file);
        let known: Knowledge = self.seen.get(&(session, file)).cloned();
        match (call, known) {
            (Call::Read, _) => (there.is_none().then_some(Code::NotFound), None),
            (Call::Write(content), None | Some(None)) => match there {
                None => (None, Some(content.to_owned())),
                Some(_) => (Some(Code::NotObserved), None),
            },
            (Call::Edit(..), None) => (Some(Code::NotObserved), None),
            (Call::Edit(..), Some(None)) => (Some(Code::NotFound), None),
            (_, Some(Some(seen))) if there != Some(&seen) => (Some(Code::StaleVersion), None),
            (Call::Write(content), Some(Some(_))) => (None, Some(content.to_owned())),
            (Call::Edit(old, new), Some(Some(seen))) => match seen.matches(old).count() {
                0 => (Some(Code::EditNotFound), None),
                1 => (None, Some(seen.replacen(old, new, 1))),
                _ => (Some(Code::AmbiguousEdit), None),
            },
        }
    }

    fn settle(
        &mut self,
        session: usize,
        file: usize,
        call: Call,
        code: Option<Code>,
        content: Option<String>,
    ) {
        if let Some(content) = content {
            self.files.insert(file, content);
        }
        if code.is_none() || call == Call::Read {
            self.seen.insert((session, file), self.files.get(&file).cloned());
        }
    }
}

fn raw(file: usize, call: Call) -> RawCall {
    match call {
        Call::Read => read(FILES[file]),
        Call::Write(content) => write(FILES[file], content),
        Call::Edit(old, new) => edit(FILES[file], old, new),
    }
}

async fn forget(world: &World, session: &SessionId, scope: ForgetPaths) {
    let request = ForgetObservations { caller: Caller::Local, session: session.clone(), scope };
    world.executor.forget_observations(&AbortSignal::new(), request).await.unwrap();
}

async fn replay(steps: &[Step]) {
    let world = World::new();
    let mut model = Model::default();
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(world.open().await);
    }
    for step in steps {
        match *step {
            Step::Call { session, file, call, dry_run } => {
                let (expected, content) = model.judge(session, file, call);
                let request = ExecuteRequest { dry_run, ..request(&sessions[session], raw(file, call)) };
                assert_eq!(code(&world.execute(request).await.unwrap()), expected, "{step:?}");
                if !dry_run {
                    model.settle(session, file, call, expected, content);
                }
            }
            Step::PutOutside { file, content } => {
                world.put(FILES[file], content);
                model.files.insert(file, content.to_owned());
            }
            Step::DeleteOutside { file } => {
                if model.files.remove(&file).is_some() {
                    world.delete(FILES[file]);
                }
            }
            Step::Forget { session, file } => {
                forget(&world, &sessions[session], ForgetPaths::Paths(vec![FILES[file].into()])).await;
                model.seen.remove(&(session, file));
            }
            Step::ForgetAll { session } => {
                forget(&world, &sessions[session], ForgetPaths::All).await;
                model.seen.retain(|(whose, _), _| *whose != session);
            }
            Step::Reopen { session } => {
                let closed = std::mem::replace(&mut sessions[session], world.open().await);
                let close = CloseSession { caller: Caller::Local, session: closed };
                world.executor.close_session(close).await.unwrap();
                model.seen.retain(|(whose, _), _| *whose != session);
            }
        }
        for (file, path) in FILES.iter().enumerate() {
            assert_eq!(world.find(path), model.files.get(&file).cloned(), "{path} after {step:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_change_lands_exactly_on_what_was_seen(steps in prop::collection::vec(step(), 1..60)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(replay(&steps));
    }
}
