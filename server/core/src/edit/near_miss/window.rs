//! Places where most lines of the needle are, and some differ.

use std::collections::{BTreeSet, HashMap};

use super::Patience;
use super::fold::Folded;
use super::reason::{Ends, reasons};
use crate::error::{NearMiss, NearMissReason};

/// Lines of the text, from 0, that most lines of the needle are among.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    /// Why the equal lines differ, and that some lines do.
    pub(super) reasons: BTreeSet<NearMissReason>,
}

/// How often one line of the needle is followed up: a needle of equal lines must not cost lines times lines.
const MAX_REPEATS: usize = 4;
/// How many lines may have been put in or taken out.
const SHIFT: usize = 2;
/// Patience is asked after so many lines.
const LINES_A_LOOK: usize = 4096;

/// The first lines of the needle that are the same.
#[derive(Default)]
struct Repeats {
    numbers: [u32; MAX_REPEATS],
    count: u8,
}

impl Repeats {
    fn add(&mut self, number: usize) {
        if let Some(next) = self.numbers.get_mut(usize::from(self.count)) {
            *next = u32::try_from(number).expect("no longer needle is searched for");
            self.count += 1;
        }
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.numbers[..usize::from(self.count)].iter().map(|number| *number as usize)
    }
}

#[derive(Clone, Copy)]
struct Candidate {
    /// The line of the text where the needle's first line would be, plus the number of the needle's lines.
    shifted_start: usize,
    score: u32,
    exact: u32,
}

/// The windows where at least half of the needle's lines that are not blank are the same under all folds.
///
/// Every line of the text votes for the starts at which it would be in its place; lines that were put in or taken
/// out shift the votes of what follows a little, so votes close by count too. Linear in text and needle.
pub(super) fn windows(
    text: &str,
    folded_text: &Folded<'_>,
    needle: &str,
    folded_needle: &Folded<'_>,
    patience: &dyn Patience,
) -> Vec<Window> {
    let is_over = |number: usize| number.is_multiple_of(LINES_A_LOOK) && patience.is_over();
    let needle_lines = needle.lines().count();
    let mut places: HashMap<&[u8], Repeats> = HashMap::new();
    let mut wanted = 0_u32;
    for number in 0..needle_lines {
        if is_over(number) {
            return Vec::new();
        }
        let line = folded_needle.line(number);
        if !line.is_empty() {
            wanted = wanted.saturating_add(1);
            places.entry(line).or_default().add(number);
        }
    }
    if wanted < 2 {
        return Vec::new();
    }

    let mut votes = vec![0_u32; folded_text.line_count() + needle_lines];
    for number in 0..folded_text.line_count() {
        if is_over(number) {
            return Vec::new();
        }
        for place in places.get(folded_text.line(number)).into_iter().flat_map(Repeats::numbers) {
            votes[number + needle_lines - place] += 1;
        }
    }
    let mut best: Vec<Candidate> = Vec::new();
    for start in 0..votes.len() {
        if is_over(start) {
            return Vec::new();
        }
        let close = start.saturating_sub(SHIFT)..votes.len().min(start + SHIFT + 1);
        let score = votes[close].iter().sum::<u32>().min(wanted);
        if score.saturating_mul(2) >= wanted && votes[start] > 0 {
            keep_best(
                &mut best,
                Candidate { shifted_start: start, score, exact: votes[start] },
                needle_lines,
            );
        }
    }
    best.sort_by_key(|candidate| std::cmp::Reverse((candidate.score, candidate.exact)));

    best.into_iter()
        .filter_map(|candidate| {
            window(text, folded_text, needle, folded_needle, candidate.shifted_start, patience)
        })
        .collect()
}

/// Keeps the best candidates that do not overlap; they come in order.
fn keep_best(best: &mut Vec<Candidate>, next: Candidate, needle_lines: usize) {
    let rank = |candidate: &Candidate| (candidate.score, candidate.exact);
    match best.last_mut() {
        Some(last) if next.shifted_start - last.shifted_start < needle_lines => {
            if rank(&next) > rank(last) {
                *last = next;
            }
        }
        Some(_) | None => {
            if best.len() > NearMiss::MAX_COUNT {
                let worst = (0..best.len()).rev().min_by_key(|at| rank(&best[*at]));
                worst.map(|at| best.remove(at));
            }
            best.push(next);
        }
    }
}

/// Looks at one window line by line; `None` when the lines that are equal are few and short, or patience ended.
fn window(
    text: &str,
    folded_text: &Folded<'_>,
    needle: &str,
    folded_needle: &Folded<'_>,
    shifted_start: usize,
    patience: &dyn Patience,
) -> Option<Window> {
    let needle_lines: Vec<&str> = needle.lines().collect();
    // Where the needle's first and last line would be, or where they are.
    let mut first_line = shifted_start.saturating_sub(needle_lines.len());
    let mut last_line = (shifted_start.min(folded_text.line_count()).max(first_line + 1)) - 1;
    let mut all = BTreeSet::from([NearMissReason::SomeLinesDiffer]);
    let (mut equal, mut wanted, mut equal_bytes, mut wanted_bytes) = (0, 0, 0, 0);
    for (number, needle_line) in needle_lines.iter().enumerate() {
        if number.is_multiple_of(LINES_A_LOOK) && patience.is_over() {
            return None;
        }
        let folded = folded_needle.line(number);
        if folded.is_empty() {
            continue;
        }
        wanted += 1;
        wanted_bytes += folded.len();
        let near = (0..=SHIFT).flat_map(|shift| [number + shift, number.wrapping_sub(shift)]);
        let same = near
            .filter_map(|number| (number.wrapping_add(shifted_start)).checked_sub(needle_lines.len()))
            .find(|line| *line < folded_text.line_count() && folded_text.line(*line) == folded);
        if let Some(line) = same {
            equal += 1;
            equal_bytes += folded.len();
            if number == 0 {
                first_line = line;
            }
            if number + 1 == needle_lines.len() {
                last_line = line;
            }
            let text_line =
                text[folded_text.line_start(line)..folded_text.line_start(line + 1)].trim_end_matches('\n');
            let text_line = text_line.strip_suffix('\r').unwrap_or(text_line);
            if text_line != *needle_line {
                let start = text_line.len() - text_line.trim_start().len();
                let place = start..text_line.trim_end().len();
                all.extend(reasons(needle_line, text_line, place, Ends::WholeLines, patience)?);
            }
        }
    }
    let is_most = 2 * equal > wanted || (2 * equal == wanted && 2 * equal_bytes >= wanted_bytes);
    is_most.then(|| Window { first_line, last_line: last_line.max(first_line), reasons: all })
}
