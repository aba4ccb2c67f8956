//! File names that look like one that is not there.
//!
//! A hint for whoever typed a name from memory or from a screenshot. Deliberately absent: opening such a file, which
//! nobody asked for.

use unicode_normalization::UnicodeNormalization;

/// How many names a hint has at most.
pub const MAX_SIMILAR_NAMES: usize = 3;

/// How many letters of a name may differ, be missing, be too many or be swapped.
const MAX_TYPOS: usize = 2;

/// The names among `candidates` that look most like `wanted`, best first: equal up to Unicode normal form, kinds of
/// space or letter case, or with a typo or two.
///
/// Names are raw bytes. A name that cannot be typed as it is shown (it is no UTF-8, or has control characters) helps
/// nobody and is left out, and so is `wanted` itself. The order of the candidates has no influence.
///
/// ```
/// use toolfs_core::name::similar_names;
///
/// let names: [&[u8]; 3] = [b"README.md", b"Makefile", b"src"];
/// assert_eq!(similar_names(b"readme.md", names), ["README.md"]);
/// ```
pub fn similar_names<'a>(wanted: &[u8], candidates: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let Ok(wanted) = std::str::from_utf8(wanted) else { return Vec::new() };
    let folded_wanted = Folded::new(wanted);
    let mut best: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let Ok(name) = std::str::from_utf8(candidate) else { continue };
        if name == wanted || crate::target::display_form(candidate) != name {
            continue;
        }
        let Some(distance) = folded_wanted.distance(&Folded::new(name)) else { continue };
        let place = best.partition_point(|other| *other < (distance, name));
        if place < MAX_SIMILAR_NAMES {
            best.insert(place, (distance, name));
            best.truncate(MAX_SIMILAR_NAMES);
        }
    }
    best.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// A name without what is easily confused, in two strengths.
struct Folded {
    /// One normal form and one kind of space.
    spaced: String,
    /// And one letter case, as characters.
    letters: Vec<char>,
}

impl Folded {
    fn new(name: &str) -> Folded {
        let spaced: String = name.nfkc().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
        let letters = spaced.to_lowercase().chars().collect();
        Folded { spaced, letters }
    }

    /// How far apart two names are, from 0; `None` when they are not similar.
    fn distance(&self, other: &Folded) -> Option<usize> {
        if self.spaced == other.spaced {
            return Some(0);
        }
        if self.letters == other.letters {
            return Some(1);
        }
        let allowed = MAX_TYPOS.min(self.letters.len() / 3);
        typos(&self.letters, &other.letters, allowed).map(|typos| 1 + typos)
    }
}

/// How many letters differ, are missing, are too many or are swapped with their neighbour, when at most `allowed`
/// are, which is at most [`MAX_TYPOS`].
///
/// Only prefixes whose lengths are close are compared with each other, in a band along the diagonal of the usual
/// table: a path that leaves it has too many typos. So a directory of many long names costs little.
fn typos(left: &[char], right: &[char], allowed: usize) -> Option<usize> {
    const BAND: usize = 2 * MAX_TYPOS + 1;
    const TOO_MANY: usize = MAX_TYPOS + 1;
    if left.len().abs_diff(right.len()) > allowed {
        return None;
    }
    // A row has the typos between `i` letters on the left and `i + at - MAX_TYPOS` letters on the right.
    let mut before_last = [TOO_MANY; BAND];
    let mut last: [usize; BAND] = std::array::from_fn(|at| at.checked_sub(MAX_TYPOS).unwrap_or(TOO_MANY));
    for i in 1..=left.len() {
        let mut row = [TOO_MANY; BAND];
        for at in 0..BAND {
            let Some(j) = (i + at).checked_sub(MAX_TYPOS).filter(|j| *j <= right.len()) else { continue };
            if j == 0 {
                row[at] = i;
                continue;
            }
            let replaced = last[at] + usize::from(left[i - 1] != right[j - 1]);
            let missing = last.get(at + 1).map_or(TOO_MANY, |typos| typos + 1);
            let added = at.checked_sub(1).map_or(TOO_MANY, |at| row[at] + 1);
            let is_swap = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            let swapped = if is_swap { before_last[at] + 1 } else { TOO_MANY };
            row[at] = replaced.min(missing).min(added).min(swapped);
        }
        // No path to the end gets cheaper than its cheapest step so far: long names of other files end here.
        if row.iter().chain(&last).all(|typos| *typos > allowed) {
            return None;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    Some(last[MAX_TYPOS + right.len() - left.len()]).filter(|typos| *typos <= allowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The whole table.
    fn plain_typos(left: &[char], right: &[char]) -> usize {
        let mut table = vec![vec![0; right.len() + 1]; left.len() + 1];
        for i in 0..=left.len() {
            for j in 0..=right.len() {
                if i == 0 || j == 0 {
                    table[i][j] = i + j;
                    continue;
                }
                let replaced = table[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
                table[i][j] = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                    table[i][j] = table[i][j].min(table[i - 2][j - 2] + 1);
                }
            }
        }
        table[left.len()][right.len()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn typos_are_those_of_the_whole_table(
            left in "[ab]{0,9}",
            right in "[ab]{0,9}",
            allowed in 0..=MAX_TYPOS,
        ) {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            let expected = Some(plain_typos(&left, &right)).filter(|typos| *typos <= allowed);
            prop_assert_eq!(typos(&left, &right, allowed), expected);
        }
    }

    #[track_caller]
    fn check(wanted: &str, candidates: &[&str], expected: &[&str]) {
        let forward = similar_names(wanted.as_bytes(), candidates.iter().map(|name| name.as_bytes()));
        let backward = similar_names(wanted.as_bytes(), candidates.iter().rev().map(|name| name.as_bytes()));
        assert_eq!(forward, expected);
        assert_eq!(backward, expected, "the order of a listing is chance");
    }

    #[test]
    fn kinds_of_space_are_one() {
        check("Shot 1.00.00 PM.txt", &["Shot 1.00.00\u{202f}PM.txt", "x"], &["Shot 1.00.00\u{202f}PM.txt"]);
        check("a\u{a0}b", &["a b"], &["a b"]);
    }

    #[test]
    fn normal_forms_are_one() {
        check("caf\u{e9}.txt", &["cafe\u{301}.txt"], &["cafe\u{301}.txt"]);
        check("cafe\u{301}.txt", &["caf\u{e9}.txt"], &["caf\u{e9}.txt"]);
    }

    #[test]
    fn letter_case_comes_after_form_and_before_typos() {
        check(
            "caf\u{e9}.txt",
            &["Caf\u{e9}.txt", "cafes.txt", "cafe\u{301}.txt", "xcafes.txt"],
            &["cafe\u{301}.txt", "Caf\u{e9}.txt", "cafes.txt"],
        );
    }

    #[test]
    fn typos_are_few() {
        check("main.rs", &["mian.rs", "man.rs", "mainn.rs", "lib.rs"], &["mainn.rs", "man.rs", "mian.rs"]);
        check("main.rs", &["other.rs", "main.py.bak"], &[]);
        check("ab", &["cd", "b", "ac"], &[]);
    }

    #[test]
    fn what_cannot_be_typed_is_no_hint() {
        assert!(similar_names(b"a.txt", [&b"\xffa.txt"[..], b"a.txt\n", b"A\x07.txt"]).is_empty());
        assert!(similar_names(b"\xff", [&b"\xfe"[..]]).is_empty());
        check("same", &["same"], &[]);
    }
}
