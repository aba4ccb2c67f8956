//! The promise: what a foreign writer put in the way of a replacement survives a kill at any moment after it.
//!
//! The worker is stopped after the last call before its exchange; there the foreign writer comes, so that nothing can
//! notice it before. Then the worker goes on, is stopped after one of the calls that follow, and is killed there; in
//! some cases a second writer comes just before. What is between two calls is after the one and before the other.

use std::path::PathBuf;

use rustix::process::{Signal, kill_process};
use toolfs_core::planted::Fault;

use super::boundary::trace;
use super::foreign::Foreign;
use crate::Promise;
use crate::control::Control;
use crate::scenario::{Act, Means, Scenario, Scene, use_neighbour};
use crate::strace::{self, Seen, Tracer};
use crate::sweep::{Case, Found, Task, sweep_each};
use crate::tree::rescued;
use crate::worker::{Gone, Outcome, Pending, Worker};

pub(crate) const PROMISE: Promise = Promise {
    name: "kill-exchange",
    says: "a kill at any moment after an exchange loses nothing that a foreign writer put in its way",
    full_size: 5_000,
    controls: &[Control::Planted(Fault::RecoverNothing)],
    control_size: 5_000,
    prove,
};

/// A replacement that somebody gets in the way of, and the calls that it makes then.
struct Disturbed {
    scenario: Scenario,
    /// The last call before the exchange.
    last: Seen,
    first: Foreign,
    /// The calls from the exchange on.
    calls: Vec<Seen>,
}

/// Where such a replacement is killed.
struct Kill<'a> {
    disturbed: &'a Disturbed,
    /// The call after which it is killed.
    at: usize,
    second: Option<Foreign>,
}

fn prove(task: &Task) -> Found {
    if let Some(reason) = strace::missing() {
        return Found::skipped(reason);
    }
    let mut found = Found::default();
    let mut all = Vec::new();
    for act in [Act::Overwrite, Act::OverwriteThroughLink, Act::Edit] {
        for means in [Means::Best, Means::Named] {
            for first in Foreign::ALL {
                let scenario = Scenario { act, means };
                match Disturbed::learn(scenario, first, task.planted()) {
                    Ok(disturbed) => all.push(disturbed),
                    Err(violation) => found.violate(format!("{}, {first:?}: {violation}", scenario.name())),
                }
            }
        }
    }
    let kills: Vec<Kill<'_>> = all.iter().flat_map(Kill::all).collect();
    found.merge(sweep_each(task, PROMISE.full_size, &kills, |kill| {
        let violation = kill.run(task.planted()).err();
        let violation = violation.map(|violation| format!("{}: {violation}", kill.describe()));
        let fact = kill.second.map_or("one foreign writer", |_| "two foreign writers");
        Case { steps: 1, violation, facts: vec![(fact.to_owned(), 1)] }
    }));
    found
}

impl Disturbed {
    /// Lets somebody get in the way, and the worker do what it does then.
    fn learn(scenario: Scenario, first: Foreign, fault: Option<Fault>) -> Result<Disturbed, String> {
        let calls = trace(scenario, fault)?;
        let exchange = calls.iter().position(|call| call.line.contains("RENAME_EXCHANGE"));
        let exchange = exchange.filter(|at| *at > 0).ok_or("it exchanges nothing")?;
        let last = calls[exchange - 1].clone();
        let scene = Scene::set(scenario);
        let worker = Worker::start(&scene.settings(fault))?;
        let tracer = Tracer::attach(&worker, scene.outside(), &[stop_after(&last)])?;
        let pending = worker.send(scene.call());
        stopped(&worker, &pending)?;
        if !first.come(&scene.target(), 1) {
            return Err("who gets in its way has to wait for it".to_owned());
        }
        go_on(&worker);
        let answer = pending.wait().map_err(|Gone| "it ended by itself".to_owned())?;
        let calls = tracer.detach().split_off(exchange);
        let is_refused = matches!(answer.outcome, Outcome::Error(_));
        if !is_refused || !first.is_at(&scene.target(), 1) {
            return Err(format!("what it found in its way is not there any more; {answer:?}"));
        }
        Ok(Disturbed { scenario, last, first, calls })
    }
}

