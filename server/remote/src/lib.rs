//! What a provider and a gate in another process share: the connection, and what a peer's answers mean.
//!
//! A peer may be written in any language, and may be older, newer or broken. Whatever it answers becomes a value that
//! keeps the rules of its type, or an [`FsError`](toolfs_core::error::FsError): nothing here panics or takes a peer's
//! word for what a field must hold.
//! Deliberately absent: the calls themselves, which are `toolfs-provider-remote`'s and `toolfs-policy-remote`'s, and
//! serving, which is `toolfs-grpc`'s.

mod connection;
mod detail;
mod error;
mod field;
mod guard;
mod peer;
mod status;

pub use connection::{RemoteOptions, connect};
pub use detail::file_kind;
pub use error::fs_error;
pub use field::{Broken, Field, count, display, line, required, version};
pub use guard::{edit_guard, edit_guard_message, observation_message, write_guard, write_guard_message};
pub use peer::Peer;
pub use status::{Failure, failure, out_of_time};
