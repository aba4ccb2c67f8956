//! Text without what often differs by mistake: blanks, look-alikes, normal form, escapes, letter case.
//!
//! A fold works character by character, so that every place of the folded text has a place in the text. Combining
//! marks are therefore not put in order: texts that differ in nothing else are not seen as near.

use memchr::{memchr_iter, memmem};
use unicode_normalization::char::decompose_canonical;

use super::Patience;

/// What is folded besides blanks, which always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Folds {
    pub(super) look_alikes: bool,
    pub(super) normal_form: bool,
    pub(super) letter_case: bool,
    pub(super) escapes: bool,
}

impl Folds {
    pub(super) const ALL: Folds =
        Folds { look_alikes: true, normal_form: true, letter_case: true, escapes: true };
}

/// What a few characters of a text are under a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A blank or line end; it is not in the folded text.
    Blank(char),
    /// Backslashes and a letter that stand for a blank or line end; not in the folded text either.
    EscapedBlank(char),
    /// Backslashes that escape something else; the folded text lacks them.
    Backslashes,
    /// A character that stays, before it is folded.
    Kept(char),
}

/// The pieces of a text in order, each with the offset where it ends.
#[derive(Clone, Debug)]
pub(super) struct Pieces<'t> {
    text: &'t str,
    at: usize,
    escapes: bool,
}

impl<'t> Pieces<'t> {
    /// Starts at an offset where a piece starts.
    pub(super) fn from(text: &'t str, at: usize, folds: Folds) -> Pieces<'t> {
        Pieces { text, at, escapes: folds.escapes }
    }
}

impl Iterator for Pieces<'_> {
    type Item = (Piece, usize);

    fn next(&mut self) -> Option<(Piece, usize)> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let piece = if is_blank(first) {
            self.at += first.len_utf8();
            Piece::Blank(first)
        } else if first == '\\' && self.escapes {
            let backslashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
            self.at += backslashes;
            let blank = match rest.as_bytes().get(backslashes) {
                Some(b'n') => Some('\n'),
                Some(b't') => Some('\t'),
                Some(b'r') => Some('\r'),
                Some(_) | None => None,
            };
            self.at += usize::from(blank.is_some());
            blank.map_or(Piece::Backslashes, Piece::EscapedBlank)
        } else {
            self.at += first.len_utf8();
            Piece::Kept(first)
        };
        Some((piece, self.at))
    }
}

/// White space, and the characters without width that stand between words unseen.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// The plain character that a quote or dash looks like.
fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{02bc}' | '\u{00b4}' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        other => other,
    }
}

/// The characters that one character becomes.
pub(super) fn fold_char(character: char, folds: Folds, mut push: impl FnMut(char)) {
    let mut lower = |character: char| {
        if folds.letter_case {
            character.to_lowercase().for_each(&mut push);
        } else {
            push(character);
        }
    };
    let character = if folds.look_alikes { plain(character) } else { character };
    if folds.normal_form && !character.is_ascii() {
        decompose_canonical(character, lower);
    } else {
        lower(character);
    }
}

/// Whether two texts are the same under a fold.
pub(super) fn are_equal(a: &str, b: &str, folds: Folds) -> bool {
    folded_chars(a, folds).eq(folded_chars(b, folds))
}

fn folded_chars(text: &str, folds: Folds) -> impl Iterator<Item = char> {
    let mut pieces = Pieces::from(text, 0, folds);
    let mut ready = Vec::new();
    std::iter::from_fn(move || {
        while ready.is_empty() {
            match pieces.next()?.0 {
                Piece::Kept(character) => fold_char(character, folds, |folded| ready.push(folded)),
                Piece::Blank(_) | Piece::EscapedBlank(_) | Piece::Backslashes => {}
            }
            ready.reverse();
        }
        ready.pop()
    })
}

/// A place in both the folded text and the text.
///
/// A search may have one of these for every byte, so they are small; see [`MOST_BYTES`].
#[derive(Clone, Copy, Debug)]
struct Mark {
    folded: u32,
    at: u32,
}

/// The longest text that is folded. No fold makes a character four times as long.
pub(super) const MOST_BYTES: usize = 1 << 30;

impl Mark {
    fn new(folded: usize, at: usize) -> Mark {
        let place = |at: usize| u32::try_from(at).expect("no longer text is folded");
        Mark { folded: place(folded), at: place(at) }
    }

    fn folded(self) -> usize {
        self.folded as usize
    }

    fn at(self) -> usize {
        self.at as usize
    }
}

