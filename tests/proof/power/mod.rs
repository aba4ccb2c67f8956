//! Power cuts: what was acknowledged is there afterwards, whole, and nothing is left lying about.
//!
//! Three proofs with two kinds of cuts. `cut` and `sequence` shut a file system down without flushing its log, many
//! times a second; `frail` takes from the device beneath it what was not flushed. All are judged in the same way, by
//! `site` against the `ledger` of the clients. Deliberately absent: what a crash of the process alone leaves, which has
//! proofs of its own.

mod command;
mod cut;
mod drive;
mod frail;
pub(crate) mod furniture;
pub(crate) mod load;
mod pool;
mod requirement;
mod scratch;
mod sequence;
mod site;
mod volume;

pub(crate) use self::cut::PROMISE as CUT;
pub(crate) use self::drive::PART as DRIVE;
pub(crate) use self::frail::PROMISE as DEVICE;
pub(crate) use self::sequence::PROMISE as SEQUENCE;
