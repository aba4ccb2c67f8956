//! Reading and writing at an offset: as much as was asked for, or up to the end of the file.
//!
//! The position of an open file is not touched. Deliberately absent: what a failure means, which is the caller's.

use std::os::fd::OwnedFd;

use rustix::io::{Errno, pread, pwrite, retry_on_intr};

/// Fills `piece` from `offset` on, as far as the file goes.
pub(crate) fn read_at(file: &OwnedFd, piece: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < piece.len() {
        match retry_on_intr(|| pread(file, &mut piece[filled..], offset + filled as u64))? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Writes all of `bytes` at `offset`.
pub(crate) fn write_at(file: &OwnedFd, bytes: &[u8], offset: u64) -> Result<(), Errno> {
    let mut written = 0;
    while written < bytes.len() {
        match retry_on_intr(|| pwrite(file, &bytes[written..], offset + written as u64))? {
            0 => return Err(Errno::IO),
            count => written += count,
        }
    }
    Ok(())
}
