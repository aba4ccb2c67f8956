//! The promise harness: each promise of the design as many random cases against a small model of what it says.
//!
//! `proof NAME` runs one proof and its negative controls: it runs itself again with a fault planted, and a control that
//! finds nothing fails the proof. `tests/README.md` says how to run the proofs and read what they print.
//! Some proofs need a process that they can kill, or that lives in a worse world: they start this program again with a
//! command that the list does not show.
//! Deliberately absent: single situations with an exact answer, which are the system tests.

#![expect(
    clippy::disallowed_methods,
    reason = "proofs stand outside: they look at files, time and processes themselves"
)]
#![expect(clippy::unwrap_used, reason = "a proof that cannot go on ends there")]

mod alarm;
mod arguments;
mod cancel;
mod client;
mod control;
mod executor;
mod failing;
mod foreign;
mod full_disk;
mod giving_up;
mod huge;
mod kill;
mod ledger;
mod line;
mod locks;
mod lost_update;
mod mounts;
mod observations;
mod only_match;
mod power;
mod race;
mod real;
mod record;
mod scenario;
mod server;
mod site;
mod strace;
mod sweep;
mod tree;
mod worker;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use crate::arguments::{Arguments, Asked};
use crate::control::Control;
use crate::record::Record;
use crate::sweep::{Found, Task};

/// A promise and how it is tried.
struct Promise {
    name: &'static str,
    says: &'static str,
    /// How many cases the full size has.
    full_size: u64,
    /// What it must find.
    controls: &'static [Control],
    /// How many cases a control has at most. It ends at the first violation.
    control_size: u64,
    /// Tries the cases with these seeds.
    prove: fn(&Task) -> Found,
}

const PROMISES: &[Promise] = &[
    observations::PROMISE,
    kill::boundary::PROMISE,
    kill::exchange::PROMISE,
    kill::load::PROMISE,
    failing::PROMISE,
    full_disk::PROMISE,
    power::CUT,
    power::SEQUENCE,
    power::DEVICE,
    race::ATTACK,
    race::RACE,
    foreign::PROMISE,
    alarm::PROMISE,
    lost_update::PROMISE,
    cancel::PROMISE,
    locks::PROMISE,
    real::PROMISE,
    only_match::PROMISE,
    huge::PROMISE,
];

/// The proofs that mount something.
const MOUNTING: &[&str] =
    &[kill::boundary::PROMISE.name, failing::PROMISE.name, full_disk::PROMISE.name, alarm::PROMISE.name];

/// A command that proofs start this program with.
struct Part {
    name: &'static str,
    run: fn(&[String]) -> ExitCode,
}

const PARTS: &[Part] = &[worker::PART, power::DRIVE, server::PART];

/// The proof ran and something is wrong: a violation, or a control that found nothing.
const VIOLATED: u8 = 1;
/// The command line makes no sense.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(part) = PARTS.iter().find(|part| arguments.first().is_some_and(|name| name == part.name)) {
        return (part.run)(&arguments[1..]);
    }
    if arguments.first().is_some_and(|name| MOUNTING.contains(&name.as_str())) {
        mounts::enter(&arguments);
    }
    let asked = match Arguments::parse(arguments) {
        Ok(Arguments::List) => {
            list();
            return ExitCode::SUCCESS;
        }
        Ok(Arguments::Prove(asked)) => asked,
        Err(message) => return usage(&message),
    };
    let Some(promise) = PROMISES.iter().find(|promise| promise.name == asked.name) else {
        return usage(&format!("there is no proof `{}`", asked.name));
    };
    match task(promise, &asked) {
        Ok(task) if run(promise, &task) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(VIOLATED),
        Err(message) => usage(&message),
    }
}

fn list() {
    for promise in PROMISES {
        say(&format!("{}  {} ({} cases)", promise.name, promise.says, promise.full_size));
        for control in promise.controls {
            say(&format!("    must find --fault {}", control.as_str()));
        }
    }
}

fn usage(message: &str) -> ExitCode {
    let usage = "usage: proof --list | proof NAME [--size N|1/N] [--seed S] [--fault NAME]";
    let _ = writeln!(io::stderr(), "{message}\n{usage}");
    ExitCode::from(USAGE)
}

fn task(promise: &Promise, asked: &Asked) -> Result<Task, String> {
    let control = asked.fault.as_deref().map(|name| {
        Control::parse(promise, name).ok_or_else(|| format!("`{}` has no control `{name}`", promise.name))
    });
    let size = asked.size.of(promise.full_size);
    Ok(Task { size, seed: asked.seed, control: control.transpose()? })
}

/// Runs a proof, and its controls unless it is one itself. Whether everything is as promised.
fn run(promise: &Promise, task: &Task) -> bool {
    if let Some(Control::Planted(fault)) = task.control {
        fault.plant();
    }
    let control = task.control.map(|control| format!(" with {}", control.as_str())).unwrap_or_default();
    say(&format!("{}{control}: {} cases from seed {}", promise.name, task.size, task.seed));
    let began = Instant::now();
    let found = (promise.prove)(task);
    let seconds = began.elapsed().as_secs_f64();
    tell(promise, &found, seconds);
    if task.control.is_some() {
        return found.violation_count == 0;
    }
    // What could not be tried at all has nothing that could find something.
    let controls = if found.cases == 0 && found.skipped.is_some() { &[] } else { promise.controls };
    let controls = controls.iter().map(|control| control::run(promise, *control, task)).collect();
    let record = Record { name: promise.name, seed: task.seed, found, seconds, controls };
    record.append();
    record.holds()
}

fn tell(promise: &Promise, found: &Found, seconds: f64) {
    for violation in &found.violations {
        say(&format!("VIOLATION {violation}"));
    }
    for (fact, count) in &found.facts {
        say(&format!("    {fact}: {count}"));
    }
    if let Some(reason) = &found.skipped {
        say(&format!("{}: skipped: {reason}", promise.name));
    }
    say(&format!(
        "{}: {} cases, {} steps, {seconds:.1} s, {} violations",
        promise.name, found.cases, found.steps, found.violation_count
    ));
}

fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}
