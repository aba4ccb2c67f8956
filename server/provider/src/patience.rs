//! How long a provider searches for near misses of an edit: as long as its limits and the call allow.

use toolfs_core::clock::Clock;
use toolfs_core::edit::Patience;
use toolfs_core::limit::Limits;

use crate::abort::AbortSignal;

/// Patience that ends with the call, or after [`Limits::near_miss_ms`] where there is a clock.
#[derive(Debug)]
pub struct CallPatience<'a> {
    abort: &'a AbortSignal,
    time: Option<Time<'a>>,
}

#[derive(Debug)]
struct Time<'a> {
    clock: &'a dyn Clock,
    start_ms: i64,
    end_ms: i64,
}

impl<'a> CallPatience<'a> {
    /// Patience that begins now.
    pub fn new(abort: &'a AbortSignal, limits: &Limits, clock: Option<&'a dyn Clock>) -> CallPatience<'a> {
        let budget_ms = i64::try_from(limits.near_miss_ms).unwrap_or(i64::MAX);
        let time = clock.map(|clock| {
            let start_ms = clock.now().0;
            Time { clock, start_ms, end_ms: start_ms.saturating_add(budget_ms) }
        });
        CallPatience { abort, time }
    }
}

impl Patience for CallPatience<'_> {
    fn is_over(&self) -> bool {
        self.abort.cause().is_some()
            || self.time.as_ref().is_some_and(|Time { clock, start_ms, end_ms }| {
                // A clock that was set back must not make the wait endless.
                !(*start_ms..*end_ms).contains(&clock.now().0)
            })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use toolfs_core::clock::Timestamp;
    use toolfs_core::error::AbortCause;

    use super::*;

    #[derive(Debug)]
    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn time_that_is_over_or_was_set_back_ends_patience() {
        let (clock, abort) = (Hand(AtomicI64::new(1_000)), AbortSignal::new());
        let limits = Limits { near_miss_ms: 100, ..Limits::DEFAULT };
        let patience = CallPatience::new(&abort, &limits, Some(&clock));
        for (now, is_over) in [(1_000, false), (1_099, false), (1_100, true), (999, true)] {
            clock.0.store(now, Ordering::Relaxed);
            assert_eq!(patience.is_over(), is_over, "{now}");
        }
    }

    #[test]
    fn a_call_that_ends_ends_patience() {
        let abort = AbortSignal::new();
        let patience = CallPatience::new(&abort, &Limits::DEFAULT, None);
        assert!(!patience.is_over());
        abort.fire(AbortCause::Cancelled);
        assert!(patience.is_over());
    }
}
