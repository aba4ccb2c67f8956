//! What is held of the lines that an edit changes, and what is told of them: changed ranges and diff.
//!
//! Whole lines that both sides of a region have in common at its start and at its end are not changed: they are taken
//! off where both sides together have at most [`COMPARED_BYTES`]. A region above that is told with all of its lines, so
//! that nobody needs to hold it.
//!
//! For a diff the lines of all regions are held, with their context, until they are above the limit; from then on they
//! are only counted. Without a diff no more is held than one region that can be compared.
//!
//! Deliberately absent: which lines are a region, which is `region`'s.

use super::recent::Held;
use crate::diff::{Change, ChangedRange, ChangedRanges, DiffLeftOut, DiffResult, Gathered};

/// The most bytes, on both sides together, of a region whose ends are compared.
const COMPARED_BYTES: u64 = 256 << 10;

/// Gathers what is told of the regions.
#[derive(Debug)]
pub(super) struct Excerpts {
    /// `None` when no diff is wanted.
    max_diff_bytes: Option<u64>,
    /// The bytes of the diff so far: the regions on both sides, and their context once.
    diff_bytes: u64,
    ranges: ChangedRanges,
    /// While the diff is not too large: all regions with their contexts. Else the open region, or nothing.
    old: Vec<u8>,
    new: Vec<u8>,
    hunks: Vec<HunkStart>,
    /// Where the regions are, counted from the start of their hunk.
    changes: Vec<Change>,
}

/// Where regions begin that share a context.
#[derive(Clone, Copy, Debug)]
struct HunkStart {
    old: usize,
    new: usize,
    change: usize,
}

/// Whole lines of the file, and what becomes of them.
#[derive(Debug)]
pub(super) struct Region {
    old: Side,
    new: Side,
    /// Whether its bytes are held.
    is_held: bool,
}

/// One side of a region.
#[derive(Debug)]
struct Side {
    /// How many lines are before it.
    line: u64,
    /// Where its bytes start among those that are held.
    start: usize,
    bytes: u64,
    line_ends: u64,
    ends_a_line: bool,
}

impl Excerpts {
    /// `None`: no diff is wanted.
    pub(super) fn new(max_diff_bytes: Option<u64>) -> Excerpts {
        Excerpts {
            max_diff_bytes,
            diff_bytes: 0,
            ranges: ChangedRanges::default(),
            old: Vec::new(),
            new: Vec::new(),
            hunks: vec![HunkStart { old: 0, new: 0, change: 0 }],
            changes: Vec::new(),
        }
    }

