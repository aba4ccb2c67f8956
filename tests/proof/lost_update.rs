//! The promise: no update is lost, none lands on what its session had not seen, and none is refused without a reason.
//!
//! A case is a history: eight clients of a few sessions read, write and edit three files at once, and what each call
//! asked, was answered, and when, is recorded. Each file's part of it must be linearizable: in some order of the calls
//! that does not contradict their times, each answer is that of a file with guards (`model`), by a checker that is not
//! ours. Beside that, each guard that a call presented is one that its session can have held (`knowledge`).
//!
//! The worlds take turns: one server, two servers on one directory and one state, and one or two whose calls are given
//! up and whose connections are cut at random moments. Some of each kind run where names cannot be exchanged: there the
//! turns alone keep writers apart. Deliberately absent: foreign writers, and servers that die, which have proofs of their
//! own.

mod actor;
mod evidence;
mod knowledge;
mod model;
mod record;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::future::join_all;
use toolfs_client::{OpenSession, Session};
use toolfs_core::planted::Fault;

use self::actor::{Actor, Habits};
use self::record::{Answer, Content, Entry, Log};
use crate::Promise;
use crate::control::Control;
use crate::line::Line;
use crate::server::Manner;
use crate::site::{Pool, Site};
use crate::sweep::{Case, Found, Task, sweep};
use crate::tree::{litter, rescued};

pub(crate) const PROMISE: Promise = Promise {
    name: "lost-update",
    says: "of changes that many make at once none is lost, and none is refused without a reason",
    full_size: 2_000,
    controls: &[
        Control::Planted(Fault::PublishReleasesLock),
        Control::Planted(Fault::GateTrustsTheUnseen),
        Control::World(TELLS_WITHOUT_DOING),
    ],
    control_size: 2_000,
    prove,
};

/// The control in which some changes are dry runs, whose answers are taken for those of changes.
const TELLS_WITHOUT_DOING: &str = "tells-without-doing";

const CLIENTS: usize = 8;
const FILES: [&str; 3] = ["f", "g", "deep/er/h"];

/// What is wrong with a case.
type Violation = String;

fn prove(task: &Task) -> Found {
    let pool = Pool::new(task.planted());
    let longest_check = AtomicU64::new(0);
    let mut found = sweep(task, |seed| run(task, &pool, &longest_check, seed));
    found.count("longest check of a file, in microseconds", longest_check.into_inner());
    found
}

/// In which world a case plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct World {
    servers: usize,
    manner: Manner,
    gives_up: bool,
}

impl World {
    fn draw(task: &Task, seed: u64, rng: &mut Rng) -> World {
        let (servers, gives_up) = match seed % 3 {
            0 => (1, false),
            1 => (2, false),
            _ => (rng.usize(1..=2), true),
        };
        // Where names are exchanged, two who do so at once find out by what they displaced; and the sooner a change is
        // there, the larger is the part of it in which two can miss each other.
        let is_unlocked = task.planted() == Some(Fault::PublishReleasesLock);
        let (exchange, durable) = (rng.u32(..3) > 0, rng.bool());
        let manner = Manner { exchange: exchange && !is_unlocked, durable: durable && !is_unlocked };
        World { servers, manner, gives_up }
    }

    fn name(self) -> String {
        let servers = if self.servers == 1 { "one server" } else { "two servers" };
        let gives_up = if self.gives_up { ", calls given up" } else { "" };
        let exchange = if self.manner.exchange { "" } else { ", no exchange" };
        format!("{servers}{gives_up}{exchange}")
    }
}

fn run(task: &Task, pool: &Pool, longest_check: &AtomicU64, seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let world = World::draw(task, seed, &mut rng);
    let habits =
        Habits { gives_up: world.gives_up, tells_without_doing: task.has_world(TELLS_WITHOUT_DOING) };
    let mut facts = Facts::default();
    let tried = pool.with(world.servers, world.manner, |site| {
        let history = play(site, habits, seed, &mut rng)?;
        facts.count(&history);
        judge(&history, longest_check)
    });
    let violation = tried.err().map(|violation| format!("{}: {violation}", world.name()));
    facts.add(&format!("histories of {}", world.name()), 1);
    Case { steps: facts.calls, violation, facts: facts.counts.into_iter().collect() }
}

/// What happened in a case.
struct History {
    entries: Vec<Entry>,
    before: Vec<Option<Content>>,
    after: Vec<Option<Content>>,
    /// What a server left beside the files.
    left: Vec<std::path::PathBuf>,
}

impl History {
    /// The calls on a file.
    fn of(&self, file: usize) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| entry.file == file).collect()
    }
}

