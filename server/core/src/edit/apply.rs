//! An edit of a content that is in memory as a whole.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::matcher::{Match, Matcher, Needle, Occurrences, Overlaps};
use super::near_miss;
use super::splice::{Joiner, NewBytes, Replacement, Spliced};
use super::{EditRefusal, EditRequest, Edited, Matches, Patience};
use crate::diff::{Change, ChangedRanges, Diff, DiffLeftOut, DiffResult};
use crate::error::Result;
use crate::limit::Limits;
use crate::text::summarize;

/// Applies an edit to a whole content.
///
/// The diff is made around the changed lines only, so it costs what changed and not what the file holds. Of an edit
/// `max_diff_bytes` bounds these lines, with their context, on both sides together.
///
/// # Errors
/// [`EditRefusal`]; the content is untouched then. A result that memory has no room for is
/// [`EditRefusal::TooLarge`] like one above `max_file_bytes`.
pub fn apply(
    content: &[u8],
    edit: &EditRequest,
    limits: &Limits,
    patience: &dyn Patience,
) -> Result<Edited, EditRefusal> {
    let before = summarize(content).map_err(EditRefusal::NotText)?;
    let needle = Needle::new(edit.old_string());
    let replacement = Replacement::new(edit, &before);
    let plan = if edit.replace_all() { Plan::All(&needle) } else { Plan::One(find_one(content, &needle)?) };

    let planned = plan.rewrite(content, &replacement, &mut |_| {}, |_, _| {});
    if planned.replaced == 0 {
        let search = near_miss::search(content, edit.old_string(), limits.near_miss_bytes, patience);
        return Err(EditRefusal::NotFound {
            near_misses: search.near_misses,
            search_stopped: search.stopped,
        });
    }
    let mut edited = allocate(planned.written, limits.max_file_bytes)?;
    let mut matches = Matches::default();
    let mut regions = Regions::new(content, limits.max_diff_bytes);
    plan.rewrite(content, &replacement, &mut |bytes| edited.extend_from_slice(bytes), |found, rewritten| {
        if matches.ranges.len() < Matches::MAX_RANGES {
            matches.ranges.push(found.lines);
        }
        matches.total += 1;
        regions.add(rewritten);
    });
    let (changed, diff) = regions.finish(&edited, limits.max_diff_bytes);
    Ok(Edited { content: edited, before, matches, changed, diff })
}

/// What is replaced. The matches of `replace_all` are found anew in each pass and never listed: there may be as many
/// as the file has bytes.
enum Plan<'e> {
    One(Option<Match>),
    All(&'e Needle),
}

/// The one match, or none.
fn find_one(content: &[u8], needle: &Needle) -> Result<Option<Match>, EditRefusal> {
    let mut occurrences = Occurrences::default();
    let mut matcher = Matcher::new(needle, Overlaps::Counted);
    matcher.feed(content, |found| occurrences.add(found));
    matcher.finish(|found| occurrences.add(found));
    match occurrences {
        Occurrences { count: 0 | 1, first, .. } => Ok(first),
        Occurrences { count, lines, .. } => Err(EditRefusal::Ambiguous { match_count: count, lines }),
    }
}

/// The bytes that one match changes: old ones of the content, new ones of the edited content.
struct Rewritten {
    old: Range<usize>,
    new: NewBytes,
}

impl Plan<'_> {
    /// Passes over the content once: writes the edited content and tells each match.
    fn rewrite(
        &self,
        content: &[u8],
        replacement: &Replacement,
        write: &mut impl FnMut(&[u8]),
        mut on_match: impl FnMut(&Match, Rewritten),
    ) -> Spliced {
        let mut joiner = Joiner::new();
        let mut done = 0;
        let mut replaced = 0;
        let mut replace = |found: Match| {
            let (start, end) = (index(found.range.start), index(found.range.end));
            joiner.join(&content[done..start], write);
            let matched = &content[start..end];
            let splice = replacement.splice(matched);
            let new = splice.write(matched, &mut joiner, write);
            on_match(&found, Rewritten { old: start + splice.kept_prefix..end - splice.kept_suffix, new });
            done = end;
            replaced += 1;
        };
        match self {
            Plan::One(found) => found.iter().cloned().for_each(replace),
            Plan::All(needle) => {
                let mut matcher = Matcher::new(needle, Overlaps::Skipped);
                matcher.feed(content, &mut replace);
                matcher.finish(&mut replace);
            }
        }
        joiner.join(&content[done..], write);
        Spliced { replaced, written: joiner.written() }
    }
}

/// An empty buffer with room for the result.
fn allocate(size_bytes: u64, max_file_bytes: Option<u64>) -> Result<Vec<u8>, EditRefusal> {
    let too_large = |limit_bytes| EditRefusal::TooLarge { limit_bytes, size_bytes };
    if let Some(limit_bytes) = max_file_bytes
        && size_bytes > limit_bytes
    {
        return Err(too_large(limit_bytes));
    }
    // The largest buffer that can be there at all is the limit to name when memory ends before any configured one.
    let no_room = || too_large(isize::MAX.unsigned_abs() as u64);
    let mut buffer = Vec::new();
    let size = usize::try_from(size_bytes).map_err(|_| no_room())?;
    buffer.try_reserve_exact(size).map_err(|_| no_room())?;
    Ok(buffer)
}

