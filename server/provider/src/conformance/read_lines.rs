//! Windows of lines, and what a pass over a file knows.

use toolfs_core::error::{Code, Encoding, ErrorKind};
use toolfs_core::target::FileKind;
use toolfs_core::text::{LineEnd, LineEndings, TextSummary};
use toolfs_core::window::{LineWindow, StopReason};

use super::call::{WINDOW, refused, running, texts};
use super::fixture::Fixture;

pub(super) async fn a_small_file_is_read_whole(fixture: &Fixture) {
    fixture.put("f", "one\ntwo\n");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), ["one", "two"]);
    assert_eq!(report.window.stop, StopReason::EndOfFile);
    assert_eq!(report.version, fixture.version_of(b"one\ntwo\n"));
    let expected = TextSummary {
        size_bytes: 8,
        total_lines: 2,
        lf_count: 2,
        crlf_count: 0,
        first_line_end: Some(LineEnd::Lf),
        ends_with_newline: true,
        bom: false,
    };
    assert_eq!(report.summary, expected);
}

pub(super) async fn a_window_starts_where_it_is_told(fixture: &Fixture) {
    let content: String = (1..=10_000).map(|number| format!("line {number}\n")).collect();
    fixture.put("f", &content);
    let window = LineWindow { first_line: 9_000, max_lines: 10, ..WINDOW };
    let report = fixture.window("f", window).await.unwrap();
    let expected: Vec<String> = (9_000..9_010).map(|number| format!("line {number}")).collect();
    assert_eq!(texts(&report), expected);
    assert_eq!(report.window.block.first_line(), 9_000);
    assert_eq!(report.window.stop, StopReason::LineLimit);
    assert_eq!(report.summary.total_lines, 10_000);
    assert_eq!(report.version, fixture.version_of(content.as_bytes()), "the version is the whole file's");
}

pub(super) async fn windows_end_to_end_are_the_file(fixture: &Fixture) {
    let content: String = (1..=700).map(|number| format!("{number}{}\n", "é".repeat(number % 90))).collect();
    fixture.put("f", &content);
    let mut rebuilt = String::new();
    let mut first_line = 1;
    loop {
        let window = LineWindow { first_line, max_lines: 37, max_bytes: 1_024, max_line_chars: 2_000 };
        let report = fixture.window("f", window).await.unwrap();
        for line in report.window.block.lines() {
            assert_eq!((line.full_chars, line.crlf), (None, false));
            rebuilt.push_str(line.text);
            rebuilt.push('\n');
        }
        first_line += report.window.block.line_count() as u64;
        if report.window.stop == StopReason::EndOfFile {
            break;
        }
    }
    assert_eq!(rebuilt, content);
}

pub(super) async fn the_last_line_of_a_window_may_be_the_last_of_the_file(fixture: &Fixture) {
    fixture.put("f", "one\ntwo\n");
    let report = fixture.window("f", LineWindow { max_lines: 2, ..WINDOW }).await.unwrap();
    assert_eq!(report.window.stop, StopReason::EndOfFile);
    let report = fixture.window("f", LineWindow { max_lines: 1, ..WINDOW }).await.unwrap();
    assert_eq!((texts(&report), report.window.stop), (vec!["one".to_owned()], StopReason::LineLimit));
}

pub(super) async fn a_window_past_the_end_has_no_lines_and_the_true_total(fixture: &Fixture) {
    fixture.put("f", "l1\nl2\n");
    for first_line in [3, 4, 1_000] {
        let report = fixture.window("f", LineWindow { first_line, ..WINDOW }).await.unwrap();
        assert_eq!(report.window.block.line_count(), 0);
        assert_eq!(report.window.stop, StopReason::EndOfFile);
        assert_eq!(report.summary.total_lines, 2);
    }
}

pub(super) async fn an_empty_file_is_text_without_lines(fixture: &Fixture) {
    fixture.put("f", "");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), Vec::<String>::new());
    assert_eq!((report.summary.total_lines, report.summary.size_bytes), (0, 0));
    assert!(!report.summary.ends_with_newline);
    assert_eq!(report.window.stop, StopReason::EndOfFile);
    assert_eq!(report.version, fixture.version_of(b""));
}

pub(super) async fn a_newline_alone_is_one_empty_line(fixture: &Fixture) {
    fixture.put("f", "\n");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), [""]);
    assert_eq!(report.summary.total_lines, 1);
    assert!(report.summary.ends_with_newline);
}

