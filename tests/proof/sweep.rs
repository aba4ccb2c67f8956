//! Many cases on all processors, each with a seed of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use toolfs_core::planted::Fault;

use crate::control::Control;

/// How many violations are kept to be shown.
const SHOWN: usize = 10;

/// How a proof is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// How many cases.
    pub(crate) size: u64,
    /// The seed of the first case; the others follow one by one.
    pub(crate) seed: u64,
    /// The control that this run is. A planted fault bites in this process already; a proof that starts others plants
    /// it there, too.
    pub(crate) control: Option<Control>,
}

impl Task {
    /// The fault that is planted, for the processes that a proof starts.
    pub(crate) fn planted(&self) -> Option<Fault> {
        match self.control {
            Some(Control::Planted(fault)) => Some(fault),
            Some(Control::World(_)) | None => None,
        }
    }

    /// Whether this run is the control with that change of the world.
    pub(crate) fn has_world(&self, name: &str) -> bool {
        matches!(self.control, Some(Control::World(control)) if control == name)
    }
}

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) cases: u64,
    pub(crate) steps: u64,
    pub(crate) violation_count: u64,
    /// The first of them.
    pub(crate) violations: Vec<String>,
    /// What was counted on the way, to see that the cases reached what they are about.
    pub(crate) facts: Vec<(String, u64)>,
    /// Why something, or everything when there are no cases, was not tried.
    pub(crate) skipped: Option<String>,
}

impl Found {
    /// Nothing could be tried.
    pub(crate) fn skipped(reason: impl Into<String>) -> Found {
        Found { skipped: Some(reason.into()), ..Found::default() }
    }

    /// Adds a case.
    pub(crate) fn add(&mut self, seed: u64, case: Case) {
        self.cases += 1;
        self.steps += case.steps;
        for (fact, count) in case.facts {
            self.count(&fact, count);
        }
        if let Some(violation) = case.violation {
            self.violate(format!("(--seed {seed} --size 1) {violation}"));
        }
    }

    /// Adds what another part of the proof found.
    pub(crate) fn merge(&mut self, other: Found) {
        self.cases += other.cases;
        self.steps += other.steps;
        for (fact, count) in other.facts {
            self.count(&fact, count);
        }
        self.violation_count += other.violation_count;
        self.violations.extend(other.violations);
        self.violations.truncate(SHOWN);
        if let Some(reason) = other.skipped {
            self.skip(reason);
        }
    }

    /// Says that a part could not be tried.
    pub(crate) fn skip(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.skipped = Some(match self.skipped.take() {
            Some(before) if before != reason => format!("{before}; {reason}"),
            Some(_) | None => reason,
        });
    }

    /// Says what is wrong.
    pub(crate) fn violate(&mut self, violation: String) {
        self.violation_count += 1;
        if self.violations.len() < SHOWN {
            self.violations.push(violation);
        }
    }

    /// Counts.
    pub(crate) fn count(&mut self, fact: &str, count: u64) {
        match self.facts.iter_mut().find(|(known, _)| known == fact) {
            Some((_, sum)) => *sum += count,
            None => self.facts.push((fact.to_owned(), count)),
        }
    }
}

/// How one case went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Case {
    /// How many steps it had.
    pub(crate) steps: u64,
    /// What was wrong at the last one.
    pub(crate) violation: Option<String>,
    /// What was counted on the way.
    pub(crate) facts: Vec<(String, u64)>,
}

/// Tries the cases of a task on all processors. `run` makes a case out of its seed. In a control one violation is enough.
pub(crate) fn sweep(task: &Task, run: impl Fn(u64) -> Case + Sync) -> Found {
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    sweep_on(threads, task, run)
}

/// Tries given cases: each of them once when the full size is asked for, whatever their number, else some from everywhere.
pub(crate) fn sweep_each<T: Sync>(
    task: &Task,
    full_size: u64,
    cases: &[T],
    run: impl Fn(&T) -> Case + Sync,
) -> Found {
    let count = cases.len() as u64;
    if count == 0 {
        return Found::default();
    }
    let size = if task.size >= full_size { count } else { task.size.min(count) };
    sweep(&Task { size, ..task.clone() }, |seed| run(&cases[spread(seed, count)]))
}

/// Which of so many cases a seed is about: consecutive seeds are about cases that lie apart.
fn spread(seed: u64, count: u64) -> usize {
    // A prime above any number of cases, so that none is left out.
    usize::try_from((seed % count) * 15_485_863 % count).unwrap()
}

/// Tries the cases of a task, so many at a time.
pub(crate) fn sweep_on(threads: usize, task: &Task, run: impl Fn(u64) -> Case + Sync) -> Found {
    let (next, enough) = (AtomicU64::new(0), AtomicBool::new(false));
    let found = Mutex::new(Found::default());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= task.size {
                        break;
                    }
                    let seed = task.seed.wrapping_add(index);
                    let case = run(seed);
                    let is_violated = case.violation.is_some();
                    found.lock().unwrap().add(seed, case);
                    if is_violated && task.control.is_some() {
                        enough.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.facts.sort();
    found
}
