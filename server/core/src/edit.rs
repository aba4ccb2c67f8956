//! Literal replacement: what an edit asks for, where it matches, and the bytes that come out.
//!
//! Matching sees a file as the model does: `\r\n` and `\n` are one line end, and a BOM is not there. Bytes outside
//! the matched ranges stay as they are. Deliberately absent: regular expressions, fuzzy matching, any folding.

use std::fmt;

use crate::diff::{ChangedRanges, DiffResult};
use crate::error::{FsError, NearMiss, Result, SearchStop};
use crate::limit::Limits;
use crate::text::{NotText, TextSummary};

/// A validated edit.
///
/// - `old_string` is not empty
/// - `old_string` and `new_string` differ when `\r\n` and `\n` count as one line end
/// - its `Debug` form shows lengths only
#[derive(Clone, PartialEq, Eq)]
pub struct EditRequest {
    old_string: String,
    new_string: String,
    replace_all: bool,
}

impl EditRequest {
    /// Checks and keeps an edit.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` that names `old_string` or `new_string`.
    pub fn new(_old_string: String, _new_string: String, _replace_all: bool) -> Result<EditRequest> {
        unimplemented!()
    }

    /// The text to be replaced, as given.
    pub fn old_string(&self) -> &str {
        &self.old_string
    }

    /// The text to put there, as given.
    pub fn new_string(&self) -> &str {
        &self.new_string
    }

    /// Whether every occurrence is to be replaced.
    pub fn replace_all(&self) -> bool {
        self.replace_all
    }
}

impl fmt::Debug for EditRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditRequest")
            .field("old_string_bytes", &self.old_string.len())
            .field("new_string_bytes", &self.new_string.len())
            .field("replace_all", &self.replace_all)
            .finish()
    }
}

/// Lines that a match covers, both inclusive, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchRange {
    /// The line on which it starts.
    pub start_line: u64,
    /// The line on which it ends.
    pub end_line: u64,
}

/// The matches of an edit: the first [`Matches::MAX_RANGES`], and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Matches {
    /// The first ones in order.
    pub ranges: Vec<MatchRange>,
    /// How many were replaced.
    pub total: u64,
}

impl Matches {
    /// How many ranges are kept.
    pub const MAX_RANGES: usize = 100;
}

/// How long the search for near misses may go on. The byte budget comes from the limits; time is the caller's.
pub trait Patience {
    /// Whether the time is over. Asked often; must be cheap.
    fn is_over(&self) -> bool;
}

/// Patience without end, for tests and small inputs.
#[derive(Clone, Copy, Debug)]
pub struct Endless;

impl Patience for Endless {
    fn is_over(&self) -> bool {
        false
    }
}

/// What an edit makes of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The new content.
    pub content: Vec<u8>,
    /// What the old content was.
    pub before: TextSummary,
    /// Where it matched.
    pub matches: Matches,
    /// Which lines changed.
    pub changed: ChangedRanges,
    /// The diff.
    pub diff: DiffResult,
}

/// Why an edit does not apply. Nothing of this depends on who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditRefusal {
    /// The content is no text.
    NotText(NotText),
    /// `old_string` does not occur.
    NotFound {
        /// The best near misses.
        near_misses: Vec<NearMiss>,
        /// Set when the search for them stopped early.
        search_stopped: Option<SearchStop>,
    },
    /// `old_string` occurs several times and one occurrence was asked for.
    Ambiguous {
        /// How often, overlapping occurrences included.
        match_count: u64,
        /// The lines where the first 20 start.
        lines: Vec<u64>,
    },
    /// The result would exceed `max_file_bytes`.
    TooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
        /// The size of the result in bytes.
        size_bytes: u64,
    },
}

impl From<EditRefusal> for FsError {
    fn from(_refusal: EditRefusal) -> FsError {
        unimplemented!()
    }
}

/// Applies an edit to a whole content.
///
/// # Errors
/// [`EditRefusal`]; the content is untouched then.
pub fn apply(
    _content: &[u8],
    _edit: &EditRequest,
    _limits: &Limits,
    _patience: &dyn Patience,
) -> Result<Edited, EditRefusal> {
    unimplemented!()
}
