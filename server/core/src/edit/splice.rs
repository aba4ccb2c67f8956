//! What stands in the place of a match.
//!
//! Bytes outside of the matches stay. Inside a match, what old and new text share at both ends stays as it is in the
//! file, its line ends included; only the middle is new. Line ends of the middle take the first style of the match,
//! else the one that dominates in the file (the file's first, where both occur equally often); in a file without
//! line ends they are what `new_string` has. A lone `\r` of `new_string` is text and stays.
//!
//! # A lone `\r` in front of a line end
//! Bytes that were apart can meet: text that ends in a lone `\r` in front of a `\n`, or a deletion between the two.
//! As bytes that would be a `\r\n`, and the `\r` would vanish from the text. What a reader of the file sees decides:
//! he sees the `\r` and, after it, the line end, so the line end is written `\r\n` there (`\r\r\n` in all), and the
//! added byte belongs to the replacement. So the text of the edited file is always the text of the file with
//! `old_string` replaced by `new_string`, and no byte outside of a match changes.
//!
//! The one exception is U+FEFF: where it comes to stand at the very start of a file it is a byte order mark from then
//! on, as it is for everyone who reads the file. It is written as it is given.

use std::ops::Range;

use memchr::memchr_iter;

use super::EditRequest;
use super::matcher::{Match, Matcher, Needle, Overlaps, view_of};
use crate::text::{LineEnd, TextSummary};

/// The replacement of an edit, prepared once for all matches in one file.
#[derive(Clone)]
pub struct Replacement {
    /// What old and new text share, in bytes of the view, and how many line ends are in it.
    prefix_bytes: usize,
    prefix_line_ends: usize,
    suffix_bytes: usize,
    suffix_line_ends: usize,
    /// The middle for a match whose first line end is `\n`, and for one whose first is `\r\n`.
    lf_middle: Vec<u8>,
    crlf_middle: Vec<u8>,
    /// The middle for a match without line end.
    plain_middle: Middle,
}

/// Which middle a match without line end gets.
#[derive(Clone)]
enum Middle {
    Styled(LineEnd),
    AsGiven(Vec<u8>),
}

/// How one match is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice<'r> {
    /// How many of its first bytes stay.
    pub kept_prefix: usize,
    /// What is new.
    pub middle: &'r [u8],
    /// How many of its last bytes stay.
    pub kept_suffix: usize,
}

/// The new bytes of one match in the edited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBytes {
    /// Where they are; empty where text was only taken away.
    pub range: Range<u64>,
    /// Whether what follows them starts a line.
    pub end_a_line: bool,
}

impl Splice<'_> {
    /// Writes what stands in the place of the match, and says where in the edited file the new bytes are.
    pub fn write(&self, matched: &[u8], joiner: &mut Joiner, write: &mut impl FnMut(&[u8])) -> NewBytes {
        joiner.join(&matched[..self.kept_prefix], write);
        let start = joiner.written();
        joiner.join(self.middle, write);
        let new = NewBytes { range: start..joiner.written(), end_a_line: joiner.is_at_line_start() };
        joiner.join(&matched[matched.len() - self.kept_suffix..], write);
        new
    }
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").field("middle_bytes", &self.lf_middle.len()).finish_non_exhaustive()
    }
}

