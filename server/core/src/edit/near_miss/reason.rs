//! Why a place that is the same under all folds is not the same text.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Range;

use super::Patience;
use super::fold::{Folds, Piece, Pieces, are_equal, fold_char};
use crate::error::NearMissReason;

/// What the ends of a needle are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// The needle may start after some blanks of the text and end before some.
    Open,
    /// The needle is whole lines.
    WholeLines,
}

/// Patience is asked after so many gaps.
const GAPS_A_LOOK: usize = 1024;

/// One of the folds in a set of them.
type Part = fn(&mut Folds) -> &mut bool;

/// The reasons for which `needle` is not the text around `place`, which is the same under all folds.
///
/// `place` goes from the first character that is not blank to the last; the blanks around it are looked at too.
/// Empty where nothing differs that has a name; `None` when patience ended before it was known.
pub(super) fn reasons(
    needle: &str,
    text: &str,
    place: Range<usize>,
    ends: Ends,
    patience: &dyn Patience,
) -> Option<BTreeSet<NearMissReason>> {
    let mut reasons = BTreeSet::new();
    let place = with_equal_edges(needle, text, place);
    let words = &text[place.clone()];
    let mut folds = Folds::ALL;
    let parts: [(Part, NearMissReason); 4] = [
        (|folds| &mut folds.escapes, NearMissReason::DoubledEscapes),
        (|folds| &mut folds.look_alikes, NearMissReason::LookAlikes),
        (|folds| &mut folds.normal_form, NearMissReason::NormalForm),
        (|folds| &mut folds.letter_case, NearMissReason::LetterCase),
    ];
    for (part, reason) in parts {
        if patience.is_over() {
            return None;
        }
        *part(&mut folds) = false;
        if !are_equal(needle, words, folds) {
            *part(&mut folds) = true;
            reasons.insert(reason);
        }
    }

    let around = blanks_around(text, place);
    let mut wanted = Gaps::new(needle, folds.escapes).peekable();
    let mut there = Gaps::new(&text[around.clone()], folds.escapes).peekable();
    let starts_text = around.start == 0;
    let ends_text = around.end == text.len();
    for looked_at in 0_usize.. {
        if looked_at.is_multiple_of(GAPS_A_LOOK) && patience.is_over() {
            return None;
        }
        let Some((wanted, there)) = next_pair(&mut wanted, &mut there) else { break };
        let at = if wanted.folded == 0 {
            Position::Start { of_line: starts_text || there.blanks.contains('\n') }
        } else if wanted.is_last {
            Position::End { of_line: ends_text || there.blanks.contains('\n') }
        } else {
            Position::Inner
        };
        compare(&wanted, &there, at, ends, &mut reasons);
    }
    Some(reasons)
}

/// Takes into a place what the needle has before its first character and after its last one, where it is there too.
fn with_equal_edges(needle: &str, text: &str, place: Range<usize>) -> Range<usize> {
    let kept = |(piece, _): &(Piece, usize)| matches!(piece, Piece::Kept(_));
    let mut edge = 0;
    let mut last = 0;
    let mut is_before = true;
    for next in Pieces::from(needle, 0, Folds::ALL) {
        if kept(&next) {
            is_before = false;
            last = next.1;
        } else if is_before {
            edge = next.1;
        }
    }
    let (before, after) = (&needle[..edge], &needle[last..]);
    let start = text[..place.start].strip_suffix(before).map_or(place.start, str::len);
    let end = if text[place.end..].starts_with(after) { place.end + after.len() } else { place.end };
    start..end
}

/// A place together with the blanks before and after it.
fn blanks_around(text: &str, place: Range<usize>) -> Range<usize> {
    let is_blank = |character: char| matches!(piece_of(character), Piece::Blank(_));
    let before = text[..place.start].trim_end_matches(is_blank).len();
    let after = text.len() - text[place.end..].trim_start_matches(is_blank).len();
    before..after
}

fn piece_of(character: char) -> Piece {
    let mut buffer = [0; 4];
    let text: &str = character.encode_utf8(&mut buffer);
    Pieces::from(text, 0, Folds::ALL).next().map_or(Piece::Backslashes, |(piece, _)| piece)
}

/// The blanks at one place between the characters of a folded text.
#[derive(Clone, Debug, Default)]
struct Gap {
    /// How many folded characters are before it.
    folded: usize,
    /// The blanks; escaped ones as what they stand for, `\r` of a `\r\n` not.
    blanks: String,
    /// How many of them are escaped.
    escaped: usize,
    /// Whether it is at the end of the text.
    is_last: bool,
}

/// The gaps of a text in order: those that are not empty, and the one at the end.
struct Gaps<'t> {
    pieces: Pieces<'t>,
    folded: usize,
    is_over: bool,
}

impl<'t> Gaps<'t> {
    fn new(text: &'t str, escapes: bool) -> Gaps<'t> {
        Gaps { pieces: Pieces::from(text, 0, Folds { escapes, ..Folds::ALL }), folded: 0, is_over: false }
    }
}

impl Iterator for Gaps<'_> {
    type Item = Gap;

    fn next(&mut self) -> Option<Gap> {
        if self.is_over {
            return None;
        }
        let mut gap = Gap { folded: self.folded, ..Gap::default() };
        loop {
            match self.pieces.next() {
                Some((Piece::Blank(blank), _)) => {
                    if blank == '\n' && gap.blanks.ends_with('\r') {
                        gap.blanks.pop();
                    }
                    gap.blanks.push(blank);
                }
                Some((Piece::EscapedBlank(blank), _)) => {
                    gap.blanks.push(blank);
                    gap.escaped += 1;
                }
                Some((Piece::Backslashes, _)) => {}
                Some((Piece::Kept(character), _)) => {
                    fold_char(character, Folds::ALL, |_| self.folded += 1);
                    if !gap.blanks.is_empty() {
                        return Some(gap);
                    }
                    gap.folded = self.folded;
                }
                None => {
                    self.is_over = true;
                    gap.is_last = true;
                    return Some(gap);
                }
            }
        }
    }
}

