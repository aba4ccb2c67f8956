//! The tool executor: `read`, `write` and `edit`, and the sessions they run in.
//!
//! One call runs gate, provider, record: the executor asks the gate for a guard, calls the provider once, and tells
//! the gate what was observed. It sees providers and gates as traits only, knows no wire type and serves nothing.

mod answer;
mod call;
mod edit;
mod event;
mod executor;
mod fence;
mod handle;
mod lock;
mod open;
mod order;
mod page;
mod read;
mod registry;
mod remedy;
mod repeat;
mod scope;
mod session;
mod span;
mod store;
mod sync;
mod write;

pub use call::{CallError, ExecuteRequest, ExecuteResponse};
pub use event::{
    CallBegan, CallEnded, CallFailure, Decision, Event, GuardDecided, Happening, ObservationRecorded, Watch,
};
pub use executor::{Executor, ExecutorParts, ServerCapabilities};
pub use session::{
    Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession, OpenedSession, Random, SessionInfo,
    SessionMode, SessionPage,
};
#[cfg(feature = "conformance")]
pub use store::suite;
pub use store::{
    Beginning, CallKey, CallRecord, CallState, CallStore, DecidedGuard, Ending, Fingerprint, Insertion,
    MemoryCallStore, MemorySessionStore, SessionRecord, SessionStore, next_order,
};
