//! Functions between messages of the contract and domain types. Named, so that no stray `?` triggers one.

use std::time::Duration;

pub(crate) mod call;
pub(crate) mod capability;
pub(crate) mod error;
pub(crate) mod outcome;
pub(crate) mod session;

/// The longest time that `google.protobuf.Duration` may hold, some ten thousand years.
const MAX_DURATION_SECONDS: u64 = 315_576_000_000;

/// A time as it travels; one that is longer than any may be is the longest.
pub(crate) fn duration(time: Duration) -> prost_types::Duration {
    let time = time.min(Duration::from_secs(MAX_DURATION_SECONDS));
    time.try_into().expect("the longest time there may be fits")
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
}
