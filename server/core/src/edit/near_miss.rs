//! Why `old_string` does not occur: the places that nearly match, and in what they differ.
//!
//! Nothing is ever replaced at such a place; this is for the message only. A place is near when it is the same text
//! under folds (`fold`): without blanks, with plain quotes and dashes, decomposed, without backslash escapes, in
//! lower case; `reason` then tells which of these it takes. Where there is none, places count of whose lines at
//! least half are the same (`window`). Line numbers that were copied along with the text are taken off first.
//!
//! The search is linear in text and needle whatever they hold. It looks at as many bytes of the file as it is
//! allowed, from the start, and ends when the patience of its caller does. Deliberately absent: distances between
//! words, so a misspelt word within a line has no near miss.

mod fold;
mod reason;
mod window;

use std::collections::BTreeSet;
use std::ops::Range;

use super::Patience;
use super::matcher::view_of;
use crate::error::{NearMiss, NearMissReason, SearchStop};
use crate::text::BOM;
use fold::Folded;
use reason::Ends;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Search {
    /// At most [`NearMiss::MAX_COUNT`] near misses, best first.
    pub near_misses: Vec<NearMiss>,
    /// Set when it stopped early.
    pub stopped: Option<SearchStop>,
}

/// The most bytes that a search holds for each byte that it searches and each of `old_string`.
///
/// It comes to that where lines are very short; ordinary text takes less than two.
pub const MOST_HELD_PER_BYTE: usize = 16;

/// The most bytes of a text that a search looks at, whatever it is allowed.
pub const MAX_SEARCHED_BYTES: u64 = fold::MOST_BYTES as u64;

/// Places that are looked at more closely; more would say no more.
const MAX_PLACES: usize = 64;

/// Lines of the text, from 0, and why they are no match.
struct Place {
    first_line: usize,
    last_line: usize,
    reasons: BTreeSet<NearMissReason>,
}

/// Searches the first `max_bytes` of a text, a byte order mark not counted, for places that nearly match.
///
/// The start of a text is enough if it has that many bytes; `is_whole` says whether it is all of it. An `old_string`
/// that is longer than `max_bytes` is not searched for, and no more than [`MAX_SEARCHED_BYTES`] are searched; the search
/// says that it stopped.
pub fn search(
    start: &[u8],
    is_whole: bool,
    old_string: &str,
    max_bytes: u64,
    patience: &dyn Patience,
) -> Search {
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(fold::MOST_BYTES);
    let content = start.strip_prefix(BOM).unwrap_or(start);
    let needle = view_of(old_string);
    if needle.len() > max_bytes {
        return Search { near_misses: Vec::new(), stopped: Some(SearchStop::Bytes) };
    }
    let text = text_start(content, max_bytes);
    let folded_text = Folded::new(text, patience);

    let stripped = without_line_numbers(&needle);
    let mut places = stripped.as_deref().map_or_else(Vec::new, |stripped| {
        let mut places = near_places(text, &folded_text, stripped, patience);
        for place in &mut places {
            place.reasons.insert(NearMissReason::LineNumberPrefix);
        }
        places
    });
    if places.is_empty() {
        places = near_places(text, &folded_text, &needle, patience);
    }
    places.retain(|place| !place.reasons.is_empty());
    places.truncate(NearMiss::MAX_COUNT);

    let stopped = if patience.is_over() || !folded_text.is_whole {
        Some(SearchStop::Time)
    } else if text.len() < content.len() || !is_whole {
        Some(SearchStop::Bytes)
    } else {
        None
    };
    let near_misses = places.into_iter().map(|place| place.near_miss(text, &folded_text)).collect();
    Search { near_misses, stopped }
}

