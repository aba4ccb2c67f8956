//! How a provider is to serve its roots.
//!
//! Deliberately absent: the roots themselves, and the places where a server usually keeps its own directories. Both are
//! the caller's.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use toolfs_core::clock::Clock;
use toolfs_core::limit::Limits;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_provider::capability::Durability;

/// How a provider is to serve its roots.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// The limits in force.
    pub limits: Limits,
    /// The names that mutations refuse.
    pub protected: ProtectedPatterns,
    /// What a success survives.
    pub durability: Durability,
    /// Where time comes from: the budget of a search for near misses, and of reading a file without a size.
    pub clock: Arc<dyn Clock>,
    /// The directory in which named operations are recorded, made if it is not there; without one they are refused.
    /// The servers of a host may share it. It must not lie inside a root.
    pub operations: Option<PathBuf>,
    /// The directory of what a crash must not take: publications in flight, and the durable copies behind which a
    /// file is rewritten in place. Made if it is not there; the servers of a host may share it. Without one nothing
    /// is recovered at start, and nothing is rewritten in place. It must not lie inside a root.
    pub recovery: Option<PathBuf>,
    /// The directory in which the servers of this host take turns, and see which of them live. Made if it is not
    /// there. Without one, other servers are seen as foreign writers are. It must not lie inside a root.
    pub runtime: Option<PathBuf>,
    /// Looks names up component by component, as on a system that forbids `openat2`. For tests.
    pub force_walk: bool,
    /// Gives temporary files a name from the start, as on a file system without `O_TMPFILE`. For tests.
    pub force_named_temporaries: bool,
    /// Replaces without exchanging names, as on a file system that cannot. For tests.
    pub force_plain_rename: bool,
    /// Reads in pieces of so many bytes, and edits every file in a stream, as those are that are too large for memory.
    /// For tests.
    pub force_streaming: Option<NonZeroUsize>,
}

impl LocalOptions {
    /// Default limits and patterns, full durability.
    pub fn new(clock: Arc<dyn Clock>) -> LocalOptions {
        LocalOptions {
            limits: Limits::DEFAULT,
            protected: ProtectedPatterns::default(),
            durability: Durability::Full,
            clock,
            operations: None,
            recovery: None,
            runtime: None,
            force_walk: false,
            force_named_temporaries: false,
            force_plain_rename: false,
            force_streaming: None,
        }
    }
}
