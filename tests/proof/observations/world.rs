//! What a case runs on: an executor over a provider and over stores that outlive it, and another hand that reaches the
//! same files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::id::SessionId;
use toolfs_core::limit::Limits;
use toolfs_policy::{MemoryObservationStore, ObservationStore};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::faulty::Faulty;
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_state_embedded::{EmbeddedState, StateOptions};
use toolfs_tools::{CallStore, Caller, Executor, MemorySessionStore, OpenSession, SessionStore};

use crate::executor::{Footing, MAX_REMEMBERED_BYTES, REQUEST_ID_WINDOW, calls_in_memory};

/// The path under which the root is seen.
pub(crate) const ROOT: &str = "/workspace";

/// The other hand.
#[derive(Debug)]
enum Hand {
    Memory(Arc<MemoryProvider>),
    Disk(PathBuf),
}

/// Where files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    Disk,
}

/// What keeps sessions and observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Memory that outlives the executor.
    Memory,
    /// A database, which writes observations this much later.
    Embedded { write_behind: Duration },
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Drained,
    Killed,
}

/// The stores in use, to be used again.
#[derive(Debug)]
enum Stores {
    Memory { sessions: Arc<MemorySessionStore>, observations: Arc<MemoryObservationStore> },
    Embedded { state: Arc<EmbeddedState>, directory: TempDir, write_behind: Duration },
}

#[derive(Debug)]
pub(crate) struct World {
    // The order is the one in which they go.
    pub(crate) executor: Arc<Executor>,
    pub(crate) provider: Arc<Faulty<Arc<dyn Provider>>>,
    stores: Stores,
    clock: Arc<Ticking>,
    hand: Hand,
    _directory: Option<TempDir>,
}

impl World {
    pub(crate) fn new(place: Place, store: Store) -> World {
        let clock = Arc::new(Ticking(AtomicI64::new(1)));
        let (provider, hand, directory): (Arc<dyn Provider>, Hand, Option<TempDir>) = match place {
            Place::Memory => {
                let config =
                    MemoryConfig { clock: Some(Arc::clone(&clock) as _), ..MemoryConfig::with_root(ROOT) };
                let memory = Arc::new(MemoryProvider::new(config).unwrap());
                (Arc::clone(&memory) as _, Hand::Memory(memory), None)
            }
            Place::Disk => {
                let directory = tempfile::tempdir().unwrap();
                // What survives a power cut is not the question here.
                let options = LocalOptions {
                    durability: Durability::None,
                    ..LocalOptions::new(Arc::clone(&clock) as _)
                };
                let roots = [RootSpec::named(directory.path(), ROOT).unwrap()];
                let hand = Hand::Disk(directory.path().to_owned());
                (Arc::new(LocalProvider::open(&roots, options).unwrap()), hand, Some(directory))
            }
        };
        let stores = match store {
            Store::Memory => Stores::Memory { sessions: Arc::default(), observations: Arc::default() },
            Store::Embedded { write_behind } => {
                let directory = tempfile::tempdir().unwrap();
                let state = open_state(directory.path(), write_behind, &clock);
                Stores::Embedded { state, directory, write_behind }
            }
        };
        let provider = Arc::new(Faulty::new(provider));
        let executor = executor(&provider, &stores, &clock);
        World { executor, provider, stores, clock, hand, _directory: directory }
    }

    /// Ends the server, and starts another one on what it left.
    pub(crate) fn restart(&mut self, end: End) {
        if let Stores::Embedded { state, directory, write_behind } = &mut self.stores {
            match end {
                End::Drained => state.close(),
                End::Killed => state.crash(),
            }
            *state = open_state(directory.path(), *write_behind, &self.clock);
        }
        self.executor = executor(&self.provider, &self.stores, &self.clock);
    }

    pub(crate) async fn open(&self) -> SessionId {
        self.executor
            .open_session(&AbortSignal::new(), Caller::Local, OpenSession::default())
            .await
            .unwrap()
            .id
    }

    pub(crate) fn put(&self, file: &str, content: &[u8]) {
        match &self.hand {
            Hand::Memory(memory) => memory.put(&absolute(file), content.to_vec()),
            Hand::Disk(root) => {
                let path = root.join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
        }
    }

    pub(crate) fn get(&self, file: &str) -> Option<Vec<u8>> {
        match &self.hand {
            Hand::Memory(memory) => memory.content(&absolute(file)).map(|content| content.to_vec()),
            Hand::Disk(root) => std::fs::read(root.join(file)).ok(),
        }
    }

    pub(crate) fn remove(&self, file: &str) {
        match &self.hand {
            Hand::Memory(memory) => assert!(memory.remove(&absolute(file))),
            Hand::Disk(root) => std::fs::remove_file(root.join(file)).unwrap(),
        }
    }

    /// Moves the time stamp of a file to another one each time.
    pub(crate) fn touch(&self, file: &str, tick: u64) {
        match &self.hand {
            Hand::Memory(memory) => {
                memory.set_modified(&absolute(file), Timestamp(i64::try_from(tick).unwrap()));
            }
            Hand::Disk(root) => {
                let file = std::fs::OpenOptions::new().write(true).open(root.join(file)).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(tick)).unwrap();
            }
        }
    }
}

fn open_state(directory: &Path, write_behind: Duration, clock: &Arc<Ticking>) -> Arc<EmbeddedState> {
    let options = StateOptions {
        write_behind,
        request_id_window: REQUEST_ID_WINDOW,
        max_remembered_bytes: MAX_REMEMBERED_BYTES,
        clock: Arc::clone(clock) as _,
    };
    Arc::new(EmbeddedState::open(directory, options).unwrap())
}

fn executor(
    provider: &Arc<Faulty<Arc<dyn Provider>>>,
    stores: &Stores,
    clock: &Arc<Ticking>,
) -> Arc<Executor> {
    let (sessions, observations, calls): (
        Arc<dyn SessionStore>,
        Arc<dyn ObservationStore>,
        Arc<dyn CallStore>,
    ) = match stores {
        Stores::Memory { sessions, observations } => {
            let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
            (Arc::clone(sessions) as _, Arc::clone(observations) as _, calls_in_memory(&clock))
        }
        Stores::Embedded { state, .. } => {
            (Arc::clone(state) as _, Arc::clone(state) as _, Arc::clone(state) as _)
        }
    };
    let footing = Footing {
        provider: Arc::clone(provider) as _,
        observations: Some(observations),
        sessions,
        calls,
        clock: Arc::clone(clock) as _,
        limits: Limits::DEFAULT,
    };
    footing.executor()
}

fn absolute(file: &str) -> Vec<u8> {
    format!("{ROOT}/{file}").into_bytes()
}

/// A clock that moves on by being looked at, so that a case depends on its seed alone.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