impl Replacement {
    /// Prepares the replacement for a file.
    pub fn new(edit: &EditRequest, file: &TextSummary) -> Replacement {
        let (old, new) = (view_of(edit.old_string()), view_of(edit.new_string()));
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let prefix_bytes = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old_rest, new_rest) = (&old[prefix_bytes..], &new[prefix_bytes..]);
        let suffix_bytes =
            old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        let middle = &new_rest[..new_rest.len() - suffix_bytes];
        let prefix_line_ends = count_line_ends(&old[..prefix_bytes]);
        let plain_middle = match file.dominant_line_end() {
            Some(style) => Middle::Styled(style),
            None => Middle::AsGiven(as_given(edit.new_string(), prefix_line_ends, middle)),
        };
        Replacement {
            prefix_bytes,
            prefix_line_ends,
            suffix_bytes,
            suffix_line_ends: count_line_ends(&old_rest[old_rest.len() - suffix_bytes..]),
            lf_middle: styled(middle, |_| LineEnd::Lf),
            crlf_middle: styled(middle, |_| LineEnd::Crlf),
            plain_middle,
        }
    }

    /// What becomes of the bytes of one match.
    pub fn splice(&self, matched: &[u8]) -> Splice<'_> {
        let crlfs = |line_ends: usize, of: &mut dyn Iterator<Item = usize>| {
            of.take(line_ends).filter(|at| ends_crlf(matched, *at)).count()
        };
        let kept_prefix = self.prefix_bytes + crlfs(self.prefix_line_ends, &mut memchr_iter(b'\n', matched));
        let kept_suffix =
            self.suffix_bytes + crlfs(self.suffix_line_ends, &mut memchr_iter(b'\n', matched).rev());
        let first_style = memchr::memchr(b'\n', matched)
            .map(|at| if ends_crlf(matched, at) { LineEnd::Crlf } else { LineEnd::Lf });
        let middle = match (first_style, &self.plain_middle) {
            (Some(LineEnd::Lf), _) | (None, Middle::Styled(LineEnd::Lf)) => &self.lf_middle,
            (Some(LineEnd::Crlf), _) | (None, Middle::Styled(LineEnd::Crlf)) => &self.crlf_middle,
            (None, Middle::AsGiven(middle)) => middle,
        };
        Splice { kept_prefix, middle, kept_suffix }
    }
}

/// Whether the `\n` at `at` is half of a `\r\n`. A match starts with no half one.
fn ends_crlf(matched: &[u8], at: usize) -> bool {
    at > 0 && matched[at - 1] == b'\r'
}

fn count_line_ends(view: &[u8]) -> usize {
    memchr_iter(b'\n', view).count()
}

/// Writes the middle with line ends of the style that `style` gives for each, counted from 0.
///
/// After a lone `\r` a line end is `\r\n` in any case: see the module.
fn styled(middle: &[u8], style: impl Fn(usize) -> LineEnd) -> Vec<u8> {
    let mut written = Vec::with_capacity(middle.len());
    let mut from = 0;
    for (number, at) in memchr_iter(b'\n', middle).enumerate() {
        written.extend_from_slice(&middle[from..at]);
        let line_end: &[u8] = match (written.last(), style(number)) {
            (Some(b'\r'), _) | (_, LineEnd::Crlf) => b"\r\n",
            (_, LineEnd::Lf) => b"\n",
        };
        written.extend_from_slice(line_end);
        from = at + 1;
    }
    written.extend_from_slice(&middle[from..]);
    written
}

/// The middle with the line ends that `new_string` has there, after the first `skipped` ones.
fn as_given(new_string: &str, skipped: usize, middle: &[u8]) -> Vec<u8> {
    let given = new_string.as_bytes();
    let styles: Vec<LineEnd> = memchr_iter(b'\n', given)
        .map(|at| if ends_crlf(given, at) { LineEnd::Crlf } else { LineEnd::Lf })
        .skip(skipped)
        .take(count_line_ends(middle))
        .collect();
    styled(middle, |number| styles[number])
}

/// Joins what is kept and what is new, and sees to it that no `\r\n` arises where they meet.
#[derive(Clone, Debug, Default)]
pub struct Joiner {
    last: Option<u8>,
    written: u64,
}

impl Joiner {
    /// Starts at the first byte of the edited file.
    pub fn new() -> Joiner {
        Joiner::default()
    }

    /// How many bytes were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether what comes next starts a line.
    pub fn is_at_line_start(&self) -> bool {
        matches!(self.last, None | Some(b'\n'))
    }

