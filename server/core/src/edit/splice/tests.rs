use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::Joiner;
use crate::edit::matcher::{Needle, Overlaps};
use crate::edit::oracle::{self, pieces, text};
use crate::edit::{Changed, EditRequest, Rewrite};
use crate::text::summarize;

/// The edited file, when it comes in these pieces.
fn splice_in<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    content: &[u8],
    edit: &EditRequest,
) -> (Vec<u8>, Changed) {
    let needle = Needle::new(edit.old_string());
    let mut edited = Vec::new();
    let mut rewrite = Rewrite::all(edit, &needle, &summarize(content).unwrap(), None);
    for piece in pieces {
        rewrite.feed(piece, &mut |bytes| edited.extend_from_slice(bytes));
    }
    let changed = rewrite.finish(&mut |bytes| edited.extend_from_slice(bytes));
    assert_eq!(changed.size_bytes, edited.len() as u64);
    (edited, changed)
}

#[track_caller]
fn check(content: &str, old_string: &str, new_string: &str, expected: Expect) {
    let edit = EditRequest::new(old_string.into(), new_string.into(), true).unwrap();
    let (edited, _) = splice_in([content.as_bytes()], content.as_bytes(), &edit);
    expected.assert_eq(&format!("{:?}", std::str::from_utf8(&edited).unwrap()));
}

