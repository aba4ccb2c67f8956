//! The suites over the stores in memory.

use std::sync::Arc;

use toolfs_tools::suite::{CallFixture, MAX_BYTES, ManualClock, SessionFixture, WINDOW};
use toolfs_tools::{MemoryCallStore, MemorySessionStore};

mod sessions {
    use super::*;

    /// Two servers of one process share the store itself.
    async fn fresh() -> SessionFixture {
        let store = Arc::new(MemorySessionStore::new());
        SessionFixture { one: store.clone(), other: store, keep: None }
    }

    toolfs_tools::session_store_suite!(fresh);
}

mod calls {
    use super::*;

    async fn fresh() -> CallFixture {
        let clock = ManualClock::new();
        let one = MemoryCallStore::new(clock.clone(), WINDOW, MAX_BYTES);
        let other = one.beside();
        CallFixture { one: Arc::new(one), other: Arc::new(other), clock, keep: None }
    }

    toolfs_tools::call_store_suite!(fresh);
}
