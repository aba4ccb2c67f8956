//! An executor in this process, over a provider and stores of a proof's own.

use std::sync::Arc;
use std::time::Duration;

use toolfs_core::clock::Clock;
use toolfs_core::limit::Limits;
use toolfs_policy::{ObservationGate, ObservationStore, PolicyGate};
use toolfs_provider::Provider;
use toolfs_tools::{CallStore, Executor, ExecutorParts, MemoryCallStore, Random, SessionStore};

/// For how long calls are remembered, and how much of them.
pub(crate) const REQUEST_ID_WINDOW: Duration = Duration::from_secs(600);
pub(crate) const MAX_REMEMBERED_BYTES: u64 = 1 << 20;

/// What an executor stands on.
#[derive(Debug)]
pub(crate) struct Footing {
    pub(crate) provider: Arc<dyn Provider>,
    /// Absent: there is no gate.
    pub(crate) observations: Option<Arc<dyn ObservationStore>>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) calls: Arc<dyn CallStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
}

impl Footing {
    pub(crate) fn executor(self) -> Arc<Executor> {
        let gate =
            self.observations.map(|store| Arc::new(ObservationGate::new(store)) as Arc<dyn PolicyGate>);
        Arc::new(Executor::new(ExecutorParts {
            provider: self.provider,
            gate,
            clock: self.clock,
            random: Arc::new(Drawn),
            limits: self.limits,
            session_idle: None,
            sessions: self.sessions,
            calls: self.calls,
            request_id_window: REQUEST_ID_WINDOW,
        }))
    }
}

/// Calls that are remembered in memory.
pub(crate) fn calls_in_memory(clock: &Arc<dyn Clock>) -> Arc<dyn CallStore> {
    Arc::new(MemoryCallStore::new(Arc::clone(clock), REQUEST_ID_WINDOW, MAX_REMEMBERED_BYTES))
}

/// Secrets of sessions. They need not follow from the seed: nothing depends on them.
#[derive(Debug)]
struct Drawn;

impl Random for Drawn {
    fn bytes(&self) -> [u8; 16] {
        uuid::Uuid::new_v4().into_bytes()
    }
}
