//! Many cases on all processors, each with a seed of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::arguments::Task;

/// How many violations are kept to be shown.
const SHOWN: usize = 10;

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) cases: u64,
    pub(crate) steps: u64,
    pub(crate) violation_count: u64,
    /// The first of them.
    pub(crate) violations: Vec<String>,
}

/// How one case went: its number of steps, and what was wrong at the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) steps: u64,
    pub(crate) violation: Option<String>,
}

/// Tries the cases of a task. `run` makes a case out of its seed. With a fault planted one violation is enough.
pub(crate) fn sweep(task: &Task, run: impl Fn(u64) -> Case + Sync) -> Found {
    let size = task.size.expect("the runner fills in the full size");
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let (next, enough) = (AtomicU64::new(0), AtomicBool::new(false));
    let found = Mutex::new(Found::default());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= size {
                        break;
                    }
                    let seed = task.seed.wrapping_add(index);
                    let case = run(seed);
                    let mut found = found.lock().unwrap();
                    found.cases += 1;
                    found.steps += case.steps;
                    let Some(violation) = case.violation else { continue };
                    found.violation_count += 1;
                    if found.violations.len() < SHOWN {
                        found.violations.push(format!("(--seed {seed} --size 1) {violation}"));
                    }
                    enough.store(task.fault.is_some(), Ordering::Relaxed);
                }
            });
        }
    });
    found.into_inner().unwrap()
}
