//! The observation policy: a mutation of an existing file needs that its session saw the content.

use std::sync::Arc;

use crate::store::ObservationStore;

/// Unseen or absent: a write creates; present: it replaces that version. An edit needs a present version.
#[derive(Debug)]
pub struct ObservationGate {
    #[expect(dead_code, reason = "filled in next")]
    store: Arc<dyn ObservationStore>,
}

impl ObservationGate {
    /// A gate over a store.
    pub fn new(store: Arc<dyn ObservationStore>) -> ObservationGate {
        ObservationGate { store }
    }
}
