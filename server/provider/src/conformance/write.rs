//! Whole-file writes: guards, exact bytes, kinds, notices.

use bytes::Bytes;
use toolfs_core::diff::{DiffLeftOut, DiffLineKind, DiffResult};
use toolfs_core::error::{Code, ErrorKind, Existing};
use toolfs_core::guard::WriteGuard;
use toolfs_core::notice::NoticeKind;
use toolfs_core::outcome::WriteOperation;
use toolfs_core::target::FileKind;

use super::call::{refused, running, write_request};
use super::fixture::{Fixture, limits};
use crate::report::WriteReport;
use crate::request::OperationId;

pub(super) async fn a_creation_is_reported(fixture: &Fixture) {
    let report = fixture.create("f", "one\n").await.unwrap();
    assert_eq!(report.operation, WriteOperation::Create);
    assert_eq!((report.size_bytes, report.previous_size_bytes), (4, None));
    assert_eq!(report.version, fixture.version_of(b"one\n"));
    assert_eq!(report.notices, Vec::new());
    assert!(report.not_durable.is_none());
    assert_eq!(fixture.get("f").unwrap(), b"one\n");
    assert_eq!(fixture.hand.names(b""), [b"f"], "nothing else is left in the directory");
}

pub(super) async fn an_update_is_reported(fixture: &Fixture) {
    fixture.put("f", "one\n");
    let guard = WriteGuard::ReplaceIfVersion(fixture.version_of(b"one\n"));
    let report = fixture.write("f", "second\n", guard).await.unwrap();
    assert_eq!(report.operation, WriteOperation::Update);
    assert_eq!((report.size_bytes, report.previous_size_bytes), (7, Some(4)));
    assert_eq!(report.version, fixture.version("f").await);
    assert_eq!(fixture.get("f").unwrap(), b"second\n");
    assert_eq!(fixture.hand.names(b""), [b"f"], "nothing else is left in the directory");
}

pub(super) async fn content_is_stored_byte_for_byte(fixture: &Fixture) {
    let contents = [
        "x",
        "x.\n",
        "a\r\nb\n\rc",
        "\u{feff}bom\n",
        "print(\"a\\nb\")",
        "a &amp;&amp; b &lt;br&gt;",
        "“it’s” $& $$ $` \\1 %s {}",
        "   leading and trailing   \n\n\n",
        "nul \0 inside",
        "{\"k\":1}",
        "null",
    ];
    for content in contents {
        let report = fixture.write("f", content, WriteGuard::Unconditional).await.unwrap();
        assert_eq!(fixture.get("f").unwrap(), content.as_bytes());
        assert_eq!(report.version, fixture.version_of(content.as_bytes()));
        assert_eq!(report.size_bytes, content.len() as u64);
    }
}

pub(super) async fn large_content_is_stored_whole(fixture: &Fixture) {
    for size in [17 << 10, 100 << 10, (4 << 20) - 1, (4 << 20) + 1] {
        let content = "0123456789abcde\n".repeat(size / 16 + 1);
        let content = &content.as_bytes()[..size];
        fixture.write("f", content, WriteGuard::Unconditional).await.unwrap();
        assert!(fixture.get("f").unwrap() == content, "{size}");
    }
}

pub(super) async fn empty_content_is_an_empty_file(fixture: &Fixture) {
    fixture.create("new", "").await.unwrap();
    assert_eq!(fixture.get("new").unwrap(), b"");
    fixture.put("old", "content");
    let report = fixture.write("old", "", WriteGuard::Unconditional).await.unwrap();
    assert_eq!((report.size_bytes, report.previous_size_bytes), (0, Some(7)));
    assert_eq!(fixture.get("old").unwrap(), b"");
}

pub(super) async fn missing_parents_are_created(fixture: &Fixture) {
    fixture.create("a/b/c/f", "x").await.unwrap();
    assert_eq!(fixture.get("a/b/c/f").unwrap(), b"x");
    assert_eq!(fixture.kind("a/b").await, FileKind::Directory);
    fixture.write("g/h/f", "y", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(fixture.get("g/h/f").unwrap(), b"y");
}

pub(super) async fn content_that_is_no_utf8_is_refused(fixture: &Fixture) {
    fixture.put("f", "old");
    let error =
        refused(fixture.write("f", b"na\xefve", WriteGuard::Unconditional).await, Code::InvalidArgument);
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument { field, .. } if field == "content"));
    assert_eq!(fixture.get("f").unwrap(), b"old");
}