/// The lines around the changed bytes, gathered match by match.
///
/// Memory is bounded: once the regions hold more than a diff may, all but the first of them are only counted.
struct Regions<'c> {
    content: &'c [u8],
    max_bytes: u64,
    kept: Vec<Region>,
    open: Option<Region>,
    total: u64,
    bytes: u64,
    /// The end of the line that was looked for last.
    line_end: usize,
}

/// Whole lines of the old content, and what became of them.
struct Region {
    old: Range<usize>,
    new_start: usize,
    /// Where the last new bytes end.
    new_end: usize,
    /// The length of the rest of their line, when it belongs to the region.
    rest_of_line: Option<usize>,
}

impl<'c> Regions<'c> {
    fn new(content: &'c [u8], max_bytes: u64) -> Regions<'c> {
        Regions { content, max_bytes, kept: Vec::new(), open: None, total: 0, bytes: 0, line_end: 0 }
    }

    fn add(&mut self, rewritten: Rewritten) {
        let Rewritten { old, new } = rewritten;
        let (new_start, new_end) = (index(new.range.start), index(new.range.end));
        // Whole lines that are replaced by whole lines leave the next line alone.
        let are_whole_lines = new.end_a_line && (old.end == 0 || self.content[old.end - 1] == b'\n');
        let rest_of_line = (!are_whole_lines).then(|| self.line_end_after(old.end) - old.end);
        let old_end = old.end + rest_of_line.unwrap_or(0);

        let settled = self.open.as_ref().map_or(0, |open| open.old.end);
        // A match in a line that is in the region already starts before the region's end.
        let line_start = match self.content.get(settled..old.start) {
            Some(between) => memrchr(b'\n', between).map(|at| settled + at + 1),
            None => None,
        };
        match (&mut self.open, line_start) {
            (Some(open), None) => {
                open.old.end = open.old.end.max(old_end);
                open.new_end = new_end;
                open.rest_of_line = rest_of_line;
            }
            (None, _) | (Some(_), Some(_)) => {
                self.close();
                let line_start = line_start.unwrap_or(0);
                self.open = Some(Region {
                    old: line_start..old_end,
                    new_start: new_start - (old.start - line_start),
                    new_end,
                    rest_of_line,
                });
            }
        }
    }

    /// The start of the line after the one that holds `at`. Offsets come in order, so each byte is looked at once.
    fn line_end_after(&mut self, at: usize) -> usize {
        if at >= self.line_end {
            self.line_end = line_end_after(self.content, at);
        }
        self.line_end
    }

    fn close(&mut self) {
        let Some(region) = self.open.take() else { return };
        self.total += 1;
        let new_len = region.new_end - region.new_start + region.rest_of_line.unwrap_or(0);
        self.bytes += (region.old.len() + new_len) as u64;
        if self.kept.len() < ChangedRanges::MAX_RANGES || self.bytes <= self.max_bytes {
            self.kept.push(region);
        }
    }

    /// The changed ranges and the diff, once the edited content is complete.
    fn finish(mut self, edited: &[u8], max_bytes: u64) -> (ChangedRanges, DiffResult) {
        self.close();
        let mut lines = LineCount::default();
        let mut new_lines = LineCount::default();
        let changes: Vec<Change> = self
            .kept
            .into_iter()
            .map(|region| {
                let new_end = match region.rest_of_line {
                    Some(_) => line_end_after(edited, region.new_end),
                    None => region.new_end,
                };
                Change {
                    old_line: lines.before(self.content, region.old.start),
                    new_line: new_lines.before(edited, region.new_start),
                    old: region.old,
                    new: region.new_start..new_end,
                }
                .without_equal_ends(self.content, edited)
            })
            .collect();
        let ranges = changes.iter().take(ChangedRanges::MAX_RANGES);
        let changed = ChangedRanges {
            ranges: ranges.map(|change| change.range(self.content, edited)).collect(),
            total: self.total,
        };
        let diff = if self.bytes > max_bytes {
            DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes: max_bytes, size_bytes: self.bytes })
        } else {
            Diff::around(self.content, edited, &changes, max_bytes)
        };
        (changed, diff)
    }
}

fn line_end_after(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |line_end| at + line_end + 1)
}

/// Counts line ends up to places that come in order.
#[derive(Default)]
struct LineCount {
    at: usize,
    line_ends: u64,
}

impl LineCount {
    fn before(&mut self, bytes: &[u8], end: usize) -> u64 {
        self.line_ends += memchr_iter(b'\n', &bytes[self.at..end]).count() as u64;
        self.at = end;
        self.line_ends
    }
}

/// An offset into a content that is in memory.
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset into memory fits into a usize")
}
