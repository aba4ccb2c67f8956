//! A provider that lives in another process, reached over `toolfs.v1.FileSystemService`.
//!
//! [`RemoteProvider`] is a [`Provider`](toolfs_provider::Provider) like any other; what is special about it:
//! - it is connected when a call needs it. A peer that is away is `FS_UNAVAILABLE`, and comes back by itself.
//! - whatever the peer answers is checked. What the contract does not allow is `FS_IO_ERROR` that names the field.
//! - an answer that is lost on its way is told honestly. When the peer cannot have begun a mutation, nothing changed;
//!   when it can, `published` is maybe, although `FS_UNAVAILABLE` counts as retryable: under a guard the repetition of
//!   a change that did land is refused as stale, and without one the caller has to look first.
//! - a mutation that carries an operation id is repeated once, under the same id, when its answer was lost: the peer
//!   then tells what the first one did. Only its own error that says what became of the effect is such a verdict;
//!   after any other end of the repetition `published` is maybe. Nothing else is ever repeated.
//! - a call that is aborted is cancelled at the peer, and so is one whose future is dropped. A mutation then says that
//!   nothing changed only when the peer cannot have seen the end of its request.
//!
//! `call` holds the waiting, `request` and `upload` make messages, `answer`, `report` and `stream` read them.
//! Deliberately absent: a deadline of its own (but for [`RemoteOptions::call_timeout`]), any cache, and any
//! knowledge of paths, keys and versions, which are the peer's.

mod answer;
mod call;
mod provider;
mod report;
mod request;
mod stream;
mod upload;

pub use provider::RemoteProvider;
pub use toolfs_remote::RemoteOptions;
