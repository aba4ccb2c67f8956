//! Which sessions are open, and whose: a front of the store, with handles on the sessions that are in use here.
//!
//! - A handle is trusted while the store's count of removals stays the same, and looked up again otherwise: a session that
//!   another server on the same state closed is gone here at once.
//! - A call is counted in before that is looked at. So whoever removes a session here sees the call and waits for it, or
//!   the call sees the removal.
//! - What is left to do for a removed session, ending it at the gate, is kept by the store until it is done, so that a
//!   close that is given up half-way, or that a crash cuts short, is finished later. Nothing here ever puts a session back.
//! - The store is told of uses only so often, and other servers only see what it was told: a session is kept by that much
//!   longer than its time.
//!
//! Deliberately absent: the gate (the executor tells it), and a timer (expiry is looked at when somebody calls).

use std::collections::HashMap;
use std::ops::Deref;
use std::time::Duration;

use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::id::{SessionId, SessionKey};
use toolfs_core::planted::Fault;

use super::call::CallError;
use super::handle::{CountedCall, Session, info, milliseconds};
use super::page;
use super::session::{Caller, SessionInfo, SessionPage};
use super::store::{Insertion, SessionRecord, SessionStore};
use super::sync::atomic::Ordering;
use super::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The store is told of a use when it knows of none within this time, or within a tenth of the idle time.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// A handle that was not used for this long is dropped; the session stays in the store.
const HANDLE_IDLE: Duration = Duration::from_secs(300);

/// How many sessions are looked at in one step of expiry.
const STEP: usize = 256;

/// The open sessions of a server.
#[derive(Debug)]
pub(crate) struct Registry {
    store: Arc<dyn SessionStore>,
    clock: Arc<dyn Clock>,
    idle: Option<Duration>,
    max_sessions: u64,
    touch_interval: Duration,
    /// How much longer than its idle time a session is kept, for uses that the store was not told of.
    grace: Duration,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    /// The sessions in use here.
    handles: HashMap<SessionKey, Arc<Session>>,
    /// Those that were removed here and are not ended: calls may still be in them.
    leaving: HashMap<SessionKey, Arc<Session>>,
    next_sweep: Timestamp,
}

impl Table {
    /// Drops the handle of a session that somebody removed, unless a call is in it: whoever ends it looks here for calls.
    fn forget(&mut self, key: &SessionKey) {
        if self.handles.get(key).is_some_and(|session| session.usage.is_quiet()) {
            self.handles.remove(key);
        }
    }
}

