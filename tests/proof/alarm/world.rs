//! What a case runs on: one server or two over the same files, with sessions that outlive them.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tempfile::TempDir;
use toolfs_core::argument::RawCall;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::id::SessionId;
use toolfs_core::limit::Limits;
use toolfs_core::outcome::ToolResult;
use toolfs_policy::{MemoryObservationStore, ObservationStore};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_server::clock::SystemClock;
use toolfs_state_embedded::{EmbeddedState, StateOptions};
use toolfs_tools::{
    CallStore, Caller, ExecuteRequest, Executor, MemorySessionStore, OpenSession, SessionStore,
};

use super::place::Place;
use super::repository::no_process_starts;
use crate::executor::{Footing, MAX_REMEMBERED_BYTES, REQUEST_ID_WINDOW, calls_in_memory};

/// How far the clock of a server may be ahead, so that every file has been left alone for long enough.
const AHEAD_MS: i64 = 60_000;

/// What keeps sessions and observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    Memory,
    /// A database, which writes observations this much later.
    Embedded {
        write_behind: Duration,
    },
}

/// How servers end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Drained,
    Killed,
}

/// What the servers of a case are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) servers: usize,
    pub(super) store: Store,
    /// Whether what a pass learned may be remembered at once.
    pub(super) clock_is_ahead: bool,
    /// Whether names can be exchanged.
    pub(super) exchange: bool,
    /// Whether the servers know of each other, and keep a journal.
    pub(super) has_state: bool,
    pub(super) durability: Durability,
    /// Whether every file is edited in a stream, as large ones are.
    pub(super) streams: bool,
}

/// The pieces of such a stream.
const PIECE_BYTES: NonZeroUsize = NonZeroUsize::new(1 << 10).expect("it is not nothing");

impl Plan {
    pub(super) fn draw(rng: &mut Rng, place: &Place) -> Plan {
        let servers = if rng.u32(..4) == 0 { 2 } else { 1 };
        let store = match rng.u32(..10) {
            // Two servers share what one process keeps in memory.
            _ if servers > 1 => Store::Memory,
            0 => Store::Embedded { write_behind: Duration::ZERO },
            1 => Store::Embedded { write_behind: Duration::from_secs(3_600) },
            _ => Store::Memory,
        };
        Plan {
            servers,
            store,
            clock_is_ahead: place.stamps_each_change && rng.u32(..4) > 0,
            exchange: rng.u32(..6) > 0,
            has_state: servers > 1 || rng.u32(..4) == 0,
            durability: if rng.u32(..20) == 0 { Durability::Full } else { Durability::None },
            streams: rng.u32(..4) == 0,
        }
    }
}

/// The stores in use.
#[derive(Debug)]
enum Stores {
    Memory { sessions: Arc<MemorySessionStore>, observations: Arc<MemoryObservationStore> },
    Embedded { state: Arc<EmbeddedState>, write_behind: Duration },
}

/// A world.
#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    // The order is the one in which they go.
    servers: Vec<Arc<Executor>>,
    stores: Stores,
    clock: Arc<Ticking>,
    runtime: tokio::runtime::Runtime,
    directory: TempDir,
}

impl World {
    /// # Errors
    /// What hindered it.
    pub(super) fn new(place: &Place, plan: Plan) -> Result<World, String> {
        let directory = place.directory().map_err(|error| error.to_string())?;
        std::fs::create_dir(directory.path().join("root")).map_err(|error| error.to_string())?;
        let base = if plan.clock_is_ahead { SystemClock.now().0 + AHEAD_MS } else { 1 };
        let clock = Arc::new(Ticking(AtomicI64::new(base)));
        let stores = match plan.store {
            Store::Memory => Stores::Memory { sessions: Arc::default(), observations: Arc::default() },
            Store::Embedded { write_behind } => {
                let state = open_state(directory.path(), write_behind, &clock);
                Stores::Embedded { state, write_behind }
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut world = World { plan, servers: Vec::new(), stores, clock, runtime, directory };
        world.start()?;
        Ok(world)
    }

    /// What is served.
    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn start(&mut self) -> Result<(), String> {
        for _ in 0..self.plan.servers {
            let beside = |name: &str| self.plan.has_state.then(|| self.directory.path().join(name));
            let options = LocalOptions {
                durability: self.plan.durability,
                force_plain_rename: !self.plan.exchange,
                force_streaming: self.plan.streams.then_some(PIECE_BYTES),
                recovery: beside("recovery"),
                runtime: beside("runtime"),
                ..LocalOptions::new(Arc::clone(&self.clock) as _)
            };
            let provider = LocalProvider::open(&[RootSpec::new(self.root())], options);
            let provider = provider.map_err(|error| error.to_string())?;
            let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as _;
            let (sessions, observations, calls): (
                Arc<dyn SessionStore>,
                Arc<dyn ObservationStore>,
                Arc<dyn CallStore>,
            ) = match &self.stores {
                Stores::Memory { sessions, observations } => {
                    (Arc::clone(sessions) as _, Arc::clone(observations) as _, calls_in_memory(&clock))
                }
                Stores::Embedded { state, .. } => {
                    (Arc::clone(state) as _, Arc::clone(state) as _, Arc::clone(state) as _)
                }
            };
            let footing = Footing {
                provider: Arc::new(provider),
                observations: Some(observations),
                sessions,
                calls,
                clock,
                limits: Limits::DEFAULT,
            };
            self.servers.push(footing.executor());
        }
        Ok(())
    }

    /// Ends all servers, and starts others on what they left.
    ///
    /// # Errors
    /// What hindered them.
    pub(super) fn restart(&mut self, end: End) -> Result<(), String> {
        self.servers.clear();
        if let Stores::Embedded { state, write_behind } = &mut self.stores {
            match end {
                End::Drained => state.close(),
                End::Killed => state.crash(),
            }
            *state = open_state(self.directory.path(), *write_behind, &self.clock);
        }
        self.start()
    }

    /// # Errors
    /// What hindered it.
    pub(super) fn open_session(&self) -> Result<SessionId, String> {
        let abort = AbortSignal::new();
        let opening = self.servers[0].open_session(&abort, Caller::Local, OpenSession::default());
        Ok(self.runtime.block_on(opening).map_err(|error| error.to_string())?.id)
    }

    /// Calls a tool by one of the servers.
    ///
    /// # Errors
    /// When the call reached no tool.
    pub(super) fn call(
        &self,
        server: usize,
        session: &SessionId,
        call: RawCall,
        dry_run: bool,
    ) -> Result<ToolResult, String> {
        let request = ExecuteRequest {
            caller: Caller::Local,
            session: Some(session.clone()),
            request_id: None,
            tool_call_id: String::new(),
            dry_run,
            want_diff: false,
            call: Some(call),
        };
        let _undisturbed = no_process_starts();
        let answer = self.runtime.block_on(self.servers[server].execute(&AbortSignal::new(), request));
        answer.map(|answer| answer.result).map_err(|error| format!("it reached no tool: {error}"))
    }
}

fn open_state(directory: &Path, write_behind: Duration, clock: &Arc<Ticking>) -> Arc<EmbeddedState> {
    let options = StateOptions {
        write_behind,
        request_id_window: REQUEST_ID_WINDOW,
        max_remembered_bytes: MAX_REMEMBERED_BYTES,
        clock: Arc::clone(clock) as _,
    };
    Arc::new(EmbeddedState::open(&directory.join("state"), options).unwrap())
}

/// A clock that moves on by being looked at, so that a case depends on its seed alone.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
