//! The edited file as it comes out: its bytes, and all that is told of it.
//!
//! Deliberately absent: where the file matches and what comes there, which the passes know, and whoever keeps the bytes.

use super::after::{After, Last};
use super::region::Regions;
use super::splice::Joiner;
use super::{Digest, MatchRange, Matches};
use crate::diff::{ChangedRanges, DiffResult};
use crate::text::TextSummary;
use crate::version::Version;

/// What an edit makes of a file, but for the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed<V = Version> {
    /// The size of the edited file.
    pub size_bytes: u64,
    /// Its version.
    pub version: V,
    /// Where the file matched.
    pub matches: Matches,
    /// Which lines changed.
    pub changed: ChangedRanges,
    /// The diff; `None` when it was not wanted.
    pub diff: Option<DiffResult>,
    /// What the edited file is.
    pub after: TextSummary,
}

/// Takes the edited file piece by piece.
#[derive(Debug)]
pub(super) struct EditedFile<D> {
    digest: D,
    joiner: Joiner,
    last: Last,
    after: After,
    regions: Regions,
    matches: Matches,
    /// The line of the last change, from 1.
    line: u64,
}

impl<D: Digest> EditedFile<D> {
    /// Starts at the first byte. `None`: no diff is wanted.
    pub(super) fn new(max_diff_bytes: Option<u64>) -> EditedFile<D> {
        EditedFile {
            digest: D::default(),
            joiner: Joiner::default(),
            last: Last::default(),
            after: After::default(),
            regions: Regions::new(max_diff_bytes),
            matches: Matches::default(),
            line: 1,
        }
    }

    /// What names the content so far.
    pub(super) fn digest(&self) -> &D {
        &self.digest
    }

    /// The last byte of the file that was taken.
    pub(super) fn last_old(&self) -> Option<u8> {
        self.last.old
    }

    /// Begins the next change, of a match, in a line that is told from 1.
    pub(super) fn begin(&mut self, matched_lines: MatchRange, line: u64) {
        if self.matches.ranges.len() < Matches::MAX_RANGES {
            self.matches.ranges.push(matched_lines);
        }
        self.matches.total += 1;
        self.line = line;
    }

    /// Takes bytes that stay.
    pub(super) fn keep(&mut self, bytes: &[u8], write: &mut impl FnMut(&[u8])) {
        let between = self.joiner.keep(bytes);
        self.add(between, write);
        self.copy(bytes, write);
    }

    /// Takes bytes that go and what comes in their place.
    pub(super) fn change(&mut self, old: &[u8], new: &[u8], write: &mut impl FnMut(&[u8])) {
        let between = self.joiner.change(new);
        self.remove(old);
        self.add(between, write);
        self.add(new, write);
    }

    /// Takes bytes that stay, when it is settled what is written before them.
    pub(super) fn copy(&mut self, bytes: &[u8], write: &mut impl FnMut(&[u8])) {
        let Some(last) = bytes.last() else { return };
        self.digest.update(bytes);
        write(bytes);
        self.after.keep(bytes, self.last);
        self.regions.keep(bytes, self.last);
        self.last = Last { old: Some(*last), new: Some(*last) };
    }

    /// Takes bytes that go.
    pub(super) fn remove(&mut self, bytes: &[u8]) {
        self.after.remove(bytes, self.last, self.line);
        self.regions.change(bytes, &[], self.line);
        self.last.old = bytes.last().copied().or(self.last.old);
    }

    /// Takes bytes that come, when it is settled what is written before them.
    pub(super) fn add(&mut self, bytes: &[u8], write: &mut impl FnMut(&[u8])) {
        let Some(last) = bytes.last() else { return };
        self.digest.update(bytes);
        write(bytes);
        self.after.add(bytes, self.last);
        self.regions.change(&[], bytes, self.line);
        self.last.new = Some(*last);
    }

    /// Ends the file.
    pub(super) fn finish(self, before: &TextSummary) -> Changed<D::Name> {
        let (changed, diff) = self.regions.finish();
        let after = self.after.finish(before, self.last);
        Changed {
            size_bytes: after.size_bytes,
            version: self.digest.name(),
            matches: self.matches,
            changed,
            diff,
            after,
        }
    }
}
