//! Literal replacement: what an edit asks for, where it matches, and the bytes that come out.
//!
//! Matching sees a file as the model does: `\r\n` and `\n` are one line end, and a BOM is not there. Bytes outside
//! the matched ranges stay as they are. Deliberately absent: regular expressions, fuzzy matching, any folding.
//!
//! There is one engine, and it works on a file that arrives in pieces and is never held:
//! - [`Survey`] passes over the file once. It judges and names it, and finds the matches ([`matcher`]). For an edit of
//!   one match it also tells all that comes out, and how to get it ([`Patch`]: the file around the match can be copied
//!   by whoever has it). For an edit of all matches it tells how large the edited file would be.
//! - [`Rewrite`] passes over it again and writes the edited file: for an edit of all matches, and in the rare case that
//!   the survey foresaw other line ends than the whole file calls for.
//! - What is told of the edited file (version, summary, changed lines, diff) is gathered from bytes that stay, go and
//!   come, in order (`edited`), in either pass alike.
//!
//! [`apply`] is both passes over a content in memory. [`near_miss`] explains why nothing was found.

mod after;
mod apply;
mod digest;
mod edited;
mod excerpt;
pub mod matcher;
pub mod near_miss;
mod recent;
mod region;
mod rewrite;
mod splice;
mod stream;
mod survey;

use std::fmt;

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

pub use apply::apply;
pub use digest::{Digest, GatheringHasher};
pub use edited::Changed;
pub use rewrite::Rewrite;
pub use survey::{Finding, Found, Patch, Planned, Survey, Surveyed};

use crate::diff::{ChangedRanges, DiffResult};
use crate::error::{ErrorKind, FsError, NearMiss, Result, SearchStop};
use crate::limit::LimitName;
use crate::planted::Fault;
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
    pub fn new(old_string: String, mut new_string: String, replace_all: bool) -> Result<EditRequest> {
        if old_string.is_empty() {
            return Err(FsError::invalid_argument(
                "old_string",
                "an empty string",
                "the text to replace; `write` sets the whole content of a file",
            ));
        }
        if matcher::view_of(&old_string) == matcher::view_of(&new_string) {
            return Err(FsError::invalid_argument(
                "new_string",
                "the same text as `old_string` (CRLF and LF are one line end)",
                "another text: this edit would change nothing",
            ));
        }
        if Fault::EditEatsTheLastCharacter.is_planted() {
            new_string.pop();
        }
        Ok(EditRequest { old_string, new_string, replace_all })
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchRange {
    /// The line on which it starts.
    pub start_line: u64,
    /// The line on which it ends.
    pub end_line: u64,
}

/// The matches of an edit: the first [`Matches::MAX_RANGES`], and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// Judges the size of an edited file that is not made yet.
///
/// # Errors
/// [`EditRefusal::TooLarge`] when it is above the limit, if there is one.
pub fn within_limit(size_bytes: u64, max_file_bytes: Option<u64>) -> Result<(), EditRefusal> {
    match max_file_bytes {
        Some(limit_bytes) if size_bytes > limit_bytes => {
            Err(EditRefusal::TooLarge { limit_bytes, size_bytes })
        }
        Some(_) | None => Ok(()),
    }
}

fn count_line_ends(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

impl From<EditRefusal> for FsError {
    fn from(refusal: EditRefusal) -> FsError {
        match refusal {
            EditRefusal::NotText(not_text) => not_text.into(),
            EditRefusal::NotFound { near_misses, search_stopped } => {
                let message = match near_misses.len() {
                    0 => "`old_string` does not occur in the file".to_owned(),
                    1 => "`old_string` does not occur in the file; 1 place nearly matches".to_owned(),
                    count => format!("`old_string` does not occur in the file; {count} places nearly match"),
                };
                FsError::new(ErrorKind::EditNotFound { near_misses, search_stopped }, message)
            }
            EditRefusal::Ambiguous { match_count, lines } => {
                let message = format!(
                    "`old_string` occurs {match_count} times: make it longer so that it occurs once, or set \
                     `replace_all`"
                );
                FsError::new(ErrorKind::AmbiguousEdit { match_count, lines }, message)
            }
            EditRefusal::TooLarge { limit_bytes, size_bytes } => {
                let message = format!(
                    "the edited file would have {size_bytes} bytes, `max_file_bytes` allows {limit_bytes}"
                );
                let limit_name = LimitName::MaxFileBytes;
                FsError::new(ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes }, message)
            }
        }
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;
