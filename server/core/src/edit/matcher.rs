//! Where `old_string` occurs, found in a file that arrives in pieces of any size.
//!
//! The matcher sees the *view* of a file: `\r\n` is one `\n`, and a byte order mark at its start is not there. So a
//! `\r\n` is never split: a needle that ends in `\r` does not match in front of the `\n` of a `\r\n`, and one that
//! starts with `\n` matches the whole `\r\n`. A lone `\r` is a character like any other. A needle that starts with
//! U+FEFF does not match at the start of a file that has a byte order mark, since the mark is not shown there; the
//! same character elsewhere is text and matches.
//!
//! Memory is bounded by needle and piece (pieces are cut down further inside), time is linear in file and needle
//! whatever they hold. Whether the file is text is not judged here; see [`crate::text`].

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use memchr::{memchr, memmem};

use super::{MatchRange, count_line_ends};
use crate::text::BOM;

/// Text with every `\r\n` written as `\n`. A lone `\r` stays, also one in front of a `\r\n`.
pub(crate) fn view_of(text: &str) -> Cow<'_, str> {
    if memmem::find(text.as_bytes(), b"\r\n").is_some() {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text to look for, prepared once for any number of files.
#[derive(Clone)]
pub struct Needle {
    view: Vec<u8>,
    finder: memmem::Finder<'static>,
    /// Two occurrences are never closer than this.
    least_distance: usize,
    /// Whether `least_distance` is the period of the needle and fits into it twice.
    is_periodic: bool,
    /// Line ends before its last character.
    inner_line_ends: u64,
}

impl Needle {
    /// Prepares `old_string`, in which `\r\n` and `\n` are one line end.
    ///
    /// # Panics
    /// When it is empty: [`super::EditRequest`] refuses that.
    pub fn new(old_string: &str) -> Needle {
        assert!(!old_string.is_empty(), "an edit request has no empty old_string");
        let view = view_of(old_string).into_owned().into_bytes();
        let (least_distance, is_periodic) = least_distance(&view);
        let inner_line_ends = count_line_ends(&view[..view.len() - 1]);
        let finder = memmem::Finder::new(&view).into_owned();
        Needle { view, finder, least_distance, is_periodic, inner_line_ends }
    }

    /// Its bytes as they are looked for: `\r\n` is `\n`.
    pub fn view(&self) -> &[u8] {
        &self.view
    }
}

impl fmt::Debug for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needle").field("bytes", &self.view.len()).finish_non_exhaustive()
    }
}

/// Which occurrences are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlaps {
    /// All of them, also those that overlap: the way to tell whether a match is the only one.
    Counted,
    /// From the left, each starting where the one before ended or later: what `replace_all` replaces.
    Skipped,
}

/// One occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The bytes of the file that it covers: every `\r\n` in it whole, a byte order mark never.
    pub range: Range<u64>,
    /// The lines that it covers; a line end belongs to the line that it ends.
    pub lines: MatchRange,
}

/// What is to be known about the occurrences of a text that should occur once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Occurrences {
    /// How many there are.
    pub count: u64,
    /// The lines where the first [`Occurrences::MAX_LINES`] start, from 1.
    pub lines: Vec<u64>,
    /// The first one.
    pub first: Option<Match>,
}

impl Occurrences {
    /// How many line numbers are kept.
    pub const MAX_LINES: usize = 20;

    /// Counts one more, in the order of the file.
    pub fn add(&mut self, found: Match) {
        self.count += 1;
        if self.lines.len() < Occurrences::MAX_LINES {
            self.lines.push(found.lines.start_line);
        }
        if self.first.is_none() {
            self.first = Some(found);
        }
    }
}

/// Sizes in bytes that weigh memory against time; matches do not depend on them.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Pieces are taken in parts of this size, so that a huge piece does not make a huge buffer.
    part: usize,
    /// The least amount of new view that a search of the buffer is worth.
    least_search: usize,
}

impl Sizes {
    const DEFAULT: Sizes = Sizes { part: 256 << 10, least_search: 64 << 10 };
}

/// Finds a needle in a file that arrives in pieces.
///
/// Offsets whose name says *view* count bytes of the view, all others bytes of the file.
pub struct Matcher<'n> {
    needle: &'n Needle,
    overlaps: Overlaps,
    sizes: Sizes,
    /// How many bytes of a byte order mark the file started with; `None` once that is settled.
    bom_bytes: Option<usize>,
    /// A `\r` at the end of a piece: the next byte says what it is.
    holds_cr: bool,
    /// The view that is not searched to its end; starts at `base_view`.
    buffer: Vec<u8>,
    base_view: u64,
    /// Bytes that the view up to `base_view` lacks.
    hidden_before_base: u64,
    /// View offsets of the line ends from `base_view` on that are `\r\n` in the file.
    crlf_views: VecDeque<u64>,
    /// The next occurrence starts here or later.
    next_view: u64,
    /// Whether it is `next_view` or farther than the period allows; see [`Matcher::search`].
    expects_period: bool,
    /// The line of `line_view`, from 1.
    line: u64,
    line_view: u64,
}

