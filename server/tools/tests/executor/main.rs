//! The executor over the memory provider, with everything that it asks written down.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there, in its helpers too")]
#![expect(clippy::disallowed_methods, reason = "a test spawns what it waits for itself")]

mod support;

mod concurrency;
mod conversation;
mod event;
mod model;
mod mutation;
mod read;
mod repeat;
mod restart;
mod session;
mod telemetry;
