//! Time and randomness of the real world, handed out to everything that asks for them as traits.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use toolfs_core::clock::{Clock, Timestamp};
use toolfs_tools::Random;

/// The moment from which uptime counts.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clocks")]
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The system's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn uptime(&self) -> Duration {
        START.elapsed()
    }
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system hands out randomness");
        bytes
    }
}