impl fmt::Debug for Matcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher").field("needle", self.needle).finish_non_exhaustive()
    }
}

impl<'n> Matcher<'n> {
    /// Starts at the first byte of a file.
    pub fn new(needle: &'n Needle, overlaps: Overlaps) -> Matcher<'n> {
        Matcher {
            needle,
            overlaps,
            sizes: Sizes::DEFAULT,
            bom_bytes: Some(0),
            holds_cr: false,
            buffer: Vec::new(),
            base_view: 0,
            hidden_before_base: 0,
            crlf_views: VecDeque::new(),
            next_view: 0,
            expects_period: false,
            line: 1,
            line_view: 0,
        }
    }

    /// Works in parts of this size, and searches once so much is there.
    #[cfg(test)]
    pub(super) fn in_steps(mut self, part: usize, least_search: usize) -> Matcher<'n> {
        self.sizes = Sizes { part, least_search };
        self
    }

    /// Looks at the next piece. Matches are told in the order of the file, some of them only by a later call.
    pub fn feed(&mut self, piece: &[u8], mut on_match: impl FnMut(Match)) {
        for part in piece.chunks(self.sizes.part) {
            self.feed_part(part, &mut on_match);
        }
    }

    /// Ends the file and tells the matches that are left.
    pub fn finish(mut self, mut on_match: impl FnMut(Match)) {
        if let Some(bytes) = self.bom_bytes.take() {
            self.buffer.extend_from_slice(&BOM[..bytes]);
        }
        if self.holds_cr {
            self.buffer.push(b'\r');
        }
        self.search_buffer(&mut on_match);
    }

    /// The offset before which no later call finds a match to start.
    pub fn settled(&self) -> u64 {
        self.offset(self.next_view.max(self.base_view))
    }

    fn feed_part(&mut self, part: &[u8], on_match: &mut impl FnMut(Match)) {
        let part = self.after_bom(part);
        let carry = self.needle.view.len() - 1;
        let is_plain = self.bom_bytes.is_none() && !self.holds_cr && memchr(b'\r', part).is_none();
        if is_plain && part.len() >= self.sizes.least_search && part.len() / 2 >= carry {
            return self.search_plain(part, carry, on_match);
        }
        self.append(part);
        // A search looks at `carry` bytes again, so it waits until there is about as much to look at for the first
        // time: pieces of one byte cost no more than large ones.
        if self.buffer.len() >= carry + self.sizes.least_search.max(carry / 2) {
            self.search_buffer(on_match);
        }
    }

