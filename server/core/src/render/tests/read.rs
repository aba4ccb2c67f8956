use expect_test::{Expect, expect};

use crate::limit::Limits;
use crate::notice::{Notice, NoticeKind};
use crate::outcome::ReadOutcome;
use crate::render;
use crate::text::summarize;
use crate::version::Version;
use crate::window::{LineBlock, LineWindow, StopReason};

const WINDOW: LineWindow =
    LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };

pub(super) fn outcome(content: &[u8], window: LineWindow) -> ReadOutcome {
    let summary = summarize(content).unwrap();
    let page = window.of(content);
    ReadOutcome {
        path: "/ws/notes.txt".into(),
        block: page.block,
        total_lines: summary.total_lines,
        stop: page.stop,
        size_bytes: summary.size_bytes,
        version: Version::of(content),
        line_endings: summary.line_endings(),
        ends_with_newline: summary.ends_with_newline,
        bom: summary.bom,
        notices: Vec::new(),
    }
}

#[track_caller]
fn check(content: &[u8], window: LineWindow, expected: Expect) {
    let limits = Limits { max_window_bytes: window.max_bytes, ..Limits::DEFAULT };
    expected.assert_eq(&render::read(&outcome(content, window), &limits));
}

#[test]
fn a_whole_file() {
    check(
        b"fn main() {\n\trun();\n\n}\n",
        WINDOW,
        expect![[r#"
        1: fn main() {
        2: 	run();
        3: 
        4: }

        (lines 1-4 of 4)"#]],
    );
}

#[test]
fn one_line() {
    check(
        b"on its own\n",
        WINDOW,
        expect![[r#"
        1: on its own

        (line 1 of 1)"#]],
    );
    check(
        b"\n",
        WINDOW,
        expect![[r#"
        1: 

        (line 1 of 1)"#]],
    );
}

#[test]
fn an_empty_file_says_so() {
    check(b"", WINDOW, expect!["(the file is empty: 0 lines)"]);
    check(b"\xef\xbb\xbf", WINDOW, expect!["(the file is empty but for a byte order mark: 0 lines)"]);
}

#[test]
fn a_window_in_the_middle_says_where_to_go_on() {
    let window = LineWindow { first_line: 2, max_lines: 2, ..WINDOW };
    check(
        b"a\nb\nc\nd\ne\n",
        window,
        expect![[r#"
        2: b
        3: c

        (lines 2-3 of 5; continue with offset 4)"#]],
    );
}

#[test]
fn the_last_page_has_no_next_offset() {
    let window = LineWindow { first_line: 4, max_lines: 2, ..WINDOW };
    check(
        b"a\nb\nc\nd\ne\n",
        window,
        expect![[r#"
        4: d
        5: e

        (lines 4-5 of 5)"#]],
    );
    check(
        b"a\nb\nc\nd\n",
        window,
        expect![[r#"
        4: d

        (line 4 of 4)"#]],
    );
}

#[test]
fn the_byte_cap_is_told() {
    let window = LineWindow { max_bytes: 8, ..WINDOW };
    check(
        b"abc\ndef\nghi\n",
        window,
        expect![[r#"
        1: abc
        2: def

        (lines 1-2 of 3; stopped at the cap of 8 bytes; continue with offset 3)"#]],
    );
}

#[test]
fn a_cut_line_is_marked_with_its_full_length() {
    let window = LineWindow { max_line_chars: 4, ..WINDOW };
    check(
        "äöüß und mehr\nkurz\n".as_bytes(),
        window,
        expect![[r#"
        1: äöüß [line cut: 4 of 13 characters shown]
        2: kurz

        (lines 1-2 of 2)"#]],
    );
    check(
        b"longer than the window\nnext\n",
        LineWindow { max_bytes: 6, ..WINDOW },
        expect![[r#"
        1: longer [line cut: 6 of 22 characters shown]

        (line 1 of 2; stopped at the cap of 6 bytes; continue with offset 2)"#]],
    );
}

#[test]
fn what_cannot_be_seen_is_in_the_footer() {
    check(
        b"a\r\nb\r\n",
        WINDOW,
        expect![[r#"
        1: a
        2: b

        (lines 1-2 of 2; line endings are CRLF)"#]],
    );
    check(
        b"a\r\nb\nc",
        WINDOW,
        expect![[r#"
        1: a
        2: b
        3: c

        (lines 1-3 of 3; line endings are mixed, CRLF and LF; no newline at the end of the file)"#]],
    );
    check(
        b"\xef\xbb\xbfa\n",
        WINDOW,
        expect![[r#"
        1: a

        (line 1 of 1; the file starts with a byte order mark)"#]],
    );
    check(
        b"a",
        WINDOW,
        expect![[r#"
        1: a

        (line 1 of 1; no newline at the end of the file)"#]],
    );
    let window = LineWindow { max_lines: 1, ..WINDOW };
    check(
        b"\xef\xbb\xbfa\r\nb",
        window,
        expect![[r#"
        1: a

        (line 1 of 2; continue with offset 2; line endings are CRLF; the file starts with a byte order mark; no newline at the end of the file)"#]],
    );
}

#[test]
fn control_characters_of_the_file_are_shown_as_they_are() {
    let text = render::read(&outcome(b"\x1b[31mred\x07\rx\n", WINDOW), &Limits::DEFAULT);
    assert_eq!(text, "1: \u{1b}[31mred\u{7}\rx\n\n(line 1 of 1)");
}

#[test]
fn notices_stand_in_the_footer() {
    let notice = Notice::new(
        NoticeKind::ObservationNotRecorded,
        "this read was not recorded:\nread again before a change",
    );
    let outcome = ReadOutcome { notices: vec![notice], ..outcome(b"a\n", WINDOW) };
    expect![[r#"
        1: a

        (line 1 of 1; this read was not recorded: read again before a change)"#]]
    .assert_eq(&render::read(&outcome, &Limits::DEFAULT));
}

#[test]
fn a_window_past_the_end_says_how_long_the_file_is() {
    check(
        b"a\nb\n",
        LineWindow { first_line: 10, ..WINDOW },
        expect!["(no lines from line 10 on: the file has 2 lines)"],
    );
}

#[test]
fn lines_beyond_the_limits_are_left_out_truthfully() {
    let mut block = LineBlock::new(1);
    for text in ["äöü", "x", "y"] {
        block.push(text, None, false);
    }
    let outcome = ReadOutcome { block, stop: StopReason::EndOfFile, ..outcome(b"\n\n\n", WINDOW) };
    let shown = |max_window_bytes, max_limit_lines| {
        render::read(&outcome, &Limits { max_window_bytes, max_limit_lines, ..Limits::DEFAULT })
    };
    expect![[r#"
        1: äö [line cut: 2 of 3 characters shown]
        2: x

        (lines 1-2 of 3; stopped at the cap of 5 bytes; continue with offset 3)"#]]
    .assert_eq(&shown(5, 9));
    expect![[r#"
        1: äöü
        2: x

        (lines 1-2 of 3; stopped at the cap of 7 bytes; continue with offset 3)"#]]
    .assert_eq(&shown(7, 9));
    expect![[r#"
        1: äöü

        (line 1 of 3; continue with offset 2)"#]]
    .assert_eq(&shown(99, 1));
}
