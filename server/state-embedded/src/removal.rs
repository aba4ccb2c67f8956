//! The number that changes when a session was removed, by whichever server: 8 bytes in a file.
//!
//! The number is drawn inside the transaction that removes and written here after its commit and before the removal
//! returns. So each number is written once, by one server, and a reader who met it looks at a database in which that
//! removal, and each one with a lower number, has happened: when two servers write in the other order, the file
//! changes once more than it had to, and never back to a number that somebody may have kept. A server that dies
//! between commit and write owes a number; the housekeeping of the others, and whoever opens the state next, see that
//! file and database differ and draw another one.
//!
//! A file and not the database, because it is asked for every call and a `pread` of it costs a fraction of a
//! microsecond.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::directory::open_own;

/// Numbers from here on were never written: they stand for a file that cannot be read.
const UNREADABLE: u64 = 1 << 63;

#[derive(Debug)]
pub(crate) struct RemovalNumber {
    file: File,
    unreadable: AtomicU64,
}

impl RemovalNumber {
    pub(crate) fn open(path: &Path) -> io::Result<RemovalNumber> {
        Ok(RemovalNumber { file: open_own(path)?, unreadable: AtomicU64::new(UNREADABLE) })
    }

    /// The number; a different one each time while the file cannot be read, so that nothing is taken for current.
    pub(crate) fn read(&self) -> u64 {
        let mut bytes = [0; 8];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => u64::from_le_bytes(bytes),
            Err(_) => self.unreadable.fetch_add(1, Ordering::Relaxed),
        }
    }

    pub(crate) fn write(&self, number: u64) -> io::Result<()> {
        self.file.write_all_at(&number.to_le_bytes(), 0)
    }
}
