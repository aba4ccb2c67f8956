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

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use memchr::memchr_iter;

use super::EditRequest;
use super::matcher::view_of;
use crate::text::LineEnd;

/// The replacement of an edit, prepared once for all matches in one file.
///
/// Of what is new it keeps one copy for each line end style that was asked for.
pub(super) struct Replacement<'e> {
    new_string: &'e str,
    /// What old and new text share, in bytes of the view, and how many line ends are in it.
    prefix_bytes: usize,
    prefix_line_ends: usize,
    suffix_bytes: usize,
    suffix_line_ends: usize,
    /// The view of `new_string`, and where its middle is.
    view: Cow<'e, str>,
    middle: Range<usize>,
    has_line_ends: bool,
    /// The middle with line ends of one style, when it has any; for a file without line ends, those of `new_string`.
    lf_middle: OnceCell<Vec<u8>>,
    crlf_middle: OnceCell<Vec<u8>>,
    given_middle: OnceCell<Vec<u8>>,
}

/// How one match is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Splice<'r> {
    /// How many of its first bytes stay.
    pub(super) kept_prefix: usize,
    /// What is new.
    pub(super) middle: &'r [u8],
    /// How many of its last bytes stay.
    pub(super) kept_suffix: usize,
}

impl std::fmt::Debug for Replacement<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").field("middle_bytes", &self.middle.len()).finish_non_exhaustive()
    }
}

impl<'e> Replacement<'e> {
    /// Prepares the replacement of an edit.
    pub(super) fn new(edit: &'e EditRequest) -> Replacement<'e> {
        let (old, view) = (view_of(edit.old_string()), view_of(edit.new_string()));
        let (old, new) = (old.as_bytes(), view.as_bytes());
        let prefix_bytes = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old_rest, new_rest) = (&old[prefix_bytes..], &new[prefix_bytes..]);
        let suffix_bytes =
            old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        Replacement {
            new_string: edit.new_string(),
            prefix_bytes,
            prefix_line_ends: count_line_ends(&old[..prefix_bytes]),
            suffix_bytes,
            suffix_line_ends: count_line_ends(&old_rest[old_rest.len() - suffix_bytes..]),
            has_line_ends: new_rest[..new_rest.len() - suffix_bytes].contains(&b'\n'),
            middle: prefix_bytes..new.len() - suffix_bytes,
            view,
            lf_middle: OnceCell::new(),
            crlf_middle: OnceCell::new(),
            given_middle: OnceCell::new(),
        }
    }

    /// How many line ends of a match are before what changes.
    pub(super) fn prefix_line_ends(&self) -> u64 {
        self.prefix_line_ends as u64
    }

    /// Whether the line ends of a file decide what a match without any becomes.
    pub(super) fn follows_the_file(&self) -> bool {
        self.has_line_ends
    }

    /// What becomes of the bytes of one match, in a file with these dominant line ends.
    pub(super) fn splice(&self, matched: &[u8], dominant: Option<LineEnd>) -> Splice<'_> {
        let crlfs = |line_ends: usize, of: &mut dyn Iterator<Item = usize>| {
            of.take(line_ends).filter(|at| ends_crlf(matched, *at)).count()
        };
        let kept_prefix = self.prefix_bytes + crlfs(self.prefix_line_ends, &mut memchr_iter(b'\n', matched));
        let kept_suffix =
            self.suffix_bytes + crlfs(self.suffix_line_ends, &mut memchr_iter(b'\n', matched).rev());
        if !self.has_line_ends {
            return Splice { kept_prefix, middle: self.middle(), kept_suffix };
        }
        let first_style = memchr::memchr(b'\n', matched)
            .map(|at| if ends_crlf(matched, at) { LineEnd::Crlf } else { LineEnd::Lf });
        let middle = match first_style.or(dominant) {
            Some(LineEnd::Lf) => self.lf_middle.get_or_init(|| styled(self.middle(), |_| LineEnd::Lf)),
            Some(LineEnd::Crlf) => self.crlf_middle.get_or_init(|| styled(self.middle(), |_| LineEnd::Crlf)),
            None => self
                .given_middle
                .get_or_init(|| as_given(self.new_string, self.prefix_line_ends, self.middle())),
        };
        Splice { kept_prefix, middle, kept_suffix }
    }

    fn middle(&self) -> &[u8] {
        &self.view.as_bytes()[self.middle.clone()]
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
pub(super) struct Joiner {
    last: Option<u8>,
    /// Whether what comes next meets what was before it only by the edit.
    follows_change: bool,
    written: u64,
}

impl Joiner {
    /// How many bytes the edited file has so far; `u64::MAX` when it would have more.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Takes bytes that stay. What it answers is written before them, and is part of the change.
    #[must_use]
    pub(super) fn keep(&mut self, bytes: &[u8]) -> &'static [u8] {
        let between = if self.follows_change { self.between(bytes) } else { b"" };
        self.follows_change &= bytes.is_empty();
        self.pass(bytes);
        between
    }

    /// Takes bytes that are new, none where text is only taken away. What it answers is written before them.
    #[must_use]
    pub(super) fn change(&mut self, bytes: &[u8]) -> &'static [u8] {
        let between = self.between(bytes);
        self.follows_change = true;
        self.pass(bytes);
        between
    }

    fn between(&mut self, bytes: &[u8]) -> &'static [u8] {
        if self.last == Some(b'\r') && bytes.first() == Some(&b'\n') {
            self.written = self.written.saturating_add(1);
            b"\r"
        } else {
            b""
        }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.last = bytes.last().copied().or(self.last);
        self.written = self.written.saturating_add(bytes.len() as u64);
    }
}

#[cfg(test)]
mod tests;
