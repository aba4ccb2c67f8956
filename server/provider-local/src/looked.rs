//! What a provider remembers of the directories that it changes: where it looked for what a crash left, and which
//! hidden files it left itself, because they could not be removed or put back.
//!
//! Deliberately absent: anything on a disk. When the process ends, the hidden names and the journal tell the next one.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many directories are remembered as looked at. Beyond that all are forgotten, and looked at again.
const MAX_LOOKED: usize = 1 << 16;

/// The look into one directory.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Locked while somebody looks.
    pub(crate) turn: Mutex<()>,
    is_done: AtomicBool,
}

impl Look {
    /// Whether nothing is to be looked for here.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::SeqCst)
    }

    /// Whoever looks says so before, so that what is left meanwhile makes for another look.
    pub(crate) fn set_done(&self, is_done: bool) {
        self.is_done.store(is_done, Ordering::SeqCst);
    }
}

/// The directories that were looked at, and the hidden files of this provider that wait for another look.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// By device and inode number.
    looks: Mutex<HashMap<(u64, u64), Arc<Look>>>,
    /// By their serial numbers.
    left: Mutex<HashSet<u64>>,
}

impl Looked {
    /// The look into a directory.
    pub(crate) fn at(&self, directory: (u64, u64)) -> Arc<Look> {
        let mut looks = lock(&self.looks);
        if looks.len() >= MAX_LOOKED {
            looks.clear();
        }
        looks.entry(directory).or_default().clone()
    }

    /// A hidden file of this provider stays where it is for now, and nobody works with it: the next mutation in its
    /// directory, where that is known, looks again. This waits for nobody who looks at the moment.
    pub(crate) fn leave(&self, directory: Option<(u64, u64)>, serial: u64) {
        lock(&self.left).insert(serial);
        if let Some(directory) = directory {
            self.at(directory).set_done(false);
        }
    }

    /// Whether a hidden file of this provider is one that was left.
    pub(crate) fn is_left(&self, serial: u64) -> bool {
        lock(&self.left).contains(&serial)
    }

    /// A hidden file that was left is gone.
    pub(crate) fn settled(&self, serial: u64) {
        lock(&self.left).remove(&serial);
    }

    /// Whether any hidden file of this provider is left.
    pub(crate) fn has_left(&self) -> bool {
        !lock(&self.left).is_empty()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
