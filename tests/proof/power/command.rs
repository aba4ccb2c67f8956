//! The system's commands, for what has no safe wrapper.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs a command and tells its output.
///
/// # Errors
/// The command and what it said.
pub(super) fn run<A: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, said.trim_end()))
}

/// Runs a command until it works, so often at most.
///
/// # Errors
/// What the last attempt said.
pub(super) fn run_patiently<A: AsRef<OsStr>>(
    attempts: usize,
    program: &str,
    arguments: &[A],
) -> Result<String, String> {
    patiently(attempts, || run(program, arguments))
}

/// Tries something until it works, so often at most: who holds a mount or a device for a moment gives no sign when it
/// lets go.
///
/// # Errors
/// What the last attempt said.
pub(super) fn patiently<T>(
    attempts: usize,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    for _ in 1..attempts {
        if let Ok(done) = attempt() {
            return Ok(done);
        }
        std::thread::sleep(PAUSE);
    }
    attempt()
}

/// Whether there is such a command.
pub(super) fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
