//! Functions between messages of the contract and domain types. Named, so that no stray `?` triggers one.

pub(crate) mod call;
pub(crate) mod capability;
pub(crate) mod error;
pub(crate) mod outcome;
pub(crate) mod session;

/// A count as it travels. No count of ours reaches the end of `i64`.
fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
