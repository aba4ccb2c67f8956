//! What a provider answers.

use serde::{Deserialize, Serialize};
use toolfs_core::clock::Timestamp;
use toolfs_core::diff::{ChangedRanges, DiffResult};
use toolfs_core::edit::Matches;
use toolfs_core::error::FsError;
use toolfs_core::notice::Notice;
use toolfs_core::outcome::WriteOperation;
use toolfs_core::target::FileKind;
use toolfs_core::text::TextSummary;
use toolfs_core::version::Version;
use toolfs_core::window::Window;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its kind.
    pub kind: FileKind,
    /// Its size in bytes as reported, without a meaning for other kinds than regular files.
    pub size_bytes: u64,
    /// Permission bits (the lower 12 of the mode); absent where there are none.
    pub mode: Option<u32>,
    /// When its content last changed; absent where that is not known.
    pub modified: Option<Timestamp>,
    /// Its version, when it was wanted.
    pub version: Option<Version>,
}

/// A window of lines, and what a whole pass knows about the file. All of it is of one inode and one content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinesReport {
    /// The window.
    pub window: Window,
    /// The file as a whole.
    pub summary: TextSummary,
    /// The version of exactly the bytes that were read.
    pub version: Version,
}

/// What a write did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteReport {
    /// What kind of change it is.
    pub operation: WriteOperation,
    /// Size of the new content in bytes.
    pub size_bytes: u64,
    /// Size of the old content in bytes; `None` for a creation.
    pub previous_size_bytes: Option<u64>,
    /// Version of the new content.
    pub version: Version,
    /// Remarks.
    pub notices: Vec<Notice>,
    /// The diff, when it was wanted.
    pub diff: Option<DiffResult>,
    /// Set when the effect is there, but making it durable failed. Its `published` is yes.
    pub not_durable: Option<FsError>,
}

/// What an edit did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EditReport {
    /// Where it matched; the total is the number of replacements.
    pub matches: Matches,
    /// Which lines changed.
    pub changed: ChangedRanges,
    /// Size of the new content in bytes.
    pub size_bytes: u64,
    /// Version of the new content.
    pub version: Version,
    /// Remarks.
    pub notices: Vec<Notice>,
    /// The diff, when it was wanted.
    pub diff: Option<DiffResult>,
    /// As in [`WriteReport::not_durable`].
    pub not_durable: Option<FsError>,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name as raw bytes.
    pub raw_name: Vec<u8>,
    /// Its name made safe to show.
    pub display_name: String,
    /// Its kind; links are not followed.
    pub kind: FileKind,
}
