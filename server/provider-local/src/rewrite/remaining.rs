//! Copies of this server that are still there though their calls ended.
//!
//! One is there because it could not be removed, or because what became of its file is not known. A start judges the
//! file by it; so a later content of the file that was acknowledged must not be judged by it, or it might be taken for
//! our own half-done work. Deliberately absent: copies of other servers, whose next start settles them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::copy::{Copy, CopyStore};
use crate::disk::Disk;

/// The copies that are still there.
#[derive(Debug, Default)]
pub(super) struct Remaining(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    copy: Copy,
    is_worthless: bool,
}

impl Remaining {
    /// Remembers a copy. Whoever starts meanwhile may settle it.
    pub(super) fn keep(&self, copy: Copy, is_worthless: bool) {
        copy.unlock();
        self.list().push(Kept { copy, is_worthless });
    }

    fn take(&self, is_due: impl Fn(&Kept) -> bool) -> Vec<Kept> {
        self.list().extract_if(.., |kept| is_due(kept)).collect()
    }

    fn list(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CopyStore {
    /// What each replacement does that is there and durable: no older copy of the file is worth anything from here
    /// on.
    ///
    /// # Errors
    /// A copy of the file with this device and inode number could be neither removed nor made worthless.
    pub(crate) fn outdate(&self, disk: &Disk, inode: (u64, u64)) -> Result<(), Errno> {
        let is_of_file = |copy: &Copy| copy.device == Some(inode.0) && copy.head.inode == inode.1;
        let mut outdated = Ok(());
        for kept in self.remaining.take(|kept| is_of_file(&kept.copy)) {
            outdated = outdated.and(kept.copy.remove(disk, self));
        }
        outdated
    }

    /// What each mutation does on its way: it removes copies that are worthless, and could not be removed before.
    pub(crate) fn sweep(&self, disk: &Disk) {
        for kept in self.remaining.take(|kept| kept.is_worthless) {
            if let Err(cause) = kept.copy.remove(disk, self) {
                tracing::warn!(%cause, "a worthless copy could not be removed");
            }
        }
    }
}