    /// Takes the byte order mark away, wherever pieces cut it.
    fn after_bom<'p>(&mut self, mut part: &'p [u8]) -> &'p [u8] {
        while let Some(bytes) = self.bom_bytes {
            match part.split_first() {
                Some((first, rest)) if *first == BOM[bytes] => {
                    part = rest;
                    if bytes + 1 == BOM.len() {
                        self.bom_bytes = None;
                        self.hidden_before_base = BOM.len() as u64;
                    } else {
                        self.bom_bytes = Some(bytes + 1);
                    }
                }
                Some(_) => {
                    self.buffer.extend_from_slice(&BOM[..bytes]);
                    self.bom_bytes = None;
                }
                None => break,
            }
        }
        part
    }

    /// Adds a part to the view in the buffer.
    fn append(&mut self, mut part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if self.holds_cr {
            self.holds_cr = false;
            self.append_cr(part[0]);
        }
        while let Some(cr) = memchr(b'\r', part) {
            self.buffer.extend_from_slice(&part[..cr]);
            part = &part[cr + 1..];
            match part.first() {
                Some(next) => self.append_cr(*next),
                None => self.holds_cr = true,
            }
        }
        self.buffer.extend_from_slice(part);
    }

    /// Adds a `\r`, unless the byte after it, which is still to be added, makes it half a line end.
    fn append_cr(&mut self, next: u8) {
        if next == b'\n' {
            self.crlf_views.push_back(self.base_view + self.buffer.len() as u64);
        } else {
            self.buffer.push(b'\r');
        }
    }

    /// Searches the buffer and then a part without any `\r` in its place, without copying it.
    fn search_plain(&mut self, part: &[u8], carry: usize, on_match: &mut impl FnMut(Match)) {
        let part_view = self.base_view + self.buffer.len() as u64;
        if !self.buffer.is_empty() {
            // What starts in the buffer ends within `carry` bytes of the part; what starts there does not.
            self.buffer.extend_from_slice(&part[..carry]);
            let seam = std::mem::take(&mut self.buffer);
            self.search(&seam, self.base_view, on_match);
            self.count_lines(&seam, self.base_view, part_view);
            self.buffer = seam;
        }
        self.next_view = self.next_view.max(part_view);
        self.rebase(part_view);
        self.search(part, part_view, on_match);
        let kept = self.settle(part, part_view);
        self.buffer.clear();
        self.buffer.extend_from_slice(&part[kept..]);
    }

    fn search_buffer(&mut self, on_match: &mut impl FnMut(Match)) {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.search(&buffer, self.base_view, on_match);
        let kept = self.settle(&buffer, self.base_view);
        buffer.drain(..kept);
        self.buffer = buffer;
    }

    /// Tells all matches that lie in `hay` from `next_view` on.
    ///
    /// Two occurrences that overlap by at least the needle's period `p` are a multiple of `p` apart, and then there
    /// is one at distance `p` too (Fine and Wilf). So after an occurrence it is enough to compare `p` bytes to know
    /// about every start up to `len - p` behind it; from there on the next search sees less than `p` bytes again.
    fn search(&mut self, hay: &[u8], hay_view: u64, on_match: &mut impl FnMut(Match)) {
        let needle = self.needle;
        let (len, period) = (needle.view.len(), needle.least_distance);
        loop {
            let from = index(self.next_view.max(hay_view) - hay_view);
            let Some(rest) = hay.get(from..).filter(|rest| rest.len() >= len) else { return };
            if self.expects_period {
                if rest[len - period..len] != needle.view[len - period..] {
                    self.expects_period = false;
                    self.next_view += (len - 2 * period + 1) as u64;
                    continue;
                }
                self.tell(hay, hay_view, from, on_match);
            } else {
                let Some(at) = needle.finder.find(rest) else { return };
                self.tell(hay, hay_view, from + at, on_match);
            }
        }
    }

    fn tell(&mut self, hay: &[u8], hay_view: u64, at: usize, on_match: &mut impl FnMut(Match)) {
        let start_view = hay_view + at as u64;
        let end_view = start_view + self.needle.view.len() as u64;
        self.count_lines(hay, hay_view, start_view);
        match self.overlaps {
            Overlaps::Counted => {
                self.next_view = start_view + self.needle.least_distance as u64;
                self.expects_period = self.needle.is_periodic;
            }
            Overlaps::Skipped => self.next_view = end_view,
        }
        on_match(Match {
            range: self.offset(start_view)..self.offset(end_view),
            lines: MatchRange { start_line: self.line, end_line: self.line + self.needle.inner_line_ends },
        });
    }

    /// After a search of all of `hay`: forgets what no match can touch any more, and says how many bytes that is.
    fn settle(&mut self, hay: &[u8], hay_view: u64) -> usize {
        let carried = hay.len().min(self.needle.view.len() - 1);
        let kept_view = self.next_view.max(hay_view + (hay.len() - carried) as u64);
        // A period that is still to be compared is compared at `next_view`: it does not move while one is expected,
        // because an occurrence so near the end leaves its start within what is carried.
        debug_assert!(!self.expects_period || kept_view == self.next_view);
        self.next_view = kept_view;
        self.count_lines(hay, hay_view, kept_view);
        self.rebase(kept_view);
        index(kept_view - hay_view)
    }

    fn rebase(&mut self, base_view: u64) {
        while self.crlf_views.front().is_some_and(|view| *view < base_view) {
            self.crlf_views.pop_front();
            self.hidden_before_base += 1;
        }
        self.base_view = base_view;
    }

    fn count_lines(&mut self, hay: &[u8], hay_view: u64, to_view: u64) {
        if to_view > self.line_view {
            let passed = &hay[index(self.line_view - hay_view)..index(to_view - hay_view)];
            self.line += count_line_ends(passed);
            self.line_view = to_view;
        }
    }

    /// Where in the file a place of the view is. In front of a `\r\n` it is in front of its `\r`.
    fn offset(&self, view: u64) -> u64 {
        let crlfs = self.crlf_views.partition_point(|crlf| *crlf < view);
        view + self.hidden_before_base + crlfs as u64
    }
}

/// An offset into bytes that are at hand.
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset into memory fits into a usize")
}

/// The least distance of two occurrences of a text, and whether that is a period that fits into it twice.
///
/// Where it does not, the distance is a lower bound of the period that is above half the length. It comes from the
/// critical factorization of the text (Crochemore and Perrin), which needs no memory.
fn least_distance(text: &[u8]) -> (usize, bool) {
    let by_less = greatest_suffix(text, |a, b| a < b);
    let by_greater = greatest_suffix(text, |a, b| a > b);
    let (start, period) = if by_less.0 > by_greater.0 { by_less } else { by_greater };
    if text[..start] == text[period..period + start] {
        (period, 2 * period <= text.len())
    } else {
        (start.max(text.len() - start) + 1, false)
    }
}

/// The start of the greatest suffix under an order of the bytes, and its period.
fn greatest_suffix(text: &[u8], is_less: impl Fn(u8, u8) -> bool) -> (usize, usize) {
    let (mut best, mut start, mut offset, mut period) = (0, 1, 0, 1);
    while start + offset < text.len() {
        let (a, b) = (text[start + offset], text[best + offset]);
        if a == b {
            if offset + 1 == period {
                start += period;
                offset = 0;
            } else {
                offset += 1;
            }
        } else if is_less(a, b) {
            start += offset + 1;
            offset = 0;
            period = start - best;
        } else {
            best = start;
            start += 1;
            offset = 0;
            period = 1;
        }
    }
    (best, period)
}

#[cfg(test)]
mod tests;
