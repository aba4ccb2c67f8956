//! What a successful tool call reports.
//!
//! Outcomes are values for programs; `render` makes what a model sees of them, and the edge makes messages of them.

use serde::{Deserialize, Serialize};

use crate::diff::{ChangedRanges, DiffResult};
use crate::edit::Matches;
use crate::error::FsError;
use crate::guard::{EditGuard, WriteGuard};
use crate::notice::Notice;
use crate::text::LineEndings;
use crate::version::Version;
use crate::window::{LineBlock, StopReason};

/// What a read saw.
#[derive(Clone, Debug)]
pub struct ReadOutcome {
    /// The canonical display path.
    pub path: String,
    /// The lines of the window.
    pub block: LineBlock,
    /// How many lines the file has.
    pub total_lines: u64,
    /// What ended the window.
    pub stop: StopReason,
    /// The file's size in bytes.
    pub size_bytes: u64,
    /// The version of the whole file.
    pub version: Version,
    /// The line ends of the whole file.
    pub line_endings: LineEndings,
    /// Whether the file ends with a newline.
    pub ends_with_newline: bool,
    /// Whether the file starts with a byte order mark.
    pub bom: bool,
    /// Remarks.
    pub notices: Vec<Notice>,
}

impl ReadOutcome {
    /// The line at which reading goes on; `None` at the end of the file.
    pub fn next_offset(&self) -> Option<u64> {
        match self.stop {
            StopReason::EndOfFile => None,
            StopReason::LineLimit | StopReason::ByteCap => {
                Some(self.block.first_line() + self.block.line_count() as u64)
            }
        }
    }

    /// Whether some of the file's text is not in the window: lines before or after it, or cut lines.
    pub fn is_partial_view(&self) -> bool {
        self.block.line_count() as u64 != self.total_lines
            || self.block.lines().any(|line| line.full_chars.is_some())
    }
}

/// Whether a write made or replaced the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WriteOperation {
    /// Nothing was there.
    Create,
    /// The content was replaced.
    Update,
}

/// What a write did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteOutcome {
    /// The canonical display path.
    pub path: String,
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
    /// The diff.
    pub diff: DiffResult,
    /// The guard that was used.
    pub guard: WriteGuard,
}

/// What an edit did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EditOutcome {
    /// The canonical display path.
    pub path: String,
    /// How many occurrences were replaced.
    pub replacements: u64,
    /// Whether all were asked for.
    pub replace_all: bool,
    /// Which lines changed.
    pub changed: ChangedRanges,
    /// Size of the new content in bytes.
    pub size_bytes: u64,
    /// Version of the new content.
    pub version: Version,
    /// Remarks.
    pub notices: Vec<Notice>,
    /// The diff.
    pub diff: DiffResult,
    /// Where it matched.
    pub matches: Matches,
    /// The guard that was used.
    pub guard: EditGuard,
}

/// The outcome of one tool.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Of a read.
    Read(ReadOutcome),
    /// Of a write.
    Write(WriteOutcome),
    /// Of an edit.
    Edit(EditOutcome),
}

/// How a tool call ended.
///
/// `PublishedNotDurable` is the one case with both: the effect is there and observed, but making it durable failed.
#[derive(Clone, Debug)]
pub enum ToolResult {
    /// It worked.
    Done(Outcome),
    /// It was refused or failed.
    Refused(FsError),
    /// It is there, but a power cut may take it back.
    PublishedNotDurable(Outcome, FsError),
}