/// The places where a needle is the same under all folds; else where most of its lines are. Best first.
fn near_places(text: &str, folded_text: &Folded<'_>, needle: &str, patience: &dyn Patience) -> Vec<Place> {
    let folded_needle = Folded::new(needle, patience);
    if !folded_needle.is_whole || folded_needle.bytes().is_empty() {
        return Vec::new();
    }
    let mut places: Vec<Place> = folded_text
        .find(folded_needle.bytes(), patience)
        .take(MAX_PLACES)
        .map_while(|place: Range<usize>| {
            Some(Place {
                first_line: folded_text.line_at(place.start),
                last_line: folded_text.line_at(place.end - 1),
                reasons: reason::reasons(needle, text, place, Ends::Open, patience)?,
            })
        })
        .collect();
    if places.is_empty() {
        let windows = window::windows(text, folded_text, needle, &folded_needle, patience);
        return windows
            .into_iter()
            .map(|window| Place {
                first_line: window.first_line,
                last_line: window.last_line,
                reasons: window.reasons,
            })
            .collect();
    }
    places.sort_by_key(|place| place.reasons.len());
    places
}

impl Place {
    fn near_miss(self, text: &str, folded_text: &Folded<'_>) -> NearMiss {
        let shown = text.as_bytes()[folded_text.line_start(self.first_line)..]
            .split(|byte| *byte == b'\n')
            .take((self.last_line - self.first_line + 1).min(NearMiss::MAX_LINES));
        let mut reasons: Vec<NearMissReason> = self.reasons.into_iter().collect();
        reasons.sort_by_key(|reason| weight(*reason));
        NearMiss {
            start_line: self.first_line as u64 + 1,
            end_line: self.last_line as u64 + 1,
            lines: shown.map(cut).collect(),
            reasons,
        }
    }
}

/// The first characters of a line.
fn cut(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let most = line.len().min(4 * NearMiss::MAX_LINE_CHARS);
    // A character that the cut goes through is behind the last one that is kept.
    String::from_utf8_lossy(&line[..most]).chars().take(NearMiss::MAX_LINE_CHARS).collect()
}

/// The order in which reasons are told.
fn weight(reason: NearMissReason) -> u8 {
    match reason {
        NearMissReason::LineNumberPrefix => 0,
        NearMissReason::SomeLinesDiffer => 1,
        NearMissReason::DoubledEscapes => 2,
        NearMissReason::TabsOrSpaces => 3,
        NearMissReason::Indentation => 4,
        NearMissReason::TrailingBlanks => 5,
        NearMissReason::WhiteSpace => 6,
        NearMissReason::LookAlikes => 7,
        NearMissReason::NormalForm => 8,
        NearMissReason::LetterCase => 9,
    }
}

/// As much of a content as may be searched, up to the end of a character.
fn text_start(content: &[u8], max_bytes: usize) -> &str {
    let start = &content[..content.len().min(max_bytes)];
    match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => {
            std::str::from_utf8(&start[..error.valid_up_to()]).expect("the valid start of a content is valid")
        }
    }
}

/// `old_string` without the numbers that a read puts before each line, if it has any: on every line that is not
/// blank, but for a first line that may have been copied from its middle.
fn without_line_numbers(needle: &str) -> Option<String> {
    let mut stripped = String::with_capacity(needle.len());
    let mut numbered = 0_usize;
    for (number, line) in needle.split_inclusive('\n').enumerate() {
        match after_line_number(line) {
            Some(text) => {
                numbered += 1;
                stripped.push_str(text);
            }
            None if number == 0 || line.trim().is_empty() => stripped.push_str(line),
            None => return None,
        }
    }
    (numbered > 0).then_some(stripped)
}

/// What follows a line number: `12: `, `12:` at the end of a line, `12` and a tab or an arrow, with or without
/// blanks before it.
fn after_line_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches([' ', '\t']);
    let text = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    if text.len() == rest.len() {
        return None;
    }
    match text.strip_prefix(':') {
        Some(text) => match text.strip_prefix(' ') {
            Some(text) => Some(text),
            None => text.trim().is_empty().then_some(text),
        },
        None => text.strip_prefix('\t').or_else(|| text.strip_prefix('→')),
    }
}

#[cfg(test)]
mod tests;
