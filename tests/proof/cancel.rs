//! The promise: a call that is given up leaves the old content or the new one, whole, and nothing else.
//!
//! A case is one call that its client drops, that runs out of time, or whose connection is cut, at a random moment from
//! before it is sent until about its answer. Then the file is looked at, and beside it, the descriptors and locks of the
//! server, and the same call is made once more: by its name in its session, or by another session.
//! Deliberately absent: servers that are killed, which `kill-boundary` is about.

mod act;
mod remains;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fastrand::Rng;
use toolfs_client::{Error, OpenSession, Session};
use toolfs_core::planted::Fault;
use uuid::Uuid;

use self::act::{Act, Lines, Plan, look, says_nothing_happened};
use self::remains::{Descriptors, has_empty_parents, held_turns};
use crate::Promise;
use crate::control::Control;
use crate::giving_up::End;
use crate::line::Line;
use crate::server::Manner;
use crate::site::{Pool, Site};
use crate::sweep::{Case, Found, Task, sweep};
use crate::tree::{litter, rescued};

pub(crate) const PROMISE: Promise = Promise {
    name: "cancel",
    says: "a call that is given up leaves the old or the new content, and nothing else",
    full_size: 2_000,
    controls: &[Control::Planted(Fault::AbortKeepsTheTurn), Control::Planted(Fault::AbortLeavesTemporary)],
    control_size: 400,
    prove,
};

/// How long anything may take that is to work at once. A machine that is busy with other things needs some of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long an act takes that nobody disturbs, until the first one was measured.
const FIRST_GUESS: Duration = Duration::from_millis(5);

/// Some calls are given up this soon, however long they would take.
const SOON: Duration = Duration::from_millis(4);

/// What is wrong with a case.
type Violation = String;

fn prove(task: &Task) -> Found {
    let pool = Pool::new(task.planted());
    let durations = Durations::default();
    let mut found = sweep(task, |seed| run(&pool, &durations, seed));
    let longest = durations.longest.into_inner().unwrap();
    found.count("longest later call, in milliseconds", u64::try_from(longest.as_millis()).unwrap());
    found
}

/// How long acts take.
#[derive(Debug, Default)]
struct Durations {
    shortest: Mutex<HashMap<(Act, Lines), Duration>>,
    longest: Mutex<Duration>,
}

impl Durations {
    fn guess(&self, plan: &Plan) -> Duration {
        self.shortest.lock().unwrap().get(&(plan.act, plan.lines)).copied().unwrap_or(FIRST_GUESS)
    }

    fn learn(&self, plan: &Plan, took: Duration) {
        let mut shortest = self.shortest.lock().unwrap();
        let known = shortest.entry((plan.act, plan.lines)).or_insert(took);
        *known = took.min(*known);
        let mut longest = self.longest.lock().unwrap();
        *longest = took.max(*longest);
    }
}

fn run(pool: &Pool, durations: &Durations, seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let plan = Plan::new(Act::draw(&mut rng), Lines::draw(&mut rng));
    let whole = durations.guess(&plan);
    let time = if rng.u32(..4) == 0 { End::soon(&mut rng, SOON) } else { whole.mul_f64(rng.f64()) };
    let end = End::draw(&mut rng, time);
    let manner = Manner { exchange: rng.u32(..5) > 0, durable: rng.bool() };
    let mut facts = BTreeMap::new();
    let tried = pool.with(1, manner, |site| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut trial = Trial { site, plan: &plan, end, seed, durations, facts: &mut facts };
        runtime.block_on(trial.run(&mut rng))
    });
    let violation = tried.err().map(|violation| format!("{:?}, {end:?}, {manner:?}: {violation}", plan.act));
    Case { steps: 1, violation, facts: facts.into_iter().collect() }
}

/// A case on its way.
struct Trial<'a> {
    site: &'a Site,
    plan: &'a Plan,
    end: End,
    seed: u64,
    durations: &'a Durations,
    facts: &'a mut BTreeMap<String, u64>,
}

