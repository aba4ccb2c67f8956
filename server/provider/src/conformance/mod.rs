//! The suite that every provider and every wrapper of one must pass.
//!
//! A case is an async function over a [`Fixture`]: a provider on an empty root, and a hand that changes files behind
//! its back. What a case expects comes from the contract of [`crate::Provider`], never from an implementation.
//! [`suite!`](crate::conformance::suite) makes one test of each case, so that failures have names:
//!
//! ```text
//! mod local {
//!     use super::*;
//!     toolfs_provider::conformance::suite!(fresh_local_fixture); // an `async fn() -> Fixture`
//! }
//! ```
//!
//! The crate that uses it needs tokio with its macros and its threaded runtime. Cases that a fixture cannot run are
//! told on standard error, one by one with their reason and counted by the test `skipped_cases_are_told`; they are
//! never silently dropped.
//! Deliberately absent: what only one implementation has (crashes, durability, foreign writers on a disk), which is
//! tested beside it.

#![expect(clippy::unwrap_used, reason = "a case that cannot go on has failed")]

mod ability;
mod call;
mod fixture;
mod list;
mod memory;

mod abort;
mod concurrency;
mod content;
mod edit;
mod guard;
mod key;
mod link;
mod operation;
mod plan;
mod protect;
mod read_lines;
mod resolve;
mod stat;
mod write;

use std::fmt;
use std::io::Write as _;

use futures_util::future::BoxFuture;

pub use self::ability::{Abilities, Ability};
pub use self::fixture::{Fixture, OutsideHand, SECRET, Spawn, Versions, limits};
pub use self::list::CASES;
pub use self::memory::memory_fixture;
pub use crate::conformance_suite as suite;

/// One case of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name, which is the name of the test.
    pub name: &'static str,
    /// What it needs.
    pub needs: &'static [Ability],
    body: for<'a> fn(&'a Fixture) -> BoxFuture<'a, ()>,
}

impl Case {
    /// Why a fixture cannot run this case; `None` when it can.
    pub fn reason_to_skip(&self, abilities: &Abilities) -> Option<String> {
        let reasons = self.needs.iter().filter_map(|need| {
            let reason = abilities.reason_against(*need)?;
            Some(format!("no {need}: {reason}"))
        });
        reasons.reduce(|all, reason| format!("{all}, {reason}"))
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).field("needs", &self.needs).finish_non_exhaustive()
    }
}

/// Runs one case on a fresh fixture, or tells that it is skipped. Panics when the case fails.
pub async fn run(name: &str, mut fixture: Fixture, spawn: Spawn) {
    fixture.ask_provider().await;
    let case = CASES.iter().find(|case| case.name == name).expect("tests are made from the list of cases");
    match case.reason_to_skip(&fixture.abilities) {
        Some(reason) => tell(&format!("skipped: {name} ({reason})")),
        None => {
            fixture.spawn = Some(spawn);
            (case.body)(&fixture).await;
        }
    }
}

/// Tells how many cases a fixture runs, and which it skips for what reason.
pub async fn tell_skipped(suite: &str, mut fixture: Fixture) {
    fixture.ask_provider().await;
    let skipped: Vec<String> = CASES
        .iter()
        .filter_map(|case| Some(format!("{} ({})", case.name, case.reason_to_skip(&fixture.abilities)?)))
        .collect();
    let run = CASES.len() - skipped.len();
    tell(&format!("{suite}: {run} cases apply, {} are skipped {skipped:?}", skipped.len()));
    assert!(run * 2 > CASES.len(), "a provider that skips most cases is not tested");
}

/// Writes past the capture of the test harness: a case that is left out must be seen.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "conformance: {line}");
}