#[test]
fn lines_that_were_not_touched_keep_their_line_ends() {
    check("a\r\nb\nc\r\n", "b", "B", expect![[r#""a\r\nB\nc\r\n""#]]);
    check("a\nb\r\nc\n", "b", "B", expect![[r#""a\nB\r\nc\n""#]]);
    check("l1\r\nl2\r\n", "l2", "X", expect![[r#""l1\r\nX\r\n""#]]);
    check("x=1\r\ny=2\r\n", "x=1\ny=2", "x=1\ny=3", expect![[r#""x=1\r\ny=3\r\n""#]]);
}

#[test]
fn line_ends_inside_a_match_that_both_texts_share_stay_mixed() {
    check("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nB\nc\nd", expect![[r#""a\r\nB\nc\r\nd\n""#]]);
}

#[test]
fn new_line_ends_take_the_first_style_of_the_match() {
    check("one\r\ntwo\r\n", "one\n", "1\n1b\n", expect![[r#""1\r\n1b\r\ntwo\r\n""#]]);
    check("a\nb\r\nc\r\nd\r\n", "a\nb\n", "x\ny\nz\n", expect![[r#""x\ny\nz\r\nc\r\nd\r\n""#]]);
    check("a\r\nb\nc\nd\n", "a\r\nb", "x\ny\nz", expect![[r#""x\r\ny\r\nz\nc\nd\n""#]]);
}

#[test]
fn new_line_ends_of_a_match_without_any_take_the_dominant_style() {
    check("one\r\ntwo\r\n", "one", "1\n1b", expect![[r#""1\r\n1b\r\ntwo\r\n""#]]);
    check("a\r\nb\nc\n", "c", "c\nd", expect![[r#""a\r\nb\nc\nd\n""#]]);
    check("a\nb\r\nc", "c", "c\r\nd", expect![[r#""a\nb\r\nc\nd""#]]);
}

#[test]
fn crlf_in_new_string_follows_the_file() {
    check("a\nb\n", "b", "x\r\ny", expect![[r#""a\nx\ny\n""#]]);
    check("a\r\nb\r\n", "a\nb", "a\nx\nb", expect![[r#""a\r\nx\r\nb\r\n""#]]);
}

#[test]
fn a_file_without_line_ends_gets_those_of_new_string() {
    check("ab", "b", "x\r\ny\nz", expect![[r#""ax\r\ny\nz""#]]);
    check("}", "}", "}\n", expect![[r#""}\n""#]]);
    check("}", "}", "}\r\n", expect![[r#""}\r\n""#]]);
}

#[test]
fn final_newlines_come_and_go_only_as_asked() {
    check("u\nv\n", "v\n", "w\n", expect![[r#""u\nw\n""#]]);
    check("u\nv\n", "v\n", "v", expect![[r#""u\nv""#]]);
    check("u\nv", "v", "w\n", expect![[r#""u\nw\n""#]]);
    check("u\nv\n", "v", "", expect![[r#""u\n\n""#]]);
}

#[test]
fn replacement_templates_are_plain_text() {
    check(
        "one\ntwo\nthree\n",
        "two",
        "<$&|$$|$`|$'|$1|\\1>",
        expect![[r#""one\n<$&|$$|$`|$'|$1|\\1>\nthree\n""#]],
    );
    check("a.c abc", "a.c", "x", expect![[r#""x abc""#]]);
}

#[test]
fn quotes_escapes_and_entities_are_never_folded() {
    check("it's\n", "it's", "it’s", expect![[r#""it’s\n""#]]);
    check("say(\"a\\nb\")", "\\n", "\\\\n", expect![[r#""say(\"a\\\\nb\")""#]]);
    check("a &amp; b", "&amp;", "&lt;", expect![[r#""a &lt; b""#]]);
}

#[test]
fn indentation_is_not_repaired() {
    check(
        "        one()\n        two()\n",
        "one()\n        two()",
        "one(1)\n        two(2)",
        expect![[r#""        one(1)\n        two(2)\n""#]],
    );
}

#[test]
fn output_is_not_scanned_again() {
    check("aaa", "a", "aa", expect![[r#""aaaaaa""#]]);
    check("abb", "ab", "a", expect![[r#""ab""#]]);
}

#[test]
fn a_lone_cr_that_meets_a_line_end_stays_visible() {
    // New text that ends in a lone CR, in front of LF and of CRLF.
    check("a\nb", "a", "a\r", expect![[r#""a\r\r\nb""#]]);
    check("a\r\nb", "a", "a\r", expect![[r#""a\r\r\nb""#]]);
    // A deletion between CR and LF.
    check("a\rx\nb", "x", "", expect![[r#""a\r\r\nb""#]]);
    // A new line end after a lone CR, outside of the match, kept and new.
    check("a\rx\nb", "x", "\ny", expect![[r#""a\r\r\ny\nb""#]]);
    check("a\rx", "a\rx", "a\r\nx", expect![[r#""a\r\nx""#]]);
    // A lone CR in front of a CRLF within new text.
    check("a\nb", "a", "x\r\r\ny", expect![[r#""x\r\r\ny\nb""#]]);
    // Matches side by side.
    check("xy\n", "x", "\r", expect![[r#""\ry\n""#]]);
    check("xx\n", "x", "\r", expect![[r#""\r\r\r\n""#]]);
    // A kept line end after text that is taken away.
    check("\rx\n", "x\n", "\n", expect![[r#""\r\r\n""#]]);
}

#[test]
fn a_size_above_all_numbers_is_told_as_the_largest() {
    let mut joiner = Joiner { written: u64::MAX - 2, ..Joiner::default() };
    assert_eq!(joiner.change(b"\r"), b"");
    assert_eq!(joiner.written(), u64::MAX - 1);
    assert_eq!(joiner.keep(b"\n\n\n"), b"\r");
    assert_eq!(joiner.written(), u64::MAX);
}

#[test]
fn large_files_are_spliced_across_the_borders_of_parts() {
    let line = "0123456\r\n";
    let content = line.repeat(100_000);
    let edit = EditRequest::new("6\n0".into(), "6\n-\n0".into(), true).unwrap();
    let (edited, changed) = splice_in([content.as_bytes()], content.as_bytes(), &edit);
    assert_eq!(changed.matches.total, 99_999);
    assert_eq!(edited, content.replace("6\r\n0", "6\r\n-\r\n0").into_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_edited_file_reads_as_the_text_with_the_replacement(
        (content, old_string) in oracle::content_and_needle(),
        new_string in text(),
        cuts in pieces(),
    ) {
        let Ok(edit) = EditRequest::new(old_string.clone(), new_string.clone(), true) else { return Ok(()) };
        let (edited, changed) = splice_in(oracle::cut(&content, &cuts), &content, &edit);
        let (whole, _) = splice_in([&content[..]], &content, &edit);
        prop_assert_eq!(&edited, &whole);

        let expected = oracle::replaced_view(&content, &old_string, &new_string);
        let has_mark = content.starts_with(b"\xef\xbb\xbf");
        let seen = if has_mark { oracle::view(&edited) } else {
            oracle::argument_view(std::str::from_utf8(&edited).unwrap())
        };
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(
            usize::try_from(changed.matches.total).unwrap(),
            oracle::naive_matches(&content, &old_string, Overlaps::Skipped).len()
        );
    }

    #[test]
    fn bytes_outside_of_the_matches_stay(
        (content, old_string) in oracle::content_and_needle(),
        new_string in text(),
    ) {
        let Ok(edit) = EditRequest::new(old_string.clone(), new_string.clone(), true) else { return Ok(()) };
        let (edited, _) = splice_in([&content[..]], &content, &edit);
        let index = |offset: u64| usize::try_from(offset).unwrap();
        let mut rest = &edited[..];
        let mut done = 0;
        for found in oracle::naive_matches(&content, &old_string, Overlaps::Skipped) {
            let outside = &content[done..index(found.range.start)];
            rest = oracle::take(rest, outside);
            rest = oracle::take_text(rest, &oracle::argument_view(&new_string));
            done = index(found.range.end);
        }
        prop_assert_eq!(oracle::take(rest, &content[done..]), b"");
    }

    #[test]
    fn an_edit_and_its_inverse_restore_the_file(
        lines in prop::collection::vec("[abé\t ]{0,4}", 1..8),
        crlf in any::<bool>(),
        from in any::<prop::sample::Index>(),
        length in 1..9_usize,
        inserted in prop::collection::vec("[abé]{0,3}", 1..4),
    ) {
        let line_end = if crlf { "\r\n" } else { "\n" };
        let content = lines.join(line_end) + line_end;
        let characters: Vec<char> = content.replace("\r\n", "\n").chars().collect();
        let from = from.index(characters.len());
        let old: String = characters[from..].iter().take(length).collect();
        let new = format!("<{}>", inserted.join("\n"));
        let edit = EditRequest::new(old.clone(), new.clone(), true).unwrap();
        let inverse = EditRequest::new(new, old, true).unwrap();
        let (edited, _) = splice_in([content.as_bytes()], content.as_bytes(), &edit);
        let (restored, _) = splice_in([&edited[..]], &edited, &inverse);
        // Where the edit leaves no line end, the inverse has no style to follow and writes `\n`.
        let followed = edited.contains(&b'\n') || !crlf;
        prop_assume!(followed);
        prop_assert_eq!(restored, content.into_bytes());
    }
}
