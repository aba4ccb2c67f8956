//! A policy gate that lives in another process, reached over `toolfs.v1.PolicyService`.
//!
//! [`RemoteGate`] is a [`PolicyGate`](toolfs_policy::PolicyGate) like any other; what is special about it:
//! - it is connected when a call needs it. A peer that is away is `FS_UNAVAILABLE`, and comes back by itself. Until
//!   then every mutation is refused: without a decision there is no guard, and no guard is ever made up.
//! - a decision that this build does not understand is `FS_IO_ERROR`, and so is one that is missing.
//! - an observation whose answer is lost may be recorded or not. Losing one costs a read, and repeating one is harmless
//!   since it has its order; it is not repeated here.
//!
//! Deliberately absent: a memory of its own, which would have to be told when another process forgets or ends a
//! session, and any deadline but [`RemoteOptions::call_timeout`].

mod gate;

pub use gate::RemoteGate;
pub use toolfs_remote::RemoteOptions;
