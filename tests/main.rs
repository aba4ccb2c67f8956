//! The system tests: what a caller of the whole sees. `tests/README.md` says what belongs where.

#![expect(
    clippy::disallowed_methods,
    reason = "tests stand outside: they look at files, time and environment themselves"
)]

/// The form of the contract, and the one table of codes.
mod contract;
/// The dependency table.
mod layering;
/// What the cases stand on: three set-ups over two places.
mod support;

/// Editing: matching, replacing, staleness.
mod edit;
/// The gate, and what changes without one.
mod policy;
/// Reading: windows, footers, what is refused.
mod read;
/// Sessions: paths, roots, modes, ends.
mod session;
/// Writing: bytes, guards, notices.
mod write;
