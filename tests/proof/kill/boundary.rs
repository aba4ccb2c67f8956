//! The promise: a server that is killed between any two system calls leaves the old or the new file, and nothing else
//! once another one was used there.
//!
//! A change is traced once, which tells the calls that it makes on files. Then it is done again for each of them, in
//! a process that is killed when it enters that call: what is between two calls is after the one and before the
//! other. Last it is killed after it answered. Deliberately absent: calls of threads that do not work on files.

use std::fmt::Write as _;
use std::path::Path;

use toolfs_core::planted::Fault;

use crate::control::Control;
use crate::mounts;
use crate::scenario::{Scenario, Scene, use_again};
use crate::strace::{self, Seen, Tracer};
use crate::sweep::{Case, Found, Task, sweep_each};
use crate::worker::{Outcome, Settings, Worker};
use crate::{Promise, say};

pub(crate) const PROMISE: Promise = Promise {
    name: "kill-boundary",
    says: "a kill between any two system calls leaves the old or the new file",
    full_size: 2_000,
    controls: &[Control::Planted(Fault::PublishTearsInPlace), Control::Planted(Fault::RecoverNothing)],
    control_size: 2_000,
    prove,
};

/// The calls that each scenario makes, as they were when a person looked at them last.
const EXPECTED: &str = "tests/proof/kill/boundaries.txt";

/// How wide the list is.
const MAX_LINE: usize = 100;

/// A scenario and its calls on files.
struct Traced {
    scenario: Scenario,
    calls: Vec<Seen>,
}

fn prove(task: &Task) -> Found {
    if let Some(reason) = strace::missing() {
        return Found::skipped(reason);
    }
    let mut found = Found::default();
    let mut traced = Vec::new();
    for scenario in scenarios(&mut found) {
        match trace(scenario, task.planted()) {
            Ok(calls) => traced.push(Traced { scenario, calls }),
            Err(violation) => found.violate(format!("{}: {violation}", scenario.name())),
        }
    }
    // In a control a difference of the calls would be found instead of what it is about.
    if task.control.is_none()
        && let Err(violation) = compare_with_expected(&traced)
    {
        found.violate(violation);
    }
    // The last boundary of each is after its answer.
    let boundaries: Vec<(usize, usize)> = traced
        .iter()
        .enumerate()
        .flat_map(|(index, traced)| (0..=traced.calls.len()).map(move |at| (index, at)))
        .collect();
    found.merge(sweep_each(task, PROMISE.full_size, &boundaries, |&(index, at)| {
        let traced = &traced[index];
        let violation = kill_at(traced, at, task.planted()).err();
        let violation = violation.map(|violation| format!("{}: {violation}", traced.scenario.name()));
        Case { steps: 1, violation, ..Case::default() }
    }));
    found
}

/// The scenarios that can be had here.
pub(crate) fn scenarios(found: &mut Found) -> Vec<Scenario> {
    let mut scenarios = Scenario::all();
    match mounts::missing() {
        None => scenarios.extend(Scenario::in_place()),
        Some(reason) => found.skip(format!("rewriting in place: {reason}")),
    }
    scenarios
}

/// The calls of a scenario that nobody interrupts.
pub(crate) fn trace(scenario: Scenario, fault: Option<Fault>) -> Result<Vec<Seen>, String> {
    let scene = Scene::set(scenario);
    let worker = Worker::start(&scene.settings(fault))?;
    let tracer = Tracer::attach(&worker, scene.outside(), &[])?;
    let answer = worker.call(scene.call()).map_err(|_| "it ended by itself".to_owned())?;
    let calls = tracer.detach();
    match answer.outcome {
        Outcome::Ok(_) if scene.now() == Some(scene.after()) => Ok(calls),
        Outcome::Ok(_) | Outcome::Error(_) => {
            Err(format!("{answer:?}, and there is {}", scene.describe_now()))
        }
    }
}

