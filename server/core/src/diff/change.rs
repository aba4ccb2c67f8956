//! Changes as ranges of whole lines, and the hunks that show them.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{ChangedRange, Diff, DiffLine, DiffLineKind, Hunk};

/// Lines of the old text that became lines of the new text. Both are whole lines, one of them may be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where the old lines are.
    pub(crate) old: Range<usize>,
    /// Where the new lines are.
    pub(crate) new: Range<usize>,
    /// How many lines are before the old ones.
    pub(crate) old_line: u64,
    /// How many lines are before the new ones.
    pub(crate) new_line: u64,
}

impl Change {
    /// The most lines, on both sides together, that are searched for common lines.
    ///
    /// The time of `similar`'s search grows a little faster than the number of lines; with this many lines that are
    /// chosen to be hard it is some tenths of a second.
    const MAX_SEARCHED_LINES: usize = 60_000;

    /// Leaves out the whole lines that both sides have in common at their start and at their end.
    pub(crate) fn without_equal_ends(self, old: &[u8], new: &[u8]) -> Change {
        let Change { old: old_range, new: new_range, old_line, new_line } = self;
        let (old_bytes, new_bytes) = (&old[old_range.clone()], &new[new_range.clone()]);

        let mut prefix = old_bytes.iter().zip(new_bytes).take_while(|(a, b)| a == b).count();
        if prefix < old_bytes.len() || prefix < new_bytes.len() {
            prefix = memrchr(b'\n', &old_bytes[..prefix]).map_or(0, |at| at + 1);
        }
        let (old_rest, new_rest) = (&old_bytes[prefix..], &new_bytes[prefix..]);
        let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        let starts_line = |rest: &[u8]| rest.len() == suffix || rest[rest.len() - suffix - 1] == b'\n';
        let suffix = if starts_line(old_rest) && starts_line(new_rest) {
            suffix
        } else {
            let common = &old_rest[old_rest.len() - suffix..];
            memchr(b'\n', common).map_or(0, |at| suffix - at - 1)
        };

        let common_lines = memchr_iter(b'\n', &old_bytes[..prefix]).count() as u64;
        Change {
            old: old_range.start + prefix..old_range.end - suffix,
            new: new_range.start + prefix..new_range.end - suffix,
            old_line: old_line + common_lines,
            new_line: new_line + common_lines,
        }
    }

    /// The changes within this one: what is left when lines that both sides have in common are taken out.
    pub(crate) fn refined(&self, old: &[u8], new: &[u8]) -> Vec<Change> {
        let whole = self.clone().without_equal_ends(old, new);
        match (whole.old.is_empty(), whole.new.is_empty()) {
            (true, true) => return Vec::new(),
            (true, false) | (false, true) => return vec![whole],
            (false, false) => {}
        }
        let old_lines: Vec<&[u8]> = lines(&old[whole.old.clone()]).collect();
        let new_lines: Vec<&[u8]> = lines(&new[whole.new.clone()]).collect();
        if old_lines.len() + new_lines.len() > Self::MAX_SEARCHED_LINES {
            return vec![whole];
        }
        let ops = capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines);

        let mut changes: Vec<Change> = Vec::new();
        let (mut old_at, mut new_at) = (whole.old.start, whole.new.start);
        let (mut old_line, mut new_line) = (whole.old_line, whole.new_line);
        for op in ops {
            let old_part = &old_lines[op.old_range()];
            let new_part = &new_lines[op.new_range()];
            let old_end = old_at + old_part.iter().map(|line| line.len()).sum::<usize>();
            let new_end = new_at + new_part.iter().map(|line| line.len()).sum::<usize>();
            if !matches!(op, DiffOp::Equal { .. }) {
                match changes.last_mut() {
                    Some(last) if last.old.end == old_at && last.new.end == new_at => {
                        last.old.end = old_end;
                        last.new.end = new_end;
                    }
                    Some(_) | None => {
                        changes.push(Change {
                            old: old_at..old_end,
                            new: new_at..new_end,
                            old_line,
                            new_line,
                        });
                    }
                }
            }
            (old_at, new_at) = (old_end, new_end);
            old_line += old_part.len() as u64;
            new_line += new_part.len() as u64;
        }
        changes
    }

    /// Its lines as they are told: from 1, an empty side at the line before.
    pub(crate) fn range(&self, old: &[u8], new: &[u8]) -> ChangedRange {
        let old_count = line_count(&old[self.old.clone()]);
        let new_count = line_count(&new[self.new.clone()]);
        ChangedRange {
            old_start: self.old_line + u64::from(old_count > 0),
            old_count,
            new_start: self.new_line + u64::from(new_count > 0),
            new_count,
        }
    }
}

