//! Which sessions are open, and whose.
//!
//! A session leaves the registry in one step, and from then on no call finds it. What is left to do, waiting for the
//! calls in it and ending it at the gate, is kept in a list until it is done, so that a close that is given up half
//! way is finished by the next one. Nothing here ever puts a session back.
//!
//! Deliberately absent: the gate (the executor tells it), and a timer (expiry is looked at when somebody calls).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedRwLockReadGuard;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::id::{SessionId, SessionKey, SessionName};

use crate::call::CallError;
use crate::session::{Caller, Session, SessionPage};

const DEFAULT_PAGE_SIZE: u32 = 100;
const MAX_PAGE_SIZE: u32 = 1_000;

/// The open sessions of a server.
#[derive(Debug)]
pub(crate) struct Registry {
    table: Mutex<Table>,
    clock: Arc<dyn Clock>,
    idle: Option<Duration>,
    max_sessions: u64,
    /// Marks page tokens as this registry's own.
    token_hasher: RandomState,
}

#[derive(Debug, Default)]
struct Table {
    /// Each with its serial number.
    by_key: HashMap<SessionKey, (u64, Arc<Session>)>,
    /// Of each owner the sessions by serial number, which is oldest first.
    by_owner: HashMap<Caller, BTreeMap<u64, Arc<Session>>>,
    names: HashSet<SessionName>,
    last_serial: u64,
    /// No session expires before this: use only ever puts an end off.
    earliest_end: Option<Timestamp>,
    /// Out of reach for new calls, and not yet ended at the gate.
    ending: Vec<Arc<Session>>,
}

/// A call in a session: the session cannot end before this is dropped.
#[derive(Debug)]
pub(crate) struct Entered {
    session: Arc<Session>,
    clock: Arc<dyn Clock>,
    _call: OwnedRwLockReadGuard<()>,
}

impl Deref for Entered {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.session.usage.touch(self.clock.now());
    }
}

impl Registry {
    pub(crate) fn new(clock: Arc<dyn Clock>, idle: Option<Duration>, max_sessions: u64) -> Registry {
        Registry { table: Mutex::default(), clock, idle, max_sessions, token_hasher: RandomState::new() }
    }

    /// Whether another session may be opened.
    pub(crate) fn has_room(&self) -> Result<(), CallError> {
        self.make_room(&mut self.table())
    }

    /// Keeps a new session, or gives it back when its name is taken, so that its maker draws another.
    pub(crate) fn insert(&self, session: Session) -> Result<Result<Arc<Session>, Session>, CallError> {
        let mut table = self.table();
        self.make_room(&mut table)?;
        if !table.names.insert(session.name.clone()) {
            return Ok(Err(session));
        }
        Ok(Ok(table.insert(Arc::new(session), self.idle)))
    }

    /// Begins a call in a session of this caller, and keeps it from expiring.
    pub(crate) fn enter(&self, caller: &Caller, id: &SessionId) -> Result<Entered, CallError> {
        let now = self.clock.now();
        let mut table = self.table();
        let session = table.find(caller, &id.key(), now, self.idle)?;
        let call = session.usage.begin_call(now).ok_or(CallError::SessionNotFound)?;
        Ok(Entered { session, clock: Arc::clone(&self.clock), _call: call })
    }

    /// Looks at a session of this caller, which is no use of it.
    pub(crate) fn look(&self, caller: &Caller, id: &SessionId) -> Result<Arc<Session>, CallError> {
        self.table().find(caller, &id.key(), self.clock.now(), self.idle)
    }

    /// Takes a session out of reach. Whoever does so ends it then; see [`Registry::ending`].
    pub(crate) fn remove(&self, caller: &Caller, id: &SessionId) -> Result<Arc<Session>, CallError> {
        let mut table = self.table();
        let session = table.find(caller, &id.key(), self.clock.now(), self.idle)?;
        table.retire(&session.key);
        Ok(session)
    }

    /// The sessions that are out of reach and not ended at the gate yet, those that expired by now included.
    pub(crate) fn ending(&self) -> Vec<Arc<Session>> {
        let now = self.clock.now();
        let mut table = self.table();
        table.expire(now, self.idle);
        table.ending.clone()
    }

    /// A session was ended at the gate.
    pub(crate) fn ended(&self, key: &SessionKey) {
        self.table().ending.retain(|session| session.key != *key);
    }

