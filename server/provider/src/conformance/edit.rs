//! Literal replacements: what they change, what they leave, and the order of their refusals.

use toolfs_core::diff::{ChangedRange, DiffResult};
use toolfs_core::edit::MatchRange;
use toolfs_core::error::{Code, ErrorKind};
use toolfs_core::guard::EditGuard;
use toolfs_core::limit::LimitName;
use toolfs_core::notice::NoticeKind;
use toolfs_core::target::FileKind;

use super::call::{edit_request, refused, running};
use super::fixture::{Fixture, limits};

const UNGUARDED: EditGuard = EditGuard::Unconditional;

/// Edits one place of a file with this content, and compares the file with `expected`.
async fn check(fixture: &Fixture, content: &str, (old, new): (&str, &str), expected: &str) {
    fixture.put("f", content);
    let report = fixture.edit("f", old, new, UNGUARDED).await.unwrap();
    assert_eq!(String::from_utf8(fixture.get("f").unwrap()).unwrap(), expected);
    assert_eq!(report.version, fixture.version_of(expected.as_bytes()));
    assert_eq!(report.size_bytes, expected.len() as u64);
    assert_eq!(report.matches.total, 1);
}

pub(super) async fn an_edit_is_reported(fixture: &Fixture) {
    fixture.put("f", "one\ntwo\nthree\n");
    let guard = EditGuard::ReplaceIfVersion(fixture.version_of(b"one\ntwo\nthree\n"));
    let report = fixture.edit("f", "two", "2a\n2b", guard).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"one\n2a\n2b\nthree\n");
    assert_eq!(report.version, fixture.version("f").await);
    assert_eq!(report.size_bytes, 16);
    assert_eq!(report.matches.total, 1);
    assert_eq!(report.matches.ranges, [MatchRange { start_line: 2, end_line: 2 }]);
    let range = ChangedRange { old_start: 2, old_count: 1, new_start: 2, new_count: 2 };
    assert_eq!((report.changed.total, report.changed.ranges), (1, vec![range]));
    assert_eq!(report.notices, Vec::new());
    assert!(matches!(report.diff, Some(DiffResult::Computed(diff)) if diff.hunks.len() == 1));
    assert!(report.not_durable.is_none());
    assert_eq!(fixture.hand.names(b""), [b"f"], "nothing else is left in the directory");
}

pub(super) async fn an_edit_that_wants_no_diff_has_none(fixture: &Fixture) {
    fixture.put("f", "one");
    let mut request = edit_request(fixture.key("f").await, "one", "two", false, UNGUARDED);
    request.want_diff = false;
    let report = fixture.provider.edit_text(&running(), request).await.unwrap();
    assert_eq!(report.diff, None);
    assert_eq!(report.changed.total, 1);
}

pub(super) async fn mixed_line_ends_outside_a_match_stay(fixture: &Fixture) {
    check(fixture, "a\r\nb\nc\r\n", ("b", "B"), "a\r\nB\nc\r\n").await;
}

pub(super) async fn a_match_over_lines_sees_crlf_as_lf(fixture: &Fixture) {
    check(fixture, "x=1\r\ny=2\r\n", ("x=1\ny=2", "x=1\ny=3"), "x=1\r\ny=3\r\n").await;
    check(fixture, "x=1\ny=2\n", ("x=1\r\ny=2", "x=1\r\ny=3"), "x=1\ny=3\n").await;
}

pub(super) async fn new_lines_take_the_line_end_of_the_file(fixture: &Fixture) {
    check(fixture, "one\r\ntwo\r\n", ("one", "1a\n1b"), "1a\r\n1b\r\ntwo\r\n").await;
    check(fixture, "l1\r\nl2\r\n", ("l2", "X"), "l1\r\nX\r\n").await;
}

pub(super) async fn an_edit_keeps_the_bom(fixture: &Fixture) {
    check(fixture, "\u{feff}const s=\"é\";\n", ("const", "let"), "\u{feff}let s=\"é\";\n").await;
}

pub(super) async fn the_final_newline_is_nobodys_but_the_callers(fixture: &Fixture) {
    check(fixture, "u\nv", ("v", "w"), "u\nw").await;
    check(fixture, "u\nv\n", ("v\n", "w"), "u\nw").await;
    check(fixture, "u\nv\n", ("v\n", "w\n"), "u\nw\n").await;
    check(fixture, "}", ("}", "}\n"), "}\n").await;
}

pub(super) async fn an_edit_notices_the_final_newline_that_it_changes(fixture: &Fixture) {
    fixture.put("f", "u\nv\n");
    let report = fixture.edit("f", "v\n", "w", UNGUARDED).await.unwrap();
    let kinds: Vec<NoticeKind> = report.notices.iter().map(|notice| notice.kind).collect();
    assert_eq!(kinds, [NoticeKind::FinalNewlineChanged]);
}

