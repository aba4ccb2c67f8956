//! Where records lie: one file per operation, named by a digest of its name, in 256 directories.
//!
//! A record is open and locked for as long as its operation is under way; the lock ends with the process. So a second
//! call with the same name waits, in whatever server of the host it is, and a record without a lock has no one at
//! work on it. Nothing is made durable: what a record has to survive is a crash of the process, and for that it is
//! enough that the kernel has it. Sweeping removes what is old or too much, one directory now and then.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ftruncate, statat, unlinkat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use toolfs_core::clock::Timestamp;
use toolfs_core::error::{ErrorKind, FsError, Result, UnavailableCause};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::operation::{OperationId, RETENTION};

use crate::facts::Facts;
use crate::io_error::record_error;
use crate::own::{self, try_lock};
use crate::root::{self, Root, create_new, open_child};

/// How many records one of the directories keeps when it is swept: 262,144 in all of them.
const MAX_RECORDS_IN_ONE: usize = 1_024;
/// After how many operations of this server one directory is swept.
const OPERATIONS_PER_SWEEP: u64 = 64;
/// The largest record: reports name at most some hundred ranges of lines.
const MAX_RECORD_BYTES: usize = 1 << 20;
/// How long another server's call with the same name is waited for, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);

/// A directory of records.
#[derive(Debug)]
pub(crate) struct RecordStore {
    directory: OwnedFd,
    operations: AtomicU64,
}

impl RecordStore {
    /// Opens a directory for records, and makes it if it is not there.
    ///
    /// # Errors
    /// Those of [`own::open`].
    pub(crate) fn open(path: &Path, roots: &[Arc<Root>]) -> Result<RecordStore> {
        let directory = own::open(path, "operations", roots)?;
        Ok(RecordStore { directory, operations: AtomicU64::new(0) })
    }

    /// Opens the record of an operation, and waits until nobody else has it.
    ///
    /// # Errors
    /// `FS_ABORTED`; `FS_UNAVAILABLE` when another server keeps it for too long, or as [`record_error`] has it.
    pub(super) fn open_record(
        &self,
        id: &OperationId,
        path: &str,
        abort: &AbortSignal,
    ) -> Result<RecordFile> {
        let failed = |cause: Errno| record_error(path, cause);
        let digest = blake3::hash(id.as_str().as_bytes()).to_hex();
        let (within, name) = digest.split_at(2);
        let within = self.subdirectory(within.as_bytes()).map_err(failed)?;
        let mut waited = Duration::ZERO;
        loop {
            abort.check().map_err(|error| error.with_path(path))?;
            let file = open_or_create(&within, name.as_bytes()).map_err(failed)?;
            match try_lock(&file) {
                Ok(true) if root::facts(&file).map_err(failed)?.links > 0 => {
                    let length = MAX_RECORD_BYTES;
                    return Ok(RecordFile { within, name: name.as_bytes().to_vec(), file, length });
                }
                // Its last owner removed it in between: the next one has another file.
                Ok(true) => {}
                Ok(false) if waited >= PATIENCE => {
                    let kind = ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging };
                    let message =
                        format!("another call carries out this operation on `{path}` and does not end");
                    return Err(FsError::new(kind, message).with_path(path));
                }
                Ok(false) => {
                    std::thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                Err(cause) => return Err(failed(cause)),
            }
        }
    }

    fn subdirectory(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        own::subdirectory(self.directory.as_fd(), name, Mode::RWXU)
    }

    /// Counts an operation, and removes what is old or too much in one directory when it is time for that.
    pub(super) fn count_operation(&self, now: Timestamp) {
        let count = self.operations.fetch_add(1, Ordering::Relaxed);
        if !count.is_multiple_of(OPERATIONS_PER_SWEEP) {
            return;
        }
        let which = format!("{:02x}", (count / OPERATIONS_PER_SWEEP) % 256);
        if let Err(cause) = self.sweep(which.as_bytes(), now, MAX_RECORDS_IN_ONE) {
            tracing::warn!(%cause, "old records of operations could not be removed");
        }
    }

