//! Turns: one call at a time at a place.
//!
//! A mutation holds the turn of (session, target) from asking the gate for the intent to recording what was observed, so
//! that several edits that one session sends at once each see what the one before left. Other sessions take no notice of
//! it (their guards decide whose change lands), and reads never wait for one. A call that may be repeated holds the turn
//! of its name, so that a repeat waits for it. Calls get their turns in the order in which they asked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;

use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;
use toolfs_core::target::TargetKey;

use super::sync::{Arc, AsyncMutex, Mutex, MutexGuard, OwnedMutexGuard, PoisonError};

/// Where the mutations of one session meet.
pub(crate) type TargetInSession = (SessionKey, TargetKey);

/// The turns that are held or waited for, each with what one holder leaves to the next. A place that nobody uses takes
/// no memory, and what was left there is gone.
#[derive(Debug)]
pub(crate) struct Turns<P, V = ()>(Arc<Mutex<HashMap<P, Queue<V>>>>);

#[derive(Debug, Default)]
struct Queue<V> {
    turn: Arc<AsyncMutex<V>>,
    /// Who holds the turn or waits for it.
    users: usize,
}

/// A turn that is held; ends when dropped.
#[derive(Debug)]
pub(crate) struct Turn<P: Clone + Eq + Hash, V = ()> {
    // Fields are dropped in this order: the turn passes on before the place may vanish.
    held: OwnedMutexGuard<V>,
    _use: Use<P, V>,
}

/// The presence of one call at a place.
struct Use<P: Clone + Eq + Hash, V> {
    turns: Turns<P, V>,
    place: P,
}

impl<P, V> Default for Turns<P, V> {
    fn default() -> Turns<P, V> {
        Turns(Arc::default())
    }
}

impl<P, V> Clone for Turns<P, V> {
    fn clone(&self) -> Turns<P, V> {
        Turns(Arc::clone(&self.0))
    }
}

impl<P: Clone + Eq + Hash, V: Default> Turns<P, V> {
    /// Waits for the turn. Dropping the future gives up the wait.
    pub(crate) async fn take(&self, place: P) -> Turn<P, V> {
        let turn = {
            let mut table = self.table();
            let queue = table.entry(place.clone()).or_default();
            queue.users += 1;
            Arc::clone(&queue.turn)
        };
        let present = Use { turns: self.clone(), place };
        Turn { held: turn.lock_owned().await, _use: present }
    }
}

impl<P, V> Turns<P, V> {
    fn table(&self) -> MutexGuard<'_, HashMap<P, Queue<V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many places are in use.
    #[cfg(test)]
    pub(crate) fn place_count(&self) -> usize {
        self.table().len()
    }
}

impl<P: Clone + Eq + Hash, V> Turn<P, V> {
    /// What the holder before left.
    pub(crate) fn left(&self) -> &V {
        &self.held
    }

    /// Leaves something to those who wait.
    pub(crate) fn leave(&mut self, value: V) {
        *self.held = value;
    }
}

impl<P: Clone + Eq + Hash + fmt::Debug, V> fmt::Debug for Use<P, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Use").field(&self.place).finish()
    }
}

impl<P: Clone + Eq + Hash, V> Drop for Use<P, V> {
    fn drop(&mut self) {
        let mut table = self.turns.table();
        if let Entry::Occupied(mut queue) = table.entry(self.place.clone()) {
            queue.get_mut().users -= 1;
            if queue.get().users == 0 || Fault::TurnDropsAWaitedPlace.is_planted() {
                queue.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn place(session: &str, target: &str) -> TargetInSession {
        (SessionKey::new(session), TargetKey::new(target.as_bytes()))
    }

    #[tokio::test]
    async fn a_second_mutation_waits_and_other_places_do_not() {
        let turns: Turns<TargetInSession> = Turns::default();
        let first = turns.take(place("s", "t")).await;
        assert!(turns.take(place("s", "t")).now_or_never().is_none());
        assert!(turns.take(place("s", "u")).now_or_never().is_some());
        assert!(turns.take(place("other", "t")).now_or_never().is_some());
        drop(first);
        assert!(turns.take(place("s", "t")).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_place_vanishes_when_its_last_user_leaves_or_gives_up() {
        let turns: Turns<TargetInSession> = Turns::default();
        let held = turns.take(place("s", "t")).await;
        let mut gives_up = Box::pin(turns.take(place("s", "t")));
        assert!(gives_up.as_mut().now_or_never().is_none());
        drop(gives_up);
        assert_eq!(turns.place_count(), 1);
        drop(held);
        assert_eq!(turns.place_count(), 0);
    }

    #[tokio::test]
    async fn turns_come_in_the_order_in_which_they_were_asked_for() {
        let turns: Turns<TargetInSession> = Turns::default();
        let held = turns.take(place("s", "t")).await;
        let mut second = Box::pin(turns.take(place("s", "t")));
        let mut third = Box::pin(turns.take(place("s", "t")));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(held);
        assert!(third.as_mut().now_or_never().is_none());
        drop(second.as_mut().now_or_never().unwrap());
        assert!(third.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_is_left_reaches_who_waits_and_nobody_later() {
        let turns: Turns<&str, u32> = Turns::default();
        let mut first = turns.take("place").await;
        let mut second = Box::pin(turns.take("place"));
        assert!(second.as_mut().now_or_never().is_none());
        first.leave(7);
        drop(first);
        assert_eq!(*second.await.left(), 7);
        assert_eq!(*turns.take("place").await.left(), 0);
    }
}
