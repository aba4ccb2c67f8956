//! Under which condition a mutation may land.
//!
//! The policy gate chooses a guard, the provider enforces it inside its critical section on bytes that it hashed
//! there. Deliberately absent: any knowledge of sessions.

use serde::{Deserialize, Serialize};

use crate::version::Version;

/// The condition of a whole-file write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WriteGuard {
    /// Creates or replaces, whatever is there.
    Unconditional,
    /// Creates; an existing target is refused with `FS_NOT_OBSERVED`.
    CreateIfAbsent,
    /// Replaces exactly this content; anything else, a missing file too, is `FS_STALE_VERSION`.
    ReplaceIfVersion(Version),
}

/// The condition of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EditGuard {
    /// Edits what is there; a missing target is `FS_STALE_VERSION`.
    Unconditional,
    /// Edits exactly this content; anything else, a missing file too, is `FS_STALE_VERSION`.
    ReplaceIfVersion(Version),
}

/// What a session last saw at a target. Unseen targets have none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Observation {
    /// The session saw that nothing is there.
    Absent,
    /// The session saw this content.
    Present(Version),
}