pub(super) async fn a_create_never_replaces(fixture: &Fixture) {
    for content in ["old text", "", "new"] {
        fixture.put("f", content);
        let error = refused(fixture.create("f", "new").await, Code::NotObserved);
        let existing = Existing { kind: FileKind::Regular, size: content.len() as u64, text: Some(true) };
        assert_eq!(error.kind(), &ErrorKind::NotObserved { existing: Some(existing) });
        assert_eq!(fixture.get("f").unwrap(), content.as_bytes());
    }
}

pub(super) async fn a_create_tells_that_what_is_there_is_no_text(fixture: &Fixture) {
    fixture.put("f", b"PK\x03\x04\0\xff");
    let error = refused(fixture.create("f", "new").await, Code::NotObserved);
    let existing = Existing { kind: FileKind::Regular, size: 6, text: Some(false) };
    assert_eq!(error.kind(), &ErrorKind::NotObserved { existing: Some(existing) });
    assert_eq!(fixture.get("f").unwrap(), b"PK\x03\x04\0\xff");
}

/// A file that appears between resolving and writing is not replaced either.
pub(super) async fn a_create_that_lost_the_race_changes_nothing(fixture: &Fixture) {
    let key = fixture.key("d/f").await;
    fixture.put("d/f", "theirs");
    let request = write_request(key, "ours", WriteGuard::CreateIfAbsent);
    refused(fixture.provider.write_text(&running(), request).await, Code::NotObserved);
    assert_eq!(fixture.get("d/f").unwrap(), b"theirs");
    assert_eq!(fixture.hand.names(b"d"), [b"f"]);
}

pub(super) async fn a_stale_write_changes_nothing(fixture: &Fixture) {
    fixture.put("f", "seen");
    let seen = fixture.version("f").await;
    fixture.put("f", "theirs");
    let result = fixture.write("f", "ours", WriteGuard::ReplaceIfVersion(seen.clone())).await;
    let error = refused(result, Code::StaleVersion);
    let actual = Some(fixture.version_of(b"theirs"));
    assert_eq!(error.kind(), &ErrorKind::StaleVersion { expected: Some(seen), actual });
    assert_eq!(fixture.get("f").unwrap(), b"theirs");
    assert_eq!(fixture.hand.names(b""), [b"f"]);
}

/// The guard holds even when the new content is what is there already.
pub(super) async fn a_stale_write_of_what_is_there_is_stale(fixture: &Fixture) {
    fixture.put("f", "theirs");
    let guard = WriteGuard::ReplaceIfVersion(fixture.version_of(b"seen"));
    refused(fixture.write("f", "theirs", guard).await, Code::StaleVersion);
}

pub(super) async fn reading_again_helps_after_a_stale_write(fixture: &Fixture) {
    fixture.put("f", "seen");
    let seen = fixture.lines("f").await.unwrap().version;
    fixture.put("f", "other");
    refused(fixture.write("f", "ours", WriteGuard::ReplaceIfVersion(seen)).await, Code::StaleVersion);
    let again = fixture.lines("f").await.unwrap().version;
    fixture.write("f", "ours", WriteGuard::ReplaceIfVersion(again)).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"ours");
}

pub(super) async fn a_touched_file_is_not_stale(fixture: &Fixture) {
    fixture.put("f", "same");
    let seen = fixture.version("f").await;
    fixture.hand.touch(b"f");
    fixture.write("f", "new", WriteGuard::ReplaceIfVersion(seen)).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"new");
}

pub(super) async fn a_vanished_file_is_stale_and_stays_gone(fixture: &Fixture) {
    fixture.put("d/f", "seen");
    let seen = fixture.version("d/f").await;
    fixture.remove("d/f");
    let result = fixture.write("d/f", "ours", WriteGuard::ReplaceIfVersion(seen.clone())).await;
    let error = refused(result, Code::StaleVersion);
    assert_eq!(error.kind(), &ErrorKind::StaleVersion { expected: Some(seen.clone()), actual: None });
    assert_eq!(fixture.get("d/f"), None);
    fixture.remove("d");
    let result = fixture.write("d/f", "ours", WriteGuard::ReplaceIfVersion(seen)).await;
    refused(result, Code::StaleVersion);
    assert_eq!(fixture.hand.names(b""), Vec::<Vec<u8>>::new(), "no parent was made either");
}

