//! The services over connections in memory, with the executor over the memory provider.

#![allow(missing_docs, reason = "tests are told by their names")]

/// A server and its client.
mod support;

/// A client that goes away, and one whose time is over.
mod abandon;
/// Which bytes are compressed.
mod compression;
/// The end of a server.
mod drain;
/// Whether a server serves.
mod health;
/// What is no gRPC, or too much of it.
mod hostile;
/// What a server tells of its contract.
mod reflection;
/// Sessions.
mod session;
/// The tools.
mod tool;
/// One span per RPC.
mod trace;
/// What is not served.
mod unserved;
