use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::text::summarize;

const ALL: LineWindow =
    LineWindow { first_line: 1, max_lines: u64::MAX, max_bytes: u64::MAX, max_line_chars: u64::MAX };

/// Feeds `content` in pieces of the given sizes, used over and over, for as long as the reader wants more.
fn read(content: &[u8], window: LineWindow, sizes: &[usize]) -> Window {
    let mut reader = WindowReader::new(window);
    let mut rest = content;
    for size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        if !reader.feed(piece) || after.is_empty() {
            break;
        }
        rest = after;
    }
    reader.finish()
}

/// The same window, made the slow and plain way.
fn oracle(text: &str, window: LineWindow) -> Window {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut block = LineBlock::new(window.first_line);
    let mut stop = StopReason::EndOfFile;
    for line in text.split_inclusive('\n').skip(usize::try_from(window.first_line - 1).unwrap()) {
        let (line, crlf) = match line.strip_suffix("\r\n") {
            Some(line) => (line, true),
            None => (line.strip_suffix('\n').unwrap_or(line), false),
        };
        let max_chars = usize::try_from(window.max_line_chars).unwrap();
        let mut kept: String = line.chars().take(max_chars).collect();
        if block.line_count() as u64 == window.max_lines {
            stop = StopReason::LineLimit;
            break;
        }
        if (block.text_bytes() + kept.len()) as u64 > window.max_bytes {
            if block.line_count() > 0 {
                stop = StopReason::ByteCap;
                break;
            }
            while kept.len() as u64 > window.max_bytes {
                kept.pop();
            }
        }
        let full_chars = (kept.len() < line.len()).then_some(line.chars().count() as u64);
        block.push(&kept, full_chars, crlf);
    }
    Window { block, stop }
}

fn show(window: &Window) -> String {
    let mut shown = String::new();
    for line in window.block.lines() {
        let crlf = if line.crlf { " crlf" } else { "" };
        let cut = line.full_chars.map(|chars| format!(" of {chars}")).unwrap_or_default();
        shown.push_str(&format!("{} {:?}{cut}{crlf}\n", line.number, line.text));
    }
    shown + &format!("{:?}", window.stop)
}

#[track_caller]
fn check(content: &[u8], window: LineWindow, expected: Expect) {
    for size in [1, 2, 3, 7, content.len().max(1)] {
        expected.assert_eq(&show(&read(content, window, &[size])));
    }
    assert_eq!(window.of(content), read(content, window, &[1]));
}

