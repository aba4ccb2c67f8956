//! Turns: one mutation of a target at a time within one session.
//!
//! A turn is held from asking the gate for the intent to recording what was observed, so that several edits that one
//! session sends at once each see what the one before left. Other sessions take no notice of it (their guards decide
//! whose change lands), and reads never wait for one. Calls get their turns in the order in which they asked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;
use toolfs_core::id::SessionKey;
use toolfs_core::target::TargetKey;

type Place = (SessionKey, TargetKey);

/// The turns that are held or waited for. A place that nobody uses takes no memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<HashMap<Place, Queue>>>);

#[derive(Debug, Default)]
struct Queue {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Who holds the turn or waits for it.
    users: usize,
}

/// A turn that is held; ends when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    // Fields are dropped in this order: the turn passes on before the place may vanish.
    _held: OwnedMutexGuard<()>,
    _use: Use,
}

/// The presence of one call at a place.
#[derive(Debug)]
struct Use {
    turns: Turns,
    place: Place,
}

impl Turns {
    /// Waits for the turn. Dropping the future gives up the wait.
    pub(crate) async fn take(&self, session: &SessionKey, target: &TargetKey) -> Turn {
        let place = (session.clone(), target.clone());
        let turn = {
            let mut table = self.table();
            let queue = table.entry(place.clone()).or_default();
            queue.users += 1;
            Arc::clone(&queue.turn)
        };
        let present = Use { turns: self.clone(), place };
        Turn { _held: turn.lock_owned().await, _use: present }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Place, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn place_count(&self) -> usize {
        self.table().len()
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut table = self.turns.table();
        if let Entry::Occupied(mut queue) = table.entry(self.place.clone()) {
            queue.get_mut().users -= 1;
            if queue.get().users == 0 {
                queue.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn place(session: &str, target: &str) -> Place {
        (SessionKey::new(session), TargetKey::new(target.as_bytes()))
    }

    #[tokio::test]
    async fn a_second_mutation_waits_and_other_places_do_not() {
        let turns = Turns::default();
        let (session, target) = place("s", "t");
        let first = turns.take(&session, &target).await;
        assert!(turns.take(&session, &target).now_or_never().is_none());
        assert!(turns.take(&session, &TargetKey::new(*b"u")).now_or_never().is_some());
        assert!(turns.take(&SessionKey::new("other"), &target).now_or_never().is_some());
        drop(first);
        assert!(turns.take(&session, &target).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_place_vanishes_when_its_last_user_leaves_or_gives_up() {
        let turns = Turns::default();
        let (session, target) = place("s", "t");
        let held = turns.take(&session, &target).await;
        let mut gives_up = Box::pin(turns.take(&session, &target));
        assert!(gives_up.as_mut().now_or_never().is_none());
        drop(gives_up);
        assert_eq!(turns.place_count(), 1);
        drop(held);
        assert_eq!(turns.place_count(), 0);
    }

    #[tokio::test]
    async fn turns_come_in_the_order_in_which_they_were_asked_for() {
        let turns = Turns::default();
        let (session, target) = place("s", "t");
        let held = turns.take(&session, &target).await;
        let mut second = Box::pin(turns.take(&session, &target));
        let mut third = Box::pin(turns.take(&session, &target));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(held);
        assert!(third.as_mut().now_or_never().is_none());
        drop(second.as_mut().now_or_never().unwrap());
        assert!(third.as_mut().now_or_never().is_some());
    }
}
