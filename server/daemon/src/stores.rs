//! Where state is kept: observations, sessions, results of calls, and the provider's records of operations.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use toolfs_core::clock::Clock;
use toolfs_policy::{MemoryObservationStore, ObservationStore};
use toolfs_state_embedded::{EmbeddedState, StateError, StateOptions};
use toolfs_tools::{CallStore, MemoryCallStore, MemorySessionStore, SessionStore};

use crate::config::{ServeConfig, State};

/// The stores of a server.
#[derive(Debug)]
pub struct Stores {
    /// What sessions saw.
    pub observations: Arc<dyn ObservationStore>,
    /// Who may call.
    pub sessions: Arc<dyn SessionStore>,
    /// What calls came to.
    pub calls: Arc<dyn CallStore>,
    /// Where a provider on this disk records operations; `None` where there is no place outside of the roots.
    pub operations: Option<PathBuf>,
    /// Where a provider on this disk keeps what a crash must not take; `None` where state ends with the process.
    pub recovery: Option<PathBuf>,
    embedded: Option<Arc<EmbeddedState>>,
    // Removed when dropped.
    _scratch: Option<TempDir>,
}

impl Stores {
    /// Opens what the configuration names.
    ///
    /// # Errors
    /// [`StateError`]
    pub fn open(config: &ServeConfig, clock: &Arc<dyn Clock>) -> Result<Stores, StateError> {
        match &config.state {
            State::Memory => Ok(Stores::in_memory(config, clock)),
            State::Directory(directory) => {
                let options = StateOptions {
                    write_behind: Duration::from_millis(config.limits.write_behind_ms),
                    request_id_window: config.request_id_window,
                    max_remembered_bytes: config.limits.max_remembered_bytes,
                    clock: Arc::clone(clock),
                };
                let embedded = Arc::new(EmbeddedState::open(directory, options)?);
                Ok(Stores {
                    observations: Arc::clone(&embedded) as _,
                    sessions: Arc::clone(&embedded) as _,
                    calls: Arc::clone(&embedded) as _,
                    operations: Some(directory.join("operations")),
                    recovery: Some(directory.join("recovery")),
                    embedded: Some(embedded),
                    _scratch: None,
                })
            }
        }
    }

    fn in_memory(config: &ServeConfig, clock: &Arc<dyn Clock>) -> Stores {
        let (window, bytes) = (config.request_id_window, config.limits.max_remembered_bytes);
        let made = config
            .scratch
            .as_ref()
            .map(|scratch| tempfile::Builder::new().prefix("toolfs-").tempdir_in(scratch));
        let scratch = match made.transpose() {
            Ok(scratch) => scratch,
            Err(error) => {
                tracing::warn!(%error, "there is no temporary directory: operations have no records");
                None
            }
        };
        Stores {
            observations: Arc::new(MemoryObservationStore::default()),
            sessions: Arc::new(MemorySessionStore::new()),
            calls: Arc::new(MemoryCallStore::new(Arc::clone(clock), window, bytes)),
            operations: scratch.as_ref().map(|scratch| scratch.path().join("operations")),
            recovery: None,
            embedded: None,
            _scratch: scratch,
        }
    }

    /// Writes what still waits in memory, at the end of a drain.
    pub async fn close(self) {
        if let Some(embedded) = self.embedded.clone() {
            let closed = tokio::task::spawn_blocking(move || embedded.close()).await;
            if let Err(error) = closed {
                tracing::warn!(%error, "the state was not closed in order: what was observed last may be lost");
            }
        }
    }
}
