//! Unified diffs as values and as text, and the line ranges that a change touched.
//!
//! The one diff algorithm is `similar`'s; this module chooses what it runs on and bounds it, by size and never by a
//! clock, so that a diff depends on the two texts alone. Lines are compared as bytes: a changed line end or byte order
//! mark is a changed line. Deliberately absent: file headers, words and characters within lines, moved blocks.

mod change;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

pub(crate) use change::Change;

use crate::text::summarize;

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DiffLineKind {
    /// In both.
    Context,
    /// Only in the old content.
    Removed,
    /// Only in the new content.
    Added,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Diff {
    /// The hunks in order.
    pub hunks: Vec<Hunk>,
}

/// Why there is no diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiffLeftOut {
    /// Old and new content together exceed `max_diff_bytes`; of an edit, the lines that it touches on both sides, with
    /// their context.
    TooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
        /// The size that exceeds it.
        size_bytes: u64,
    },
    /// The hunks would have more than [`Diff::MAX_LINES`] lines. What a diff costs hangs on its lines, where they are
    /// short.
    TooManyLines {
        /// The limit in lines.
        limit_lines: u64,
        /// The lines of the hunks, context included.
        lines: u64,
    },
    /// The old content is no text.
    OldIsNotText,
    /// Another process left it out.
    Told {
        /// Why, in its words: one line.
        reason: String,
    },
}

/// A diff, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiffResult {
    /// The diff.
    Computed(Diff),
    /// It was left out.
    LeftOut(DiffLeftOut),
}

/// A changed range, in lines. Starts and counts as in [`Hunk`], without context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// Lines of context around a change.
    pub const CONTEXT_LINES: usize = 3;
    /// The most lines that the hunks of a diff have in all, context included.
    pub const MAX_LINES: u64 = 100_000;

    /// The diff of two whole contents. `old` is `None` when nothing was there (the diff then adds everything).
    ///
    /// `max_bytes` bounds both contents together. Between common lines at both ends the search is for a short diff,
    /// not the shortest; where both sides hold very many lines with very many differences it shows one change.
    pub fn between(old: Option<&[u8]>, new: &str, max_bytes: u64) -> DiffResult {
        let old = old.unwrap_or_default();
        let new = new.as_bytes();
        let size_bytes = (old.len() as u64).saturating_add(new.len() as u64);
        if size_bytes > max_bytes {
            return DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes: max_bytes, size_bytes });
        }
        if summarize(old).is_err() {
            return DiffResult::LeftOut(DiffLeftOut::OldIsNotText);
        }
        let whole = Change { old: 0..old.len(), new: 0..new.len(), old_line: 0, new_line: 0 };
        let mut gathered = Gathered::default();
        gathered.add(old, new, &[whole]);
        gathered.finish()
    }

    /// The ranges that its hunks change.
    pub fn changed_ranges(&self) -> ChangedRanges {
        let mut changed = ChangedRanges::default();
        for hunk in &self.hunks {
            // Numbers of the next lines, from 1.
            let mut old_next = hunk.old_start + u64::from(hunk.old_count == 0);
            let mut new_next = hunk.new_start + u64::from(hunk.new_count == 0);
            for run in hunk.lines.chunk_by(|a, b| is_context(a) == is_context(b)) {
                let on_old = run.iter().filter(|line| line.kind != DiffLineKind::Added).count() as u64;
                let on_new = run.iter().filter(|line| line.kind != DiffLineKind::Removed).count() as u64;
                if !is_context(&run[0]) {
                    changed.total += 1;
                    if changed.ranges.len() < ChangedRanges::MAX_RANGES {
                        changed.ranges.push(ChangedRange {
                            old_start: old_next - u64::from(on_old == 0),
                            old_count: on_old,
                            new_start: new_next - u64::from(on_new == 0),
                            new_count: on_new,
                        });
                    }
                }
                old_next += on_old;
                new_next += on_new;
            }
        }
        changed
    }

    /// The hunks as a unified diff without file headers, `\ No newline at end of file` included; empty when equal.
    pub fn to_unified(&self) -> String {
        let mut text = String::new();
        for hunk in &self.hunks {
            let old = unified_range(hunk.old_start, hunk.old_count);
            let new = unified_range(hunk.new_start, hunk.new_count);
            writeln!(text, "@@ -{old} +{new} @@").expect("a string takes any text");
            for line in &hunk.lines {
                text.push(match line.kind {
                    DiffLineKind::Context => ' ',
                    DiffLineKind::Removed => '-',
                    DiffLineKind::Added => '+',
                });
                text.push_str(&line.text);
                text.push('\n');
                if !line.has_newline {
                    text.push_str("\\ No newline at end of file\n");
                }
            }
        }
        text
    }
}

/// Hunks on their way into a diff. Once they have too many lines, the lines are only counted.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    diff: Diff,
    lines: u64,
}

impl Gathered {
    /// Adds the hunks of two texts that are equal outside of `changes`, which come in order.
    pub(crate) fn add(&mut self, old: &[u8], new: &[u8], changes: &[Change]) {
        let changes: Vec<Change> = changes.iter().flat_map(|change| change.refined(old, new)).collect();
        let groups = change::group(old, &changes);
        self.lines += groups.iter().map(|group| group.line_count(old, new)).sum::<u64>();
        if self.lines <= Diff::MAX_LINES {
            self.diff.hunks.extend(groups.iter().map(|group| group.hunk(old, new)));
        } else {
            self.diff.hunks = Vec::new();
        }
    }

    /// The diff.
    pub(crate) fn finish(self) -> DiffResult {
        match self.lines {
            0..=Diff::MAX_LINES => DiffResult::Computed(self.diff),
            lines => DiffResult::LeftOut(DiffLeftOut::TooManyLines { limit_lines: Diff::MAX_LINES, lines }),
        }
    }
}

fn is_context(line: &DiffLine) -> bool {
    line.kind == DiffLineKind::Context
}

/// A count of 1 is left out, as patch and diff do.
fn unified_range(start: u64, count: u64) -> String {
    if count == 1 { start.to_string() } else { format!("{start},{count}") }
}

#[cfg(test)]
pub(crate) use tests::patched;
#[cfg(test)]
mod tests;
