//! Turns: mutations of one target come one after the other, and those of different targets do not wait.
//!
//! A target has an entry while somebody mutates it, waits for it or opens it. Deliberately absent: other providers on
//! the same files, in this process or another, with which `host` takes turns.

use std::collections::HashMap;
use std::collections::hash_map::Entry::Occupied;

use toolfs_core::error::Result;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;
use toolfs_provider::abort::{AbortSignal, aborted};

use super::sync::{Arc, AsyncMutex, Mutex, MutexGuard, OwnedMutexGuard, PoisonError, RwLock};

/// The entries of all targets that are in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockTable(Arc<Mutex<HashMap<TargetKey, Entry>>>);

#[derive(Debug, Default)]
struct Entry {
    /// How many seats there are. The locks tell no such number: a seat that leaves gives up its share of them only after
    /// it looked, so that of two that leave at once each could take the other for one who stays.
    seats: usize,
    locks: Arc<Locks>,
}

/// What the seats of a target share.
#[derive(Debug, Default)]
struct Locks {
    turn: Arc<AsyncMutex<()>>,
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
        let turn = if is_given_up { Arc::default() } else { seat.locks.turn.clone() };
        tokio::select! {
            biased;
            cause = abort.fired() => Err(aborted(cause)),
            permit = turn.lock_owned() => Ok(Turn { _permit: permit, seat }),
        }
    }

    /// Takes part in a target's entry without asking for a turn.
    pub(crate) fn seat(&self, key: &TargetKey) -> Seat {
        let mut entries = self.entries();
        let entry = entries.entry(key.clone()).or_default();
        entry.seats += 1;
        Seat { table: self.clone(), key: key.clone(), locks: Arc::clone(&entry.locks) }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<TargetKey, Entry>> {
        // The map is whole whenever the lock is free: no step of ours under it can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many targets are in use.
    #[cfg(test)]
    pub(crate) fn entry_count(&self) -> usize {
        self.entries().len()
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
        let _waiting = self.seat.locks.verdict.write().unwrap_or_else(PoisonError::into_inner);
        let _inverted = Fault::LockOrderInverted.is_planted().then(|| self.seat.table.entries());
        publish()
    }
}

/// A share in a target's entry.
#[derive(Debug)]
pub(crate) struct Seat {
    table: LockTable,
    key: TargetKey,
    locks: Arc<Locks>,
}

impl Seat {
    /// Runs `open` while no publication is between its exchange and its verdict.
    pub(crate) fn after_verdict<T>(&self, open: impl FnOnce() -> T) -> T {
        let _inverted = Fault::LockOrderInverted.is_planted().then(|| self.table.entries());
        let _settled = self.locks.verdict.read().unwrap_or_else(PoisonError::into_inner);
        open()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut entries = self.table.entries();
        if let Occupied(mut entry) = entries.entry(self.key.clone()) {
            entry.get_mut().seats -= 1;
            let is_last = entry.get().seats == 0 || Fault::LockDropsAWaitedEntry.is_planted();
            if is_last && !Fault::LockKeepsItsEntry.is_planted() {
                entry.remove();
            }
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
        assert_eq!(table.entry_count(), 2);
        drop((first, other));
        assert_eq!(table.entry_count(), 1);
        drop(reader);
        assert_eq!(table.entry_count(), 0);
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
        assert_eq!(table.entry_count(), 0);
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
        assert_eq!(table.entry_count(), 0);
    }

    #[test]
    fn two_seats_that_are_left_at_once_leave_no_entry_behind() {
        let (table, round) = (LockTable::default(), std::sync::Barrier::new(2));
        let leaves = || {
            let mut left_behind = 0;
            for _ in 0..40_000 {
                let seat = table.seat(&key("a"));
                round.wait();
                drop(seat);
                round.wait();
                left_behind += table.entry_count();
                round.wait();
            }
            left_behind
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(leaves);
            assert_eq!(leaves() + other.join().unwrap(), 0);
        });
    }
}