pub(super) async fn a_last_line_without_a_newline_counts(fixture: &Fixture) {
    fixture.put("f", "one\ntwo");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), ["one", "two"]);
    assert_eq!(report.summary.total_lines, 2);
    assert!(!report.summary.ends_with_newline);
}

pub(super) async fn crlf_is_a_line_end_and_not_in_the_text(fixture: &Fixture) {
    fixture.put("f", "one\r\ntwo\r\n");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), ["one", "two"]);
    assert!(report.window.block.lines().all(|line| line.crlf));
    assert_eq!(report.summary.line_endings(), LineEndings::Crlf);
}

pub(super) async fn mixed_line_ends_are_told_line_by_line(fixture: &Fixture) {
    fixture.put("f", "a\r\nb\nc\r\nd\re");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), ["a", "b", "c", "d\re"], "a lone CR is text");
    let crlf: Vec<bool> = report.window.block.lines().map(|line| line.crlf).collect();
    assert_eq!(crlf, [true, false, true, false]);
    assert_eq!(report.summary.line_endings(), LineEndings::Mixed);
}

pub(super) async fn the_line_ends_of_a_mixed_file_are_counted(fixture: &Fixture) {
    fixture.put("f", "a\r\nb\nc\r\nd\re");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!((report.summary.lf_count, report.summary.crlf_count), (1, 2));
    assert_eq!(report.summary.first_line_end, Some(LineEnd::Crlf));
}

pub(super) async fn a_bom_is_told_and_not_shown(fixture: &Fixture) {
    fixture.put("f", "\u{feff}const s=\"é\";\n");
    let report = fixture.lines("f").await.unwrap();
    assert_eq!(texts(&report), ["const s=\"é\";"]);
    assert!(report.summary.bom);
    assert_eq!(report.summary.size_bytes, 17);
    assert_eq!(report.version, fixture.version_of("\u{feff}const s=\"é\";\n".as_bytes()));
    fixture.put("g", "\u{feff}");
    let report = fixture.lines("g").await.unwrap();
    assert_eq!((report.window.block.line_count(), report.summary.total_lines), (0, 0));
}

pub(super) async fn the_byte_cap_ends_a_window_between_lines(fixture: &Fixture) {
    fixture.put("f", "12345\n12345\n12345\n");
    let window = LineWindow { max_bytes: 10, ..WINDOW };
    let report = fixture.window("f", window).await.unwrap();
    assert_eq!(texts(&report), ["12345", "12345"], "line ends do not count");
    assert_eq!(report.window.stop, StopReason::ByteCap);
    let report = fixture.window("f", LineWindow { max_bytes: 9, ..WINDOW }).await.unwrap();
    assert_eq!(texts(&report), ["12345"]);
    assert_eq!(report.window.stop, StopReason::ByteCap);
    assert_eq!(report.summary.total_lines, 3);
}

pub(super) async fn a_long_line_is_cut_and_its_length_told(fixture: &Fixture) {
    fixture.put("f", format!("{}\nshort\n", "é".repeat(30)));
    let report = fixture.window("f", LineWindow { max_line_chars: 20, ..WINDOW }).await.unwrap();
    let lines: Vec<_> =
        report.window.block.lines().map(|line| (line.text.to_owned(), line.full_chars)).collect();
    assert_eq!(lines, [("é".repeat(20), Some(30)), ("short".to_owned(), None)]);
}

/// A NUL is no text wherever it is, also after the window.
pub(super) async fn a_nul_anywhere_is_no_text(fixture: &Fixture) {
    fixture.put("early", b"key=\"u\0v\"\n");
    fixture.put("late", [&b"text\n".repeat(40_000)[..], b"\0"].concat());
    not_text(fixture, "early", 6, None).await;
    not_text(fixture, "late", 200_000, None).await;
    let window = LineWindow { max_lines: 1, ..WINDOW };
    refused(fixture.window("late", window).await, Code::NotText);
}

pub(super) async fn invalid_utf8_anywhere_is_no_text(fixture: &Fixture) {
    fixture.put("early", b"n = 7\n# na\xefve\n");
    fixture.put("late", [&b"text\n".repeat(40_000)[..], b"\xff"].concat());
    fixture.put("cut", b"caf\xc3");
    not_text(fixture, "early", 10, None).await;
    not_text(fixture, "late", 200_000, None).await;
    not_text(fixture, "cut", 3, None).await;
}

