use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::diff::DiffLeftOut;
use crate::limit::Limits;

fn edit(old_string: &str, new_string: &str, replace_all: bool) -> EditRequest {
    EditRequest::new(old_string.into(), new_string.into(), replace_all).unwrap()
}

fn apply_to(content: &[u8], edit: &EditRequest) -> Result<Edited, EditRefusal> {
    apply(content, edit, &Limits::DEFAULT, &Endless)
}

/// The edited content, what matched, what changed and the diff, or the refusal.
#[track_caller]
fn check(content: &str, edit: &EditRequest, expected: Expect) {
    let shown = match apply_to(content.as_bytes(), edit) {
        Ok(Edited { content, matches, changed, diff, .. }) => {
            let DiffResult::Computed(diff) = diff else { panic!("{diff:?}") };
            let matches: Vec<String> = matches
                .ranges
                .iter()
                .map(|lines| format!("{}-{}", lines.start_line, lines.end_line))
                .collect();
            let changed: Vec<String> = changed
                .ranges
                .iter()
                .map(|r| format!("{},{}->{},{}", r.old_start, r.old_count, r.new_start, r.new_count))
                .collect();
            format!(
                "{:?}\nmatches {} changed {}\n{}",
                String::from_utf8(content).unwrap(),
                matches.join(" "),
                changed.join(" "),
                diff.to_unified().replace('\r', "␍")
            )
        }
        Err(refusal) => FsError::from(refusal).to_string(),
    };
    expected.assert_eq(&shown);
}

#[track_caller]
fn check_request(old_string: &str, new_string: &str, expected: Expect) {
    let refuse = |replace_all| {
        EditRequest::new(old_string.into(), new_string.into(), replace_all).unwrap_err().to_string()
    };
    expected.assert_eq(&refuse(false));
    assert_eq!(refuse(true), refuse(false));
}

#[test]
fn an_empty_old_string_is_refused_and_points_to_write() {
    check_request(
        "",
        "Z",
        expect![
            "FS_INVALID_ARGUMENT: `old_string` was an empty string, it must be the text to replace; `write` sets the whole content of a file"
        ],
    );
}

#[test]
fn an_edit_that_changes_nothing_is_refused() {
    check_request(
        "same",
        "same",
        expect![
            "FS_INVALID_ARGUMENT: `new_string` was the same text as `old_string` (CRLF and LF are one line end), it must be another text: this edit would change nothing"
        ],
    );
    check_request(
        "p\r\nq",
        "p\nq",
        expect![
            "FS_INVALID_ARGUMENT: `new_string` was the same text as `old_string` (CRLF and LF are one line end), it must be another text: this edit would change nothing"
        ],
    );
    check_request(
        "p\n",
        "p\r\n",
        expect![
            "FS_INVALID_ARGUMENT: `new_string` was the same text as `old_string` (CRLF and LF are one line end), it must be another text: this edit would change nothing"
        ],
    );
}

#[test]
fn texts_that_differ_in_a_code_point_are_an_edit() {
    for (old, new) in [("it's", "it’s"), ("\r", "\n"), ("}", "}\n"), (" a", "a"), ("e\u{301}", "é")] {
        assert!(EditRequest::new(old.into(), new.into(), false).is_ok());
    }
}

