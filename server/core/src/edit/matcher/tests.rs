use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::edit::oracle::{self, naive_matches, pieces, text};

/// All matches of a file that comes in these pieces.
fn matches_in<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    needle: &Needle,
    overlaps: Overlaps,
    sizes: Sizes,
) -> Vec<Match> {
    let mut found = Vec::new();
    let mut matcher = Matcher::new(needle, overlaps);
    matcher.sizes = sizes;
    let mut settled = 0;
    for piece in pieces {
        let before = found.len();
        matcher.feed(piece, |next| found.push(next));
        assert!(found[before..].iter().all(|next| next.range.start >= settled), "found what was settled");
        settled = matcher.settled();
    }
    let before = found.len();
    matcher.finish(|next| found.push(next));
    assert!(found[before..].iter().all(|next| next.range.start >= settled), "found what was settled");
    found
}

#[track_caller]
fn check(content: &[u8], old_string: &str, expected: Expect) {
    let needle = Needle::new(old_string);
    let whole = matches_in([content], &needle, Overlaps::Counted, Sizes::DEFAULT);
    let shown: Vec<String> = whole
        .iter()
        .map(|found| format!("{:?} lines {}-{}", found.range, found.lines.start_line, found.lines.end_line))
        .collect();
    expected.assert_eq(&shown.join("\n"));
    for size in 1..=content.len() {
        for least_search in [1, 3, 1000] {
            let sizes = Sizes { part: 1000, least_search };
            let cut = matches_in(content.chunks(size), &needle, Overlaps::Counted, sizes);
            assert_eq!(cut, whole, "in pieces of {size} bytes, searched from {least_search} on");
        }
    }
}

#[test]
fn lf_in_old_string_matches_crlf_in_the_file() {
    check(b"x=1\r\ny=2\r\n", "x=1\ny=2", expect!["0..8 lines 1-2"]);
}

#[test]
fn crlf_in_old_string_matches_lf_in_the_file() {
    check(b"x=1\ny=2\n", "x=1\r\ny=2\r\n", expect!["0..8 lines 1-2"]);
}

#[test]
fn a_trailing_cr_does_not_split_a_crlf() {
    check(b"a\r\na\rb", "a\r", expect!["3..5 lines 2-2"]);
}