    /// Writes bytes that follow those before them in the file as well.
    pub fn copy(&mut self, bytes: &[u8], write: &mut impl FnMut(&[u8])) {
        if let Some(last) = bytes.last() {
            self.last = Some(*last);
            self.written = self.written.saturating_add(bytes.len() as u64);
            write(bytes);
        }
    }

    /// Writes bytes that meet those before them only by the edit.
    pub fn join(&mut self, bytes: &[u8], write: &mut impl FnMut(&[u8])) {
        if self.last == Some(b'\r') && bytes.first() == Some(&b'\n') {
            self.copy(b"\r", write);
        }
        self.copy(bytes, write);
    }
}

/// Replaces every match in a file that arrives in pieces, with memory bounded by needle and piece.
///
/// For an edit that is to replace one match it is the caller's to know that there is only one.
#[derive(Debug)]
pub struct Splicer<'e> {
    matcher: Matcher<'e>,
    pending: Pending<'e>,
}

/// What of the file is not written yet, because a match may start in it.
#[derive(Debug)]
struct Pending<'e> {
    replacement: &'e Replacement,
    joiner: Joiner,
    bytes: Vec<u8>,
    /// The offset of the first of them in the file.
    base: u64,
    /// How many of them are written already.
    done: usize,
    /// Whether the next ones meet what was written before only by the edit.
    follows_match: bool,
    replaced: u64,
}

/// What a [`Splicer`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spliced {
    /// How many matches were replaced.
    pub replaced: u64,
    /// How many bytes were written.
    pub written: u64,
}

impl<'e> Splicer<'e> {
    /// Pieces are taken in parts of this size.
    const PART: usize = 256 << 10;

    /// Starts at the first byte of a file.
    pub fn new(needle: &'e Needle, replacement: &'e Replacement) -> Splicer<'e> {
        Splicer {
            matcher: Matcher::new(needle, Overlaps::Skipped),
            pending: Pending {
                replacement,
                joiner: Joiner::new(),
                bytes: Vec::new(),
                base: 0,
                done: 0,
                follows_match: false,
                replaced: 0,
            },
        }
    }

    /// Takes the next piece and writes what is settled.
    pub fn feed(&mut self, piece: &[u8], mut write: impl FnMut(&[u8])) {
        for part in piece.chunks(Self::PART) {
            self.pending.bytes.extend_from_slice(part);
            self.matcher.feed(part, |found| self.pending.replace(&found, &mut write));
            self.pending.copy_until(self.matcher.settled(), &mut write);
            self.pending.forget();
        }
    }

    /// Ends the file and writes the rest.
    pub fn finish(self, mut write: impl FnMut(&[u8])) -> Spliced {
        let Splicer { matcher, mut pending } = self;
        matcher.finish(|found| pending.replace(&found, &mut write));
        pending.copy_until(pending.base + pending.bytes.len() as u64, &mut write);
        Spliced { replaced: pending.replaced, written: pending.joiner.written() }
    }
}

impl Pending<'_> {
    fn replace(&mut self, found: &Match, write: &mut impl FnMut(&[u8])) {
        self.copy_until(found.range.start, write);
        let end = self.index(found.range.end);
        let matched = &self.bytes[self.done..end];
        self.replacement.splice(matched).write(matched, &mut self.joiner, write);
        self.done = end;
        self.follows_match = true;
        self.replaced += 1;
    }

    fn copy_until(&mut self, offset: u64, write: &mut impl FnMut(&[u8])) {
        let end = self.index(offset);
        if end > self.done {
            let kept = &self.bytes[self.done..end];
            if self.follows_match {
                self.joiner.join(kept, write);
            } else {
                self.joiner.copy(kept, write);
            }
            self.follows_match = false;
            self.done = end;
        }
    }

    fn forget(&mut self) {
        self.bytes.drain(..self.done);
        self.base += self.done as u64;
        self.done = 0;
    }

    fn index(&self, offset: u64) -> usize {
        usize::try_from(offset - self.base).expect("what is pending is in memory")
    }
}

#[cfg(test)]
mod tests;