pub(super) async fn an_unconditional_write_creates_and_replaces(fixture: &Fixture) {
    let report = fixture.write("f", "one", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(report.operation, WriteOperation::Create);
    let report = fixture.write("f", "two", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(report.operation, WriteOperation::Update);
    assert_eq!(fixture.get("f").unwrap(), b"two");
}

pub(super) async fn the_version_of_a_write_guards_the_next(fixture: &Fixture) {
    let first = fixture.create("f", "one").await.unwrap().version;
    let second =
        fixture.write("f", "two", WriteGuard::ReplaceIfVersion(first.clone())).await.unwrap().version;
    refused(fixture.write("f", "lost", WriteGuard::ReplaceIfVersion(first)).await, Code::StaleVersion);
    fixture.write("f", "three", WriteGuard::ReplaceIfVersion(second)).await.unwrap();
    assert_eq!(fixture.get("f").unwrap(), b"three");
}

/// The kind comes before everything else, under every guard.
pub(super) async fn a_directory_is_never_written(fixture: &Fixture) {
    fixture.put("d/f", "x");
    fixture.make_dir(".git");
    let stale = WriteGuard::ReplaceIfVersion(fixture.version_of(b"x"));
    for guard in [WriteGuard::Unconditional, WriteGuard::CreateIfAbsent, stale] {
        for path in ["d", ".", ".git"] {
            let error = refused(fixture.write(path, "x", guard.clone()).await, Code::NotRegularFile);
            assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Directory) });
        }
    }
    assert_eq!(fixture.get("d/f").unwrap(), b"x");
}

pub(super) async fn a_pipe_is_never_written(fixture: &Fixture) {
    fixture.hand.make_pipe(b"p");
    for guard in [WriteGuard::Unconditional, WriteGuard::CreateIfAbsent] {
        let error = refused(fixture.write("p", "x", guard).await, Code::NotRegularFile);
        assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: Some(FileKind::Fifo) });
    }
    assert_eq!(fixture.kind("p").await, FileKind::Fifo);
}

pub(super) async fn a_parent_that_became_a_file_is_no_directory(fixture: &Fixture) {
    let key = fixture.key("d/f").await;
    fixture.put("d", "a file now");
    let request = write_request(key, "x", WriteGuard::Unconditional);
    refused(fixture.provider.write_text(&running(), request).await, Code::NotDirectory);
    assert_eq!(fixture.get("d").unwrap(), b"a file now");
}

/// `new/` asks for a directory, and no file of that name is made instead.
pub(super) async fn a_path_that_ends_in_a_slash_makes_no_file(fixture: &Fixture) {
    for guard in [WriteGuard::Unconditional, WriteGuard::CreateIfAbsent] {
        let error = refused(fixture.write("new/", "x", guard).await, Code::NotRegularFile);
        assert_eq!(error.kind(), &ErrorKind::NotRegularFile { kind: None });
    }
    refused(fixture.lines("new/").await, Code::NotFound);
    assert_eq!(fixture.hand.names(b""), Vec::<Vec<u8>>::new());
}

pub(super) async fn a_write_keeps_the_mode(fixture: &Fixture) {
    for mode in [0o755, 0o600, 0o664] {
        fixture.put("s.sh", "old");
        fixture.hand.set_mode(b"s.sh", mode);
        fixture.write("s.sh", "new", WriteGuard::Unconditional).await.unwrap();
        assert_eq!(fixture.stat("s.sh").await.unwrap().mode, Some(mode));
    }
}