/// The next place where one of the two has a gap; the other's is empty there if it has none.
fn next_pair(wanted: &mut Peekable<Gaps<'_>>, there: &mut Peekable<Gaps<'_>>) -> Option<(Gap, Gap)> {
    let empty_at = |folded| Gap { folded, ..Gap::default() };
    match (wanted.peek(), there.peek()) {
        (Some(a), Some(b)) if a.folded == b.folded => wanted.next().zip(there.next()),
        (Some(a), b) if b.is_none_or(|b| a.folded < b.folded) => {
            let there = empty_at(a.folded);
            wanted.next().map(|wanted| (wanted, there))
        }
        (_, Some(b)) => {
            let wanted = empty_at(b.folded);
            there.next().map(|there| (wanted, there))
        }
        (_, None) => None,
    }
}

/// Where a gap of the needle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before its first character; whether the text has a line start there.
    Start { of_line: bool },
    /// Between two characters.
    Inner,
    /// After its last character; whether the text has a line end there.
    End { of_line: bool },
}

fn compare(wanted: &Gap, there: &Gap, at: Position, ends: Ends, reasons: &mut BTreeSet<NearMissReason>) {
    let is_same = |wanted: &str, there: &str| match (ends, at) {
        (Ends::Open, Position::Start { .. }) => there.ends_with(wanted),
        (Ends::Open, Position::End { .. }) => there.starts_with(wanted),
        (Ends::Open, Position::Inner) | (Ends::WholeLines, _) => wanted == there,
    };
    if is_same(&wanted.blanks, &there.blanks) {
        if wanted.escaped > there.escaped || (at == Position::Inner && wanted.escaped != there.escaped) {
            reasons.insert(NearMissReason::DoubledEscapes);
        }
        return;
    }
    if wanted.escaped != there.escaped {
        reasons.insert(NearMissReason::DoubledEscapes);
    }
    let (plain_wanted, plain_there) = (plain_blanks(&wanted.blanks), plain_blanks(&there.blanks));
    if unusual(&wanted.blanks) != unusual(&there.blanks) {
        reasons.insert(NearMissReason::WhiteSpace);
    }
    if !is_same(&plain_wanted, &plain_there) {
        compare_lines(&plain_wanted, &plain_there, at, ends, reasons);
    }
}

/// Compares gaps line by line: the end of one line, blank lines, the indentation of the next one.
fn compare_lines(
    wanted: &str,
    there: &str,
    at: Position,
    ends: Ends,
    reasons: &mut BTreeSet<NearMissReason>,
) {
    let wanted: Vec<&str> = wanted.split('\n').collect();
    let mut there: Vec<&str> = there.split('\n').collect();
    // What an open end of the needle is silent about.
    match (ends, at) {
        (Ends::Open, Position::Start { .. }) => {
            there.drain(..there.len().saturating_sub(wanted.len()));
        }
        (Ends::Open, Position::End { .. }) => there.truncate(wanted.len()),
        (Ends::Open, Position::Inner) | (Ends::WholeLines, _) => {}
    }
    if wanted.len() != there.len() {
        reasons.insert(NearMissReason::WhiteSpace);
        return;
    }
    let last = wanted.len() - 1;
    for (number, (wanted, there)) in wanted.iter().zip(there).enumerate() {
        let is_free = match (ends, at) {
            (Ends::Open, Position::Start { .. }) => number == 0 && there.ends_with(wanted),
            (Ends::Open, Position::End { .. }) => number == last && there.starts_with(wanted),
            (Ends::Open, Position::Inner) | (Ends::WholeLines, _) => *wanted == there,
        };
        if is_free || *wanted == there {
            continue;
        }
        reasons.insert(if blanks_differ_in_kind(wanted, there) {
            NearMissReason::TabsOrSpaces
        } else if number < last {
            NearMissReason::TrailingBlanks
        } else if last > 0 {
            NearMissReason::Indentation
        } else {
            match at {
                Position::Start { of_line: true } => NearMissReason::Indentation,
                Position::End { of_line: true } => NearMissReason::TrailingBlanks,
                Position::Start { of_line: false } | Position::Inner | Position::End { of_line: false } => {
                    NearMissReason::WhiteSpace
                }
            }
        });
    }
}

/// Whether tabs stand where spaces are wanted, or the other way round: not merely more or fewer of the same.
fn blanks_differ_in_kind(wanted: &str, there: &str) -> bool {
    let common = wanted.bytes().zip(there.bytes()).take_while(|(a, b)| a == b).count();
    let (wanted, there) = (&wanted[common..], &there[common..]);
    !wanted.is_empty() && !there.is_empty()
}

/// Blanks with every unusual space as a space, and without those that have no width.
fn plain_blanks(blanks: &str) -> String {
    blanks
        .chars()
        .filter_map(|blank| match blank {
            ' ' | '\t' | '\n' | '\r' => Some(blank),
            '\u{200b}' | '\u{2060}' | '\u{feff}' => None,
            _ => Some(' '),
        })
        .collect()
}

fn unusual(blanks: &str) -> String {
    blanks.chars().filter(|blank| !matches!(blank, ' ' | '\t' | '\n' | '\r')).collect()
}
