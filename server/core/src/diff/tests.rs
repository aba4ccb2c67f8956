use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// The old text with the hunks applied, checked line by line.
pub(crate) fn patched(old: &[u8], diff: &Diff) -> Vec<u8> {
    let old_lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut new = Vec::new();
    let mut new_lines = 0;
    let mut at = 0;
    for hunk in &diff.hunks {
        let start = usize::try_from(hunk.old_start).unwrap() - usize::from(hunk.old_count > 0);
        for line in &old_lines[at..start] {
            new.extend_from_slice(line);
            new_lines += 1;
        }
        at = start;
        assert_eq!(new_lines, hunk.new_start - u64::from(hunk.new_count > 0), "{hunk:?}");
        let (mut old_count, mut new_count) = (0, 0);
        for line in &hunk.lines {
            let text = format!("{}{}", line.text, if line.has_newline { "\n" } else { "" });
            if line.kind != DiffLineKind::Added {
                assert_eq!(old_lines[at], text.as_bytes(), "{hunk:?}");
                at += 1;
                old_count += 1;
            }
            if line.kind != DiffLineKind::Removed {
                new.extend_from_slice(text.as_bytes());
                new_lines += 1;
                new_count += 1;
            }
        }
        assert_eq!((old_count, new_count), (hunk.old_count, hunk.new_count), "{hunk:?}");
    }
    old_lines[at..].iter().for_each(|line| new.extend_from_slice(line));
    new
}

fn diff(old: &str, new: &str) -> Diff {
    match Diff::between(Some(old.as_bytes()), new, 4 << 20) {
        DiffResult::Computed(diff) => diff,
        DiffResult::LeftOut(why) => panic!("{why:?}"),
    }
}

#[track_caller]
fn check(old: &str, new: &str, expected: Expect) {
    let diff = diff(old, new);
    expected.assert_eq(&diff.to_unified().replace('\r', "␍").replace('\u{feff}', "<BOM>"));
    assert_eq!(patched(old.as_bytes(), &diff), new.as_bytes());
}

#[test]
fn equal_texts_have_no_hunks() {
    check("", "", expect![""]);
    check("a\nb", "a\nb", expect![""]);
}