    /// The most bytes that lines in front of a region may have to be of use here.
    pub(super) fn longest_line(&self) -> usize {
        let bytes = match self.max_diff_bytes {
            Some(max) if self.diff_bytes <= max => max.max(COMPARED_BYTES),
            Some(_) | None => COMPARED_BYTES,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// What comes next shares no context with what was before.
    pub(super) fn start_hunk(&mut self) {
        if self.holds_diff() && !self.changes.is_empty() {
            let start = HunkStart { old: self.old.len(), new: self.new.len(), change: self.changes.len() };
            self.hunks.push(start);
        }
    }

    /// Takes lines beside a region; none is open.
    pub(super) fn add_context(&mut self, lines: Held<'_>) {
        if self.max_diff_bytes.is_none() || lines.len() == 0 {
            return;
        }
        self.diff_bytes = self.diff_bytes.saturating_add(lines.len());
        match lines {
            Held::Bytes(bytes) if self.holds_diff() => {
                self.old.extend_from_slice(bytes);
                self.new.extend_from_slice(bytes);
            }
            Held::Bytes(_) | Held::Count(_) => self.forget_all(),
        }
    }

    /// Opens a region behind so many lines.
    pub(super) fn open(&self, old_line: u64, new_line: u64) -> Region {
        let side = |line, held: &Vec<u8>| Side {
            line,
            start: held.len(),
            bytes: 0,
            line_ends: 0,
            ends_a_line: true,
        };
        Region { old: side(old_line, &self.old), new: side(new_line, &self.new), is_held: true }
    }

    /// Takes the next bytes of both sides of a region.
    pub(super) fn extend(&mut self, region: &mut Region, old: Held<'_>, new: Held<'_>) {
        region.old.count(old);
        region.new.count(new);
        let held_diff = self.holds_diff();
        self.diff_bytes = self.diff_bytes.saturating_add(old.len()).saturating_add(new.len());
        if held_diff && !self.holds_diff() {
            self.forget_before(region);
        }
        if !region.is_held {
            return;
        }
        match (old, new) {
            (Held::Bytes(old), Held::Bytes(new)) if self.holds_diff() || region.is_comparable() => {
                self.old.extend_from_slice(old);
                self.new.extend_from_slice(new);
            }
            (Held::Bytes(_) | Held::Count(_), Held::Bytes(_) | Held::Count(_)) => {
                region.is_held = false;
                self.forget_all();
            }
        }
    }

    /// Ends a region.
    pub(super) fn close(&mut self, region: Region) {
        let change = Change {
            old: region.old.start..self.old.len(),
            new: region.new.start..self.new.len(),
            old_line: region.old.line,
            new_line: region.new.line,
        };
        self.ranges.total += 1;
        if self.ranges.ranges.len() < ChangedRanges::MAX_RANGES {
            self.ranges.ranges.push(if region.is_held && region.is_comparable() {
                change.clone().without_equal_ends(&self.old, &self.new).range(&self.old, &self.new)
            } else {
                region.range()
            });
        }
        if self.holds_diff() {
            let hunk = self.hunks[self.hunks.len() - 1];
            self.changes.push(Change {
                old: change.old.start - hunk.old..change.old.end - hunk.old,
                new: change.new.start - hunk.new..change.new.end - hunk.new,
                ..change
            });
        } else {
            self.old.clear();
            self.new.clear();
        }
    }

    /// The changed ranges, and the diff if it is wanted.
    pub(super) fn finish(self) -> (ChangedRanges, Option<DiffResult>) {
        let diff = self.max_diff_bytes.map(|limit_bytes| {
            if self.diff_bytes > limit_bytes {
                DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes, size_bytes: self.diff_bytes })
            } else {
                self.diff()
            }
        });
        (self.ranges, diff)
    }

    fn diff(&self) -> DiffResult {
        let end = HunkStart { old: self.old.len(), new: self.new.len(), change: self.changes.len() };
        let ends = self.hunks.iter().skip(1).chain([&end]);
        let mut gathered = Gathered::default();
        for (start, end) in self.hunks.iter().zip(ends) {
            let (old, new) = (&self.old[start.old..end.old], &self.new[start.new..end.new]);
            gathered.add(old, new, &self.changes[start.change..end.change]);
        }
        gathered.finish()
    }

    fn holds_diff(&self) -> bool {
        self.max_diff_bytes.is_some_and(|max| self.diff_bytes <= max)
    }

    /// The diff is too large: only the open region may still be of use.
    fn forget_before(&mut self, region: &mut Region) {
        self.old = self.old.split_off(region.old.start);
        self.new = self.new.split_off(region.new.start);
        self.hunks = Vec::new();
        self.changes = Vec::new();
        region.old.start = 0;
        region.new.start = 0;
    }

    fn forget_all(&mut self) {
        self.old = Vec::new();
        self.new = Vec::new();
        self.hunks = Vec::new();
        self.changes = Vec::new();
    }
}

impl Region {
    fn is_comparable(&self) -> bool {
        self.old.bytes.saturating_add(self.new.bytes) <= COMPARED_BYTES
    }

    /// All of its lines, as they are told.
    fn range(&self) -> ChangedRange {
        let (old_count, new_count) = (self.old.line_count(), self.new.line_count());
        ChangedRange {
            old_start: self.old.line + u64::from(old_count > 0),
            old_count,
            new_start: self.new.line + u64::from(new_count > 0),
            new_count,
        }
    }
}

impl Side {
    fn count(&mut self, bytes: Held<'_>) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        match bytes {
            Held::Bytes([]) => {}
            Held::Bytes([.., last]) if *last == b'\n' => self.ends_a_line = true,
            Held::Bytes(_) => self.ends_a_line = false,
            // Only the start of a line is too long to be held.
            Held::Count(_) => self.ends_a_line = false,
        }
        if let Held::Bytes(bytes) = bytes {
            self.line_ends += super::count_line_ends(bytes);
        }
    }

    fn line_count(&self) -> u64 {
        self.line_ends + u64::from(!self.ends_a_line)
    }
}
