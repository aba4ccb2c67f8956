//! Unified diffs as values and as text, and the line ranges that a change touched.
//!
//! The one diff algorithm is `similar`'s; this module chooses what it runs on and bounds it.

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiffLineKind {
    /// In both.
    Context,
    /// Only in the old content.
    Removed,
    /// Only in the new content.
    Added,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// Which side it is on.
    pub kind: DiffLineKind,
    /// Its text without `\n`; a `\r` before it is kept, so that changed line endings show.
    pub text: String,
    /// Whether a `\n` follows.
    pub has_newline: bool,
}

/// A run of changes with up to 3 lines of context.
///
/// Starts count from 1; a side without lines starts at the line before (0 at the top of a file), as in
/// unified diffs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// First line in the old content.
    pub old_start: u64,
    /// Number of lines in the old content.
    pub old_count: u64,
    /// First line in the new content.
    pub new_start: u64,
    /// Number of lines in the new content.
    pub new_count: u64,
    /// Its lines in order.
    pub lines: Vec<DiffLine>,
}

/// The difference of two texts. No hunks: they are equal.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Diff {
    /// The hunks in order.
    pub hunks: Vec<Hunk>,
}

/// Why there is no diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffLeftOut {
    /// Old and new content together exceed `max_diff_bytes`.
    TooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
        /// The size that exceeds it.
        size_bytes: u64,
    },
    /// The old content is no text.
    OldIsNotText,
}

/// A diff, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffResult {
    /// The diff.
    Computed(Diff),
    /// It was left out.
    LeftOut(DiffLeftOut),
}

/// A changed range, in lines. Starts and counts as in [`Hunk`], without context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedRange {
    /// First line in the old content.
    pub old_start: u64,
    /// Number of lines in the old content.
    pub old_count: u64,
    /// First line in the new content.
    pub new_start: u64,
    /// Number of lines in the new content.
    pub new_count: u64,
}

/// The ranges that a change touched: the first [`ChangedRanges::MAX_RANGES`], and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ChangedRanges {
    /// The first ranges in order; ranges that touch are one.
    pub ranges: Vec<ChangedRange>,
    /// How many there are in all.
    pub total: u64,
}

impl ChangedRanges {
    /// How many ranges are kept.
    pub const MAX_RANGES: usize = 100;
}

impl Diff {
    /// The diff of two whole contents. `old` is `None` when nothing was there (the diff then adds everything).
    pub fn between(_old: Option<&[u8]>, _new: &str, _max_bytes: u64) -> DiffResult {
        unimplemented!()
    }

    /// The hunks as a unified diff without file headers, `\ No newline at end of file` included; empty when equal.
    pub fn to_unified(&self) -> String {
        unimplemented!()
    }
}
