//! The one place that writes to the terminal.

use std::io::Write as _;

/// Writes a line to standard output. A reader that went away is no failure of ours.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Writes to standard output as it is.
pub(crate) fn bytes(text: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text).and_then(|()| out.flush());
}

/// Writes a line to standard error.
pub(crate) fn complain(text: &str) {
    note(&format!("toolfs: {text}"));
}

/// Writes a line to standard error that is no complaint.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