/// Kills the worker at a boundary, and looks at what it left.
fn kill_at(traced: &Traced, at: usize, fault: Option<Fault>) -> Result<(), String> {
    let scene = Scene::set(traced.scenario);
    let settings = scene.settings(fault);
    let worker = Worker::start(&settings)?;
    let is_acknowledged = at == traced.calls.len();
    let where_ = if is_acknowledged {
        acknowledge(&worker, &scene)?;
        worker.kill();
        worker.wait();
        "killed after it answered".to_owned()
    } else {
        let (name, number) = (&traced.calls[at].name, traced.calls[at].number);
        let injection = format!("inject={name}:signal=KILL:when={number}");
        let tracer = Tracer::attach(&worker, scene.outside(), &[injection])?;
        if let Ok(answer) = worker.call(scene.call()) {
            return Err(format!("not killed before `{}`: it answered {answer:?}", traced.calls[at].line));
        }
        let seen = tracer.wait();
        // It is dead when it can be waited for: only then are its locks gone.
        worker.wait();
        let where_ = format!("killed before `{}`", traced.calls[at].line);
        let names = |calls: &[Seen]| calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
        if names(&seen) != names(&traced.calls[..=at]) {
            return Err(format!("{where_}: its calls were others than before: {:?}", names(&seen)));
        }
        where_
    };
    judge(&scene, &settings, is_acknowledged).map_err(|violation| format!("{where_}: {violation}"))
}

fn acknowledge(worker: &Worker, scene: &Scene) -> Result<(), String> {
    match worker.call(scene.call()) {
        Ok(answer) if matches!(answer.outcome, Outcome::Ok(_)) => Ok(()),
        other => Err(format!("it was not done: {other:?}")),
    }
}

/// What must hold once the worker is dead, once another one came up, and once that was used.
fn judge(scene: &Scene, settings: &Settings, is_acknowledged: bool) -> Result<(), String> {
    let whole = |when: &str| {
        let now = scene.now();
        if scene.has_lost_mode() {
            return Err(format!("{when} the file has lost its mode"));
        }
        if now == Some(scene.after()) || (now == scene.before() && !is_acknowledged) {
            return Ok(());
        }
        Err(format!("{when} there is {}", scene.describe_now()))
    };
    // What is rewritten in place is whole again when the next server has started.
    if is_acknowledged || !scene.scenario.is_in_place() {
        whole("after it")?;
    }
    let worker = Worker::start(settings)?;
    whole("after the next start")?;
    use_again(scene, &worker)
}

/// The calls of a scenario, for people and for the comparison.
fn describe(traced: &Traced) -> String {
    let mut text = format!("{} ({} calls)\n", traced.scenario.name(), traced.calls.len());
    let mut line = String::new();
    for call in &traced.calls {
        if line.len() + call.name.len() > MAX_LINE {
            let _ = writeln!(text, "   {line}");
            line.clear();
        }
        line = line + " " + &call.name;
    }
    let _ = writeln!(text, "   {line}");
    text
}

/// Prints the calls, and says where they differ from those that are committed; with `UPDATE_EXPECT=1` they are written
/// down instead.
fn compare_with_expected(traced: &[Traced]) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXPECTED);
    let reached: Vec<String> = traced.iter().map(describe).collect();
    for scenario in &reached {
        say(scenario.trim_end());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, reached.concat()).unwrap();
        return Ok(());
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let mut differences = String::new();
    for (traced, reached) in traced.iter().zip(&reached) {
        let expected = section(&committed, &traced.scenario.name());
        if expected != *reached {
            let _ = write!(differences, "\n-{expected}+{reached}");
        }
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("the calls are others than in {EXPECTED}; UPDATE_EXPECT=1 writes them down{differences}"))
}

/// What a committed list says of a scenario.
fn section(committed: &str, name: &str) -> String {
    let heading = format!("{name} (");
    let mut lines = committed.lines().skip_while(|line| !line.starts_with(&heading));
    let first = lines.next().unwrap_or("");
    let rest = lines.take_while(|line| line.starts_with(' '));
    std::iter::once(first).chain(rest).map(|line| format!("{line}\n")).collect()
}