    /// A page of the caller's sessions, oldest first.
    pub(crate) fn page(
        &self,
        caller: &Caller,
        page_size: Option<u32>,
        page_token: Option<&str>,
    ) -> Result<SessionPage, CallError> {
        let after = match page_token {
            None | Some("") => 0,
            Some(token) => self.read_token(caller, token)?,
        };
        let size = page_size.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut table = self.table();
        table.expire(self.clock.now(), self.idle);
        let mut rest = table.by_owner.get(caller).into_iter().flat_map(|owned| owned.range(after + 1..));
        let page: Vec<(&u64, &Arc<Session>)> = rest.by_ref().take(size).collect();
        let last = page.last().map(|(serial, _)| **serial);
        let next_page_token = match (last, rest.next()) {
            (Some(last), Some(_)) => Some(self.token(caller, last)),
            (Some(_) | None, _) => None,
        };
        let sessions = page.into_iter().map(|(_, session)| session.info(self.idle)).collect();
        Ok(SessionPage { sessions, next_page_token })
    }

    /// A token for the sessions after a serial number: the number, and a mark that only this registry makes.
    fn token(&self, caller: &Caller, serial: u64) -> String {
        format!("{serial:x}-{:016x}", self.token_hasher.hash_one((caller, serial)))
    }

    fn read_token(&self, caller: &Caller, token: &str) -> Result<u64, CallError> {
        let serial = token.split('-').next().and_then(|serial| u64::from_str_radix(serial, 16).ok());
        serial.filter(|serial| self.token(caller, *serial) == token).ok_or(CallError::PageTokenInvalid)
    }

    /// Makes room for one more session, if only by ending idle ones.
    fn make_room(&self, table: &mut Table) -> Result<(), CallError> {
        let is_full =
            |table: &Table| u64::try_from(table.by_key.len()).unwrap_or(u64::MAX) >= self.max_sessions;
        if is_full(table) {
            table.expire(self.clock.now(), self.idle);
        }
        if is_full(table) { Err(CallError::TooManySessions { limit: self.max_sessions }) } else { Ok(()) }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn insert(&mut self, session: Arc<Session>, idle: Option<Duration>) -> Arc<Session> {
        self.last_serial += 1;
        self.earliest_end = earlier(self.earliest_end, session.expires(idle));
        self.by_owner
            .entry(session.owner.clone())
            .or_default()
            .insert(self.last_serial, Arc::clone(&session));
        self.by_key.insert(session.key.clone(), (self.last_serial, Arc::clone(&session)));
        session
    }

    /// The session, if it is this caller's and has not expired.
    fn find(
        &mut self,
        caller: &Caller,
        key: &SessionKey,
        now: Timestamp,
        idle: Option<Duration>,
    ) -> Result<Arc<Session>, CallError> {
        let (_, session) = self.by_key.get(key).ok_or(CallError::SessionNotFound)?;
        if session.owner != *caller {
            return Err(CallError::SessionNotFound);
        }
        let session = Arc::clone(session);
        if has_expired(&session, now, idle) {
            self.retire(key);
            return Err(CallError::SessionNotFound);
        }
        Ok(session)
    }

    /// Takes a session out of reach.
    fn retire(&mut self, key: &SessionKey) {
        let Some((serial, session)) = self.by_key.remove(key) else { return };
        if let Some(owned) = self.by_owner.get_mut(&session.owner) {
            owned.remove(&serial);
            if owned.is_empty() {
                self.by_owner.remove(&session.owner);
            }
        }
        self.names.remove(&session.name);
        self.ending.push(session);
    }

    /// Takes the sessions out of reach whose time is over. Looks through them only when one may have expired.
    fn expire(&mut self, now: Timestamp, idle: Option<Duration>) {
        if self.earliest_end.is_none_or(|end| end > now) {
            return;
        }
        let mut expired = Vec::new();
        self.earliest_end = None;
        for (key, (_, session)) in &self.by_key {
            if has_expired(session, now, idle) {
                expired.push(key.clone());
            } else {
                self.earliest_end = earlier(self.earliest_end, session.expires(idle));
            }
        }
        expired.iter().for_each(|key| self.retire(key));
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// Whether its time is over and no call is in it.
fn has_expired(session: &Session, now: Timestamp, idle: Option<Duration>) -> bool {
    session.expires(idle).is_some_and(|end| end <= now) && session.usage.is_quiet()
}
