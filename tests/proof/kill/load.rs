//! The promise: killing servers under load loses nothing that they acknowledged, tears nothing and leaves nothing.
//!
//! Four clients make random calls, on one server or on two that serve the same tree. At a random moment one of them is
//! killed, or both. Another one takes its place at once, while the other server goes on; then its clients do. In the
//! end every file is compared with what the clients know, and each directory is used once more.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use tempfile::TempDir;
use toolfs_core::planted::Fault;
use toolfs_provider::capability::Durability;

use crate::Promise;
use crate::client::{Client, Ending, Violation, join};
use crate::control::Control;
use crate::ledger::Ledger;
use crate::power::furniture::{furnish, links};
use crate::power::load::step;
use crate::sweep::{Case, Task, sweep};
use crate::tree::{contents, directories, litter, rescued};
use crate::worker::{Settings, Worker};

pub(crate) const PROMISE: Promise = Promise {
    name: "kill-load",
    says: "servers that are killed under load lose nothing that they acknowledged",
    full_size: 300,
    controls: &[Control::Planted(Fault::PublishTearsInPlace), Control::Planted(Fault::RecoverNothing)],
    control_size: 100,
    prove: |task| sweep(task, |seed| run(task, seed)),
};

const CLIENTS: usize = 4;

/// The longest time until the kill.
const LONGEST: Duration = Duration::from_millis(60);

/// How many calls each client of a server makes that took the place of a killed one.
const STEPS_AFTERWARDS: usize = 5;

/// The name of the file that is changed in each directory in the end.
const LAST_USE: &str = "last-use";

fn run(task: &Task, seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let mut site = match Site::new(task.planted(), &mut rng) {
        Ok(site) => site,
        Err(violation) => return Case { violation: Some(violation), ..Case::default() },
    };
    let violation = site.kill_under_load(&mut rng).and_then(|()| site.judge(&mut rng)).err();
    let violation = violation.map(|violation| format!("{} servers: {violation}", site.workers.len()));
    let count = |name: &str, counter: &AtomicU64| (name.to_owned(), counter.load(Ordering::SeqCst));
    let facts = vec![
        count("calls acknowledged", &site.course.acknowledged),
        count("calls in flight at a kill", &site.course.open),
        count("calls refused", &site.course.refused),
    ];
    Case { steps: facts.iter().map(|(_, count)| count).sum(), violation, facts }
}

/// A tree, its servers, and what their clients know.
struct Site {
    // The order is the one in which they go.
    workers: Vec<Worker>,
    /// The one that was started last: it has looked for what the killed ones left.
    newest: usize,
    settings: Settings,
    ledger: Ledger,
    serial: AtomicU64,
    course: Course,
    _directory: TempDir,
}

/// What the clients have in common.
#[derive(Default)]
struct Course {
    acknowledged: AtomicU64,
    refused: AtomicU64,
    open: AtomicU64,
    /// The servers that are about to be killed.
    is_killed: [AtomicBool; 2],
    is_over: AtomicBool,
    violation: Mutex<Option<Violation>>,
}

impl Site {
    fn new(fault: Option<Fault>, rng: &mut Rng) -> Result<Site, Violation> {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings {
            recovery: Some(directory.path().join("recovery")),
            runtime: Some(directory.path().join("runtime")),
            durability: if rng.bool() { Durability::Full } else { Durability::None },
            named_temporaries: rng.u32(..4) == 0,
            threads: CLIENTS,
            fault,
            ..Settings::new(directory.path().join("root"))
        };
        fs::create_dir(&settings.root).and_then(|()| furnish(&settings.root)).unwrap();
        let ledger = Ledger::default();
        ledger.take_stock(contents(&settings.root));
        let workers = (0..rng.usize(1..=2)).map(|_| Worker::start(&settings)).collect::<Result<_, _>>()?;
        let (serial, course) = (AtomicU64::new(1), Course::default());
        Ok(Site { workers, newest: 0, settings, ledger, serial, course, _directory: directory })
    }

    fn client<'a>(&'a self, worker: &'a Worker, seed: u64) -> Client<'a> {
        Client { worker, ledger: &self.ledger, serial: &self.serial, rng: Rng::with_seed(seed) }
    }

