//! The lines that an edit changes, found while the file passes.
//!
//! A region is the whole lines around changed bytes; regions that touch are one. What is held of them, and what is
//! told, is for [`Excerpts`].

use memchr::memchr;

use super::after::Last;
use super::excerpt::{Excerpts, Region};
use super::recent::{Held, Recent};
use crate::diff::{ChangedRanges, Diff, DiffResult};

/// Finds the regions of one edit.
#[derive(Debug)]
pub(super) struct Regions {
    place: Place,
    recent: Recent,
    lines: LineShift,
    excerpts: Excerpts,
}

/// Where the pass is.
#[derive(Debug)]
enum Place {
    /// Behind the context of a region, or in front of the first one.
    Apart,
    /// In a line of a region.
    In(Region),
    /// In the line behind a region.
    Touching(Region),
    /// Behind so many whole lines of the context behind a region.
    Context(usize),
}

/// Line ends that the changes so far took away and put in.
#[derive(Debug, Default)]
struct LineShift {
    removed: u64,
    added: u64,
}

impl Regions {
    /// Starts at the first byte of a file. `None`: no diff is wanted.
    pub(super) fn new(max_diff_bytes: Option<u64>) -> Regions {
        let context = if max_diff_bytes.is_some() { Diff::CONTEXT_LINES } else { 0 };
        let excerpts = Excerpts::new(max_diff_bytes);
        let recent = Recent::new(context, excerpts.longest_line());
        Regions { place: Place::Apart, recent, lines: LineShift::default(), excerpts }
    }

    /// Takes bytes that stay.
    pub(super) fn keep(&mut self, bytes: &[u8], last: Last) {
        if last.end_a_line() {
            self.leave_whole_lines();
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let line_end = match self.place {
                Place::Apart => return self.recent.pass(rest),
                Place::In(_) | Place::Touching(_) | Place::Context(_) => memchr(b'\n', rest),
            };
            let (run, after) = rest.split_at(line_end.map_or(rest.len(), |at| at + 1));
            self.pass_line(run, line_end.is_some());
            rest = after;
        }
    }

    /// Takes bytes that go and bytes that come in their place, or a part of both, in a line that is told from 1.
    pub(super) fn change(&mut self, old: &[u8], new: &[u8], line: u64) {
        let mut region = match std::mem::replace(&mut self.place, Place::Apart) {
            Place::In(region) => region,
            Place::Touching(region) => self.enter(region),
            Place::Apart | Place::Context(_) => {
                if self.recent.has_passed_lines() {
                    self.excerpts.start_hunk();
                }
                self.excerpts.add_context(self.recent.whole_lines());
                let region = self.excerpts.open(line - 1, self.lines.after(line - 1));
                self.enter(region)
            }
        };
        self.lines.removed += super::count_line_ends(old);
        self.lines.added += super::count_line_ends(new);
        self.excerpts.extend(&mut region, Held::Bytes(old), Held::Bytes(new));
        self.place = Place::In(region);
    }

    /// The changed ranges, and the diff if it is wanted.
    pub(super) fn finish(mut self) -> (ChangedRanges, Option<DiffResult>) {
        match self.place {
            Place::In(region) => self.excerpts.close(region),
            Place::Touching(region) => {
                self.excerpts.close(region);
                self.excerpts.add_context(self.recent.last_line());
            }
            Place::Context(_) => self.excerpts.add_context(self.recent.last_line()),
            Place::Apart => {}
        }
        self.excerpts.finish()
    }

    /// Whole lines that are replaced by whole lines leave the next line alone.
    fn leave_whole_lines(&mut self) {
        self.place = match std::mem::replace(&mut self.place, Place::Apart) {
            Place::In(region) => Place::Touching(region),
            place @ (Place::Apart | Place::Touching(_) | Place::Context(_)) => place,
        };
    }

    /// Takes the start of the line that a change is in into its region.
    fn enter(&mut self, mut region: Region) -> Region {
        let start = self.recent.last_line();
        self.excerpts.extend(&mut region, start, start);
        self.recent.restart(self.excerpts.longest_line());
        region
    }

    /// Takes bytes that stay, up to the end of their line, in a region or in the context behind it.
    fn pass_line(&mut self, run: &[u8], is_whole: bool) {
        self.place = match std::mem::replace(&mut self.place, Place::Apart) {
            Place::In(mut region) => {
                self.excerpts.extend(&mut region, Held::Bytes(run), Held::Bytes(run));
                if is_whole { Place::Touching(region) } else { Place::In(region) }
            }
            Place::Touching(region) => {
                self.recent.pass(run);
                if is_whole {
                    self.excerpts.close(region);
                    self.pass_context(1)
                } else {
                    Place::Touching(region)
                }
            }
            Place::Context(lines) => {
                self.recent.pass(run);
                if is_whole { self.pass_context(lines + 1) } else { Place::Context(lines) }
            }
            Place::Apart => {
                self.recent.pass(run);
                Place::Apart
            }
        };
    }

    /// At the end of a line behind a region.
    fn pass_context(&mut self, lines: usize) -> Place {
        self.excerpts.add_context(self.recent.whole_lines());
        self.recent.restart(self.excerpts.longest_line());
        if lines < self.recent.line_count() { Place::Context(lines) } else { Place::Apart }
    }
}

impl LineShift {
    /// How many lines are before a place in the edited file.
    fn after(&self, lines_before: u64) -> u64 {
        (lines_before + self.added).saturating_sub(self.removed)
    }
}