#[test]
fn a_leading_lf_takes_the_whole_crlf() {
    check(
        b"a\r\nb\nb",
        "\nb",
        expect![[r#"
        1..4 lines 1-2
        4..6 lines 2-3"#]],
    );
}

#[test]
fn a_lone_cr_in_front_of_a_crlf_is_a_character() {
    check(b"a\r\r\nb", "a\r", expect!["0..2 lines 1-1"]);
    check(b"a\r\r\nb", "\r\r\n", expect!["1..4 lines 1-1"]);
    check(b"a\r\r\nb", "a\r\n", expect![""]);
    check(b"a\r", "\r", expect!["1..2 lines 1-1"]);
}

#[test]
fn a_byte_order_mark_is_not_there() {
    check(b"\xef\xbb\xbfconst s", "const", expect!["3..8 lines 1-1"]);
    check(b"\xef\xbb\xbfconst s", "\u{feff}const", expect![""]);
    check(b"\xef\xbb\xbf", "\u{feff}", expect![""]);
    check(b"\xef\xbb\xbf\xef\xbb\xbfconst s", "\u{feff}const", expect!["3..11 lines 1-1"]);
    check(b"a\xef\xbb\xbfb", "\u{feff}", expect!["1..4 lines 1-1"]);
    check(b"\xef\xbb", "a", expect![""]);
}

#[test]
fn a_line_end_belongs_to_the_line_that_it_ends() {
    check(b"a\nb\n", "b\n", expect!["2..4 lines 2-2"]);
    check(
        b"a\nb\n",
        "\n",
        expect![[r#"
        1..2 lines 1-1
        3..4 lines 2-2"#]],
    );
    check(
        b"a\n\n\nb",
        "\n\n",
        expect![[r#"
        1..3 lines 1-2
        2..4 lines 2-3"#]],
    );
}

#[test]
fn overlapping_occurrences_all_count() {
    check(
        b"aaaa",
        "aa",
        expect![[r#"
        0..2 lines 1-1
        1..3 lines 1-1
        2..4 lines 1-1"#]],
    );
    check(
        b"abaabaaba",
        "abaaba",
        expect![[r#"
        0..6 lines 1-1
        3..9 lines 1-1"#]],
    );
    check(
        b"ababaXababa",
        "aba",
        expect![[r#"
        0..3 lines 1-1
        2..5 lines 1-1
        6..9 lines 1-1
        8..11 lines 1-1"#]],
    );
}

#[test]
fn replace_all_takes_them_from_the_left() {
    let needle = Needle::new("aa");
    let found = matches_in([&b"aaaaa"[..]], &needle, Overlaps::Skipped, Sizes::DEFAULT);
    let ranges: Vec<Range<u64>> = found.into_iter().map(|found| found.range).collect();
    assert_eq!(ranges, [0..2, 2..4]);
}

#[test]
fn only_the_first_lines_are_kept_and_all_are_counted() {
    let mut occurrences = Occurrences::default();
    let needle = Needle::new("x");
    let mut matcher = Matcher::new(&needle, Overlaps::Counted);
    matcher.feed("x\n".repeat(30).as_bytes(), |found| occurrences.add(found));
    matcher.finish(|found| occurrences.add(found));
    assert_eq!(occurrences.count, 30);
    assert_eq!(occurrences.lines, (1..=20).collect::<Vec<u64>>());
    assert_eq!(occurrences.first.unwrap().range, 0..1);
}

#[test]
fn large_pieces_find_what_lies_across_their_borders() {
    // Larger than a part, with the match at each place around the border of two parts, in both line end styles.
    for (line, old_string) in [("0123456\n", "6\nneedle\n0"), ("012345\r\n", "5\r\nneedle\r\n0")] {
        for shift in 0..12 {
            let mut content = line.repeat((Sizes::DEFAULT.part - 16) / 8).into_bytes();
            let start = content.len() as u64;
            content.extend_from_slice("x".repeat(shift).as_bytes());
            content.extend_from_slice(old_string.as_bytes());
            content.extend_from_slice(line.repeat(100_000).as_bytes());
            let needle = Needle::new(old_string);
            let found = matches_in([&content[..]], &needle, Overlaps::Counted, Sizes::DEFAULT);
            let start = start + shift as u64;
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].range, start..start + old_string.len() as u64);
            assert_eq!(found[0].lines.start_line, (Sizes::DEFAULT.part as u64 - 16) / 8 + 1);
        }
    }
}

/// The least period by definition.
fn naive_period(text: &[u8]) -> usize {
    (1..=text.len()).find(|period| text[*period..] == text[..text.len() - period]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn matches_are_those_of_a_naive_search_for_every_chunking(
        (content, old_string) in oracle::content_and_needle(),
        cuts in pieces(),
        part in 1..9_usize,
        least_search in 1..9_usize,
    ) {
        let needle = Needle::new(&old_string);
        let sizes = Sizes { part, least_search };
        for overlaps in [Overlaps::Counted, Overlaps::Skipped] {
            let found = matches_in(oracle::cut(&content, &cuts), &needle, overlaps, sizes);
            let expected = naive_matches(&content, &old_string, overlaps);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn repetitive_text_is_counted_like_by_a_naive_search(
        pattern in "[ab]{1,4}",
        times in 1..6_usize,
        content in prop::collection::vec("(a|b|ab|aab){1,8}", 1..6),
        cuts in pieces(),
        least_search in 1..40_usize,
    ) {
        let old_string = pattern.repeat(times);
        let content = content.join(&pattern.repeat(7)).into_bytes();
        let needle = Needle::new(&old_string);
        let sizes = Sizes { part: 50, least_search };
        let found = matches_in(oracle::cut(&content, &cuts), &needle, Overlaps::Counted, sizes);
        prop_assert_eq!(found, naive_matches(&content, &old_string, Overlaps::Counted));
    }

    #[test]
    fn periods_are_those_of_the_definition(text in "[ab]{1,24}") {
        let text = text.as_bytes();
        let period = naive_period(text);
        let (distance, is_periodic) = least_distance(text);
        prop_assert!(distance <= period);
        prop_assert_eq!(is_periodic, 2 * period <= text.len());
        if is_periodic {
            prop_assert_eq!(distance, period);
        }
    }

    #[test]
    fn a_view_has_no_crlf_but_where_a_cr_was_before_it(given in text()) {
        let view = view_of(&given);
        prop_assert_eq!(view.matches('\n').count(), given.matches('\n').count());
        prop_assert_eq!(given.len() - view.len(), given.matches("\r\n").count());
    }
}
