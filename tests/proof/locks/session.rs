//! What is tried of the table of sessions: a server's calls, closes and expiry, as the executor makes them.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use shuttle::rand::Rng as _;
use toolfs_core::clock::{Clock, Order, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::id::{SessionId, SessionKey, SessionName};
use toolfs_core::target::{Target, TargetKey};
use toolfs_tools::{CallError, Caller, Insertion, SessionMode, SessionRecord, SessionStore};

use super::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use super::sync::{Arc, perhaps};
use super::tools::memory_session::MemorySessionStore;
use super::tools::registry::Registry;

const IDLE: Duration = Duration::from_secs(600);
/// Longer than the idle time, and than a handle is kept.
const LONG: Duration = Duration::from_secs(3_600);

/// A store that lets others go on, and callers give up, before and after each operation.
#[derive(Debug)]
struct Pausing {
    store: MemorySessionStore,
    is_persistent: bool,
}

#[async_trait]
impl SessionStore for Pausing {
    fn is_persistent(&self) -> bool {
        self.is_persistent
    }

    fn removals(&self) -> u64 {
        self.store.removals()
    }

    fn next_order(&self, now: Timestamp) -> Order {
        self.store.next_order(now)
    }

    async fn insert(&self, session: SessionRecord, max_sessions: u64) -> Result<Insertion> {
        paused(self.store.insert(session, max_sessions)).await
    }

    async fn find(&self, key: &SessionKey) -> Result<Option<SessionRecord>> {
        paused(self.store.find(key)).await
    }

    async fn touch(&self, key: &SessionKey, last_used: Timestamp) -> Result<()> {
        paused(self.store.touch(key, last_used)).await
    }

    async fn remove(&self, key: &SessionKey) -> Result<bool> {
        paused(self.store.remove(key)).await
    }

    async fn remove_unused(&self, key: &SessionKey, time: Timestamp) -> Result<bool> {
        paused(self.store.remove_unused(key, time)).await
    }

    async fn unused_since(&self, time: Timestamp, count: usize) -> Result<Vec<SessionRecord>> {
        paused(self.store.unused_since(time, count)).await
    }

    async fn page(&self, owner: &Caller, after: u64, count: usize) -> Result<Vec<(u64, SessionRecord)>> {
        paused(self.store.page(owner, after, count)).await
    }

    async fn ending(&self, count: usize) -> Result<Vec<SessionKey>> {
        paused(self.store.ending(count)).await
    }

    async fn ended(&self, key: &SessionKey) -> Result<()> {
        paused(self.store.ended(key)).await
    }
}

async fn paused<T>(operation: impl Future<Output = T>) -> T {
    yield_now().await;
    let done = operation.await;
    yield_now().await;
    done
}

#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl SetClock {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A server with one session.
#[derive(Clone)]
struct Server {
    registry: Arc<Registry>,
    store: Arc<Pausing>,
    clock: Arc<SetClock>,
    /// How many calls are in the session at this server.
    inside: Arc<AtomicUsize>,
    /// Somebody was told that the session is gone, or that it is closed.
    is_gone: Arc<AtomicBool>,
    /// The gate was told of the session's end.
    has_ended: Arc<AtomicBool>,
}

impl Server {
    fn new() -> Server {
        let store =
            Pausing { store: MemorySessionStore::new(), is_persistent: shuttle::rand::thread_rng().r#gen() };
        let server = Server::on(Arc::new(store), Arc::default(), Arc::default());
        assert!(block_on(server.registry.insert(record(1))).unwrap().is_some());
        server
    }

    fn on(store: Arc<Pausing>, clock: Arc<SetClock>, is_gone: Arc<AtomicBool>) -> Server {
        let registry = Registry::new(Arc::clone(&store) as _, Arc::clone(&clock) as _, Some(IDLE), 2);
        let (registry, inside, has_ended) = (Arc::new(registry), Arc::default(), Arc::default());
        Server { registry, store, clock, inside, is_gone, has_ended }
    }

    /// Another server on the same state.
    fn another(&self) -> Server {
        Server::on(Arc::clone(&self.store), Arc::clone(&self.clock), Arc::clone(&self.is_gone))
    }

    /// A call in the session; whether there was one.
    async fn call(self) -> bool {
        let was_gone = self.is_gone.load(Ordering::SeqCst);
        let _entered = match self.registry.enter(&Caller::Local, &id(1)).await {
            Ok(entered) => entered,
            Err(refused) => {
                self.gone(&refused);
                return false;
            }
        };
        assert!(!was_gone, "a session that was gone is back");
        self.inside.fetch_add(1, Ordering::SeqCst);
        // Dropped first: whoever sees that the call has ended must not count it any more.
        let _leaves = Leaves(&self.inside);
        assert!(!self.has_ended.load(Ordering::SeqCst), "a call is in a session that has ended");
        yield_now().await;
        assert!(!self.has_ended.load(Ordering::SeqCst), "a session has ended with a call in it");
        true
    }

    /// Closes the session, as the executor does; whether it was this one that did.
    async fn close(self) -> bool {
        let session = match self.registry.remove(&Caller::Local, &id(1)).await {
            Ok(session) => session,
            Err(refused) => {
                self.gone(&refused);
                return false;
            }
        };
        self.is_gone.store(true, Ordering::SeqCst);
        session.usage.calls_ended().await;
        self.finish_end(&session.record.key).await;
        true
    }

    /// Ends what is left to be ended, as the executor does from time to time.
    async fn end_sessions(self) {
        self.registry.sweep().await;
        self.registry.expire().await.unwrap();
        for session in self.registry.ending().await.unwrap() {
            self.finish_end(&session).await;
        }
    }

    async fn finish_end(&self, session: &SessionKey) {
        assert!(!self.has_call(), "a session ends with a call in it");
        self.has_ended.store(true, Ordering::SeqCst);
        self.registry.ended(session).await.unwrap();
    }

    fn has_call(&self) -> bool {
        self.inside.load(Ordering::SeqCst) > 0
    }

    fn gone(&self, refused: &CallError) {
        assert!(matches!(refused, CallError::SessionNotFound), "{refused:?}");
        self.is_gone.store(true, Ordering::SeqCst);
    }

    /// Long after the last call nothing is left of the session, at this server or in the store.
    fn nothing_is_left(&self) {
        self.clock.advance(LONG);
        block_on(self.clone().end_sessions());
        assert!(!block_on(self.clone().call()), "the session is still there");
        assert_eq!(self.registry.handle_counts(), (0, 0), "a handle is left");
        assert!(block_on(self.store.ending(9)).unwrap().is_empty(), "an end is left to do");
    }
}

/// Counts a call out of the session, also when it is given up.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
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

fn wait_for<T>(tasks: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    tasks.into_iter().map(|task| block_on(task).expect("no task here is cancelled")).collect()
}

pub(crate) fn closed_under_calls() {
    let server = Server::new();
    let callers = [0; 3].map(|_| spawn(server.clone().call()));
    let closer = spawn(server.clone().close());
    let keeper = spawn(server.clone().end_sessions());
    wait_for(callers);
    assert!(block_on(closer).unwrap(), "the only one who closes finds nothing");
    block_on(keeper).unwrap();
    assert!(server.has_ended.load(Ordering::SeqCst));
    server.nothing_is_left();
}

pub(crate) fn closed_twice() {
    let server = Server::new();
    let caller = spawn(server.clone().call());
    let closers = [0; 2].map(|_| spawn(server.clone().close()));
    let closed = wait_for(closers);
    assert_eq!(closed.iter().filter(|&&closed| closed).count(), 1, "not exactly one has closed it");
    block_on(caller).unwrap();
    server.nothing_is_left();
}

/// Callers and closers go away at any moment; whoever keeps time finishes what they left.
pub(crate) fn given_up() {
    let server = Server::new();
    let given_up = [
        spawn(perhaps(server.clone().call())),
        spawn(perhaps(server.clone().call())),
        spawn(perhaps(server.clone().close())),
    ];
    let stays = spawn(server.clone().call());
    let keeper = spawn(server.clone().end_sessions());
    wait_for(given_up);
    block_on(stays).unwrap();
    block_on(keeper).unwrap();
    server.nothing_is_left();
    assert!(server.has_ended.load(Ordering::SeqCst), "the gate was not told of the end");
}

pub(crate) fn expires_under_calls() {
    let server = Server::new();
    let callers = [0; 3].map(|_| spawn(server.clone().call()));
    let keepers = [spawn(server.clone().end_sessions()), spawn(server.clone().end_sessions())];
    server.clock.advance(LONG);
    wait_for(callers);
    wait_for(keepers);
    server.nothing_is_left();
    assert!(server.has_ended.load(Ordering::SeqCst), "the gate was not told of the end");
}

/// What ends at the other server cannot wait for the calls that are here; but none comes in afterwards.
pub(crate) fn closed_at_another_server() {
    let server = Server::new();
    let other = server.another();
    let callers = [0; 3].map(|_| spawn(server.clone().call()));
    let there = [spawn(other.clone().call()), spawn(other.clone().close())];
    wait_for(callers);
    wait_for(there);
    assert!(!block_on(server.clone().call()), "the closed session is still here");
    server.nothing_is_left();
    other.nothing_is_left();
}

/// Three want to open a session where two may be open, and one that is open is closed.
pub(crate) fn only_so_many() {
    let server = Server::new();
    let openers = [2, 3, 3].map(|number| {
        let server = server.clone();
        spawn(async move {
            let opened = server.registry.insert(record(number)).await;
            let kept = server.store.page(&Caller::Local, 0, 9).await.unwrap();
            assert!(kept.len() <= 2, "too many sessions are open");
            match opened {
                Ok(opened) => opened.is_some(),
                Err(CallError::TooManySessions { limit: 2 }) => false,
                Err(refused) => panic!("{refused:?}"),
            }
        })
    });
    let closer = spawn(server.clone().close());
    let opened = wait_for(openers).into_iter().filter(|&opened| opened).count();
    assert!(block_on(closer).unwrap());
    assert!(opened == 1 || opened == 2, "{opened} sessions were opened where one or two could be");
    assert_eq!(block_on(server.store.page(&Caller::Local, 0, 9)).unwrap().len(), opened);
    server.nothing_is_left();
}
