//! What fuzzing runs: each function makes a small world of the bytes that it gets, and panics where a promise is broken.
//!
//! The targets in `fuzz/` call it, and a test replays its corpus. It is no interface: bytes mean what they mean today.
#![expect(clippy::disallowed_methods, reason = "the worlds are made, and looked at, from outside")]

mod recover;
mod resolve;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use toolfs_core::clock::{Clock, Timestamp};

pub use self::recover::recover;
pub use self::resolve::resolve;

/// Decisions, taken from bytes as long as there are some; then each is the first.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    /// A number below `count`.
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    fn is_so(&mut self) -> bool {
        self.byte() & 1 == 1
    }
}

/// Time does not matter here.
#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

/// A path of bytes beneath another.
fn beneath(base: &Path, name: &[u8]) -> PathBuf {
    base.join(OsStr::from_bytes(name))
}
