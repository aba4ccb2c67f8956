//! Negative controls: a proof that cannot find a planted fault proves nothing.

use std::process::{Command, Stdio};

use toolfs_core::planted::Fault;

use crate::sweep::Task;
use crate::{Promise, VIOLATED, say};

/// What makes a proof's promise untrue, so that the proof must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// A fault in the code that is tried.
    Planted(Fault),
    /// A change of the world that the proof makes: its name.
    World(&'static str),
}

impl Control {
    /// The name by which it is chosen.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Control::Planted(fault) => fault.as_str(),
            Control::World(name) => name,
        }
    }

    /// The control of that name: one of the proof's own, or any fault that can be planted.
    pub(crate) fn parse(promise: &Promise, name: &str) -> Option<Control> {
        let own = promise.controls.iter().copied().find(|control| control.as_str() == name);
        own.or_else(|| Fault::parse(name).map(Control::Planted))
    }
}

/// What became of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) control: Control,
    pub(crate) found: bool,
}

/// Runs this program again as a control: a fault that is planted holds for the rest of a process.
pub(crate) fn run(promise: &Promise, control: Control, task: &Task) -> Outcome {
    let (size, seed) = (promise.control_size.to_string(), task.seed.to_string());
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([promise.name, "--size", &size, "--seed", &seed, "--fault", control.as_str()]);
    let output = again.stdin(Stdio::null()).output().unwrap();
    // Anything but a violation, a crash say, is no finding.
    let found = output.status.code() == Some(i32::from(VIOLATED));
    let verdict = if found { "found" } else { "NOT FOUND" };
    say(&format!("control {}: {verdict}", control.as_str()));
    let said = String::from_utf8_lossy(&output.stdout);
    match (found, said.lines().find(|line| line.starts_with("VIOLATION"))) {
        (true, Some(violation)) => say(&format!("    {violation}")),
        (true, None) | (false, _) => {
            say(&format!("    {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
    }
    Outcome { control, found }
}
