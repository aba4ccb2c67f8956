//! The suites that every store of sessions and every store of calls must pass.
//!
//! A case is an async function over a fixture: two servers on one state. What a case expects comes from the
//! descriptions of [`SessionStore`] and [`CallStore`], never from an implementation. The macros
//! [`session_store_suite!`](crate::session_store_suite) and [`call_store_suite!`](crate::call_store_suite) make one test
//! of each case; the crate that uses them needs tokio with its macros and its threaded runtime.
//!
//! Deliberately absent: what only one implementation has (files, crashes of a process, migrations), which is tested
//! beside it.

#![expect(clippy::unwrap_used, reason = "a case that cannot go on has failed")]

#[doc(hidden)]
pub mod call;
#[doc(hidden)]
pub mod session;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use toolfs_core::clock::{Clock, Timestamp};

use super::{CallStore, SessionStore};

/// For how long the stores of a fixture remember calls.
pub const WINDOW: Duration = Duration::from_secs(3_600);

/// How many bytes of results the stores of a fixture keep.
pub const MAX_BYTES: u64 = 64 << 10;

/// A clock that moves when a case says so.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock at some time in 2023.
    pub fn new() -> Arc<ManualClock> {
        Arc::new(ManualClock(AtomicI64::new(1_700_000_000_000)))
    }

    /// Moves the time on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// Two servers on one empty state.
#[derive(Debug)]
pub struct SessionFixture {
    /// One of them.
    pub one: Arc<dyn SessionStore>,
    /// The other one.
    pub other: Arc<dyn SessionStore>,
    /// What must last as long as the stores: a directory, for instance.
    pub keep: Option<Box<dyn Any + Send + Sync>>,
}

/// Two servers on one empty state, with [`WINDOW`] and [`MAX_BYTES`].
#[derive(Debug)]
pub struct CallFixture {
    /// One of them.
    pub one: Arc<dyn CallStore>,
    /// The other one: the only reference, so that its server is gone when this is dropped.
    pub other: Arc<dyn CallStore>,
    /// The clock of both.
    pub clock: Arc<ManualClock>,
    /// What must last as long as the stores: a directory, for instance.
    pub keep: Option<Box<dyn Any + Send + Sync>>,
}

/// Makes a test of every case over the fixtures of an `async fn() -> SessionFixture`. Use it once a module.
#[macro_export]
macro_rules! session_store_suite {
    ($factory:expr) => {
        $crate::store_tests! { session $factory;
            what_is_inserted_is_found_as_it_is
            a_full_store_takes_no_session
            of_many_at_once_only_so_many_are_taken
            a_name_is_never_used_again
            a_removed_session_is_gone_everywhere
            a_removal_is_counted_before_it_returns
            an_older_use_changes_nothing
            the_longest_unused_come_first
            only_an_unused_session_is_removed_as_unused
            a_page_is_its_owners_and_oldest_first
            the_end_of_a_removed_session_is_left_to_do_until_it_is_done
            a_use_at_one_server_is_known_at_the_other
            orders_rise_whichever_server_draws_them
            no_two_servers_draw_one_order
        }
    };
}

/// Makes a test of every case over the fixtures of an `async fn() -> CallFixture`. Use it once a module.
#[macro_export]
macro_rules! call_store_suite {
    ($factory:expr) => {
        $crate::store_tests! { call $factory;
            a_call_that_nobody_noted_is_unknown
            a_noted_call_is_live_and_keeps_its_guard
            of_many_that_begin_one_is_noted
            an_ended_call_has_its_result_everywhere
            a_result_needs_no_note
            what_a_call_ended_in_first_stays
            only_who_noted_a_call_ends_it
            a_call_that_was_left_is_ended_by_who_resumes_it
            another_fingerprint_is_told
            a_call_of_a_server_that_is_gone_is_taken_over_with_its_guard
            a_released_call_is_taken_over_with_its_guard
            only_who_noted_a_call_releases_it
            only_who_noted_a_call_last_abandons_it
            an_abandoned_call_is_forgotten_and_an_ended_one_is_not
            a_session_ends_with_its_calls
            a_result_is_forgotten_after_the_window
            a_call_that_was_left_is_forgotten_after_the_window
            results_that_ended_first_make_room
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! store_tests {
    ($module:ident $factory:expr; $($name:ident)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::suite::$module::$name(($factory)().await).await;
            }
        )+
    };
}