#[test]
fn only_the_cr_before_an_lf_is_no_text() {
    check(
        b"a\r\nb\rc\r\r\n\r\n\rd\r",
        ALL,
        expect![[r#"
            1 "a" crlf
            2 "b\rc\r" crlf
            3 "" crlf
            4 "\rd\r"
            EndOfFile"#]],
    );
}

#[test]
fn a_bom_is_no_text_at_the_start_only() {
    check(
        b"\xef\xbb\xbfa\n\xef\xbb\xbfb",
        ALL,
        expect![[r#"
            1 "a"
            2 "\u{feff}b"
            EndOfFile"#]],
    );
    check(b"\xef\xbb\xbf", ALL, expect!["EndOfFile"]);
    check(
        b"\xef\xbb\xbf\xef\xbb\xbf",
        ALL,
        expect![[r#"
        1 "\u{feff}"
        EndOfFile"#]],
    );
}

#[test]
fn a_bom_is_looked_for_at_the_first_line_only() {
    let mut reader = WindowReader::starting_at(LineWindow { first_line: 3, ..ALL }, 2);
    reader.feed(b"\xef\xbb\xbfb\n\xef\xbb\xbfc\n");
    expect![[r#"
        3 "\u{feff}c"
        EndOfFile"#]]
    .assert_eq(&show(&reader.finish()));
}

#[test]
fn nothing_follows_the_last_newline() {
    check(b"", ALL, expect!["EndOfFile"]);
    check(
        b"a\n",
        LineWindow { max_lines: 1, ..ALL },
        expect![[r#"
            1 "a"
            EndOfFile"#]],
    );
    check(
        b"a\n\n",
        LineWindow { max_lines: 1, ..ALL },
        expect![[r#"
            1 "a"
            LineLimit"#]],
    );
}

#[test]
fn a_window_past_the_end_has_no_lines() {
    check(b"a\nb\n", LineWindow { first_line: 3, ..ALL }, expect!["EndOfFile"]);
    check(b"a\nb", LineWindow { first_line: 1_000, ..ALL }, expect!["EndOfFile"]);
    check(
        b"a\nb",
        LineWindow { first_line: 2, ..ALL },
        expect![[r#"
            2 "b"
            EndOfFile"#]],
    );
}

#[test]
fn a_long_line_is_cut_by_characters_and_counted_whole() {
    check(
        "ab\nä語\u{1f600}x\r\nend".as_bytes(),
        LineWindow { max_line_chars: 2, ..ALL },
        expect![[r#"
            1 "ab"
            2 "ä語" of 4 crlf
            3 "en" of 3
            EndOfFile"#]],
    );
}

#[test]
fn the_byte_cap_ends_a_window_between_lines() {
    let window = LineWindow { max_bytes: 4, ..ALL };
    check(
        b"ab\ncd\n\n",
        window,
        expect![[r#"
            1 "ab"
            2 "cd"
            3 ""
            EndOfFile"#]],
    );
    check(
        b"ab\ncde\n\n",
        window,
        expect![[r#"
            1 "ab"
            ByteCap"#]],
    );
}

#[test]
fn the_byte_cap_counts_the_text_that_is_left_of_a_cut_line() {
    check(
        b"ab\ncdefgh\n",
        LineWindow { max_bytes: 4, max_line_chars: 2, ..ALL },
        expect![[r#"
            1 "ab"
            2 "cd" of 6
            EndOfFile"#]],
    );
}

#[test]
fn the_first_line_is_delivered_even_over_the_byte_cap() {
    check(
        "äöü\nx\nyz".as_bytes(),
        LineWindow { max_bytes: 5, ..ALL },
        expect![[r#"
            1 "äö" of 3
            2 "x"
            ByteCap"#]],
    );
    check(
        "語".as_bytes(),
        LineWindow { max_bytes: 1, ..ALL },
        expect![[r#"
            1 "" of 1
            EndOfFile"#]],
    );
}

#[test]
fn what_is_no_text_is_replaced() {
    check(
        b"a\xff\xe2\x82\r\nb\xc3\nc\xe2\x82x\n\xf0\x9f",
        ALL,
        expect![[r#"
            1 "a��" crlf
            2 "b�"
            3 "c�x"
            4 "�"
            EndOfFile"#]],
    );
    check(
        b"\xef\xbb",
        ALL,
        expect![[r#"
        1 "�"
        EndOfFile"#]],
    );
}

#[test]
fn a_reader_stops_wanting_once_the_answer_stands() {
    let mut reader = WindowReader::new(LineWindow { max_lines: 2, ..ALL });
    assert!(reader.feed(b"a\nb\n"), "whether a line follows is not known yet");
    assert!(!reader.feed(b"c"));
    assert!(!reader.feed(b"d\ne\n"));
    let window = reader.finish();
    assert_eq!((window.block.line_count(), window.stop), (2, StopReason::LineLimit));

    let mut reader = WindowReader::new(LineWindow { max_bytes: 3, ..ALL });
    assert!(reader.feed(b"a\nbc"));
    assert!(!reader.feed(b"d"), "the next line is too long, whatever follows");
    assert_eq!(reader.finish().block.line_count(), 1);
}

#[test]
fn a_line_without_end_is_held_in_bounded_memory() {
    let window = LineWindow { max_lines: 3, max_bytes: 10_000, max_line_chars: 1_000, ..ALL };
    let mut reader = WindowReader::new(window);
    let piece = "ä".repeat(50_000);
    for _ in 0..100 {
        assert!(reader.feed(piece.as_bytes()));
        assert!(reader.block.text.capacity() <= 4_000);
    }
    let window = reader.finish();
    let line = window.block.lines().next().unwrap();
    assert_eq!((line.text.len(), line.full_chars), (2_000, Some(5_000_000)));
}

fn text() -> impl Strategy<Value = String> {
    let fragment =
        prop::sample::select(vec!["a", "b c", "\r", "\n", "\n", "\r\n", "é", "語", "\u{1f600}", "\u{feff}"]);
    prop::collection::vec(fragment, 0..60).prop_map(|fragments| fragments.concat())
}

fn window() -> impl Strategy<Value = LineWindow> {
    (1_u64..12, 1_u64..12, 1_u64..40, 1_u64..8).prop_map(
        |(first_line, max_lines, max_bytes, max_line_chars)| LineWindow {
            first_line,
            max_lines,
            max_bytes,
            max_line_chars,
        },
    )
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), prop::collection::vec(1_usize..20, 1..6)]
}

/// Puts `padding` bytes of lines before `text`, so that skipping crosses the borders of its blocks.
fn padded(padding: usize, text: &str) -> (u64, String) {
    let lines = padding / 8;
    ((lines as u64), "1234567\n".repeat(lines) + text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_window_is_what_the_plain_reading_says(text in text(), window in window()) {
        prop_assert_eq!(window.of(text.as_bytes()), oracle(&text, window));
    }

    #[test]
    fn a_window_in_pieces_is_the_window_of_the_whole(text in text(), window in window(), sizes in sizes()) {
        prop_assert_eq!(read(text.as_bytes(), window, &sizes), window.of(text.as_bytes()));
    }

    #[test]
    fn any_bytes_give_the_same_window_in_pieces(
        content in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(0xe2), Just(0x82)], 0..80),
        window in window(),
        sizes in sizes(),
    ) {
        let whole = window.of(&content);
        prop_assert_eq!(&read(&content, window, &sizes), &whole);
        let replaced = String::from_utf8_lossy(&content);
        prop_assert_eq!(whole, oracle(&replaced, window));
    }

    #[test]
    fn windows_end_to_end_are_the_file(text in text(), max_lines in 1_u64..5, max_bytes in 1_u64..30, sizes in sizes()) {
        let content = text.as_bytes();
        let longest = text.lines().map(str::len).max().unwrap_or(0) as u64;
        let summary = summarize(content).unwrap();
        let mut rebuilt = if summary.bom { BOM.to_vec() } else { Vec::new() };
        let mut window = LineWindow { max_lines, max_bytes: max_bytes.max(longest + 1), ..ALL };
        loop {
            let page = read(content, window, &sizes);
            for line in page.block.lines() {
                prop_assert_eq!(line.full_chars, None);
                rebuilt.extend_from_slice(line.text.as_bytes());
                let is_open = line.number == summary.total_lines && !summary.ends_with_newline;
                rebuilt.extend_from_slice(if is_open { b"" } else if line.crlf { b"\r\n" } else { b"\n" });
            }
            if page.stop == StopReason::EndOfFile {
                break;
            }
            prop_assert!(page.block.line_count() > 0, "paging makes progress");
            window.first_line += page.block.line_count() as u64;
        }
        prop_assert_eq!(rebuilt, content);
    }

    #[test]
    fn a_window_deep_in_a_file_is_the_window_of_its_tail(
        text in text(), window in window(), padding in SKIP_BYTES - 50..3 * SKIP_BYTES, size in 1_usize..2 * SKIP_BYTES,
    ) {
        let (lines, content) = padded(padding, &text);
        let deep = LineWindow { first_line: window.first_line + lines, ..window };
        let page = read(content.as_bytes(), deep, &[size]);
        prop_assert_eq!(&page, &oracle(&content, deep));
        if !text.starts_with('\u{feff}') {
            let tail = WindowReader::starting_at(deep, lines + 1);
            let mut tail = tail;
            tail.feed(text.as_bytes());
            prop_assert_eq!(tail.finish(), page);
        }
    }

    #[test]
    fn a_window_keeps_its_caps(text in text(), window in window()) {
        let page = window.of(text.as_bytes());
        prop_assert!(page.block.text_bytes() as u64 <= window.max_bytes);
        prop_assert!(page.block.line_count() as u64 <= window.max_lines);
        prop_assert!(page.block.lines().all(|line| line.text.chars().count() as u64 <= window.max_line_chars));
    }
}