/// Changes whose contexts touch, with their context: a hunk to be.
#[derive(Debug)]
pub(super) struct Group<'c> {
    changes: &'c [Change],
    before: Range<usize>,
    after: Range<usize>,
}

/// Puts changes together that are at most two contexts apart.
pub(super) fn group<'c>(old: &[u8], changes: &'c [Change]) -> Vec<Group<'c>> {
    let is_near = |a: &Change, b: &Change| {
        let line_ends = memchr_iter(b'\n', &old[a.old.end..b.old.start]);
        line_ends.take(2 * Diff::CONTEXT_LINES + 1).count() <= 2 * Diff::CONTEXT_LINES
    };
    changes
        .chunk_by(is_near)
        .map(|changes| {
            let (start, end) = (changes[0].old.start, changes[changes.len() - 1].old.end);
            Group { changes, before: lines_before(old, start), after: lines_after(old, end) }
        })
        .collect()
}

impl Group<'_> {
    /// How many lines its hunk has.
    pub(super) fn line_count(&self, old: &[u8], new: &[u8]) -> u64 {
        let added = self.changes.iter().map(|change| line_count(&new[change.new.clone()]));
        line_count(&old[self.before.start..self.after.end]) + added.sum::<u64>()
    }

    /// The hunk.
    pub(super) fn hunk(&self, old: &[u8], new: &[u8]) -> Hunk {
        let mut diff_lines = Vec::new();
        let mut add = |kind, text: &[u8]| diff_lines.extend(lines(text).map(|line| diff_line(kind, line)));
        let first = &self.changes[0];
        let context_count = line_count(&old[self.before.clone()]);
        let mut at = self.before.start;
        for change in self.changes {
            add(DiffLineKind::Context, &old[at..change.old.start]);
            add(DiffLineKind::Removed, &old[change.old.clone()]);
            add(DiffLineKind::Added, &new[change.new.clone()]);
            at = change.old.end;
        }
        add(DiffLineKind::Context, &old[self.after.clone()]);

        let on_side =
            |absent: DiffLineKind| diff_lines.iter().filter(|line| line.kind != absent).count() as u64;
        let (old_count, new_count) = (on_side(DiffLineKind::Added), on_side(DiffLineKind::Removed));
        Hunk {
            old_start: first.old_line - context_count + u64::from(old_count > 0),
            old_count,
            new_start: first.new_line - context_count + u64::from(new_count > 0),
            new_count,
            lines: diff_lines,
        }
    }
}

/// Up to three lines that end at `end`.
fn lines_before(text: &[u8], end: usize) -> Range<usize> {
    let mut start = end;
    for _ in 0..Diff::CONTEXT_LINES {
        match start.checked_sub(1) {
            Some(line_end) => start = memrchr(b'\n', &text[..line_end]).map_or(0, |at| at + 1),
            None => break,
        }
    }
    start..end
}

/// Up to three lines that start at `start`.
fn lines_after(text: &[u8], start: usize) -> Range<usize> {
    let rest = &text[start..];
    let end = match memchr_iter(b'\n', rest).nth(Diff::CONTEXT_LINES - 1) {
        Some(line_end) => start + line_end + 1,
        None => text.len(),
    };
    start..end
}

/// The lines of a text, each with its line end.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn line_count(text: &[u8]) -> u64 {
    lines(text).count() as u64
}

fn diff_line(kind: DiffLineKind, line: &[u8]) -> DiffLine {
    let (text, has_newline) = match line.strip_suffix(b"\n") {
        Some(text) => (text, true),
        None => (line, false),
    };
    // Both contents are text, and lines are cut at `\n` only: nothing is ever replaced here.
    DiffLine { kind, text: String::from_utf8_lossy(text).into_owned(), has_newline }
}
