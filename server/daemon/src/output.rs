//! The one place that writes to the terminal.

use std::io::{self, Write};

use thiserror::Error;

use crate::exit;

/// Standard output did not take all that it was given. What was asked for may have been done.
#[derive(Debug, Error)]
#[error("cannot write to standard output: {0}")]
pub(crate) struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whether whoever read has gone away, as `head` does when it has enough.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }

    /// Complains on standard error, unless the reader went away; returns the exit code.
    pub(crate) fn complain(&self) -> u8 {
        if !self.is_broken_pipe() {
            complain(&self.to_string());
        }
        exit::FAILURE
    }
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) -> Result<(), OutputError> {
    write(&mut io::stdout().lock(), &[text.as_bytes(), b"\n"])
}

/// Writes to standard output as it is.
pub(crate) fn bytes(text: &[u8]) -> Result<(), OutputError> {
    write(&mut io::stdout().lock(), &[text])
}

/// Writes everything, down to the system: what a buffer keeps is written by nobody who could tell of a failure.
fn write(out: &mut impl Write, parts: &[&[u8]]) -> Result<(), OutputError> {
    for part in parts {
        out.write_all(part)?;
    }
    Ok(out.flush()?)
}

/// Writes a line to standard error.
pub(crate) fn complain(text: &str) {
    note(&format!("toolfs: {text}"));
}

/// Writes a line to standard error that is no complaint.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then fails; what it took it gives away only when it can be flushed.
    struct Full {
        room: usize,
        flushes: bool,
        kind: io::ErrorKind,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            if taken == 0 { Err(self.kind.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            if self.flushes { Ok(()) } else { Err(self.kind.into()) }
        }
    }

    #[test]
    fn a_write_that_fails_anywhere_is_told() {
        let full = |room, flushes| Full { room, flushes, kind: io::ErrorKind::StorageFull };
        let parts: [&[u8]; 2] = [b"one", b"\n"];
        for room in 0..4 {
            assert!(write(&mut full(room, true), &parts).is_err(), "room for {room}");
        }
        assert!(write(&mut full(4, false), &parts).is_err(), "what is not flushed is not written");
        assert!(write(&mut full(4, true), &parts).is_ok());
    }

    #[test]
    fn only_a_reader_that_went_away_is_passed_over_in_silence() {
        for (kind, is_quiet) in [(io::ErrorKind::BrokenPipe, true), (io::ErrorKind::StorageFull, false)] {
            let error = write(&mut Full { room: 0, flushes: true, kind }, &[b"one"]).unwrap_err();
            assert_eq!(error.is_broken_pipe(), is_quiet);
            assert_eq!(error.complain(), exit::FAILURE);
        }
    }
}