/// What makes a worker stop when it has made that call.
fn stop_after(call: &Seen) -> String {
    format!("inject={}:signal=STOP:when={}", call.name, call.number)
}

/// What makes a worker stop when it has made each of two calls.
fn stop_after_both(first: &Seen, second: &Seen) -> Vec<String> {
    if first.name == second.name {
        // One name has one expression: the next stop of this one is the second call.
        vec![format!("{}+{}", stop_after(first), second.number - first.number)]
    } else {
        vec![stop_after(first), stop_after(second)]
    }
}

/// Waits until all of a worker stands still.
fn stopped(worker: &Worker, pending: &Pending) -> Result<(), String> {
    let path = PathBuf::from(format!("/proc/{}/stat", worker.pid.as_raw_nonzero()));
    loop {
        // The state follows the name in brackets. It is that of the first thread, which nobody traces.
        let stat = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        if stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")) {
            return Ok(());
        }
        match pending.poll() {
            None => std::thread::yield_now(),
            Some(answer) => return Err(format!("it did not stop: {answer:?}")),
        }
    }
}

fn go_on(worker: &Worker) {
    kill_process(worker.pid, Signal::CONT).unwrap();
}

impl Kill<'_> {
    fn all(disturbed: &Disturbed) -> Vec<Kill<'_>> {
        let seconds = [None, Some(Foreign::Replaces), Some(Foreign::WritesInPlace), Some(Foreign::Deletes)];
        (0..disturbed.calls.len())
            .flat_map(|at| seconds.map(|second| Kill { disturbed, at, second }))
            .collect()
    }

    fn describe(&self) -> String {
        let Disturbed { scenario, first, calls, .. } = self.disturbed;
        let second = self.second.map_or(String::new(), |second| format!(", and one that {second:?}"));
        let line = &calls[self.at].line;
        format!("{}, a writer that {first:?}, killed after `{line}`{second}", scenario.name())
    }

    fn run(&self, fault: Option<Fault>) -> Result<(), String> {
        let Disturbed { scenario, last, first, calls } = self.disturbed;
        let scene = Scene::set(*scenario);
        let settings = scene.settings(fault);
        let worker = Worker::start(&settings)?;
        let stops = stop_after_both(last, &calls[self.at]);
        let tracer = Tracer::attach(&worker, scene.outside(), &stops)?;
        let pending = worker.send(scene.call());
        stopped(&worker, &pending)?;
        if !first.come(&scene.target(), 1) {
            return Err("who gets in its way has to wait for it".to_owned());
        }
        go_on(&worker);
        stopped(&worker, &pending)?;
        // What foreign writers overwrite themselves is their own affair.
        let is_first_wanted = self.second.is_none() || !first.is_at(&scene.target(), 1);
        let waits = self.second.filter(|second| !second.come(&scene.target(), 2));
        worker.kill();
        worker.wait();
        tracer.wait();
        if let Some(second) = waits {
            second.come(&scene.target(), 2);
        }
        let worker = Worker::start(&settings)?;
        use_neighbour(&scene, &worker)?;
        self.judge(&scene, is_first_wanted)
    }

    /// What came last is in its place, and what it did not overwrite itself is there or kept.
    fn judge(&self, scene: &Scene, is_first_wanted: bool) -> Result<(), String> {
        let first = self.disturbed.first;
        let (last, number) = self.second.map_or((first, 1), |second| (second, 2));
        let kept = rescued(&scene.root());
        if !last.is_at(&scene.target(), number) {
            let now = scene.describe_now();
            return Err(format!("what came last is not in its place: there is {now}, and kept is {kept:?}"));
        }
        let is_kept = kept.iter().any(|path| first.is_at(path, 1));
        if is_first_wanted && self.second.is_some() && first != Foreign::Deletes && !is_kept {
            return Err(format!("what came first is lost: kept is {kept:?}"));
        }
        Ok(())
    }
}