/// A call in a session: the session does not end at this server before this is dropped.
#[derive(Debug)]
pub(crate) struct Entered {
    session: Arc<Session>,
    clock: Arc<dyn Clock>,
    _call: CountedCall,
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
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        clock: Arc<dyn Clock>,
        idle: Option<Duration>,
        max_sessions: u64,
    ) -> Registry {
        let touch_interval = match idle {
            // Nobody else knows of sessions that are gone with the process, and telling the store costs nothing.
            _ if !store.is_persistent() => Duration::ZERO,
            None => TOUCH_INTERVAL,
            Some(idle) => TOUCH_INTERVAL.min(idle / 10),
        };
        let table = Mutex::new(Table {
            handles: HashMap::new(),
            leaving: HashMap::new(),
            next_sweep: Timestamp(i64::MIN),
        });
        Registry { store, clock, idle, max_sessions, touch_interval, grace: touch_interval, table }
    }

    pub(crate) fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    /// Keeps a new session; `None` when its name is taken, so that its maker draws another.
    pub(crate) async fn insert(&self, record: SessionRecord) -> Result<Option<SessionInfo>, CallError> {
        let removals = self.store.removals();
        match self.store.insert(record.clone(), self.max_sessions).await? {
            Insertion::Full => Err(CallError::TooManySessions { limit: self.max_sessions }),
            Insertion::NameTaken => Ok(None),
            Insertion::Inserted => {
                let session = Arc::new(Session::known_at(record, removals));
                let opened = session.info(self.idle);
                self.table().handles.insert(session.record.key.clone(), session);
                Ok(Some(opened))
            }
        }
    }

    /// Begins a call in a session of this caller, and keeps it from expiring.
    pub(crate) async fn enter(&self, caller: &Caller, id: &SessionId) -> Result<Entered, CallError> {
        let session = self.find(caller, id).await?;
        let call = session.usage.begin_call(self.clock.now()).ok_or(CallError::SessionNotFound)?;
        let is_sure = self.is_known(&session) || Fault::SessionTrustsItsHandle.is_planted();
        if !is_sure && self.load(&session.record.key).await?.is_none() {
            return Err(CallError::SessionNotFound);
        }
        if let Some(last_used) = session.usage.news(self.touch_interval) {
            self.tell(&session, last_used).await;
        }
        Ok(Entered { session, clock: Arc::clone(&self.clock), _call: call })
    }

    /// Looks at a session of this caller, which is no use of it.
    pub(crate) async fn look(&self, caller: &Caller, id: &SessionId) -> Result<SessionInfo, CallError> {
        let session = self.find(caller, id).await?;
        // It may have been used at another server since it was looked up.
        let session = self.load(&session.record.key).await?.ok_or(CallError::SessionNotFound)?;
        Ok(session.info(self.idle))
    }

    /// Removes a session for good. Whoever does so ends it then; see [`Registry::ending`].
    pub(crate) async fn remove(&self, caller: &Caller, id: &SessionId) -> Result<Arc<Session>, CallError> {
        let session = self.find(caller, id).await?;
        if !self.store.remove(&session.record.key).await? {
            self.table().forget(&session.record.key);
            return Err(CallError::SessionNotFound);
        }
        self.retire(&session);
        Ok(session)
    }

    /// The removed sessions that are left to be ended and that no call is in at this server.
    pub(crate) async fn ending(&self) -> Result<Vec<SessionKey>> {
        let mut ending = self.store.ending(STEP).await?;
        let mut table = self.table();
        table.leaving.retain(|_, session| !session.usage.is_quiet());
        // One that is just being removed here is still among the handles.
        let handles = (!Fault::SessionEndsUnderItsCalls.is_planted()).then_some(&table.handles);
        ending.retain(|key| {
            let mut here =
                table.leaving.get(key).into_iter().chain(handles.and_then(|handles| handles.get(key)));
            here.all(|session| session.usage.is_quiet())
        });
        Ok(ending)
    }

    /// What is left to do for a removed session was done.
    pub(crate) async fn ended(&self, key: &SessionKey) -> Result<()> {
        self.table().leaving.remove(key);
        self.store.ended(key).await
    }

    /// Whether a session is gone, at whichever server, and no call is in it any more at this one.
    pub(crate) async fn is_over(&self, key: &SessionKey) -> bool {
        let here = {
            let table = self.table();
            table.handles.get(key).or_else(|| table.leaving.get(key)).cloned()
        };
        if here.is_some_and(|session| self.is_known(&session) || !session.usage.is_quiet()) {
            return false;
        }
        matches!(self.load(key).await, Ok(None))
    }

    /// How many sessions have a handle here.
    pub(crate) fn in_use(&self) -> u64 {
        self.table().handles.len() as u64
    }

    /// A page of the caller's sessions, oldest first.
    pub(crate) async fn page(
        &self,
        caller: &Caller,
        page_size: Option<u32>,
        page_token: Option<&str>,
    ) -> Result<SessionPage, CallError> {
        let after = page::read_token(caller, page_token)?;
        let size = page::size(page_size);
        self.expire().await?;
        let mut rows = self.store.page(caller, after, size + 1).await?;
        let has_more = rows.len() > size;
        rows.truncate(size);
        let last = rows.last().map(|(serial, _)| *serial).filter(|_| has_more);
        let next_page_token = last.map(|serial| page::token(caller, serial));
        let table = self.table();
        let sessions = rows.iter().map(|(_, record)| match table.handles.get(&record.key) {
            Some(session) => {
                session.usage.heard(record.last_used);
                session.info(self.idle)
            }
            None => info(record, record.last_used, self.idle),
        });
        Ok(SessionPage { sessions: sessions.collect(), next_page_token })
    }

    /// Removes the sessions that nobody used for too long, at whichever server.
    pub(crate) async fn expire(&self) -> Result<()> {
        let Some(limit) = self.unused_limit() else { return Ok(()) };
        loop {
            let unused = self.store.unused_since(limit, STEP).await?;
            let mut removed = 0;
            for record in &unused {
                let session = self.table().handles.get(&record.key).cloned();
                let in_use = session.as_ref().and_then(|session| self.use_after(session, limit));
                match (in_use, session) {
                    (Some(time), _) => self.store.touch(&record.key, time).await?,
                    (None, session) if self.store.remove_unused(&record.key, limit).await? => {
                        removed += 1;
                        session.iter().for_each(|session| self.retire(session));
                    }
                    (None, _) => {}
                }
            }
            if unused.len() < STEP || removed == 0 {
                return Ok(());
            }
        }
    }

    /// Drops the handles that were not used for long, and tells the store what it does not know of the others.
    pub(crate) async fn sweep(&self) {
        let now = self.clock.now();
        let handles: Vec<Arc<Session>> = {
            let mut table = self.table();
            if now < table.next_sweep {
                return;
            }
            table.next_sweep = Timestamp(now.0.saturating_add(milliseconds(TOUCH_INTERVAL)));
            table.handles.values().cloned().collect()
        };
        let unused_limit = Timestamp(now.0.saturating_sub(milliseconds(HANDLE_IDLE)));
        for session in handles {
            if !session.usage.is_quiet() {
                session.usage.touch(now);
            }
            if let Some(last_used) = session.usage.news(Duration::ZERO) {
                self.tell(&session, last_used).await;
            }
            self.drop_handle(session, unused_limit);
        }
    }

    /// The session, if it is this caller's and its time is not over.
    async fn find(&self, caller: &Caller, id: &SessionId) -> Result<Arc<Session>, CallError> {
        let key = id.key();
        let cached = self.table().handles.get(&key).cloned();
        let session = match cached {
            Some(session) if self.is_known(&session) => session,
            Some(_) | None => self.load(&key).await?.ok_or(CallError::SessionNotFound)?,
        };
        if session.record.owner != *caller || self.has_expired(&session).await? {
            return Err(CallError::SessionNotFound);
        }
        Ok(session)
    }

    /// Looks a session up in the store.
    async fn load(&self, key: &SessionKey) -> Result<Option<Arc<Session>>> {
        let removals = self.store.removals();
        let found = self.store.find(key).await?;
        let mut table = self.table();
        let Some(record) = found else {
            table.forget(key);
            return Ok(None);
        };
        let last_used = record.last_used;
        let handle = table.handles.entry(key.clone());
        let session = handle.or_insert_with(|| Arc::new(Session::known_at(record, removals)));
        session.known_at.store(removals, Ordering::Release);
        session.usage.heard(last_used);
        Ok(Some(Arc::clone(session)))
    }

    /// Whether nothing was removed since the session was last looked up.
    fn is_known(&self, session: &Session) -> bool {
        session.known_at.load(Ordering::Acquire) == self.store.removals()
    }

    /// Removes the session if its time is over; whether it is gone.
    async fn has_expired(&self, session: &Arc<Session>) -> Result<bool> {
        let Some(limit) = self.unused_limit() else { return Ok(false) };
        if self.use_after(session, limit).is_some() {
            return Ok(false);
        }
        if self.store.remove_unused(&session.record.key, limit).await? {
            self.retire(session);
            return Ok(true);
        }
        // It was used at another server, or removed there.
        Ok(self.load(&session.record.key).await?.is_none())
    }

    /// The last use, if it was after `limit`. A call that is in the session uses it.
    fn use_after(&self, session: &Session, limit: Timestamp) -> Option<Timestamp> {
        let last_used = session.usage.last_used();
        if last_used > limit {
            return Some(last_used);
        }
        (!session.usage.is_quiet()).then(|| self.clock.now())
    }

    /// Whatever was last used at this time or before is over; `None`: nothing ever is.
    fn unused_limit(&self) -> Option<Timestamp> {
        let kept_for = milliseconds(self.idle?).saturating_add(milliseconds(self.grace));
        Some(Timestamp(self.clock.now().0.saturating_sub(kept_for)))
    }

    /// Tells the store of a use. A touch that is lost may cost the session a part of its time, and no call.
    async fn tell(&self, session: &Session, last_used: Timestamp) {
        if let Err(failure) = self.store.touch(&session.record.key, last_used).await {
            let (session, code) = (&session.record.name, failure.code());
            tracing::warn!(%session, %code, "the use of a session was not noted");
        }
    }

    /// The session was removed here.
    fn retire(&self, session: &Arc<Session>) {
        let mut table = self.table();
        table.handles.remove(&session.record.key);
        if !session.usage.is_quiet() {
            table.leaving.insert(session.record.key.clone(), Arc::clone(session));
        }
    }

    /// Drops a handle that was not used since `limit` and that nobody else holds.
    fn drop_handle(&self, session: Arc<Session>, limit: Timestamp) {
        let mut table = self.table();
        // The table has one and this is the other; with the table locked nobody gets a third.
        if Arc::strong_count(&session) == 2 && session.usage.last_used() <= limit {
            table.handles.remove(&session.record.key);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many handles are kept, of sessions in use and of those that are leaving.
    #[cfg(test)]
    pub(crate) fn handle_counts(&self) -> (usize, usize) {
        let table = self.table();
        (table.handles.len(), table.leaving.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicI64;

    use toolfs_core::id::SessionName;
    use toolfs_core::target::{Target, TargetKey};

    use super::super::session::SessionMode;
    use super::super::store::MemorySessionStore;
    use super::*;

    #[derive(Debug)]
    struct ManualClock(AtomicI64);

    impl ManualClock {
        fn advance(&self, by: Duration) {
            self.0.fetch_add(milliseconds(by), Ordering::SeqCst);
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::SeqCst))
        }
    }

    fn id(number: u8) -> SessionId {
        SessionId::from_random([number; 16])
    }

    fn record(number: u8) -> SessionRecord {
        let directory = Target {
            key: TargetKey::new(*b"/"),
            raw_path: b"/".to_vec(),
            process_path: Vec::new(),
            display_path: "/".into(),
            file_url: String::new(),
            protected_rule: None,
        };
        SessionRecord {
            key: id(number).key(),
            name: SessionName::from_random([number; 8]),
            owner: Caller::Local,
            cwd: directory,
            roots: Vec::new(),
            shown_roots: Vec::new(),
            labels: BTreeMap::new(),
            mode: SessionMode::WorkspaceWrite,
            created: Timestamp(0),
            last_used: Timestamp(0),
        }
    }

    #[tokio::test]
    async fn only_sessions_in_use_have_handles() {
        let clock = Arc::new(ManualClock(AtomicI64::new(0)));
        let store = Arc::new(MemorySessionStore::new());
        let registry = Registry::new(store.clone(), clock.clone(), None, 100);
        for number in 0..10 {
            registry.insert(record(number)).await.unwrap();
        }
        assert_eq!(registry.handle_counts(), (10, 0));
        let in_a_call = registry.enter(&Caller::Local, &id(0)).await.unwrap();
        clock.advance(HANDLE_IDLE);
        registry.enter(&Caller::Local, &id(1)).await.unwrap();
        registry.sweep().await;
        assert_eq!(registry.handle_counts(), (2, 0));
        // The sessions are still there, and what the store knows of their use is up to date.
        assert!(registry.look(&Caller::Local, &id(9)).await.is_ok());
        assert_eq!(store.find(&id(0).key()).await.unwrap().unwrap().last_used, clock.now());
        drop(in_a_call);
        clock.advance(HANDLE_IDLE * 2);
        registry.sweep().await;
        assert_eq!(registry.handle_counts(), (0, 0));
    }

    #[expect(clippy::disallowed_methods, reason = "nothing is served here that would drain")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_call_is_refused_because_of_another_or_because_somebody_looks() {
        const CALLS: usize = 20_000;
        const CALLERS: usize = 8;
        let clock = Arc::new(ManualClock(AtomicI64::new(0)));
        let idle = Duration::from_secs(1 << 40);
        let store = Arc::new(MemorySessionStore::new());
        let registry = Arc::new(Registry::new(store, clock.clone(), Some(idle), 100));
        registry.insert(record(1)).await.unwrap();
        let callers = (0..CALLERS).map(|_| {
            let registry = Arc::clone(&registry);
            tokio::task::spawn(async move {
                for _ in 0..CALLS / CALLERS {
                    registry.enter(&Caller::Local, &id(1)).await.unwrap();
                }
            })
        });
        let callers: Vec<_> = callers.collect();
        while !callers.iter().all(|caller| caller.is_finished()) {
            clock.advance(TOUCH_INTERVAL);
            registry.sweep().await;
            let looked_at = registry.find(&Caller::Local, &id(1)).await.unwrap();
            // A look that refused calls would do so for some nanoseconds: it takes many to meet one.
            for _ in 0..10_000 {
                std::hint::black_box(looked_at.usage.is_quiet());
            }
        }
        for caller in callers {
            caller.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_call_keeps_its_session_however_long_it_takes() {
        let clock = Arc::new(ManualClock(AtomicI64::new(0)));
        let idle = Duration::from_secs(600);
        let registry = Registry::new(Arc::new(MemorySessionStore::new()), clock.clone(), Some(idle), 100);
        registry.insert(record(1)).await.unwrap();
        let in_a_call = registry.enter(&Caller::Local, &id(1)).await.unwrap();
        clock.advance(idle * 3);
        registry.expire().await.unwrap();
        assert!(registry.look(&Caller::Local, &id(1)).await.is_ok());
        drop(in_a_call);
        clock.advance(idle * 3);
        assert!(matches!(registry.look(&Caller::Local, &id(1)).await, Err(CallError::SessionNotFound)));
    }

    #[tokio::test]
    async fn a_removed_session_leaves_no_handle() {
        let clock = Arc::new(ManualClock(AtomicI64::new(0)));
        let registry = Registry::new(Arc::new(MemorySessionStore::new()), clock, None, 100);
        registry.insert(record(1)).await.unwrap();
        let in_a_call = registry.enter(&Caller::Local, &id(1)).await.unwrap();
        let session = registry.remove(&Caller::Local, &id(1)).await.unwrap();
        // It is not ended here as long as a call is in it.
        assert!(registry.ending().await.unwrap().is_empty());
        drop(in_a_call);
        assert_eq!(registry.ending().await.unwrap(), std::slice::from_ref(&session.record.key));
        registry.ended(&session.record.key).await.unwrap();
        assert_eq!(registry.handle_counts(), (0, 0));
    }
}