pub(super) async fn new_text_is_literal(fixture: &Fixture) {
    let new = "<$&|$$|$`|$'|$1|\\1|\\n|&amp;>";
    check(fixture, "one\ntwo\nthree\n", ("two", new), &format!("one\n{new}\nthree\n")).await;
    fixture.put("f", "a b a");
    let report = fixture.edit_all("f", "a", new).await.unwrap();
    assert_eq!(report.matches.total, 2);
    assert_eq!(fixture.get("f").unwrap(), format!("{new} b {new}").as_bytes());
}

pub(super) async fn quotes_are_not_folded(fixture: &Fixture) {
    check(fixture, "it's\n", ("it's", "it’s"), "it’s\n").await;
    fixture.put("f", "it’s\n");
    refused(fixture.edit("f", "it's", "it is", UNGUARDED).await, Code::EditNotFound);
}

pub(super) async fn empty_new_text_deletes_the_match(fixture: &Fixture) {
    check(fixture, "one two three", (" two", ""), "one three").await;
    check(fixture, "all", ("all", ""), "").await;
}

pub(super) async fn replace_all_goes_from_the_left_and_never_rescans(fixture: &Fixture) {
    fixture.put("f", "aaaaa");
    let report = fixture.edit_all("f", "aa", "aaa").await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"aaaaaaa");
    assert_eq!(report.matches.total, 2);
}

pub(super) async fn several_matches_are_ambiguous(fixture: &Fixture) {
    fixture.put("f", "a\nx\nb\nx\n");
    let error = refused(fixture.edit("f", "x", "y", UNGUARDED).await, Code::AmbiguousEdit);
    assert_eq!(error.kind(), &ErrorKind::AmbiguousEdit { match_count: 2, lines: vec![2, 4] });
    assert_eq!(fixture.get("f").unwrap(), b"a\nx\nb\nx\n");
}

pub(super) async fn overlapping_matches_are_ambiguous(fixture: &Fixture) {
    fixture.put("f", "aaa\n");
    let error = refused(fixture.edit("f", "aa", "b", UNGUARDED).await, Code::AmbiguousEdit);
    assert_eq!(error.kind(), &ErrorKind::AmbiguousEdit { match_count: 2, lines: vec![1, 1] });
}

pub(super) async fn a_failed_edit_leaves_the_file_as_it_is(fixture: &Fixture) {
    fixture.put("f", "\u{feff}one\r\ntwo\n");
    let before = fixture.stat("f").await.unwrap();
    refused(fixture.edit("f", "missing", "x", UNGUARDED).await, Code::EditNotFound);
    refused(fixture.edit("f", "o", "x", UNGUARDED).await, Code::AmbiguousEdit);
    assert_eq!(fixture.get("f").unwrap(), "\u{feff}one\r\ntwo\n".as_bytes());
    assert_eq!(fixture.stat("f").await.unwrap(), before, "it was not rewritten with the same bytes either");
    assert_eq!(fixture.hand.names(b""), [b"f"]);
}

pub(super) async fn a_near_miss_is_told(fixture: &Fixture) {
    fixture.put("f", "\tif x {\n\t\ty()\n\t}\n");
    let error =
        refused(fixture.edit("f", "    if x {\n        y()", "z", UNGUARDED).await, Code::EditNotFound);
    let ErrorKind::EditNotFound { near_misses, search_stopped } = error.kind() else { panic!("{error:?}") };
    assert_eq!((near_misses[0].start_line, near_misses[0].end_line), (1, 2));
    assert_eq!(*search_stopped, None);
}

pub(super) async fn a_different_line_inside_is_no_match(fixture: &Fixture) {
    fixture.put("f", "begin\n k1\n k2\n k3\nend\n");
    let old = "begin\n k1\n k7\n k3\nend";
    refused(fixture.edit("f", old, "x", UNGUARDED).await, Code::EditNotFound);
    assert_eq!(fixture.get("f").unwrap(), b"begin\n k1\n k2\n k3\nend\n");
}

pub(super) async fn an_edit_refusal_echoes_neither_string(fixture: &Fixture) {
    fixture.put("f", "content");
    let error = refused(fixture.edit("f", "secret-old", "secret-new", UNGUARDED).await, Code::EditNotFound);
    assert!(!format!("{error:?}").contains("secret"));
}