#[test]
fn changes_have_three_lines_of_context() {
    check(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
        expect![[r#"
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
    "#]],
    );
    check(
        "1\n2\n",
        "1\nnew\n2\n",
        expect![[r#"
        @@ -1,2 +1,3 @@
         1
        +new
         2
    "#]],
    );
    check(
        "1\n2\n3\n",
        "2\n3\n",
        expect![[r#"
        @@ -1,3 +1,2 @@
        -1
         2
         3
    "#]],
    );
}

#[test]
fn changes_share_a_hunk_when_their_contexts_touch() {
    check(
        "a\n1\n2\n3\n4\n5\n6\nb\n",
        "A\n1\n2\n3\n4\n5\n6\nB\n",
        expect![[r#"
        @@ -1,8 +1,8 @@
        -a
        +A
         1
         2
         3
         4
         5
         6
        -b
        +B
    "#]],
    );
    check(
        "a\n1\n2\n3\n4\n5\n6\n7\nb\n",
        "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
        expect![[r#"
        @@ -1,4 +1,4 @@
        -a
        +A
         1
         2
         3
        @@ -6,4 +6,4 @@
         5
         6
         7
        -b
        +B
    "#]],
    );
}

#[test]
fn a_new_file_adds_everything_from_line_zero() {
    check(
        "",
        "a\nb",
        expect![[r#"
        @@ -0,0 +1,2 @@
        +a
        +b
        \ No newline at end of file
    "#]],
    );
    let DiffResult::Computed(diff) = Diff::between(None, "a\n", 100) else { panic!("small") };
    assert_eq!((diff.hunks[0].old_start, diff.hunks[0].old_count), (0, 0));
    assert_eq!((diff.hunks[0].new_start, diff.hunks[0].new_count), (1, 1));
    assert_eq!(Diff::between(None, "", 100), DiffResult::Computed(Diff::default()));
}

#[test]
fn an_emptied_file_removes_everything() {
    check(
        "a\nb\n",
        "",
        expect![[r#"
        @@ -1,2 +0,0 @@
        -a
        -b
    "#]],
    );
}

#[test]
fn a_missing_newline_at_the_end_is_told() {
    check(
        "a\nb",
        "a\nb\n",
        expect![[r#"
        @@ -1,2 +1,2 @@
         a
        -b
        \ No newline at end of file
        +b
    "#]],
    );
    check(
        "a\nb\n",
        "a\nc",
        expect![[r#"
        @@ -1,2 +1,2 @@
         a
        -b
        +c
        \ No newline at end of file
    "#]],
    );
    check(
        "a\nb",
        "x\nb",
        expect![[r#"
        @@ -1,2 +1,2 @@
        -a
        +x
         b
        \ No newline at end of file
    "#]],
    );
}

#[test]
fn changed_line_ends_and_byte_order_marks_are_changed_lines() {
    check(
        "a\r\nb\n",
        "a\nb\n",
        expect![[r#"
        @@ -1,2 +1,2 @@
        -a␍
        +a
         b
    "#]],
    );
    check(
        "\u{feff}a\n",
        "a\n",
        expect![[r#"
        @@ -1 +1 @@
        -<BOM>a
        +a
    "#]],
    );
}

#[test]
fn lines_that_look_like_headers_are_lines() {
    check(
        "-- x\n",
        "++ y\n",
        expect![[r#"
        @@ -1 +1 @@
        --- x
        +++ y
    "#]],
    );
}

#[test]
fn large_texts_are_left_out() {
    assert_eq!(
        Diff::between(Some(b"12345"), "123456", 10),
        DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes: 10, size_bytes: 11 })
    );
    assert!(matches!(Diff::between(Some(b"12345"), "12346", 10), DiffResult::Computed(_)));
}

#[test]
fn very_many_short_lines_are_left_out_though_their_bytes_are_few() {
    let lines = |count: u64, text: &str| text.repeat(usize::try_from(count).unwrap());
    let most = Diff::MAX_LINES / 2;
    let fits = Diff::between(Some(lines(most, "a\n").as_bytes()), &lines(most, "b\n"), 4 << 20);
    assert!(matches!(fits, DiffResult::Computed(_)));
    let above = Diff::between(Some(lines(most + 1, "a\n").as_bytes()), &lines(most, "b\n"), 4 << 20);
    let left_out = DiffLeftOut::TooManyLines { limit_lines: Diff::MAX_LINES, lines: Diff::MAX_LINES + 1 };
    assert_eq!(above, DiffResult::LeftOut(left_out));
}

#[test]
fn an_old_side_that_is_no_text_is_left_out() {
    for old in [&b"na\xefve"[..], b"a\0b"] {
        assert_eq!(Diff::between(Some(old), "x", 100), DiffResult::LeftOut(DiffLeftOut::OldIsNotText));
    }
}

#[test]
fn very_many_different_lines_are_one_change() {
    let old: String = (0..40_000).map(|number| format!("{number}\n")).collect();
    let new: String = (0..40_000).map(|number| format!("{}\n", number * 7 % 40_000)).collect();
    let diff = diff(&old, &new);
    assert_eq!(patched(old.as_bytes(), &diff), new.as_bytes());
    assert_eq!(diff.changed_ranges().total, 1);
}

fn text() -> impl Strategy<Value = String> {
    let token =
        prop_oneof![4 => Just("a"), 3 => Just("b"), 8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("é\n")];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn hunks_applied_to_the_old_text_give_the_new_one(old in text(), new in text()) {
        let diff = diff(&old, &new);
        prop_assert_eq!(patched(old.as_bytes(), &diff), new.as_bytes());
        prop_assert_eq!(diff.hunks.is_empty(), old == new);
    }

    #[test]
    fn changed_ranges_are_the_hunks_without_context(old in text(), new in text()) {
        let diff = diff(&old, &new);
        let changed = diff.changed_ranges();
        let changed_lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        let changed_lines = changed_lines.filter(|line| line.kind != DiffLineKind::Context).count() as u64;
        prop_assert_eq!(changed.ranges.iter().map(|range| range.old_count + range.new_count).sum::<u64>(), changed_lines);
        // What lies before the first range is the same on both sides.
        if let Some(first) = changed.ranges.first() {
            let before = |start: u64, count: u64| start - u64::from(count > 0);
            let lines = |text: &str, count: u64| -> Vec<String> {
                text.split_inclusive('\n').take(usize::try_from(count).unwrap()).map(str::to_owned).collect()
            };
            prop_assert_eq!(
                lines(&old, before(first.old_start, first.old_count)),
                lines(&new, before(first.new_start, first.new_count))
            );
        }
    }
}
