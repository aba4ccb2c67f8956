//! What is written behind: observations and touches that wait in memory for the writer's next transaction.
//!
//! An observation is here only while losing it leaves its target unseen, or seen as the same content (the caller of
//! [`Pending::offer`] says what the database knows): so a crash never brings back an observation that another one
//! had replaced. Nothing here is an answer by itself: whoever looks also looks into the database, where other servers
//! may have forgotten or ended meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;

use crate::observation::Place;

/// Facts beyond this many are not written behind but waited for: about 4 MiB.
const MAX_FACTS: usize = 16_384;

/// What was observed, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) seen: Observation,
    pub(crate) order: Order,
}

/// What became of an observation that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// It is written soon.
    Kept,
    /// A newer one is known, or the first one of its order.
    Old,
    /// It replaces another one, or there is no room: it has to be written before its caller goes on.
    MustCommit,
}

/// What a transaction takes along.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) facts: Vec<(Place, Fact)>,
    pub(crate) touches: Vec<(SessionKey, Timestamp)>,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.touches.is_empty()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    facts: HashMap<Place, Fact>,
    touches: HashMap<SessionKey, Timestamp>,
}

impl Pending {
    pub(crate) fn fact(&self, place: &Place) -> Option<Fact> {
        self.tables().facts.get(place).cloned()
    }

    /// Takes an observation, if it may be lost. `stored` is what the database knows of the place.
    pub(crate) fn offer(&self, place: Place, fact: Fact, stored: Option<&Observation>) -> Offer {
        let mut tables = self.tables();
        let is_full = tables.facts.len() >= MAX_FACTS;
        let known = tables.facts.get_mut(&place);
        if let Some(known) = &known
            && known.order >= fact.order
            && !Fault::GateKeepsTheLast.is_planted()
        {
            return Offer::Old;
        }
        let replaces_another = stored.is_some_and(|seen| *seen != fact.seen)
            || known.as_ref().is_some_and(|known| known.seen != fact.seen);
        match known {
            _ if replaces_another => Offer::MustCommit,
            Some(known) => {
                *known = fact;
                Offer::Kept
            }
            None if is_full => Offer::MustCommit,
            None => {
                tables.facts.insert(place, fact);
                Offer::Kept
            }
        }
    }

    /// Notes a use; whether there was room.
    pub(crate) fn touch(&self, key: &SessionKey, last_used: Timestamp) -> bool {
        let mut tables = self.tables();
        if let Some(known) = tables.touches.get_mut(key) {
            *known = last_used.max(*known);
            return true;
        }
        if tables.touches.len() >= MAX_FACTS {
            return false;
        }
        tables.touches.insert(key.clone(), last_used);
        true
    }

    pub(crate) fn last_used(&self, key: &SessionKey) -> Option<Timestamp> {
        self.tables().touches.get(key).copied()
    }

    /// A copy of everything, for a transaction.
    pub(crate) fn waiting(&self) -> Waiting {
        let tables = self.tables();
        Waiting {
            facts: tables.facts.iter().map(|(place, fact)| (*place, fact.clone())).collect(),
            touches: tables.touches.iter().map(|(key, time)| (key.clone(), *time)).collect(),
        }
    }

    /// Lets go of what was committed, except where something newer came meanwhile.
    pub(crate) fn settle(&self, committed: &Waiting) {
        let mut tables = self.tables();
        for (place, fact) in &committed.facts {
            if tables.facts.get(place) == Some(fact) {
                tables.facts.remove(place);
            }
        }
        for (key, time) in &committed.touches {
            if tables.touches.get(key) == Some(time) {
                tables.touches.remove(key);
            }
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Each change is one insertion or removal: a panic leaves no half of one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
