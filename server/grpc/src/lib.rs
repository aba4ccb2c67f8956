//! The gRPC services of toolfs: the one place where wire types meet the executor, a provider and a gate.
//!
//! An RPC here is decode, call, encode. [`Server`] puts the services of one address on listeners and takes them down in
//! order; `tool_service`, `session_service`, `event_service`, `filesystem_service` and `policy_service` hold the RPCs,
//! `convert` the functions between messages and domain types, `status` the one mapping of errors to gRPC statuses,
//! `task` the one place that spawns, `parts` what lies between the work and the transport of an answer in parts,
//! `layers` what goes around every RPC.
//!
//! What a caller should know of the transport:
//! - a message above `max_message_bytes`, in either direction, is refused by the transport itself with a bare status
//!   (`OUT_OF_RANGE`, without an `ErrorInfo`): clients look at the announced limit first
//! - gzip and zstd are understood; an answer is compressed when its request was, and the client accepts it
//! - a deadline is answered a margin before it is over, so that the answer still arrives
//!
//! The tools, the seam and the gate are never on one address: a client of the seam writes past the gate, and one of the
//! gate could forge an observation.
//!
//! Deliberately absent: any decision about files, sessions or guards (those of the executor, the provider and the
//! gate), any listener (the daemon binds), and authentication.

mod connection;
mod convert;
mod deadline;
mod event_service;
mod filesystem_service;
mod layers;
mod listener;
mod parts;
mod policy_service;
mod reflection;
mod server;
mod session_service;
mod status;
mod task;
mod tool_service;

pub use listener::Listener;
pub use server::{Drain, ServeError, ServeOptions, Server};
