//! A state in a directory of its own, for the tests beside the code.

use tempfile::TempDir;
use toolfs_core::clock::Timestamp;

use super::*;

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct StoppedClock(pub(crate) Timestamp);

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

pub(crate) fn options() -> StateOptions {
    StateOptions {
        write_behind: Duration::from_millis(5),
        request_id_window: Duration::from_secs(3_600),
        max_remembered_bytes: 1 << 20,
        clock: Arc::new(StoppedClock(Timestamp(1_700_000_000_000))),
    }
}

pub(crate) fn state(observations: ObservationLimits) -> (EmbeddedState, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (EmbeddedState::open_with(directory.path(), options(), observations).unwrap(), directory)
}

/// Waits for what the writer's thread does by itself.
pub(crate) async fn eventually(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, wait).await.expect("what is waited for does not happen");
}

/// A number out of the database.
pub(crate) fn count(state: &EmbeddedState, query: &str) -> i64 {
    state.readers.read(|connection| Ok(connection.query_row(query, [], |row| row.get(0))?)).unwrap()
}
