//! The services over connections in memory, with the executor over the memory provider.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

/// A server and its client.
mod support;

/// A client that goes away, and one whose time is over.
mod abandon;
/// Which bytes are compressed.
mod compression;
/// The end of a server.
mod drain;
/// What the calls of a session do, as a stream.
mod event;
/// The gate, as its clients use it.
mod gate;
/// Whether a server serves.
mod health;
/// What is no gRPC, or too much of it.
mod hostile;
/// Listeners of the operating system.
mod listener;
/// What a server tells of its contract.
mod reflection;
/// Every error between processes.
mod refusal;
/// The seam, as its clients use it.
mod seam;
/// Content and listings of the seam, in parts.
mod seam_stream;
/// Sessions.
mod session;
/// The tools.
mod tool;
/// One span per RPC.
mod trace;
/// What is not served.
mod unserved;
