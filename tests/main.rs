//! The system tests: what a caller of the whole sees. `tests/README.md` says what belongs where.

#![expect(
    clippy::disallowed_methods,
    reason = "tests stand outside: they look at files, time and environment themselves"
)]
#![expect(clippy::unwrap_used, reason = "everything here is test code, also outside of test functions")]

/// The form of the contract, and the one table of codes.
mod contract;
/// The dependency table.
mod layering;
/// What the cases stand on: three set-ups over two places.
mod support;

/// Callers who go away in the middle.
mod cancel;
/// Clients of several languages at once.
mod clients;
/// The command: calls, refusals to start, the end.
mod command;
/// Settings of the command: where they come from, what is wrong with them.
mod command_config;
/// Sessions that the command keeps between calls.
mod command_session;
/// State that outlives a server, and the faces for other servers.
mod command_state;
/// What the command prints for others to use: definitions of tools, completions, manual pages.
mod command_tools;
/// The cases that every language replays.
mod corpus;
/// Editing: matching and replacing.
mod edit;
/// What is wrong with a call, and how it is told.
mod error;
/// What a watcher of a session is told.
mod event;
/// Every error, provoked for real and decoded again by the client.
mod every_error;
/// The gate, and what changes without one.
mod policy;
/// Reading: windows and footers.
mod read;
/// What reflection tells, and what is not there.
mod reflection;
/// Calls that are repeated under one name.
mod repeat;
/// Memory while reading.
mod rss;
/// The tools as models are told of them.
mod schema;
/// The errors of the seam, through statuses and back.
mod seam_error;
/// Sessions: paths, roots, modes, ends.
mod session;
/// What an edit needs to have seen.
mod staleness;
/// Spans, with and without somebody who collects them.
mod telemetry;
/// The tour of the README.
mod tour;
/// Two servers on one directory, with one state and with two.
mod two_servers;
/// What a read does not show.
mod unreadable;
/// Writing: bytes, guards, notices.
mod write;
