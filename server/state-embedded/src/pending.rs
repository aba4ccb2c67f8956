//! What is written behind: observations and touches that wait in memory for the writer's next transaction.
//!
//! Something is here only while its server is alone on the state (see `company.rs`), or until the writer has seen that
//! it is not any more.
//!
//! An observation is here only while losing it leaves its target unseen, or seen as the same content (the caller of
//! [`Pending::offer`] says what the database knows): so a crash never brings back an observation that another one
//! had replaced. Nothing here is an answer by itself: whoever looks also looks into the database, where other servers
//! may have forgotten or ended meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::planted::Fault;

use crate::company::Company;
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
    /// It replaces another one, other servers have to know it, or there is no room: it has to be written before its
    /// caller goes on.
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

#[derive(Debug)]
pub(crate) struct Pending {
    company: Arc<Company>,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    facts: HashMap<Place, Fact>,
    touches: HashMap<SessionKey, Timestamp>,
    /// The count of openings at which this server was alone.
    alone_at: Option<i64>,
}

impl Tables {
    fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.touches.is_empty()
    }
}

impl Pending {
    /// Nothing yet, in a server that was alone at this count of openings.
    pub(crate) fn new(company: Arc<Company>, alone_at: Option<i64>) -> Pending {
        let tables = Tables { alone_at, ..Tables::default() };
        Pending { company, tables: Mutex::new(tables) }
    }

    /// Whether something may wait here; if so, whoever opens the state from now on waits for it.
    fn may_keep(&self, tables: &Tables) -> bool {
        if Fault::StateKeepsToItself.is_planted() {
            return true;
        }
        if tables.alone_at.is_none() {
            return false;
        }
        self.company.say_kept(true);
        let may_keep = tables.alone_at == Some(self.company.openings());
        if !may_keep && tables.is_empty() {
            self.company.say_kept(false);
        }
        may_keep
    }

    /// Whether this server was found to be alone, and nobody opened the state since.
    pub(crate) fn is_alone(&self) -> bool {
        self.tables().alone_at == Some(self.company.openings())
    }

    /// Whether something waits that others have to know by now.
    pub(crate) fn is_overdue(&self) -> bool {
        let tables = self.tables();
        !tables.is_empty()
            && tables.alone_at != Some(self.company.openings())
            && !Fault::StateKeepsToItself.is_planted()
    }

    /// This server was alone at that count of openings, or is not.
    pub(crate) fn set_alone_at(&self, openings: Option<i64>) {
        self.tables().alone_at = openings;
    }

    pub(crate) fn fact(&self, place: &Place) -> Option<Fact> {
        self.tables().facts.get(place).cloned()
    }

    /// Takes an observation, if it may be lost. `stored` is what the database knows of the place.
    pub(crate) fn offer(&self, place: Place, fact: Fact, stored: Option<&Observation>) -> Offer {
        let mut tables = self.tables();
        let is_full = tables.facts.len() >= MAX_FACTS;
        let known = tables.facts.get(&place);
        if let Some(known) = known
            && known.order >= fact.order
            && !Fault::GateKeepsTheLast.is_planted()
        {
            return Offer::Old;
        }
        let replaces_another = stored.is_some_and(|seen| *seen != fact.seen)
            || known.is_some_and(|known| known.seen != fact.seen);
        let is_new = known.is_none();
        if replaces_another || (is_new && is_full) || !self.may_keep(&tables) {
            return Offer::MustCommit;
        }
        tables.facts.insert(place, fact);
        Offer::Kept
    }

    /// Notes a use; whether it may wait here.
    pub(crate) fn touch(&self, key: &SessionKey, last_used: Timestamp) -> bool {
        let mut tables = self.tables();
        if !self.may_keep(&tables) {
            return false;
        }
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
        if tables.is_empty() {
            self.company.say_kept(false);
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Each change is one insertion or removal: a panic leaves no half of one.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
