//! What only a provider in another process has: a connection that may break, and a peer that may answer anything.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "../network/mod.rs"]
mod network;

mod broken_answer;
mod connection;
mod lost_answer;
mod peer;
mod refusal;
