//! Remembered calls in memory, gone with the process: the reference for every other store of them.
//!
//! Several servers of one process may share the memory (see [`MemoryCallStore::beside`]); one of them is gone when its
//! store is dropped.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::id::{RequestId, SessionKey};

use super::{Beginning, CallKey, CallRecord, CallState, CallStore, DecidedGuard, Ending, Fingerprint};

/// What a call costs beside its result: its key, its fingerprint, its share of the tables.
const CALL_BYTES: u64 = 400;

/// The results of calls in memory.
///
/// - an ended call is forgotten when it ended longer ago than the window, or, the oldest ones first, when all together
///   are above the bytes that were allowed
/// - a call that a server noted and left is forgotten when the window has passed since it was noted
/// - a call that a running server noted stays
pub struct MemoryCallStore {
    shared: Arc<Shared>,
    /// As long as this is there, the server is.
    life: Arc<()>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    window_ms: i64,
    max_bytes: u64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// By session, which ends as a whole.
    calls: HashMap<SessionKey, HashMap<RequestId, Call>>,
    /// The ended calls in the order in which they ended.
    ended: BTreeMap<End, CallKey>,
    last_end: u64,
    /// How many calls are noted and have not ended.
    begun: usize,
    /// Bytes of ended calls.
    bytes: u64,
    /// How many noted calls there must be before those of servers that are gone are looked for.
    sweep_at: usize,
}

/// When a call ended; the number tells those of one millisecond apart.
type End = (Timestamp, u64);

struct Call {
    fingerprint: Fingerprint,
    state: State,
}

enum State {
    Begun { since: Timestamp, guard: DecidedGuard, server: Weak<()> },
    Ended { end: End, result: Vec<u8> },
}

impl MemoryCallStore {
    /// A store that forgets a call once `window` has passed since it ended, and keeps results of at most `max_bytes`.
    pub fn new(clock: Arc<dyn Clock>, window: Duration, max_bytes: u64) -> MemoryCallStore {
        let window_ms = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        let shared = Shared { clock, window_ms, max_bytes, table: Mutex::default() };
        MemoryCallStore { shared: Arc::new(shared), life: Arc::new(()) }
    }

    /// The store of another server that shares this memory.
    #[must_use]
    pub fn beside(&self) -> MemoryCallStore {
        MemoryCallStore { shared: Arc::clone(&self.shared), life: Arc::new(()) }
    }

    /// The calls that are not over yet.
    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.shared.lock();
        table.make_room(self.shared.over(), self.shared.max_bytes);
        table
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What ended at this time or before is over.
    fn over(&self) -> Timestamp {
        Timestamp(self.clock.now().0.saturating_sub(self.window_ms))
    }
}

impl fmt::Debug for MemoryCallStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.shared.lock();
        f.debug_struct("MemoryCallStore")
            .field("begun", &table.begun)
            .field("ended", &table.ended.len())
            .field("bytes", &table.bytes)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl CallStore for MemoryCallStore {
    async fn find(&self, key: &CallKey) -> Result<Option<CallRecord>> {
        Ok(self.table().get(key, self.shared.over()).map(Call::record))
    }

    async fn begin(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        guard: &DecidedGuard,
        now: Timestamp,
    ) -> Result<Beginning> {
        let mut table = self.table();
        let guard = match table.get(key, self.shared.over()) {
            None => guard.clone(),
            Some(call) => match call.left_guard() {
                Some(guard) if call.fingerprint == *fingerprint => guard.clone(),
                Some(_) | None => return Ok(Beginning::Known(call.record())),
            },
        };
        let server = Arc::downgrade(&self.life);
        let state = State::Begun { since: now, guard: guard.clone(), server };
        table.put(key, Call { fingerprint: *fingerprint, state });
        Ok(Beginning::Noted(guard))
    }

    async fn end(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        result: Vec<u8>,
        resumes: bool,
        now: Timestamp,
    ) -> Result<Ending> {
        let mut table = self.table();
        if let Some(call) = table.get(key, self.shared.over())
            && (call.fingerprint != *fingerprint
                || !(call.is_run_by(&self.life) || (resumes && call.left_guard().is_some())))
        {
            return Ok(Ending::Known(call.record()));
        }
        table.last_end += 1;
        let state = State::Ended { end: (now, table.last_end), result };
        table.put(key, Call { fingerprint: *fingerprint, state });
        table.make_room(self.shared.over(), self.shared.max_bytes);
        Ok(Ending::Remembered)
    }

    async fn release(&self, key: &CallKey) -> Result<()> {
        let mut table = self.table();
        if let Some(call) = table.get_mut(key).filter(|call| call.is_run_by(&self.life)) {
            call.leave();
        }
        Ok(())
    }

    async fn abandon(&self, key: &CallKey) -> Result<()> {
        let mut table = self.table();
        // One that another server took over is that server's.
        if table.get_mut(key).is_some_and(|call| call.is_run_by(&self.life)) {
            table.forget(key);
        }
        Ok(())
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        let mut table = self.table();
        for call in table.calls.remove(session).into_iter().flat_map(HashMap::into_values) {
            table.let_go(&call);
        }
        Ok(())
    }
}

