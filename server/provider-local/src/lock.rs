//! Turns: mutations of one target come one after the other, and those of different targets do not wait.
//!
//! A target has an entry while somebody mutates it, waits for it or opens it. Deliberately absent: other providers on
//! the same files, in this process or another, with which `host` takes turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::OwnedMutexGuard;
use toolfs_core::error::Result;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;
use toolfs_provider::abort::{AbortSignal, aborted};

/// The entries of all targets that are in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockTable(Arc<Mutex<HashMap<TargetKey, Arc<Entry>>>>);

#[derive(Debug, Default)]
struct Entry {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Held for writing while a new content is in place and not yet found to have displaced the right one.
    verdict: RwLock<()>,
}

impl LockTable {
    /// Waits for the turn to mutate a target. Dropping the future gives the place in the queue up.
    ///
    /// # Errors
    /// `FS_ABORTED`
    pub(crate) async fn turn(&self, key: &TargetKey, abort: &AbortSignal) -> Result<Turn> {
        let seat = self.seat(key);
        // Who gives it up early keeps nobody out: with this fault it is the host's turn alone that is taken at all.
        let is_given_up = Fault::PublishReleasesLock.is_planted();
        let turn = if is_given_up { Arc::default() } else { seat.entry.turn.clone() };
        tokio::select! {
            biased;
            cause = abort.fired() => Err(aborted(cause)),
            permit = turn.lock_owned() => Ok(Turn { _permit: permit, seat }),
        }
    }

    /// Takes part in a target's entry without asking for a turn.
    pub(crate) fn seat(&self, key: &TargetKey) -> Seat {
        let entry = self.entries().entry(key.clone()).or_default().clone();
        Seat { table: self.clone(), key: key.clone(), entry }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<TargetKey, Arc<Entry>>> {
        // The map is whole whenever the lock is free: no step of ours under it can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to mutate a target, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedMutexGuard<()>,
    seat: Seat,
}

impl Turn {
    /// Runs `publish` while readers of the target wait.
    pub(crate) fn until_verdict<T>(&self, publish: impl FnOnce() -> T) -> T {
        let _waiting = self.seat.entry.verdict.write().unwrap_or_else(PoisonError::into_inner);
        publish()
    }
}

/// A share in a target's entry.
#[derive(Debug)]
pub(crate) struct Seat {
    table: LockTable,
    key: TargetKey,
    entry: Arc<Entry>,
}

impl Seat {
    /// Runs `open` while no publication is between its exchange and its verdict.
    pub(crate) fn after_verdict<T>(&self, open: impl FnOnce() -> T) -> T {
        let _settled = self.entry.verdict.read().unwrap_or_else(PoisonError::into_inner);
        open()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut entries = self.table.entries();
        // Seats are made under the lock that is held here, so this count cannot grow: the table's and this one.
        if Arc::strong_count(&self.entry) == 2 {
            entries.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolfs_core::error::{AbortCause, Code};

    use super::*;

    fn key(name: &str) -> TargetKey {
        TargetKey::new(name.as_bytes())
    }

    #[tokio::test]
    async fn an_entry_goes_with_its_last_user() {
        let (table, abort) = (LockTable::default(), AbortSignal::new());
        let first = table.turn(&key("a"), &abort).await.unwrap();
        let other = table.turn(&key("b"), &abort).await.unwrap();
        let reader = table.seat(&key("a"));
        assert_eq!(table.entries().len(), 2);
        drop((first, other));
        assert_eq!(table.entries().len(), 1);
        drop(reader);
        assert_eq!(table.entries().len(), 0);
    }

    #[tokio::test]
    async fn a_waiter_that_is_aborted_or_dropped_leaves_nothing_behind() {
        let (table, abort) = (LockTable::default(), AbortSignal::new());
        let held = table.turn(&key("a"), &abort).await.unwrap();
        let stopped = AbortSignal::new();
        stopped.fire(AbortCause::Cancelled);
        assert_eq!(table.turn(&key("a"), &stopped).await.unwrap_err().code(), Code::Aborted);
        {
            let key = key("a");
            let mut abandoned = std::pin::pin!(table.turn(&key, &abort));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(abandoned.as_mut().poll(&mut context).is_pending());
        }
        drop(held);
        assert_eq!(table.entries().len(), 0);
        table.turn(&key("a"), &abort).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn turns_of_one_target_never_overlap() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let (table, inside) = (LockTable::default(), Arc::new(AtomicU32::new(0)));
        let tasks = (0..8).map(|_| {
            let (table, inside) = (table.clone(), inside.clone());
            async move {
                for _ in 0..100 {
                    let _turn = table.turn(&key("a"), &AbortSignal::new()).await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            }
        });
        #[expect(clippy::disallowed_methods, reason = "a test has no shutdown to take part in")]
        let tasks: Vec<_> = tasks.map(tokio::spawn).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(table.entries().len(), 0);
    }
}
