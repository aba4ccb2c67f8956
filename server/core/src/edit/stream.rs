//! A file in pieces as what an edit sees of it: matches, and the runs of bytes between them, in order.
//!
//! What no match can touch any more is handed on from the piece that it came in. Only the bytes behind that are
//! copied: at most a needle, [`ALIGNED`] and what the matcher has not searched. What becomes of the file is for the
//! [`Pass`] to know.

use std::borrow::Cow;
use std::ops::Range;

use super::matcher::{Match, Matcher, Needle, Overlaps};

/// Pieces are taken in parts of this size, so that what looks at a part later finds it in the processor's caches.
pub(super) const PART: usize = 256 << 10;

/// Runs end at multiples of this where no match ends them: a hash works best on such runs.
const ALIGNED: u64 = 64 << 10;

/// What is done with a file on the way.
pub(super) trait Pass {
    /// Whether a match is replaced. Asked once for each, in order.
    fn wants(&mut self, found: &Match) -> bool;

    /// Takes the next bytes, outside of all wanted matches.
    fn keep(&mut self, bytes: &[u8]);

    /// Takes the next bytes, a wanted match.
    fn replace(&mut self, found: &Match, matched: &[u8]);

    /// Whether no further match is wanted.
    fn has_all(&self) -> bool;
}

/// Finds the matches of a file for a pass.
#[derive(Debug)]
pub(super) struct Stream<'e> {
    matcher: Matcher<'e>,
    /// The end of what came, as far as it is not handed on.
    pending: Vec<u8>,
    /// How many bytes at the start of `pending` are handed on already.
    passed: usize,
    /// The offset in the file of what follows them.
    base: u64,
    aligned: u64,
}

impl<'e> Stream<'e> {
    /// Starts at the first byte of a file.
    pub(super) fn new(needle: &'e Needle, overlaps: Overlaps) -> Stream<'e> {
        Stream {
            matcher: Matcher::new(needle, overlaps),
            pending: Vec::new(),
            passed: 0,
            base: 0,
            aligned: ALIGNED,
        }
    }

    /// Works in steps of few bytes.
    #[cfg(test)]
    pub(super) fn in_steps(mut self, step: usize) -> Stream<'e> {
        self.matcher = self.matcher.in_steps(step, step);
        self.aligned = step as u64;
        self
    }

    /// Takes the next part, of at most [`PART`] bytes.
    pub(super) fn feed(&mut self, part: &[u8], pass: &mut impl Pass) {
        let Stream { matcher, pending, passed, base, aligned } = self;
        let window = Window { head: &pending[*passed..], tail: part, base: *base };
        let mut done = *base;
        matcher.feed(part, |found| window.replace(&mut done, &found, pass));
        let settled = if pass.has_all() { window.end() } else { matcher.settled() / *aligned * *aligned };
        let until = settled.clamp(done, window.end());
        window.each(done..until, |run| pass.keep(run));
        self.forget(until, part);
    }

    /// Ends the file.
    pub(super) fn finish(self, pass: &mut impl Pass) {
        let Stream { matcher, pending, passed, base, aligned: _ } = self;
        let window = Window { head: &pending[passed..], tail: &[], base };
        let mut done = base;
        matcher.finish(|found| window.replace(&mut done, &found, pass));
        window.each(done..window.end(), |run| pass.keep(run));
    }

    /// Ends the search, but not the file: hands on what is pending.
    pub(super) fn give_up(self, mut keep: impl FnMut(&[u8])) {
        keep(&self.pending[self.passed..]);
    }

    /// Keeps what is behind `until` of the pending bytes and the part after them.
    fn forget(&mut self, until: u64, part: &[u8]) {
        let gone = index(until - self.base);
        self.base = until;
        let pending = self.pending.len() - self.passed;
        match gone.checked_sub(pending) {
            Some(gone) => {
                self.pending.clear();
                self.passed = 0;
                self.pending.extend_from_slice(&part[gone..]);
            }
            None => {
                self.passed += gone;
                // Moving the rest to the front costs no more than what was handed on since the last time.
                if self.passed > self.pending.len() / 2 {
                    self.pending.drain(..self.passed);
                    self.passed = 0;
                }
                self.pending.extend_from_slice(part);
            }
        }
    }
}

/// Bytes of the file that are at hand, in two pieces.
struct Window<'w> {
    head: &'w [u8],
    tail: &'w [u8],
    base: u64,
}

impl<'w> Window<'w> {
    fn end(&self) -> u64 {
        self.base + (self.head.len() + self.tail.len()) as u64
    }

    fn replace(&self, done: &mut u64, found: &Match, pass: &mut impl Pass) {
        if pass.wants(found) {
            self.each(*done..found.range.start, |run| pass.keep(run));
            pass.replace(found, &self.whole(found.range.clone()));
            *done = found.range.end;
        }
    }

    /// Hands on a range in order.
    fn each(&self, range: Range<u64>, mut take: impl FnMut(&[u8])) {
        let (in_head, in_tail) = self.parts(range);
        for run in [in_head, in_tail] {
            if !run.is_empty() {
                take(run);
            }
        }
    }

    /// A range as one piece.
    fn whole(&self, range: Range<u64>) -> Cow<'w, [u8]> {
        match self.parts(range) {
            (in_head, []) => Cow::Borrowed(in_head),
            ([], in_tail) => Cow::Borrowed(in_tail),
            (in_head, in_tail) => Cow::Owned([in_head, in_tail].concat()),
        }
    }

    fn parts(&self, range: Range<u64>) -> (&'w [u8], &'w [u8]) {
        let (start, end) = (index(range.start - self.base), index(range.end - self.base));
        let head = self.head.len();
        let in_head = &self.head[start.min(head)..end.min(head)];
        (in_head, &self.tail[start.saturating_sub(head)..end.saturating_sub(head)])
    }
}

/// An offset into bytes that are at hand.
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset into memory fits into a usize")
}
