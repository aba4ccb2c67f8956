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

    fn list(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CopyStore {
    /// What each replacement does that is there and durable: no older copy of the file is worth anything from here
    /// on. What is worthless anyway is removed on this occasion.
    ///
    /// # Errors
    /// A copy of the file with this device and inode number could be neither removed nor made worthless.
    pub(crate) fn outdate(&self, disk: &Disk, inode: (u64, u64)) -> Result<(), Errno> {
        let is_of_file = |copy: &Copy| copy.device == Some(inode.0) && copy.head.inode == inode.1;
        let due: Vec<Kept> = {
            let mut list = self.remaining.list();
            list.extract_if(.., |kept| kept.is_worthless || is_of_file(&kept.copy)).collect()
        };
        let mut outdated = Ok(());
        for Kept { copy, is_worthless } in due {
            let is_due = !is_worthless && is_of_file(&copy);
            let removed = copy.remove(disk, self);
            if is_due {
                outdated = outdated.and(removed);
            }
        }
        outdated
    }
}
