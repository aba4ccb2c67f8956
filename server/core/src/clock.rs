//! Time, as values that somebody else read.
//!
//! The clock itself is read in one place of the daemon, which hands out an implementation of [`Clock`].

use std::fmt;
use std::time::Duration;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// Where wall-clock time comes from.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// The time since some moment, for how long things take: setting the clock does not change it. A clock that has
    /// nothing better goes by its current time.
    fn uptime(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().0).unwrap_or(0))
    }
}

/// The place of an observation in the history of all observations: a hybrid logical clock.
///
/// The upper 48 bits are milliseconds, the lower 16 count events of one millisecond, so that orders of different
/// servers compare and a clock that steps back never yields an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order(pub i64);

impl Order {
    /// Before every order that [`Order::next`] yields.
    pub const ZERO: Order = Order(0);

    /// The order after `self` at the time `now`: always greater than `self`.
    ///
    /// ```
    /// use toolfs_core::clock::{Order, Timestamp};
    ///
    /// let first = Order::ZERO.next(Timestamp(5));
    /// assert!(first.next(Timestamp(4)) > first);
    /// ```
    #[must_use]
    pub fn next(self, now: Timestamp) -> Order {
        Order((now.0.max(0) << 16).max(self.0.saturating_add(1)))
    }
}
