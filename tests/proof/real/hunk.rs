//! Hunks, and the edit calls that they become.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines of the older text that are others in the newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// The arguments of an edit call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    /// How many lines of context it took.
    pub(crate) context: usize,
}

/// The lines of a text, each with its end.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// How two texts differ, from top to bottom.
pub(crate) fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, old, new) {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        let hunk = Hunk { old: operation.old_range(), new: operation.new_range() };
        match hunks.last_mut() {
            Some(last) if last.old.end == hunk.old.start && last.new.end == hunk.new.start => {
                (last.old.end, last.new.end) = (hunk.old.end, hunk.new.end);
            }
            Some(_) | None => hunks.push(hunk),
        }
    }
    hunks
}

/// The call that replaces some lines of a text, with as much context as it takes to find them once.
pub(crate) fn edit(current: &[&str], place: Range<usize>, replacement: &[&str], is_widened: bool) -> Edit {
    let whole = current.concat();
    let (mut first, mut end) = (place.start, place.end);
    let mut goes_up = true;
    loop {
        let old_string = current[first..end].concat();
        let is_enough = !old_string.is_empty() && (!is_widened || is_unique(&whole, &old_string));
        if is_enough || (first == 0 && end == current.len()) {
            let above = current[first..place.start].concat();
            let below = current[place.end..end].concat();
            let new_string = format!("{above}{}{below}", replacement.concat());
            return Edit { old_string, new_string, context: place.start - first + end - place.end };
        }
        // One line above and one below in turn, as long as there are any.
        if (goes_up && first > 0) || end == current.len() {
            first -= 1;
        } else {
            end += 1;
        }
        goes_up = !goes_up;
    }
}

/// Whether a text occurs once, also when occurrences that overlap are counted.
fn is_unique(whole: &str, text: &str) -> bool {
    let Some(first) = whole.find(text) else { return false };
    let next = first + text.chars().next().map_or(1, char::len_utf8);
    !whole[next..].contains(text)
}