    /// Loads the servers, kills some of them in the middle, and starts others in their place.
    fn kill_under_load(&mut self, rng: &mut Rng) -> Result<(), Violation> {
        let count = self.workers.len();
        let victims: Vec<usize> = match rng.usize(..count + 1) {
            all if all == count => (0..count).collect(),
            one => vec![one],
        };
        let time = LONGEST.mul_f64(rng.f64());
        let seeds: Vec<u64> = (0..CLIENTS * 2).map(|_| rng.u64(..)).collect();
        let replaced = thread::scope(|scope| {
            let site = &*self;
            let files = site.ledger.files();
            for (number, seed) in seeds[..CLIENTS].iter().enumerate() {
                let (server, files) = (number % count, files.clone());
                scope.spawn(move || site.work(server, *seed, files));
            }
            thread::sleep(time);
            for victim in &victims {
                site.course.is_killed[*victim].store(true, Ordering::SeqCst);
                site.workers[*victim].kill();
            }
            let replaced: Result<Vec<Worker>, Violation> =
                victims.iter().map(|_| Worker::start(&site.settings)).collect();
            if let Ok(replaced) = &replaced {
                site.go_on(replaced, &seeds[CLIENTS..], &files);
            }
            site.course.is_over.store(true, Ordering::SeqCst);
            replaced
        });
        // Who was killed is waited for here.
        for (victim, worker) in victims.iter().zip(replaced?) {
            self.workers[*victim] = worker;
            self.newest = *victim;
        }
        self.course.violation.lock().unwrap().take().map_or(Ok(()), Err)
    }

    /// One client of a server, until that is killed or all is over.
    fn work(&self, server: usize, seed: u64, mut files: Vec<String>) {
        let mut client = self.client(&self.workers[server], seed);
        let links = links();
        while !self.course.is_over.load(Ordering::SeqCst) {
            let ended = step(&mut client, &mut files, &links);
            let is_killed = self.course.is_killed[server].load(Ordering::SeqCst);
            if is_killed && matches!(ended, Ok(Ending::Open)) {
                self.course.open.fetch_add(1, Ordering::SeqCst);
                return;
            }
            self.course.count(ended);
        }
    }

    /// The clients of servers that were just started, until they have made their calls.
    fn go_on(&self, replaced: &[Worker], seeds: &[u64], files: &[String]) {
        thread::scope(|scope| {
            for (seed, worker) in seeds.iter().zip(replaced.iter().cycle()) {
                scope.spawn(move || {
                    let mut client = self.client(worker, *seed);
                    let (mut files, links) = (files.to_vec(), links());
                    for _ in 0..STEPS_AFTERWARDS {
                        self.course.count(step(&mut client, &mut files, &links));
                    }
                });
            }
        });
    }

    /// Uses each directory once more, and compares everything with what the clients know.
    fn judge(&self, rng: &mut Rng) -> Result<(), Violation> {
        let worker = &self.workers[self.newest];
        let compare = |when: &str| {
            let compared = self.ledger.compare(&contents(&self.settings.root), Durability::Full);
            compared.map_err(|wrong| format!("{when}: {wrong}"))
        };
        compare("after the kill")?;
        let mut client = self.client(worker, rng.u64(..));
        for directory in directories(&self.settings.root) {
            match client.overwrite(&join(&directory, LAST_USE))? {
                Ending::Done => {}
                ending => return Err(format!("the last use of `{directory}` ended in {ending:?}")),
            }
        }
        compare("after the last use")?;
        let (left, kept) = (litter(&self.settings.root), rescued(&self.settings.root));
        if !left.is_empty() || !kept.is_empty() {
            return Err(format!("after the last use there is still {left:?}, and {kept:?} is kept"));
        }
        Ok(())
    }
}

impl Course {
    fn count(&self, ended: Result<Ending, Violation>) {
        match ended {
            Ok(Ending::Done) => drop(self.acknowledged.fetch_add(1, Ordering::SeqCst)),
            Ok(Ending::Declined) => drop(self.refused.fetch_add(1, Ordering::SeqCst)),
            Ok(ending @ (Ending::Failed(_) | Ending::Open)) => {
                self.violate(format!("a call of a living server ended in {ending:?}"));
            }
            Err(violation) => self.violate(violation),
        }
    }

    fn violate(&self, violation: Violation) {
        self.violation.lock().unwrap().get_or_insert(violation);
        self.is_over.store(true, Ordering::SeqCst);
    }
}
