//! The one place that writes to the terminal.

use std::io::Write as _;

/// Writes a line to standard output. A reader that went away is no failure of ours.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Writes a line to standard error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "toolfs: {text}");
}
