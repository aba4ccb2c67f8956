//! The promise harness: each promise of the design as many random cases against a small model of what it says.
//!
//! `proof NAME` runs one proof and its negative controls: it runs itself again with a fault planted, and a control that
//! finds nothing fails the proof. `tests/README.md` says how to run the proofs and read what they print.
//! Deliberately absent: single situations with an exact answer, which are the system tests.

#![expect(
    clippy::disallowed_methods,
    reason = "proofs stand outside: they look at files, time and processes themselves"
)]
#![expect(clippy::unwrap_used, reason = "a proof that cannot go on ends there")]

mod arguments;
mod control;
mod observations;
mod record;
mod sweep;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use toolfs_core::planted::Fault;

use crate::arguments::{Arguments, Task};
use crate::record::Record;
use crate::sweep::Found;

/// A promise and how it is tried.
struct Promise {
    name: &'static str,
    says: &'static str,
    /// How many cases the full size has.
    full_size: u64,
    /// The faults that it must find when they are planted.
    controls: &'static [Fault],
    /// Tries the cases with these seeds.
    prove: fn(&Task) -> Found,
}

const PROMISES: &[Promise] = &[observations::PROMISE];

/// The proof ran and something is wrong: a violation, or a control that found nothing.
const VIOLATED: u8 = 1;
/// The command line makes no sense.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let (name, task) = match Arguments::parse(std::env::args().skip(1)) {
        Ok(Arguments::List) => {
            list();
            return ExitCode::SUCCESS;
        }
        Ok(Arguments::Prove { name, task }) => (name, task),
        Err(message) => return usage(&message),
    };
    let Some(promise) = PROMISES.iter().find(|promise| promise.name == name) else {
        return usage(&format!("there is no proof `{name}`"));
    };
    if run(promise, &task) { ExitCode::SUCCESS } else { ExitCode::from(VIOLATED) }
}

fn list() {
    for promise in PROMISES {
        say(&format!("{}  {} ({} cases)", promise.name, promise.says, promise.full_size));
        for fault in promise.controls {
            say(&format!("    must find --fault {}", fault.as_str()));
        }
    }
}

fn usage(message: &str) -> ExitCode {
    let usage = "usage: proof --list | proof NAME [--size N] [--seed S] [--fault NAME]";
    let _ = writeln!(io::stderr(), "{message}\n{usage}");
    ExitCode::from(USAGE)
}

/// Runs a proof, and its controls unless it is one itself. Whether everything is as promised.
fn run(promise: &Promise, task: &Task) -> bool {
    if let Some(fault) = task.fault {
        fault.plant();
    }
    let size = task.size.unwrap_or(promise.full_size);
    let task = Task { size: Some(size), ..task.clone() };
    let planted = task.fault.map(|fault| format!(" with {} planted", fault.as_str())).unwrap_or_default();
    say(&format!("{}{planted}: {size} cases from seed {}", promise.name, task.seed));
    let began = Instant::now();
    let found = (promise.prove)(&task);
    let seconds = began.elapsed().as_secs_f64();
    for violation in &found.violations {
        say(&format!("VIOLATION {violation}"));
    }
    say(&format!(
        "{}: {} cases, {} steps, {seconds:.1} s, {} violations",
        promise.name, found.cases, found.steps, found.violation_count
    ));
    if task.fault.is_some() {
        return found.violation_count == 0;
    }
    let controls = promise.controls.iter().map(|fault| control::run(promise.name, *fault, &task)).collect();
    let record = Record { name: promise.name, seed: task.seed, found, seconds, controls };
    record.append();
    record.holds()
}

fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}
