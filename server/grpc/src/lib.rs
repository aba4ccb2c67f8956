//! The gRPC services of toolfs: the one place where wire types meet the executor.
//!
//! An RPC here is decode, call, encode. [`Server`] puts the services on listeners and takes them down in order;
//! `tool_service` and `session_service` hold the RPCs, `convert` the functions between messages and domain types,
//! `status` the one mapping of errors to gRPC statuses, `task` the one place that spawns, `layers` what goes around
//! every RPC.
//!
//! What a caller should know of the transport:
//! - a message above `max_message_bytes`, in either direction, is refused by the transport itself with a bare status
//!   (`OUT_OF_RANGE`, without an `ErrorInfo`): clients look at the announced limit first
//! - gzip and zstd are understood; an answer is compressed when its request was, and the client accepts it
//! - a deadline is answered a margin before it is over, so that the answer still arrives
//!
//! Deliberately absent: any decision about files, sessions or guards (the executor's), any listener (the daemon binds),
//! authentication, and the services of the seam and the gate, whose every method is `UNIMPLEMENTED` here.

mod connection;
mod convert;
mod deadline;
mod layers;
mod listener;
mod reflection;
mod server;
mod session_service;
mod status;
mod task;
mod tool_service;

pub use listener::Listener;
pub use server::{Drain, ServeError, ServeOptions, Server};