fn play(site: &Site, habits: Habits, seed: u64, rng: &mut Rng) -> Result<History, Violation> {
    let directory = format!("history-{seed}");
    let place = site.ground.root().join(&directory);
    std::fs::create_dir(&place).unwrap();
    let log = Arc::new(Log::new(seed));
    let before: Vec<_> = FILES.iter().map(|_| (rng.u32(..3) > 0).then(|| log.content(rng))).collect();
    for (file, content) in FILES.iter().zip(&before) {
        if let Some(content) = content {
            let path = place.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content.as_bytes()).unwrap();
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(call_all(site, habits, &directory, &log, rng))?;
    let read = |file: &&str| match std::fs::read_to_string(place.join(file)) {
        Ok(content) => Some(Content::from(content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{}: {error}", place.join(file).display()),
    };
    let after = FILES.iter().map(read).collect();
    let left = [litter(&place), rescued(&place)].concat();
    std::fs::remove_dir_all(&place).unwrap();
    Ok(History { entries: log.take(), before, after, left })
}

/// Opens the sessions, lets the clients call, and closes the sessions, which waits for the calls that are still in flight.
async fn call_all(
    site: &Site,
    habits: Habits,
    directory: &str,
    log: &Arc<Log>,
    rng: &mut Rng,
) -> Result<(), Violation> {
    let lines: Vec<Line> = site.servers.iter().map(|server| Line::to(&server.socket)).collect();
    let mut sessions: Vec<Session> = Vec::new();
    for number in 0..rng.usize(3..=6) {
        let client = &lines[number % lines.len()].client;
        let opened = client.open_session(OpenSession::default()).await;
        sessions.push(opened.map_err(|error| format!("a session was not opened: {error}"))?);
    }
    let mut actors = Vec::new();
    for client in 0..CLIENTS {
        // Each session has a client, and the others share one of them.
        let number = if client < sessions.len() { client } else { rng.usize(..sessions.len()) };
        // A session may be used at both servers. What it waits for when it is closed is under way where it is closed.
        let servers = site.servers.len();
        let server = if habits.gives_up { number % servers } else { rng.usize(..servers) };
        let line = Line::to(&site.servers[server].socket);
        let resumed = line.client.resume_session(sessions[number].id()).await;
        let session = resumed.map_err(|error| format!("a session was not resumed: {error}"))?;
        let paths = FILES.map(|file| match rng.u32(..3) {
            0 => format!("{directory}/{file}"),
            1 => format!("./{directory}/./{file}"),
            _ => format!("{}/{directory}/{file}", site.ground.root().display()),
        });
        let seed = rng.u64(..);
        actors.push(Actor::new(Arc::clone(log), line, (number, server), session, paths, habits, seed).play());
    }
    join_all(actors).await;
    for session in sessions {
        let closed = tokio::time::timeout(PATIENCE, session.close()).await;
        let closed = closed.map_err(|_| "the calls of a session do not end".to_owned())?;
        closed.map_err(|error| format!("a session was not closed: {error}"))?;
    }
    Ok(())
}

/// How long the calls of a session that is closed may go on.
const PATIENCE: Duration = Duration::from_secs(30);

fn judge(history: &History, longest_check: &AtomicU64) -> Result<(), Violation> {
    for entry in &history.entries {
        if let Answer::Forbidden(what) = &entry.answer {
            return Err(format!("{entry}: {what}"));
        }
    }
    for (file, name) in FILES.iter().enumerate() {
        let entries = history.of(file);
        let told = |wrong: String| format!("`{name}`: {wrong}, in\n{}", tell(&entries));
        knowledge::check(&entries).map_err(told)?;
        let began = Instant::now();
        let is_legal =
            model::is_linearizable(history.before[file].as_ref(), &entries, history.after[file].as_ref());
        let took = u64::try_from(began.elapsed().as_micros()).unwrap();
        longest_check.fetch_max(took, Ordering::Relaxed);
        if !is_legal {
            let (before, after) = (&history.before[file], &history.after[file]);
            let wrong = format!("no order explains what led from {before:?} to {after:?}");
            return Err(told(wrong));
        }
    }
    if history.left.is_empty() { Ok(()) } else { Err(format!("there is still {:?}", history.left)) }
}

fn tell(entries: &[&Entry]) -> String {
    entries.iter().map(|entry| format!("    {entry}")).collect::<Vec<_>>().join("\n")
}

/// What was counted.
#[derive(Default)]
struct Facts {
    calls: u64,
    counts: BTreeMap<String, u64>,
}

impl Facts {
    fn add(&mut self, fact: &str, count: u64) {
        *self.counts.entry(fact.to_owned()).or_default() += count;
    }

    fn count(&mut self, history: &History) {
        self.calls += history.entries.len() as u64;
        self.add("histories of a file checked", FILES.len() as u64);
        for (file, before) in history.before.iter().enumerate() {
            let needed = evidence::needed(before.as_ref(), &history.of(file), history.after[file].as_ref());
            self.add("changes with an unknown end that happened", needed.len() as u64);
        }
        for entry in &history.entries {
            self.add(entry.kind(), 1);
            let overlaps = history.entries.iter().any(|other| other.overlaps(entry));
            self.add("calls that overlapped with another on their file", u64::from(overlaps));
        }
    }
}