pub(super) async fn utf16_is_named(fixture: &Fixture) {
    fixture.put("little", b"\xff\xfeh\0i\0\n\0");
    fixture.put("big", b"\xfe\xff\0h\0i\0\n");
    not_text(fixture, "little", 0, Some(Encoding::Utf16Le)).await;
    not_text(fixture, "big", 0, Some(Encoding::Utf16Be)).await;
}

pub(super) async fn directories_have_no_lines(fixture: &Fixture) {
    fixture.make_dir("d");
    for path in [".", "d"] {
        let error = refused(fixture.lines(path).await, Code::NotRegularFile);
        assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Directory) });
        assert_eq!(error.path(), Some(fixture.target(path).await.display_path.as_str()));
    }
}

/// Without blocking: nobody ever writes to this pipe.
pub(super) async fn pipes_have_no_lines(fixture: &Fixture) {
    fixture.hand.make_pipe(b"p");
    let error = refused(fixture.lines("p").await, Code::NotRegularFile);
    assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) });
    refused(fixture.text("p").await, Code::NotRegularFile);
    refused(fixture.bytes("p", crate::request::ByteRange::WHOLE).await, Code::NotRegularFile);
}

pub(super) async fn something_missing_comes_with_similar_names(fixture: &Fixture) {
    fixture.put("d/Shot 1.00.00\u{202f}PM.txt", "x");
    fixture.put("d/unrelated", "x");
    let error = refused(fixture.lines("d/Shot 1.00.00 PM.txt").await, Code::NotFound);
    assert_eq!(similar(&error), ["Shot 1.00.00\u{202f}PM.txt"]);
    fixture.put("d/cafe\u{301}.md", "x");
    assert_eq!(similar(&refused(fixture.lines("d/caf\u{e9}.md").await, Code::NotFound)), ["cafe\u{301}.md"]);
    fixture.put("README.md", "x");
    assert_eq!(similar(&refused(fixture.lines("Readme.md").await, Code::NotFound)), ["README.md"]);
}

pub(super) async fn similar_names_are_at_most_three_and_never_opened(fixture: &Fixture) {
    for name in ["NOTES.txt", "Notes.txt", "notes.TXT", "nOtes.txt"] {
        fixture.put(format!("d/{name}"), "x");
    }
    let error = refused(fixture.lines("d/notes.txt").await, Code::NotFound);
    assert_eq!(similar(&error).len(), 3);
}

pub(super) async fn a_missing_parent_has_no_similar_names(fixture: &Fixture) {
    fixture.put("notes.txt", "x");
    let error = refused(fixture.lines("missing/notes.txt").await, Code::NotFound);
    assert_eq!(similar(&error), Vec::<String>::new());
    assert_eq!(error.path(), Some(fixture.target("missing/notes.txt").await.display_path.as_str()));
}

/// A version is of the content: time stamps do not matter, a restored one does not hide.
pub(super) async fn a_touched_file_has_the_same_version(fixture: &Fixture) {
    fixture.put("f", "aaaa");
    let before = fixture.lines("f").await.unwrap();
    fixture.hand.touch(b"f");
    assert_eq!(fixture.lines("f").await.unwrap(), before);
}

pub(super) async fn a_rewrite_of_the_same_size_has_another_version(fixture: &Fixture) {
    fixture.put("f", "aaaa");
    let before = fixture.lines("f").await.unwrap().version;
    fixture.put("f", "bbbb");
    let after = fixture.lines("f").await.unwrap();
    assert_ne!(after.version, before);
    assert_eq!(texts(&after), ["bbbb"]);
    fixture.put("f", "aaaa");
    assert_eq!(fixture.lines("f").await.unwrap().version, before, "there and back is the same content");
}

async fn not_text(fixture: &Fixture, path: &str, byte_offset: u64, encoding: Option<Encoding>) {
    let expected = ErrorKind::NotText { byte_offset, encoding };
    let key = fixture.key(path).await;
    let lines = fixture.provider.read_lines(&running(), &key, WINDOW).await;
    assert_eq!(refused(lines, Code::NotText).kind(), &expected, "{path}");
    assert_eq!(refused(fixture.text(path).await, Code::NotText).kind(), &expected, "{path}");
}

fn similar(error: &toolfs_core::error::FsError) -> Vec<String> {
    match error.kind() {
        ErrorKind::NotFound { similar_names } => similar_names.clone(),
        kind => panic!("{kind:?}"),
    }
}
