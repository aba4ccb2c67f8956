//! A file that is mapped, shared and writable: stores into it move no time stamp, or only the first one does.
//!
//! Deliberately absent: reading through the mapping. What a file holds is read from the file.
#![expect(unsafe_code, reason = "no safe call maps a file, since others may change it meanwhile")]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::MmapMut;

/// A mapping. Whoever has it must not let the file be cut: a store behind its end would end the process.
#[derive(Debug)]
pub(super) struct Mapping(MmapMut);

impl Mapping {
    pub(super) fn of(path: &Path) -> io::Result<Mapping> {
        let file = File::options().read(true).write(true).open(path)?;
        // SAFETY: the bytes are not read here, and no reference to them outlives a store, so that it is of no account
        // who else changes them. The case that has it leaves the size of the file alone while it lives.
        unsafe { MmapMut::map_mut(&file) }.map(Mapping)
    }

    /// Changes the bytes at the start of the file.
    pub(super) fn store(&mut self, bytes: &[u8]) {
        self.0[..bytes.len()].copy_from_slice(bytes);
    }

    /// Writes back what was stored.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