    /// Removes the records of one directory that are older than the time for which they are kept, and of the others
    /// the oldest beyond `max_records`.
    pub(crate) fn sweep(&self, which: &[u8], now: Timestamp, max_records: usize) -> Result<(), Errno> {
        let within = match open_child(self.directory.as_fd(), which, root::directory()) {
            Ok(within) => within,
            Err(Errno::NOENT) => return Ok(()),
            Err(cause) => return Err(cause),
        };
        let mut records = Vec::new();
        for entry in Dir::read_from(&within)? {
            let name = entry?.file_name().to_owned();
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            if let Ok(stat) = statat(&within, &name, AtFlags::SYMLINK_NOFOLLOW) {
                records.push((Facts::from(&stat).modified, name));
            }
        }
        records.sort_unstable();
        let too_many = records.len().saturating_sub(max_records);
        let oldest_ms = now.0.saturating_sub(i64::try_from(RETENTION.as_millis()).unwrap_or(i64::MAX));
        for (index, (modified, name)) in records.iter().enumerate() {
            if index >= too_many && modified.to_timestamp().0 >= oldest_ms {
                break;
            }
            let file = match open_child(within.as_fd(), name.as_bytes(), root::reading()) {
                Ok(file) => file,
                Err(Errno::NOENT) => continue,
                Err(cause) => return Err(cause),
            };
            remove_unused(&within, name.as_bytes(), &file)?;
        }
        Ok(())
    }
}

/// Removes the record that was opened under a name, unless somebody works with it.
fn remove_unused(within: &OwnedFd, name: &[u8], file: &OwnedFd) -> Result<(), Errno> {
    // Whoever removes a record has it locked. So one that has its name now keeps it until the removal here, and one
    // that lost it in between has left the name to another record, which may be in use.
    if try_lock(file)? && root::facts(file)?.links > 0 {
        unlinkat(within, OsStr::from_bytes(name), AtFlags::empty())?;
    }
    Ok(())
}

/// A record that nobody else has, until this is dropped.
#[derive(Debug)]
pub(super) struct RecordFile {
    within: OwnedFd,
    name: Vec<u8>,
    file: OwnedFd,
    /// How many bytes it may have.
    length: usize,
}

impl RecordFile {
    pub(super) fn read(&mut self) -> Result<Vec<u8>, Errno> {
        let mut bytes = Vec::new();
        let mut piece = [0; 8 << 10];
        loop {
            match retry_on_intr(|| pread(&self.file, &mut piece, bytes.len() as u64))? {
                0 => {
                    self.length = bytes.len();
                    return Ok(bytes);
                }
                count => bytes.extend_from_slice(&piece[..count]),
            }
            if bytes.len() > MAX_RECORD_BYTES {
                return Err(Errno::FBIG);
            }
        }
    }

    /// Makes `bytes` all that follows the first `offset` bytes.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
        // Only where there is something to cut off: a file that was cut to nothing is written to the disk by ext4 when
        // it is closed, which costs many times what a record does.
        if self.length > offset {
            ftruncate(&self.file, offset as u64)?;
        }
        self.length = offset + bytes.len();
        let mut written = 0;
        while written < bytes.len() {
            match retry_on_intr(|| pwrite(&self.file, &bytes[written..], (offset + written) as u64))? {
                0 => return Err(Errno::IO),
                count => written += count,
            }
        }
        Ok(())
    }

    /// Removes the record. Whoever waits for it makes another one.
    pub(super) fn remove(self) -> Result<(), Errno> {
        unlinkat(&self.within, OsStr::from_bytes(&self.name), AtFlags::empty())
    }
}

fn open_or_create(within: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    loop {
        match open_child(within.as_fd(), name, OFlags::RDWR | OFlags::NONBLOCK) {
            Err(Errno::NOENT) => match create_new(within.as_fd(), name, Mode::RUSR | Mode::WUSR) {
                Err(Errno::EXIST) => {}
                other => return other,
            },
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between opening and locking: the record is withdrawn, and a repetition makes it anew.
    #[test]
    fn a_record_that_was_made_anew_under_way_is_not_swept_as_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let store = RecordStore::open(&directory.path().join("operations"), &[]).unwrap();
        let open = || {
            let id = OperationId::parse("once").unwrap();
            store.open_record(&id, "/f", &AbortSignal::new()).unwrap()
        };
        let begun = open();
        let (within, name) = (begun.within.try_clone().unwrap(), begun.name.clone());
        let reopen = || open_child(within.as_fd(), &name, root::reading());
        let found = reopen().unwrap();
        begun.remove().unwrap();
        let again = open();

        remove_unused(&within, &name, &found).unwrap();
        let named = root::facts(reopen().unwrap()).unwrap().inode;
        assert_eq!(named, root::facts(&again.file).unwrap().inode, "the name is that of the record in use");

        remove_unused(&within, &name, &reopen().unwrap()).unwrap();
        assert!(reopen().is_ok(), "somebody works with it");
        drop(again);
        remove_unused(&within, &name, &reopen().unwrap()).unwrap();
        assert_eq!(reopen().unwrap_err(), Errno::NOENT);
    }
}