#[test]
fn a_request_is_logged_without_its_texts() {
    let shown = format!("{:?}", edit("secret-old", "secret-new", false));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn one_match_is_replaced() {
    check(
        "a\r\nb\nc\r\n",
        &edit("b", "B", false),
        expect![[r#"
        "a\r\nB\nc\r\n"
        matches 2-2 changed 2,1->2,1
        @@ -1,3 +1,3 @@
         a␍
        -b
        +B
         c␍
    "#]],
    );
    check(
        "one\ntwo\nthree\nfour\nfive\nsix\n",
        &edit("four\n", "", false),
        expect![[r#"
        "one\ntwo\nthree\nfive\nsix\n"
        matches 4-4 changed 4,1->3,0
        @@ -1,6 +1,5 @@
         one
         two
         three
        -four
         five
         six
    "#]],
    );
}

#[test]
fn a_file_can_gain_only_a_final_newline() {
    check(
        "}",
        &edit("}", "}\n", false),
        expect![[r#"
        "}\n"
        matches 1-1 changed 1,1->1,1
        @@ -1 +1 @@
        -}
        \ No newline at end of file
        +}
    "#]],
    );
}

#[test]
fn an_inserted_line_does_not_change_the_line_before_it() {
    check(
        "a\nb\n",
        &edit("a", "a\nx", false),
        expect![[r#"
        "a\nx\nb\n"
        matches 1-1 changed 1,0->2,1
        @@ -1,2 +1,3 @@
         a
        +x
         b
    "#]],
    );
    check(
        "a\nb\n",
        &edit("b\n", "b\nx\n", false),
        expect![[r#"
        "a\nb\nx\n"
        matches 2-2 changed 2,0->3,1
        @@ -1,2 +1,3 @@
         a
         b
        +x
    "#]],
    );
    check(
        "a\nb",
        &edit("b", "b\nx", false),
        expect![[r#"
        "a\nb\nx"
        matches 2-2 changed 2,1->2,2
        @@ -1,2 +1,3 @@
         a
        -b
        \ No newline at end of file
        +b
        +x
        \ No newline at end of file
    "#]],
    );
}

#[test]
fn several_matches_are_refused_with_their_lines() {
    check(
        "a\nx\nb\nx\n",
        &edit("x", "y", false),
        expect![
            "FS_AMBIGUOUS_EDIT: `old_string` occurs 2 times: make it longer so that it occurs once, or set `replace_all`"
        ],
    );
    check(
        "aaa",
        &edit("aa", "b", false),
        expect![
            "FS_AMBIGUOUS_EDIT: `old_string` occurs 2 times: make it longer so that it occurs once, or set `replace_all`"
        ],
    );
    let Err(EditRefusal::Ambiguous { match_count, lines }) = apply_to(b"}\n}\n}\n", &edit("}", "x", false))
    else {
        panic!("three equal lines");
    };
    assert_eq!((match_count, lines), (3, vec![1, 2, 3]));
}

#[test]
fn text_without_a_match_is_refused() {
    check(
        "begin\n k1\n k2\n k3\nend\n",
        &edit("begin\n k1\n k7\n k3\nend", "x", false),
        expect!["FS_EDIT_NOT_FOUND: `old_string` does not occur in the file; 1 place nearly matches"],
    );
    check("", &edit("a", "b", true), expect!["FS_EDIT_NOT_FOUND: `old_string` does not occur in the file"]);
}

#[test]
fn all_matches_are_replaced() {
    check(
        "x1\nk\nx2 x3\r\nk\nk\nk\nk\nk\nk\nk\nx4",
        &edit("x", "yy", true),
        expect![[r#"
        "yy1\nk\nyy2 yy3\r\nk\nk\nk\nk\nk\nk\nk\nyy4"
        matches 1-1 3-3 3-3 11-11 changed 1,1->1,1 3,1->3,1 11,1->11,1
        @@ -1,6 +1,6 @@
        -x1
        +yy1
         k
        -x2 x3␍
        +yy2 yy3␍
         k
         k
         k
        @@ -8,4 +8,4 @@
         k
         k
         k
        -x4
        \ No newline at end of file
        +yy4
        \ No newline at end of file
    "#]],
    );
    check(
        "a\nb\nc\n",
        &edit("\n", "", true),
        expect![[r#"
        "abc"
        matches 1-1 2-2 3-3 changed 1,3->1,1
        @@ -1,3 +1 @@
        -a
        -b
        -c
        +abc
        \ No newline at end of file
    "#]],
    );
    check(
        "x\ny\nx\ny\n",
        &edit("x\n", "", true),
        expect![[r#"
        "y\ny\n"
        matches 1-1 3-3 changed 1,1->0,0 3,1->1,0
        @@ -1,4 +1,2 @@
        -x
         y
        -x
         y
    "#]],
    );
}

#[test]
fn a_line_end_that_had_to_change_is_a_changed_line() {
    check(
        "a\rx\nb\n",
        &edit("x", "", false),
        expect![[r#"
        "a\r\r\nb\n"
        matches 1-1 changed 1,1->1,1
        @@ -1,2 +1,2 @@
        -a␍x
        +a␍␍
         b
    "#]],
    );
    check(
        "x\n\ny\n",
        &edit("x\n", "x\r", false),
        expect![[r#"
        "x\r\r\ny\n"
        matches 1-1 changed 1,2->1,1
        @@ -1,3 +1,2 @@
        -x
        -
        +x␍␍
         y
    "#]],
    );
}

#[test]
fn common_lines_inside_of_a_match_are_no_change_in_the_diff() {
    check(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        &edit("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2x\n3\n4\n5\n6\n7\n8x\n9\n", false),
        expect![[r#"
            "1\n2x\n3\n4\n5\n6\n7\n8x\n9\n"
            matches 1-9 changed 2,7->2,7
            @@ -1,9 +1,9 @@
             1
            -2
            +2x
             3
             4
             5
             6
             7
            -8
            +8x
             9
        "#]],
    );
}

#[test]
fn a_byte_order_mark_survives() {
    let edited = apply_to(b"\xef\xbb\xbfconst s=\"\xc3\xa9\";\n", &edit("const", "let", false)).unwrap();
    assert_eq!(edited.content, b"\xef\xbb\xbflet s=\"\xc3\xa9\";\n");
}

#[test]
fn what_is_no_text_is_refused_with_the_offset() {
    for (content, offset) in [(&b"n = 7\n# na\xefve\n"[..], 10), (b"key=\"u\x00v\"\n", 6)] {
        let Err(EditRefusal::NotText(not_text)) = apply_to(content, &edit("n", "m", true)) else {
            panic!("no text");
        };
        assert_eq!(not_text.byte_offset, offset);
    }
}

#[test]
fn a_result_above_the_limit_is_refused_before_it_is_built() {
    let limits = Limits { max_file_bytes: Some(6), ..Limits::DEFAULT };
    assert!(apply(b"aaa", &edit("a", "bb", true), &limits, &Endless).is_ok());
    let refusal = apply(b"aaa", &edit("a", "bbb", true), &limits, &Endless).unwrap_err();
    assert_eq!(refusal, EditRefusal::TooLarge { limit_bytes: 6, size_bytes: 9 });
    expect!["FS_TOO_LARGE: the edited file would have 9 bytes, `max_file_bytes` allows 6"]
        .assert_eq(&FsError::from(refusal).to_string());
}

#[test]
fn a_result_that_no_memory_holds_is_refused() {
    // 2^24 matches of 2^24 bytes each: 256 TiB.
    let content = vec![b'a'; 1 << 24];
    let refusal = apply_to(&content, &edit("a", &"b".repeat(1 << 24), true)).unwrap_err();
    assert!(
        matches!(refusal, EditRefusal::TooLarge { size_bytes, .. } if size_bytes == 1 << 48),
        "{refusal:?}"
    );
}

#[test]
fn many_matches_are_counted_and_the_first_ones_listed() {
    let content = "x\nk\n".repeat(500);
    let Edited { matches, changed, .. } = apply_to(content.as_bytes(), &edit("x", "y", true)).unwrap();
    assert_eq!((matches.total, matches.ranges.len()), (500, 100));
    assert_eq!((changed.total, changed.ranges.len()), (500, 100));
    assert_eq!(changed.ranges[99].old_start, 199);
}

#[test]
fn a_diff_of_too_many_lines_is_left_out_and_the_ranges_stay() {
    let limits = Limits { max_diff_bytes: 1000, ..Limits::DEFAULT };
    let content = "x\nk\nk\nk\nk\nk\nk\nk\n".repeat(500);
    let edited = apply(content.as_bytes(), &edit("x", "y", true), &limits, &Endless).unwrap();
    assert_eq!(edited.content, content.replace('x', "y").into_bytes());
    assert_eq!((edited.changed.total, edited.changed.ranges.len()), (500, 100));
    assert!(matches!(
        edited.diff,
        DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes: 1000, size_bytes: 2000.. })
    ));
    // A long file with a small change has a small diff.
    let edited = apply((content + "z").as_bytes(), &edit("z", "y", true), &limits, &Endless).unwrap();
    assert!(matches!(edited.diff, DiffResult::Computed(_)));
}

/// The lines that are not in any changed range, for one side.
fn untouched(content: &[u8], ranges: impl Iterator<Item = (u64, u64)>) -> Vec<Vec<u8>> {
    let mut lines: Vec<Option<Vec<u8>>> =
        content.split_inclusive(|byte| *byte == b'\n').map(|line| Some(line.to_vec())).collect();
    for (start, count) in ranges {
        for number in start..start + count {
            lines[usize::try_from(number).unwrap() - 1] = None;
        }
    }
    lines.into_iter().flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_edit_in_memory_is_the_edit_of_pieces_and_says_what_it_changed(
        (content, old_string) in oracle::content_and_needle(),
        new_string in oracle::text(),
    ) {
        let Ok(edit) = EditRequest::new(old_string.clone(), new_string, true) else { return Ok(()) };
        let Ok(edited) = apply_to(&content, &edit) else {
            prop_assert!(oracle::naive_matches(&content, &old_string, matcher::Overlaps::Skipped).is_empty());
            return Ok(());
        };
        let needle = matcher::Needle::new(&old_string);
        let mut streamed = Vec::new();
        let mut rewrite = Rewrite::all(&edit, &needle, &edited.before, None);
        rewrite.feed(&content, &mut |bytes| streamed.extend_from_slice(bytes));
        rewrite.finish(&mut |bytes| streamed.extend_from_slice(bytes));
        prop_assert_eq!(&edited.content, &streamed);

        // Lines outside of the changed ranges are the same ones on both sides.
        let ranges = &edited.changed.ranges;
        prop_assert_eq!(ranges.len() as u64, edited.changed.total);
        prop_assert_eq!(
            untouched(&content, ranges.iter().map(|range| (range.old_start, range.old_count))),
            untouched(&streamed, ranges.iter().map(|range| (range.new_start, range.new_count)))
        );
        for pair in ranges.windows(2) {
            let end = pair[0].old_start + pair[0].old_count.max(1);
            let start = pair[1].old_start + u64::from(pair[1].old_count == 0);
            prop_assert!(end <= start, "ranges that touch are one: {:?}", pair);
        }

        // The diff leads from the one to the other.
        let DiffResult::Computed(diff) = edited.diff else { panic!("small") };
        prop_assert_eq!(crate::diff::patched(&content, &diff), edited.content);
    }

    #[test]
    fn an_edit_of_one_match_is_refused_exactly_when_there_is_not_one(
        (content, old_string) in oracle::content_and_needle(),
        new_string in oracle::text(),
    ) {
        let Ok(one) = EditRequest::new(old_string.clone(), new_string.clone(), false) else { return Ok(()) };
        let found = oracle::naive_matches(&content, &old_string, matcher::Overlaps::Counted);
        match apply_to(&content, &one) {
            Ok(edited) => {
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!(edited.matches.ranges, vec![found[0].lines]);
                let all = apply_to(&content, &edit(&old_string, &new_string, true)).unwrap();
                prop_assert_eq!(edited.content, all.content);
            }
            Err(EditRefusal::NotFound { .. }) => prop_assert!(found.is_empty()),
            Err(EditRefusal::Ambiguous { match_count, lines }) => {
                prop_assert_eq!(match_count, found.len() as u64);
                let expected: Vec<u64> = found.iter().map(|found| found.lines.start_line).take(20).collect();
                prop_assert_eq!(lines, expected);
            }
            Err(refusal) => prop_assert!(false, "{:?}", refusal),
        }
    }
}