impl Table {
    /// The call, unless its time was over at `over`.
    fn get(&self, key: &CallKey, over: Timestamp) -> Option<&Call> {
        self.calls.get(&key.session)?.get(&key.request).filter(|call| !call.is_over(over))
    }

    fn get_mut(&mut self, key: &CallKey) -> Option<&mut Call> {
        self.calls.get_mut(&key.session)?.get_mut(&key.request)
    }

    fn put(&mut self, key: &CallKey, call: Call) {
        match &call.state {
            State::Begun { .. } => self.begun += 1,
            State::Ended { end, result } => {
                self.bytes += bytes_of(result);
                self.ended.insert(*end, key.clone());
            }
        }
        let before = self.calls.entry(key.session.clone()).or_default().insert(key.request.clone(), call);
        if let Some(before) = before {
            self.let_go(&before);
        }
    }

    fn forget(&mut self, key: &CallKey) {
        let Some(calls) = self.calls.get_mut(&key.session) else { return };
        let Some(call) = calls.remove(&key.request) else { return };
        if calls.is_empty() {
            self.calls.remove(&key.session);
        }
        self.let_go(&call);
    }

    /// Takes a call that is in the table no more out of the counts.
    fn let_go(&mut self, call: &Call) {
        match &call.state {
            State::Begun { .. } => self.begun -= 1,
            State::Ended { end, result } => {
                self.bytes -= bytes_of(result);
                self.ended.remove(end);
            }
        }
    }

    /// Forgets the calls that ended at `over` or before, and as many of the others as are too much.
    fn make_room(&mut self, over: Timestamp, max_bytes: u64) {
        while let Some(((ended, _), key)) = self.ended.first_key_value()
            && (*ended <= over || self.bytes > max_bytes)
        {
            let key = key.clone();
            self.forget(&key);
        }
        if self.begun > self.sweep_at {
            self.forget_left_calls(over);
            // Looking through all calls is paid for by as many new ones.
            self.sweep_at = self.begun * 2 + 1_000;
        }
    }

    fn forget_left_calls(&mut self, over: Timestamp) {
        let left = self.calls.iter().flat_map(|(session, calls)| {
            let of_session = calls.iter().filter(|(_, call)| call.is_over(over));
            of_session.map(|(request, _)| CallKey { session: session.clone(), request: request.clone() })
        });
        for key in left.collect::<Vec<_>>() {
            self.forget(&key);
        }
    }
}

impl Call {
    /// Whether its time was over at `over`. That of a call which a server runs never is.
    fn is_over(&self, over: Timestamp) -> bool {
        match &self.state {
            State::Begun { since, server, .. } => server.strong_count() == 0 && *since <= over,
            State::Ended { end: (ended, _), .. } => *ended <= over,
        }
    }

    /// Whether the server of this life noted it, or took it over, and goes on with it.
    fn is_run_by(&self, life: &Arc<()>) -> bool {
        match &self.state {
            State::Begun { server, .. } => server.ptr_eq(&Arc::downgrade(life)),
            State::Ended { .. } => false,
        }
    }

    /// No server runs it any more, if it has not ended.
    fn leave(&mut self) {
        match &mut self.state {
            State::Begun { server, .. } => *server = Weak::new(),
            State::Ended { .. } => {}
        }
    }

    /// The guard of a call that no server runs any more, though it did not end.
    fn left_guard(&self) -> Option<&DecidedGuard> {
        match &self.state {
            State::Begun { guard, server, .. } => (server.strong_count() == 0).then_some(guard),
            State::Ended { .. } => None,
        }
    }

    fn record(&self) -> CallRecord {
        let state = match &self.state {
            State::Begun { guard, server, .. } => {
                CallState::Begun { guard: guard.clone(), is_live: server.strong_count() > 0 }
            }
            State::Ended { result, .. } => CallState::Ended { result: result.clone() },
        };
        CallRecord { fingerprint: self.fingerprint, state }
    }
}

fn bytes_of(result: &[u8]) -> u64 {
    CALL_BYTES + u64::try_from(result.len()).expect("memory has fewer than 2^64 bytes")
}