impl Trial<'_> {
    async fn run(&mut self, rng: &mut Rng) -> Result<(), Violation> {
        let directory = format!("case-{}", self.seed);
        let place = self.site.ground.root().join(&directory);
        std::fs::create_dir(&place).unwrap();
        self.plan.set(&place);
        let path = format!("{directory}/{}", self.plan.act.file());
        let before = Descriptors::of(self.site);

        // What is closed and asked later goes over a line that is never cut.
        let (line, sound) = (self.line(), self.line());
        let session = open(&sound).await?;
        let given_up = resume(&line, &session).await?;
        look(&session, &path).await?;
        let request_id = Uuid::new_v4();
        let (answer, other) = self.give_up(&line, &given_up, &sound, &path, request_id).await?;
        let is_repeated = self.plan.act.changes() && self.plan.act != Act::Wait && rng.u32(..3) == 0;
        if is_repeated {
            self.repeat(&session, &path, request_id).await?;
        }
        // This waits until the call has ended, if it was ever there.
        close(session).await?;
        let answer = if is_repeated { Some(Ok(())) } else { answer };
        let end = if is_repeated { "repeated" } else { self.end.name() };
        self.judge(&place, end, answer.as_ref(), other)?;
        self.look_for_remains(&place, &before)?;

        self.plan.set(&place);
        let later = open(&sound).await?;
        look(&later, &path).await?;
        let began = Instant::now();
        let called = self.plan.call(&later, &path, None, Some(PATIENCE)).await;
        called.map_err(|error| format!("the same call failed later: {error:?}"))?;
        self.durations.learn(self.plan, began.elapsed());
        close(later).await?;
        self.judge(&place, "in peace", Some(&Ok(())), false)?;
        self.look_for_remains(&place, &before)?;
        std::fs::remove_dir_all(&place).unwrap();
        Ok(())
    }

    fn line(&self) -> Line {
        Line::to(&self.site.servers[0].socket)
    }

    /// Makes the call and gives it up. Its answer, if one came, and whether another session's change landed beside it.
    async fn give_up(
        &mut self,
        line: &Line,
        session: &Session,
        sound: &Line,
        path: &str,
        request_id: Uuid,
    ) -> Result<(Option<Result<(), Error>>, bool), Violation> {
        let sent = self.plan.call(session, path, Some(request_id), self.end.deadline());
        if self.plan.act != Act::Wait {
            return Ok((self.end.bring(line, sent).await, false));
        }
        let other = open(sound).await?;
        look(&other, path).await?;
        let write = toolfs_client::Write::new(path, self.plan.other.as_str());
        let (written, answer) = tokio::join!(other.write(write), self.end.bring(line, sent));
        close(other).await?;
        let landed = match written {
            Ok(_) => true,
            Err(Error::Tool(error)) if error.code().as_str() == "FS_STALE_VERSION" => false,
            Err(error) => return Err(format!("another's write failed: {error:?}")),
        };
        Ok((answer, landed))
    }

    /// Makes the call again, by its name.
    async fn repeat(&self, session: &Session, path: &str, request_id: Uuid) -> Result<(), Violation> {
        let repeated = self.plan.call(session, path, Some(request_id), Some(PATIENCE)).await;
        repeated.map_err(|error| format!("it failed when it was repeated: {error:?}"))?;
        Ok(())
    }

    /// Compares the file with the answer.
    fn judge(
        &mut self,
        place: &Path,
        end: &str,
        answer: Option<&Result<(), Error>>,
        other: bool,
    ) -> Result<(), Violation> {
        let Plan { act, before, after, .. } = self.plan;
        let there = std::fs::read(place.join(act.file())).ok();
        let is = |content: Option<&String>| there.as_deref() == content.map(|content| content.as_bytes());
        let (is_old, is_new) = (is(before.as_ref()), is(Some(after)));
        let is_other = other && is(Some(&self.plan.other));
        let found = match (is_old, is_new, is_other) {
            (_, true, _) if act.changes() => "the new content",
            (true, _, _) => "the old content",
            (_, _, true) => "the other's content",
            (_, _, _) => {
                let size = there.map(|content| content.len());
                return Err(format!("{size:?} bytes are there that nobody wrote (answer {answer:?})"));
            }
        };
        let (told, is_right) = match answer {
            Some(Ok(())) => ("acknowledged", is_new),
            Some(Err(error)) if says_nothing_happened(error) => {
                ("told that nothing happened", !is_new || !act.changes())
            }
            Some(Err(_)) => ("not told", true),
            None => ("not waited for", true),
        };
        self.count(&format!("{}, {}: {told}, {found}", act.name(), end));
        // Both saw the old content: where the other's write landed, this one cannot have.
        let is_right = is_right && (!other || is_other);
        if is_right { Ok(()) } else { Err(format!("{told}, and {found} is there ({answer:?})")) }
    }

    fn look_for_remains(&self, place: &Path, before: &Descriptors) -> Result<(), Violation> {
        let left = [litter(place), rescued(place)].concat();
        if !left.is_empty() {
            return Err(format!("there is still {left:?}"));
        }
        if has_empty_parents(place) {
            return Err("the directories of a file that is not there are left".to_owned());
        }
        let held = held_turns(self.site);
        if !held.is_empty() {
            return Err(format!("a turn is still held: {held:?}"));
        }
        Descriptors::of(self.site).check(before)
    }

    fn count(&mut self, fact: &str) {
        *self.facts.entry(fact.to_owned()).or_default() += 1;
    }
}

async fn open(line: &Line) -> Result<Session, Violation> {
    let opened = line.client.open_session(OpenSession::default()).await;
    opened.map_err(|error| format!("a session was not opened: {error:?}"))
}

/// The same session over another line.
async fn resume(line: &Line, session: &Session) -> Result<Session, Violation> {
    let resumed = line.client.resume_session(session.id()).await;
    resumed.map_err(|error| format!("a session was not resumed: {error:?}"))
}

async fn close(session: Session) -> Result<(), Violation> {
    let closed = tokio::time::timeout(PATIENCE, session.close()).await;
    let closed = closed.map_err(|_| "the calls of a session do not end".to_owned())?;
    closed.map_err(|error| format!("a session was not closed: {error:?}"))
}
