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
/// are.
fn typos(left: &[char], right: &[char], allowed: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > allowed {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, &letter) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &other) in right.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && letter == right[j - 1] && left[i - 1] == other;
            if swapped {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        // No path to the end gets cheaper than its cheapest step so far: long names of other files end here.
        if row.iter().min().is_some_and(|least| *least > allowed)
            && last.iter().min().is_some_and(|l| *l > allowed)
        {
            return None;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|typos| *typos <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

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
