//! Negative controls: a proof that cannot find a planted fault proves nothing.

use std::process::{Command, Stdio};

use toolfs_core::planted::Fault;

use crate::arguments::Task;
use crate::{VIOLATED, say};

/// How many cases a control has at most, and at least. It ends at the first violation.
const MOST_CASES: u64 = 2_000;
const LEAST_CASES: u64 = 500;

/// What became of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) fault: Fault,
    pub(crate) found: bool,
}

/// Runs this program again with a fault planted, which holds for the rest of a process.
pub(crate) fn run(proof: &str, fault: Fault, task: &Task) -> Control {
    let size = task.size.unwrap_or(MOST_CASES).clamp(LEAST_CASES, MOST_CASES).to_string();
    let seed = task.seed.to_string();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([proof, "--size", &size, "--seed", &seed, "--fault", fault.as_str()]);
    let output = again.stdin(Stdio::null()).output().unwrap();
    // Anything but a violation, a crash say, is no finding.
    let found = output.status.code() == Some(i32::from(VIOLATED));
    let verdict = if found { "found" } else { "NOT FOUND" };
    say(&format!("control {}: {verdict}", fault.as_str()));
    let said = String::from_utf8_lossy(&output.stdout);
    match (found, said.lines().find(|line| line.starts_with("VIOLATION"))) {
        (true, Some(violation)) => say(&format!("    {violation}")),
        (true, None) | (false, _) => {
            say(&format!("    {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
    }
    Control { fault, found }
}