pub(super) async fn privilege_bits_are_dropped_with_a_notice(fixture: &Fixture) {
    fixture.put("tool", "old");
    fixture.hand.set_mode(b"tool", 0o4755);
    let report = fixture.write("tool", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(kinds(&report), [NoticeKind::PrivilegeBitsDropped]);
    assert_eq!(fixture.stat("tool").await.unwrap().mode, Some(0o755));
}

/// A replacement needs write permission on the file itself, not only on its directory.
pub(super) async fn a_file_without_write_bits_is_refused(fixture: &Fixture) {
    fixture.put("f", "keep\n");
    fixture.hand.set_mode(b"f", 0o444);
    let stale = WriteGuard::ReplaceIfVersion(fixture.version_of(b"other"));
    for guard in [WriteGuard::Unconditional, WriteGuard::CreateIfAbsent, stale] {
        refused(fixture.write("f", "lost\n", guard).await, Code::PermissionDenied);
    }
    assert_eq!(fixture.get("f").unwrap(), b"keep\n");
    assert_eq!(fixture.stat("f").await.unwrap().mode, Some(0o444));
}

pub(super) async fn another_hard_link_keeps_the_old_content_with_a_notice(fixture: &Fixture) {
    fixture.put("a", "old");
    fixture.hand.make_hard_link(b"b", b"a");
    let report = fixture.write("a", "new", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(kinds(&report), [NoticeKind::HardLinksKeepOldContent]);
    assert_eq!((fixture.get("a").unwrap(), fixture.get("b").unwrap()), (b"new".to_vec(), b"old".to_vec()));
}

pub(super) async fn changed_line_ends_bom_and_final_newline_are_noticed(fixture: &Fixture) {
    let cases: [(&str, &str, &[NoticeKind]); 7] = [
        ("a\r\nb\r\n", "a\nb\nc\n", &[NoticeKind::LineEndingsChanged]),
        ("a\nb\n", "a\r\nb\n", &[NoticeKind::LineEndingsChanged]),
        ("\u{feff}a\n", "a\n", &[NoticeKind::BomChanged]),
        ("a\n", "\u{feff}a\n", &[NoticeKind::BomChanged]),
        ("a\nb\n", "a\nb", &[NoticeKind::FinalNewlineChanged]),
        ("a\nb", "a\nb\n", &[NoticeKind::FinalNewlineChanged]),
        ("a\nb\n", "c\nd\n", &[]),
    ];
    for (old, new, expected) in cases {
        fixture.put("f", old);
        let report = fixture.write("f", new, WriteGuard::Unconditional).await.unwrap();
        assert_eq!(kinds(&report), expected, "{old:?} {new:?}");
        assert_eq!(fixture.get("f").unwrap(), new.as_bytes(), "a notice changes nothing");
    }
}

pub(super) async fn the_diff_is_of_what_was_displaced(fixture: &Fixture) {
    fixture.put("f", "a\nb\nc\n");
    let report = fixture.write("f", "a\nB\nc\n", WriteGuard::Unconditional).await.unwrap();
    let Some(DiffResult::Computed(diff)) = report.diff else { panic!("{report:?}") };
    let lines: Vec<(DiffLineKind, &str)> =
        diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| (line.kind, line.text.as_str())).collect();
    let expected = [
        (DiffLineKind::Context, "a"),
        (DiffLineKind::Removed, "b"),
        (DiffLineKind::Added, "B"),
        (DiffLineKind::Context, "c"),
    ];
    assert_eq!(lines, expected);
}

pub(super) async fn the_diff_is_left_out_when_it_is_not_wanted_or_not_possible(fixture: &Fixture) {
    fixture.put("f", b"\xff");
    let report = fixture.write("f", "text", WriteGuard::Unconditional).await.unwrap();
    assert!(matches!(report.diff, Some(DiffResult::LeftOut(_))), "{report:?}");
    let large = "x".repeat(usize::try_from(limits().max_diff_bytes).unwrap());
    let report = fixture.write("f", &large, WriteGuard::Unconditional).await.unwrap();
    assert!(matches!(report.diff, Some(DiffResult::LeftOut(_))), "{:?}", report.notices);
    let mut request = write_request(fixture.key("f").await, "small", WriteGuard::Unconditional);
    request.want_diff = false;
    let report = fixture.provider.write_text(&running(), request).await.unwrap();
    assert_eq!(report.diff, None);
}

pub(super) async fn a_diff_that_is_left_out_says_why_in_numbers(fixture: &Fixture) {
    fixture.put("f", b"\xff");
    let report = fixture.write("f", "text", WriteGuard::Unconditional).await.unwrap();
    assert_eq!(report.diff, Some(DiffResult::LeftOut(DiffLeftOut::OldIsNotText)));
    let large = "x".repeat(usize::try_from(limits().max_diff_bytes).unwrap());
    let report = fixture.write("f", &large, WriteGuard::Unconditional).await.unwrap();
    let size_bytes = limits().max_diff_bytes + 4;
    let too_large = DiffLeftOut::TooLarge { limit_bytes: limits().max_diff_bytes, size_bytes };
    assert_eq!(report.diff, Some(DiffResult::LeftOut(too_large)));
}

pub(super) async fn operation_ids_are_refused_where_they_are_not_recorded(fixture: &Fixture) {
    if fixture.provider.capabilities(&running()).await.unwrap().operation_ids {
        return;
    }
    let mut request = write_request(fixture.key("f").await, "x", WriteGuard::Unconditional);
    request.operation_id = Some(OperationId::parse("once").unwrap());
    refused(fixture.provider.write_text(&running(), request).await, Code::Unsupported);
    assert_eq!(fixture.get("f"), None);
}

/// What a message says must not repeat what was written, or what was there.
pub(super) async fn refusals_echo_no_content(fixture: &Fixture) {
    fixture.put("f", "hidden-old-content");
    let error = refused(fixture.create("f", Bytes::from("hidden-new-content")).await, Code::NotObserved);
    assert!(!format!("{error:?}").contains("hidden"));
    let guard = WriteGuard::ReplaceIfVersion(fixture.version_of(b"x"));
    let error = refused(fixture.write("f", "hidden-new-content", guard).await, Code::StaleVersion);
    assert!(!format!("{error:?}").contains("hidden"));
}

fn kinds(report: &WriteReport) -> Vec<NoticeKind> {
    report.notices.iter().map(|notice| notice.kind).collect()
}
