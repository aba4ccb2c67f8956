//! The promise: nothing that a foreign writer published is discarded silently.
//!
//! A case is a directory with a few files, a foreign writer for each of them in a tight loop, and clients of ours that
//! read and then change what they saw, under the guard of its version, until so many of their changes are
//! acknowledged. Everybody keeps a log, and the verdict is a matter of these logs and of what is there at the end.
//! In some cases names are not exchanged: there the capabilities promise less, and what is lost is only counted.

mod client;
mod log;
mod verdict;
mod writer;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use toolfs_core::planted::Fault;
use toolfs_provider::Provider as _;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};

use self::client::Client;
use self::log::{CallLog, OTHER, OpLog};
use self::verdict::{Evidence, judge};
use self::writer::{Pace, Style, Writer};
use crate::Promise;
use crate::control::Control;
use crate::race::ground::HostClock;
use crate::sweep::{Case, sweep};

/// How many acknowledged changes a case has.
const COMMITS: u64 = 200;

/// One case of so many is about a file system that cannot exchange names; its changes do not count.
const PLAIN_EVERY: u64 = 21;

pub(crate) const PROMISE: Promise = Promise {
    name: "foreign-writer",
    says: "nothing that a foreign writer published is discarded silently",
    full_size: 100_000 / COMMITS * PLAIN_EVERY / (PLAIN_EVERY - 1),
    controls: &[Control::Planted(Fault::PublishSkipsVerification)],
    control_size: 200,
    prove: |task| sweep(task, run),
};

/// A case that got no further is ended: its writers let nobody in.
const BOUND: Duration = Duration::from_secs(20);

/// How many violations of a case are shown.
const SHOWN: usize = 3;

const TARGETS: usize = 2;
const CLIENTS: usize = 3;

/// When a case ends.
struct End {
    commits: AtomicU64,
    is_over: AtomicBool,
    began: Instant,
}

impl End {
    fn is_reached(&self) -> bool {
        let is_reached = self.is_over.load(Ordering::Relaxed)
            || self.commits.load(Ordering::Relaxed) >= COMMITS
            || self.began.elapsed() > BOUND;
        if is_reached {
            self.is_over.store(true, Ordering::Relaxed);
        }
        is_reached
    }
}

/// Ends a case when it goes, even by a panic, since the scope waits for everybody.
struct Over<'a>(&'a End);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

fn run(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let is_plain = seed % PLAIN_EVERY == PLAIN_EVERY - 1;
    let keep = tempfile::tempdir().unwrap();
    let base = keep.path().canonicalize().unwrap();
    let root = base.join("root");
    fs::create_dir(&root).unwrap();
    let (walks, is_named, is_shared) = (rng.u32(..4) == 0, rng.u32(..4) == 0, rng.bool());
    // What survives a power cut is not the question here.
    let options = LocalOptions {
        durability: Durability::None,
        force_walk: walks,
        force_named_temporaries: is_named,
        force_plain_rename: is_plain,
        recovery: is_shared.then(|| base.join("recovery")),
        runtime: is_shared.then(|| base.join("runtime")),
        ..LocalOptions::new(Arc::new(HostClock))
    };
    let (style, pace) = (Style::draw(&mut rng), Pace::draw(&mut rng));
    let mut writers: Vec<_> =
        (0..TARGETS).map(|target| Writer::new(&root, target, style, pace, rng.fork())).collect();
    let provider = LocalProvider::open(&[RootSpec::new(&root)], options).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let capabilities = runtime.block_on(provider.capabilities(&AbortSignal::new())).unwrap();
    let end = End { commits: AtomicU64::new(0), is_over: AtomicBool::new(false), began: Instant::now() };
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| Client::new(number, &provider, runtime.handle(), &root, rng.fork()))
        .collect();
    let (op_logs, call_logs): (Vec<OpLog>, Vec<Vec<CallLog>>) = std::thread::scope(|scope| {
        let clients: Vec<_> = clients
            .into_iter()
            .map(|client| {
                scope.spawn(|| {
                    let _over = Over(&end);
                    client.run(&end)
                })
            })
            .collect();
        let writers: Vec<_> = writers
            .drain(..)
            .map(|writer| {
                scope.spawn(|| {
                    let _over = Over(&end);
                    writer.run(&end)
                })
            })
            .collect();
        (
            writers.into_iter().map(|writer| writer.join().unwrap()).collect(),
            clients.into_iter().map(|client| client.join().unwrap()).collect(),
        )
    });
    runtime.shutdown_background();
    drop(provider);
    let evidence = Evidence::gather(&root, op_logs, call_logs, TARGETS);
    let verdict = judge(&evidence);
    let mut case = Case { steps: end.commits.load(Ordering::Relaxed), ..Case::default() };
    if is_plain || !capabilities.exchange {
        let lost = verdict.violations.iter().filter(|violation| violation.is_loss).count() as u64;
        case.facts.push(("without exchange: changes".to_owned(), case.steps));
        case.facts.push(("without exchange: versions lost".to_owned(), lost));
        case.steps = 0;
    } else {
        case.facts = tally(&evidence, &verdict.facts, case.steps);
    }
    let is_excused = is_plain && !capabilities.exchange;
    let violations: Vec<_> =
        verdict.violations.iter().filter(|violation| !(is_excused && violation.is_loss)).collect();
    if !violations.is_empty() {
        let settings = format!("walk {walks}, named {is_named}, shared {is_shared}, plain {is_plain}");
        let shown: Vec<_> = violations.iter().take(SHOWN).map(|violation| violation.text.as_str()).collect();
        let (shown, count) = (shown.join(" | "), violations.len());
        case.violation = Some(format!("{style:?} at {pace:?}, {settings}: {count} in all: {shown}"));
    }
    case
}

/// What is counted of a case.
fn tally(evidence: &Evidence, facts: &BTreeMap<&'static str, u64>, commits: u64) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> =
        facts.iter().map(|(fact, count)| ((*fact).to_owned(), *count)).collect();
    let mut count = |fact: String, by: u64| *counts.entry(fact).or_default() += by;
    count("acknowledged changes".to_owned(), commits);
    for target in &evidence.targets {
        count("foreign publications".to_owned(), target.ops.len() as u64 - 1);
        count(
            "foreign writes in place".to_owned(),
            target.ops.iter().filter(|op| op.is_in_place).count() as u64,
        );
        count("attempted changes".to_owned(), target.calls.len() as u64);
        count("contents kept under a rescue name and told".to_owned(), target.rescues.len() as u64);
        for call in &target.calls {
            if let Some(code) = call.refused {
                count(format!("refused with {code}"), 1);
            }
        }
    }
    if commits < COMMITS {
        count("cases that time ended".to_owned(), 1);
    }
    counts.into_iter().collect()
}

/// The name of a target.
fn file_name(target: usize) -> String {
    format!("f{target}")
}

/// The name of the file that a link in a target's place leads to.
fn other_name(target: usize) -> String {
    format!("{OTHER}{target}")
}