/// A text folded in every way, with the way back.
#[derive(Debug)]
pub(super) struct Folded<'t> {
    text: &'t str,
    bytes: Vec<u8>,
    /// Places that are not far from each other, in order.
    marks: Vec<Mark>,
    /// Where the lines start.
    lines: Vec<Mark>,
    /// Whether the whole text is folded.
    pub(super) is_whole: bool,
}

impl<'t> Folded<'t> {
    /// The most bytes from mark to mark.
    const MARK_BYTES: usize = 256;
    /// Patience is asked after so many marks.
    const MARKS_A_LOOK: usize = 128;

    /// Folds a text, as far as patience lets it.
    pub(super) fn new(text: &'t str, patience: &dyn Patience) -> Folded<'t> {
        let start = Mark::new(0, 0);
        let mut lines = Vec::with_capacity(1 + memchr_iter(b'\n', text.as_bytes()).count());
        lines.push(start);
        let mut folded =
            Folded { text, bytes: Vec::with_capacity(text.len()), marks: vec![start], lines, is_whole: true };
        let mut at = 0;
        for (piece, end) in Pieces::from(text, 0, Folds::ALL) {
            let last = folded.marks[folded.marks.len() - 1];
            if at - last.at() >= Self::MARK_BYTES || folded.bytes.len() - last.folded() >= Self::MARK_BYTES {
                folded.marks.push(Mark::new(folded.bytes.len(), at));
                if folded.marks.len().is_multiple_of(Self::MARKS_A_LOOK) && patience.is_over() {
                    folded.is_whole = false;
                    return folded;
                }
            }
            at = end;
            match piece {
                Piece::Kept(character) => push_folded(&mut folded.bytes, character),
                Piece::Blank('\n') => folded.lines.push(Mark::new(folded.bytes.len(), at)),
                Piece::Blank(_) | Piece::EscapedBlank(_) | Piece::Backslashes => {}
            }
        }
        folded
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text a folded needle is found, in order, from the first folded character to the last, as far as
    /// patience goes.
    pub(super) fn find<'f>(
        &'f self,
        needle: &'f [u8],
        patience: &'f dyn Patience,
    ) -> impl Iterator<Item = std::ops::Range<usize>> + 'f {
        memmem::find_iter(&self.bytes, needle)
            // Any number of these may be no places: they start or end within what one character became.
            .take_while(|_| !patience.is_over())
            .filter_map(|at| Some(self.start_of(at)?..self.end_of(at + needle.len())?))
    }

    /// How many lines it has; an empty last one counts.
    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// A line folded, without its line end; lines count from 0.
    pub(super) fn line(&self, number: usize) -> &[u8] {
        let end = self.lines.get(number + 1).map_or(self.bytes.len(), |next| next.folded());
        &self.bytes[self.lines[number].folded()..end]
    }

    /// Where a line starts in the text; the end of the text after the last one.
    pub(super) fn line_start(&self, number: usize) -> usize {
        self.lines.get(number).map_or(self.text.len(), |line| line.at())
    }

    /// The line that holds an offset of the text, from 0.
    pub(super) fn line_at(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.at() <= at) - 1
    }

    /// Where the character starts that the folded text has at `folded`; `None` within what one character became.
    fn start_of(&self, folded: usize) -> Option<usize> {
        let mark = self.marks[self.marks.partition_point(|mark| mark.folded() <= folded) - 1];
        let mut passed = mark.folded();
        let mut at = mark.at();
        let mut buffer = Vec::new();
        for (piece, end) in Pieces::from(self.text, at, Folds::ALL) {
            if let Piece::Kept(character) = piece {
                if passed >= folded {
                    return (passed == folded).then_some(at);
                }
                push_folded(&mut buffer, character);
                passed = mark.folded() + buffer.len();
            }
            at = end;
        }
        None
    }

    /// Where the character ends that the folded text has up to `folded`.
    fn end_of(&self, folded: usize) -> Option<usize> {
        let mark = self.marks[self.marks.partition_point(|mark| mark.folded() < folded).checked_sub(1)?];
        let mut buffer = Vec::new();
        for (piece, end) in Pieces::from(self.text, mark.at(), Folds::ALL) {
            if let Piece::Kept(character) = piece {
                push_folded(&mut buffer, character);
                let passed = mark.folded() + buffer.len();
                if passed >= folded {
                    return (passed == folded).then_some(end);
                }
            }
        }
        None
    }
}

fn push_folded(bytes: &mut Vec<u8>, character: char) {
    if character.is_ascii() {
        bytes.extend(u8::try_from(character).map(|byte| byte.to_ascii_lowercase()));
    } else {
        let mut buffer = [0; 4];
        fold_char(character, Folds::ALL, |folded| {
            bytes.extend_from_slice(folded.encode_utf8(&mut buffer).as_bytes());
        });
    }
}
