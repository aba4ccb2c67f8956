//! Sessions in memory, gone with the process: the reference for every other store of them.
//!
//! Deliberately absent: handles of sessions in use, which are the registry's, and any clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::AtomicI64;

use async_trait::async_trait;
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::id::{SessionKey, SessionName};

use super::super::sync::atomic::{AtomicU64, Ordering};
use super::super::sync::{Mutex, MutexGuard, PoisonError};
use super::{Caller, Insertion, SessionRecord, SessionStore, next_order};

/// How many names of removed sessions are remembered, about 60 bytes each.
const USED_NAMES: usize = 1 << 18;

/// How many removed sessions wait for their end at most; beyond it some are given up.
const MAX_ENDING: usize = 1 << 18;

/// Sessions in memory.
///
/// Memory is bounded by the number of sessions that its users allow. The names of the newest 262,144 removed sessions
/// are remembered as used; an older name could only come back if 64 random bits fell on it once more.
#[derive(Debug, Default)]
pub struct MemorySessionStore {
    table: Mutex<Table>,
    removals: AtomicU64,
    last_order: AtomicI64,
}

#[derive(Debug, Default)]
struct Table {
    /// Each with its serial number.
    by_key: HashMap<SessionKey, (u64, SessionRecord)>,
    /// Of each owner the sessions by serial number, which is oldest first.
    by_owner: HashMap<Caller, BTreeMap<u64, SessionKey>>,
    /// By last use, longest unused first.
    by_use: BTreeMap<(Timestamp, u64), SessionKey>,
    names: HashSet<SessionName>,
    /// Names of removed sessions, oldest first. They are in `names` too.
    used_names: VecDeque<SessionName>,
    last_serial: u64,
    /// Removed sessions whose end is left to do.
    ending: BTreeSet<SessionKey>,
}

impl MemorySessionStore {
    /// A store without sessions.
    pub fn new() -> MemorySessionStore {
        MemorySessionStore::default()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_removal(&self) {
        self.removals.fetch_add(1, Ordering::AcqRel);
    }
}

#[async_trait]
impl SessionStore for MemorySessionStore {
    fn is_persistent(&self) -> bool {
        false
    }

    fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    fn next_order(&self, now: Timestamp) -> Order {
        next_order(&self.last_order, now)
    }

    async fn insert(&self, session: SessionRecord, max_sessions: u64) -> Result<Insertion> {
        let mut table = self.table();
        if u64::try_from(table.by_key.len()).unwrap_or(u64::MAX) >= max_sessions {
            return Ok(Insertion::Full);
        }
        if !table.names.insert(session.name.clone()) {
            return Ok(Insertion::NameTaken);
        }
        table.insert(session);
        Ok(Insertion::Inserted)
    }

    async fn find(&self, key: &SessionKey) -> Result<Option<SessionRecord>> {
        Ok(self.table().by_key.get(key).map(|(_, session)| session.clone()))
    }

    async fn touch(&self, key: &SessionKey, last_used: Timestamp) -> Result<()> {
        self.table().touch(key, last_used);
        Ok(())
    }

    async fn remove(&self, key: &SessionKey) -> Result<bool> {
        let is_removed = self.table().remove(key);
        if is_removed {
            self.count_removal();
        }
        Ok(is_removed)
    }

    async fn remove_unused(&self, key: &SessionKey, time: Timestamp) -> Result<bool> {
        let is_removed = {
            let mut table = self.table();
            let is_unused = table.by_key.get(key).is_some_and(|(_, session)| session.last_used <= time);
            is_unused && table.remove(key)
        };
        if is_removed {
            self.count_removal();
        }
        Ok(is_removed)
    }

    async fn unused_since(&self, time: Timestamp, count: usize) -> Result<Vec<SessionRecord>> {
        let table = self.table();
        let unused = table.by_use.range(..=(time, u64::MAX)).take(count);
        Ok(unused.filter_map(|(_, key)| Some(table.by_key.get(key)?.1.clone())).collect())
    }

    async fn page(&self, owner: &Caller, after: u64, count: usize) -> Result<Vec<(u64, SessionRecord)>> {
        let table = self.table();
        let Some(owned) = table.by_owner.get(owner) else { return Ok(Vec::new()) };
        let rest = owned.range(after.saturating_add(1)..).take(count);
        Ok(rest.filter_map(|(serial, key)| Some((*serial, table.by_key.get(key)?.1.clone()))).collect())
    }

    async fn ending(&self, count: usize) -> Result<Vec<SessionKey>> {
        Ok(self.table().ending.iter().take(count).cloned().collect())
    }

    async fn ended(&self, key: &SessionKey) -> Result<()> {
        self.table().ending.remove(key);
        Ok(())
    }
}

impl Table {
    fn insert(&mut self, session: SessionRecord) {
        self.last_serial += 1;
        let serial = self.last_serial;
        self.by_owner.entry(session.owner.clone()).or_default().insert(serial, session.key.clone());
        self.by_use.insert((session.last_used, serial), session.key.clone());
        self.by_key.insert(session.key.clone(), (serial, session));
    }

    fn touch(&mut self, key: &SessionKey, last_used: Timestamp) {
        let Some((serial, session)) = self.by_key.get_mut(key) else { return };
        if last_used > session.last_used {
            self.by_use.remove(&(session.last_used, *serial));
            self.by_use.insert((last_used, *serial), key.clone());
            session.last_used = last_used;
        }
    }

    fn remove(&mut self, key: &SessionKey) -> bool {
        let Some((serial, session)) = self.by_key.remove(key) else { return false };
        self.by_use.remove(&(session.last_used, serial));
        if let Some(owned) = self.by_owner.get_mut(&session.owner) {
            owned.remove(&serial);
            if owned.is_empty() {
                self.by_owner.remove(&session.owner);
            }
        }
        self.used_names.push_back(session.name);
        if self.used_names.len() > USED_NAMES
            && let Some(oldest) = self.used_names.pop_front()
        {
            self.names.remove(&oldest);
        }
        self.ending.insert(session.key);
        if self.ending.len() > MAX_ENDING {
            self.ending.pop_first();
        }
        true
    }
}
