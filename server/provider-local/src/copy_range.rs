//! Ranges of one file copied into another by the kernel, which shares them where the file system can.
//!
//! A copy goes on in steps, so that nobody waits for the whole of it. Each step ends at a multiple of its size in the
//! old file: that is how a file system that shares blocks gets whole ones. Where the kernel does not copy, the bytes are
//! read and written. Deliberately absent: holes, which a text has none of.

use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::fs::copy_file_range;
use rustix::io::{Errno, retry_on_intr};
use toolfs_provider::abort::AbortSignal;

use crate::content::Old;
use crate::disk::Disk;
use crate::io_error::{READING, fs_error};
use crate::positioned::{read_at, write_at};
use crate::publish::Setback;
use crate::step::Step;
use crate::temporary::WRITING;

/// How much the kernel is asked to copy at once: what somebody who wants to write to the old file may have to wait for.
pub(crate) const COPY_BYTES: usize = 4 << 20;

/// What is copied, from where to where.
pub(crate) struct RangeCopy<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) old: &'a Old<'a>,
    pub(crate) new: &'a OwnedFd,
    pub(crate) abort: &'a AbortSignal,
    /// Whether the kernel refused to copy between these two.
    is_refused: bool,
}

impl<'a> RangeCopy<'a> {
    /// Copies out of `old` into `new`.
    pub(crate) fn new(disk: &'a Disk, old: &'a Old<'a>, new: &'a OwnedFd, abort: &'a AbortSignal) -> Self {
        RangeCopy { disk, old, new, abort, is_refused: false }
    }

    /// Copies a range to an offset.
    ///
    /// # Errors
    /// [`Setback::Overtaken`] when the old file ends before the range does; [`Setback::Failed`].
    pub(crate) fn copy(&mut self, range: Range<u64>, to: u64) -> Result<(), Setback> {
        let path = &self.old.open.path;
        let step = self.disk.sizes.copy_bytes as u64;
        let mut from = range.start;
        while from < range.end {
            self.abort.check().map_err(|error| error.with_path(path))?;
            self.old.watch.look();
            self.disk.before(Step::Write).map_err(|cause| fs_error(path, WRITING, cause))?;
            let end = range.end.min((from / step + 1) * step);
            match self.copy_some(from..end, to + (from - range.start))? {
                // The file ends here, and was longer when it was judged.
                0 => return Err(Setback::Overtaken),
                count => from += count,
            }
        }
        Ok(())
    }

    /// Copies the beginning of a range at least; 0 when the old file ends before it.
    fn copy_some(&mut self, range: Range<u64>, to: u64) -> Result<u64, Setback> {
        let path = &self.old.open.path;
        let wanted = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if !self.is_refused {
            let (mut from, mut to) = (range.start, to);
            let copy =
                || copy_file_range(&self.old.open.file, Some(&mut from), self.new, Some(&mut to), wanted);
            match retry_on_intr(copy) {
                // What that means, a read tells for certain.
                Ok(0) => {}
                Ok(count) => return Ok(count as u64),
                // Between these two files, on this kernel, or under this sandbox it cannot be done.
                Err(
                    Errno::XDEV
                    | Errno::OPNOTSUPP
                    | Errno::INVAL
                    | Errno::NOSYS
                    | Errno::BADF
                    | Errno::PERM
                    | Errno::ACCESS,
                ) => self.is_refused = true,
                Err(cause) => return Err(fs_error(path, WRITING, cause).into()),
            }
        }
        let mut piece = vec![0; wanted.min(self.disk.sizes.piece_bytes)];
        let count = read_at(&self.old.open.file, &mut piece, range.start)
            .map_err(|cause| fs_error(path, READING, cause))?;
        write_at(self.new, &piece[..count], to).map_err(|cause| fs_error(path, WRITING, cause))?;
        Ok(count as u64)
    }
}
