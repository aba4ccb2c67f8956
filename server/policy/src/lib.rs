//! The policy gate: decides under which guard a mutation may land, from what its session has seen.
//!
//! The gate stands beside the path. It does no file I/O, keeps no content and never refuses a read. Losing an
//! observation is always safe: the agent reads again. Inventing one never is.

mod gate;
mod memory;
mod observation;
mod store;
#[cfg(feature = "conformance")]
pub mod suite;

pub use gate::{ForgetScope, GateCapabilities, PolicyGate};
pub use memory::{MemoryObservationStore, MemoryStoreLimits};
pub use observation::ObservationGate;
pub use store::ObservationStore;
