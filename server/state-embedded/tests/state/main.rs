//! The state as its users see it: on real files, shared, crashed, killed and damaged.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "these tests look at the files of a state from outside, and damage them"
)]

/// When a server keeps something in memory, and who waits for it.
mod company;
/// Many threads at once.
mod concurrency;
/// Every store's suite.
mod conformance;
/// What a crash loses, and what it must not.
mod crash;
/// A process that is killed while it commits.
mod kill;
/// What is made, and what is refused.
mod opening;
/// Two servers on one state.
mod sharing;
/// States, clocks and records to test with.
mod support;
