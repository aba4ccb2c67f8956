//! Functions between messages of the contract and domain types. Named, so that no stray `?` triggers one.

use std::time::Duration;

use toolfs_core::clock::Timestamp;

pub(crate) mod call;
pub(crate) mod capability;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod filesystem;
pub(crate) mod guard;
pub(crate) mod outcome;
pub(crate) mod policy;
pub(crate) mod session;

/// The longest time that `google.protobuf.Duration` may hold, some ten thousand years.
const MAX_DURATION_SECONDS: u64 = 315_576_000_000;

/// A time as it travels; one that is longer than any may be is the longest.
pub(crate) fn duration(time: Duration) -> prost_types::Duration {
    let time = time.min(Duration::from_secs(MAX_DURATION_SECONDS));
    time.try_into().expect("the longest time there may be fits")
}

/// A moment as it travels.
fn timestamp(time: Timestamp) -> prost_types::Timestamp {
    let nanos = time.0.rem_euclid(1_000) * 1_000_000;
    prost_types::Timestamp {
        seconds: time.0.div_euclid(1_000),
        nanos: i32::try_from(nanos).expect("less than a second in nanoseconds fits"),
    }
}

/// A count as it travels. No count of ours reaches the end of `i64`.
fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_travels_whole_and_none_is_longer_than_the_wire_allows() {
        let wire = |seconds, nanos| prost_types::Duration { seconds, nanos };
        for (time, expected) in [
            (Duration::ZERO, wire(0, 0)),
            (Duration::from_millis(1_500), wire(1, 500_000_000)),
            (Duration::new(86_400, 999_999_999), wire(86_400, 999_999_999)),
            (Duration::new(315_576_000_000, 1), wire(315_576_000_000, 0)),
            (Duration::MAX, wire(315_576_000_000, 0)),
        ] {
            assert_eq!(duration(time), expected, "{time:?}");
        }
    }

    #[test]
    fn a_time_before_the_epoch_keeps_its_nanoseconds_positive() {
        assert_eq!(timestamp(Timestamp(-1)), prost_types::Timestamp { seconds: -1, nanos: 999_000_000 });
        assert_eq!(timestamp(Timestamp(1_500)), prost_types::Timestamp { seconds: 1, nanos: 500_000_000 });
    }
}