pub(super) async fn an_edit_of_something_missing_is_stale(fixture: &Fixture) {
    let expected = fixture.version_of(b"seen");
    for path in ["missing", "missing/deep"] {
        let error = refused(fixture.edit(path, "a", "b", UNGUARDED).await, Code::StaleVersion);
        assert_eq!(error.kind(), &ErrorKind::StaleVersion { expected: None, actual: None });
        let guard = EditGuard::ReplaceIfVersion(expected.clone());
        let error = refused(fixture.edit(path, "a", "b", guard).await, Code::StaleVersion);
        assert_eq!(error.kind(), &ErrorKind::StaleVersion { expected: Some(expected.clone()), actual: None });
    }
    assert_eq!(fixture.hand.names(b""), Vec::<Vec<u8>>::new());
}

/// Staleness is judged before the content is looked at.
pub(super) async fn stale_comes_before_not_text_and_matching(fixture: &Fixture) {
    let seen = fixture.version_of(b"seen");
    for content in [&b"\xff binary \0"[..], b"no match here", b"old old", b"old"] {
        fixture.put("f", content);
        let guard = EditGuard::ReplaceIfVersion(seen.clone());
        let error = refused(fixture.edit("f", "old", "new", guard).await, Code::StaleVersion);
        let actual = Some(fixture.version_of(content));
        assert_eq!(error.kind(), &ErrorKind::StaleVersion { expected: Some(seen.clone()), actual });
        assert_eq!(fixture.get("f").unwrap(), content);
    }
}

/// Read and edit agree on what is text.
pub(super) async fn what_is_no_text_is_not_edited(fixture: &Fixture) {
    for content in [&b"n = 7\n# na\xefve\n"[..], b"key=\"u\0v\" 7\n"] {
        fixture.put("f", content);
        let read = refused(fixture.lines("f").await, Code::NotText);
        let edit = refused(fixture.edit("f", "7", "8", UNGUARDED).await, Code::NotText);
        assert_eq!(edit.kind(), read.kind());
        assert_eq!(fixture.get("f").unwrap(), content);
    }
}

pub(super) async fn the_kind_comes_before_the_guard(fixture: &Fixture) {
    fixture.make_dir("d");
    let guard = EditGuard::ReplaceIfVersion(fixture.version_of(b"x"));
    for guard in [UNGUARDED, guard] {
        let error = refused(fixture.edit("d", "a", "b", guard).await, Code::NotRegularFile);
        assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Directory) });
    }
}

pub(super) async fn a_pipe_is_never_edited(fixture: &Fixture) {
    fixture.hand.make_pipe(b"p");
    let error = refused(fixture.edit("p", "a", "b", UNGUARDED).await, Code::NotRegularFile);
    assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) });
}

pub(super) async fn an_edit_needs_write_permission_on_the_file(fixture: &Fixture) {
    fixture.put("f", "keep\n");
    fixture.hand.set_mode(b"f", 0o444);
    refused(fixture.edit("f", "keep", "lost", UNGUARDED).await, Code::PermissionDenied);
    let guard = EditGuard::ReplaceIfVersion(fixture.version_of(b"other"));
    refused(fixture.edit("f", "keep", "lost", guard).await, Code::PermissionDenied);
    assert_eq!(fixture.get("f").unwrap(), b"keep\n");
}

pub(super) async fn an_edit_keeps_the_mode(fixture: &Fixture) {
    fixture.put("s.sh", "old");
    fixture.hand.set_mode(b"s.sh", 0o755);
    fixture.edit("s.sh", "old", "new", UNGUARDED).await.unwrap();
    assert_eq!(fixture.stat("s.sh").await.unwrap().mode, Some(0o755));
}

pub(super) async fn a_result_over_the_limit_is_too_large(fixture: &Fixture) {
    let limit_bytes = limits().max_file_bytes.expect("cases run with a limit");
    let content = format!("here{}", "x".repeat(usize::try_from(limit_bytes).unwrap() - 4));
    fixture.put("f", &content);
    let error = refused(fixture.edit("f", "here", "here!", UNGUARDED).await, Code::TooLarge);
    let limit_name = LimitName::MaxFileBytes;
    assert_eq!(error.kind(), &ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes: limit_bytes + 1 });
    assert!(fixture.get("f").unwrap() == content.as_bytes());
    fixture.edit("f", "here", "hare", UNGUARDED).await.unwrap();
}

pub(super) async fn the_version_of_an_edit_guards_the_next(fixture: &Fixture) {
    fixture.put("f", "1 2 3");
    let first = fixture.version("f").await;
    let second =
        fixture.edit("f", "1", "one", EditGuard::ReplaceIfVersion(first.clone())).await.unwrap().version;
    refused(fixture.edit("f", "2", "lost", EditGuard::ReplaceIfVersion(first)).await, Code::StaleVersion);
    fixture.edit("f", "2", "two", EditGuard::ReplaceIfVersion(second)).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"one two 3");
}
