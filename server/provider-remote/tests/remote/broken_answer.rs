//! Answers that the contract does not allow: each is an error that names its field, and none is believed.

use bytes::Bytes;
use toolfs_contract::v1::{self, read_bytes_response, read_text_response};
use toolfs_core::diff::{DiffLeftOut, DiffResult};
use toolfs_core::error::{Code, Published};
use toolfs_core::notice::NoticeKind;
use toolfs_core::target::FileKind;
use toolfs_provider::Provider as _;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider_remote::RemoteOptions;

use crate::peer::{Answers, Ask, CONTENT, Peer, edit, key, line, write};

/// A value of every enum that no contract knows so far.
const UNKNOWN: i32 = 4_711;

fn answers(change: impl FnOnce(&mut Answers)) -> Answers {
    let mut answers = Answers::default();
    change(&mut answers);
    answers
}

/// Breaks one field, and expects that the error names it.
async fn check(ask: Ask, field: &str, break_it: impl FnOnce(&mut Answers)) {
    let provider = Peer::new(answers(break_it), []).serve(RemoteOptions::DEFAULT);
    let error = match ask.of(&provider, &AbortSignal::new()).await {
        Ok(()) => panic!("{ask:?} took a broken `{field}`"),
        Err(error) => error,
    };
    assert_eq!(error.code(), Code::IoError, "{ask:?}: {error:?}");
    let expected = format!("the provider's answer breaks the contract: `{field}`");
    assert!(error.message().starts_with(&expected), "{ask:?} {field}: {error}");
    // An answer to a change is an OK: whatever it says, the change may be there.
    let published = if ask.is_mutation() { Published::Maybe } else { Published::No };
    assert_eq!(error.published(), published, "{ask:?} {field}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn answers_as_the_contract_has_them_are_taken() {
    let provider = Peer::new(Answers::default(), []).serve(RemoteOptions::DEFAULT);
    for ask in Ask::ALL {
        if let Err(error) = ask.of(&provider, &AbortSignal::new()).await {
            panic!("{ask:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_broken_description_is_refused() {
    let ask = Ask::Capabilities;
    check(ask, "provider", |it| it.capabilities.provider = None).await;
    check(ask, "provider.name", |it| provider(it).name.clear()).await;
    check(ask, "provider.name", |it| provider(it).name = "two\nlines".into()).await;
    check(ask, "provider.verified_replacement", |it| provider(it).verified_replacement = None).await;
    check(ask, "provider.operation_ids", |it| provider(it).operation_ids = None).await;
    check(ask, "durability", |it| it.capabilities.durability = 0).await;
    check(ask, "roots", |it| it.capabilities.roots.clear()).await;
    check(ask, "roots.raw_path", |it| it.capabilities.roots[0].raw_path = Bytes::from_static(b"w")).await;
    check(ask, "roots.display_path", |it| it.capabilities.roots[0].display_path.clear()).await;
    check(ask, "protected_patterns", |it| it.capabilities.protected_patterns.push(String::new())).await;
}

fn provider(answers: &mut Answers) -> &mut v1::ProviderCapabilities {
    answers.capabilities.provider.as_mut().unwrap()
}

#[tokio::test]
async fn a_broken_place_is_refused() {
    let ask = Ask::Resolve;
    check(ask, "target", |it| it.resolve.target = None).await;
    check(ask, "target.target_key", |it| it.target().target_key.clear()).await;
    check(ask, "target.raw_path", |it| it.target().raw_path = Bytes::from_static(b"f")).await;
    check(ask, "target.raw_path", |it| it.target().raw_path = Bytes::from_static(b"/w/\0")).await;
    check(ask, "target.display_path", |it| it.target().display_path.clear()).await;
    check(ask, "target.display_path", |it| it.target().display_path = "/w/\u{202e}f".into()).await;
    check(ask, "target.file_url", |it| it.target().file_url = "file:///w\n".into()).await;
    check(Ask::Contains, "contained", |it| it.contains.contained = None).await;
}

#[tokio::test]
async fn broken_facts_of_a_file_are_refused() {
    for ask in [Ask::Stat, Ask::Lstat] {
        check(ask, "stat", |it| it.stat.stat = None).await;
        check(ask, "stat.kind", |it| it.file().kind = 0).await;
        check(ask, "stat.size", |it| it.file().size = None).await;
        check(ask, "stat.size", |it| it.file().size = Some(-1)).await;
        check(ask, "stat.mode", |it| it.file().mode = Some(-1)).await;
        check(ask, "stat.mode", |it| it.file().mode = Some(0o10000)).await;
        let times = [(i64::MAX, 0), (0, -1), (0, 1_000_000_000)];
        for (seconds, nanos) in times {
            let time = prost_types::Timestamp { seconds, nanos };
            check(ask, "stat.modified", |it| it.file().modified = Some(time)).await;
        }
    }
    for text in [String::new(), "v".repeat(129), "v 1".into(), "é".into()] {
        check(Ask::Stat, "stat.version", |it| it.file().version = text).await;
    }
}

#[tokio::test]
async fn a_broken_window_is_refused() {
    let ask = Ask::Lines;
    for text in ["a\nb", "a\0b"] {
        check(ask, "lines.text", |it| it.lines.lines[0] = line(text)).await;
    }
    check(ask, "lines.text", |it| it.lines.lines[0].text = Bytes::from_static(b"\xff")).await;
    check(ask, "lines.text", |it| it.lines.lines[0] = line(&"x".repeat(21))).await;
    check(ask, "lines.crlf", |it| it.lines.lines[0].crlf = None).await;
    check(ask, "lines.crlf", |it| it.lines.lines[0].crlf = Some(true)).await;
    check(ask, "lines.truncated", |it| it.lines.lines[0].truncated = None).await;
    check(ask, "lines.full_length", |it| it.lines.lines[0].truncated = Some(true)).await;
    check(ask, "lines.full_length", |it| {
        it.lines.lines[0].truncated = Some(true);
        it.lines.lines[0].full_length = Some(3);
    })
    .await;
    check(ask, "size", |it| it.lines.lines[0] = line("longer than it")).await;
    check(ask, "size", |it| it.lines.size = None).await;
    check(ask, "total_lines", |it| it.lines.total_lines = None).await;
    check(ask, "total_lines", |it| it.lines.total_lines = Some(-2)).await;
    check(ask, "total_lines", |it| it.lines.total_lines = Some(9)).await;
    check(ask, "total_lines", |it| it.lines.size = Some(1)).await;
    check(ask, "first_line", |it| it.lines.first_line = None).await;
    check(ask, "first_line", |it| it.lines.first_line = Some(2)).await;
    check(ask, "version", |it| it.lines.version = "v".repeat(129)).await;
    check(ask, "line_endings", |it| it.lines.line_endings = 0).await;
    check(ask, "line_endings", |it| it.lines.line_endings = UNKNOWN).await;
    check(ask, "total_lines", |it| it.lines.line_endings = v1::LineEndings::None.into()).await;
    check(ask, "ends_with_newline", |it| it.lines.ends_with_newline = None).await;
    check(ask, "bom", |it| it.lines.bom = None).await;
    check(ask, "stop_reason", |it| it.lines.stop_reason = 0).await;
    check(ask, "stop_reason", |it| it.lines.stop_reason = UNKNOWN).await;
    check(ask, "stop_reason", |it| it.lines.stop_reason = v1::ReadStopReason::ByteCap.into()).await;
    check(ask, "stop_reason", |it| drop(it.lines.lines.pop())).await;
    check(ask, "stop_reason", |it| it.lines.lines.push(line(""))).await;
    check(ask, "lines", |it| it.lines.lines = vec![line(""); 11]).await;
}

#[tokio::test]
async fn broken_content_is_refused() {
    use read_text_response::Part;
    let ask = Ask::Text;
    let part = |part: Part| v1::ReadTextResponse { part: Some(part) };
    let chunk = |bytes: &'static [u8]| part(Part::Chunk(Bytes::from_static(bytes)));
    let header = |kind: i32, size| part(Part::Header(v1::ContentHeader { kind, size }));
    check(ask, "header", |it| it.text.clear()).await;
    check(ask, "header", |it| drop(it.text.remove(0))).await;
    check(ask, "header", |it| it.text.insert(1, it.text[0].clone())).await;
    check(ask, "header.kind", |it| it.text[0] = header(0, Some(8))).await;
    check(ask, "header.kind", |it| it.text[0] = header(v1::FileKind::Directory.into(), Some(8))).await;
    check(ask, "header.kind", |it| it.text[0] = header(UNKNOWN, Some(8))).await;
    check(ask, "header.size", |it| it.text[0] = header(v1::FileKind::Regular.into(), None)).await;
    check(ask, "header.size", |it| it.text[0] = header(v1::FileKind::Regular.into(), Some(7))).await;
    check(ask, "trailer.version", |it| it.text[0] = header(v1::FileKind::Regular.into(), Some(9))).await;
    check(ask, "part", |it| it.text[1].part = None).await;
    check(ask, "chunk", |it| it.text[1] = chunk(b"ab\xc3")).await;
    check(ask, "chunk", |it| it.text[1] = chunk(b"a\0b\n")).await;
    check(ask, "trailer", |it| drop(it.text.pop())).await;
    check(ask, "trailer", |it| it.text.push(chunk(b"more"))).await;
    check(ask, "trailer.version", |it| {
        it.text[3] = part(Part::Trailer(v1::ContentTrailer { version: String::new() }));
    })
    .await;
    check(ask, "trailer.version", |it| {
        it.text[3] = part(Part::Trailer(v1::ContentTrailer { version: "v".repeat(129) }));
    })
    .await;

    let ask = Ask::Bytes;
    check(ask, "header", |it| it.bytes.clear()).await;
    check(ask, "trailer", |it| drop(it.bytes.pop())).await;
    check(ask, "trailer.version", |it| drop(it.bytes.remove(1))).await;
    check(ask, "header.size", |it| it.bytes.insert(1, it.bytes[1].clone())).await;
    check(ask, "part", |it| it.bytes[1].part = None).await;
}

#[tokio::test]
async fn bytes_past_the_range_that_was_asked_for_are_refused() {
    use futures_util::StreamExt as _;
    use toolfs_provider::request::ByteRange;

    let provider = Peer::new(Answers::default(), []).serve(RemoteOptions::DEFAULT);
    let range = ByteRange { offset: 0, length: Some(4) };
    let mut content = provider.read_bytes(&AbortSignal::new(), &key(), range).await.unwrap();
    assert!(content.parts.next().await.unwrap().is_ok());
    let error = content.parts.next().await.unwrap().unwrap_err();
    assert!(error.message().contains("`chunk`"), "{error}");
    assert!(content.parts.next().await.is_none(), "a stream that yields an error ends there");

    // A version is of the whole file.
    let part = read_bytes_response::Part::Trailer(v1::ContentTrailer { version: "v1".into() });
    let partial = answers(|it| {
        it.bytes.truncate(2);
        it.bytes.push(v1::ReadBytesResponse { part: Some(part) });
    });
    let provider = Peer::new(partial, []).serve(RemoteOptions::DEFAULT);
    let mut content = provider.read_bytes(&AbortSignal::new(), &key(), range).await.unwrap();
    assert!(content.parts.next().await.unwrap().is_ok());
    let error = content.parts.next().await.unwrap().unwrap_err();
    assert!(error.message().contains("`trailer.version`"), "{error}");
}

#[tokio::test]
async fn a_broken_listing_is_refused() {
    let ask = Ask::List;
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
        let name = Bytes::from_static(name);
        check(ask, "entries.raw_name", |it| it.list[0].entries[0].raw_name = name).await;
    }
    check(ask, "entries.display_name", |it| it.list[0].entries[0].display_name.clear()).await;
    check(ask, "entries.display_name", |it| it.list[0].entries[0].display_name = "a\nb".into()).await;
    check(ask, "entries.kind", |it| it.list[0].entries[0].kind = 0).await;
}

#[tokio::test]
async fn a_broken_report_of_a_write_is_refused() {
    for ask in [Ask::Write, Ask::PlanWrite] {
        check(ask, "report", |it| it.write.report = None).await;
        check(ask, "report.operation", |it| it.written().operation = 0).await;
        check(ask, "report.operation", |it| it.written().operation = UNKNOWN).await;
        check(ask, "report.size", |it| it.written().size = None).await;
        check(ask, "report.size", |it| it.written().size = Some(7)).await;
        check(ask, "report.previous_size", |it| it.written().previous_size = None).await;
        check(ask, "report.previous_size", |it| it.written().previous_size = Some(-1)).await;
        check(ask, "report.previous_size", |it| {
            it.written().operation = v1::WriteOperation::Create.into();
        })
        .await;
        check(ask, "report.version", |it| it.written().version = "v".repeat(129)).await;
        check(ask, "report.diff.omitted", |it| diff(it).omitted = None).await;
        check(ask, "report.diff.hunks", |it| diff(it).hunks[0].old_count = Some(2)).await;
        check(ask, "report.diff.hunks.new_start", |it| diff(it).hunks[0].new_start = None).await;
        check(ask, "report.diff.hunks.lines.kind", |it| diff(it).hunks[0].lines[0].kind = UNKNOWN).await;
        check(ask, "report.diff.hunks.lines.text", |it| diff(it).hunks[0].lines[0].text.push('\n')).await;
        check(ask, "report.diff.hunks.lines.newline_missing", |it| {
            diff(it).hunks[0].lines[0].newline_missing = None;
        })
        .await;
    }
}

fn diff(answers: &mut Answers) -> &mut v1::Diff {
    answers.written().diff.as_mut().unwrap()
}

#[tokio::test]
async fn a_broken_report_of_an_edit_is_refused() {
    fn matches(answers: &mut Answers) -> &mut v1::MatchedRanges {
        answers.edited().matches.as_mut().unwrap()
    }
    fn changed(answers: &mut Answers) -> &mut v1::ChangedRanges {
        answers.edited().changed_ranges.as_mut().unwrap()
    }
    for ask in [Ask::Edit, Ask::PlanEdit] {
        check(ask, "report", |it| it.edit.report = None).await;
        check(ask, "report.replacements", |it| it.edited().replacements = None).await;
        check(ask, "report.replacements", |it| it.edited().replacements = Some(2)).await;
        check(ask, "report.matches", |it| it.edited().matches = None).await;
        check(ask, "report.matches.total", |it| matches(it).total = None).await;
        check(ask, "report.matches.ranges", |it| matches(it).ranges.clear()).await;
        check(ask, "report.matches.start_line", |it| matches(it).ranges[0].start_line = None).await;
        check(ask, "report.matches.end_line", |it| matches(it).ranges[0].end_line = Some(0)).await;
        check(ask, "report.matches.end_line", |it| matches(it).ranges[0].start_line = Some(0)).await;
        check(ask, "report.changed_ranges", |it| it.edited().changed_ranges = None).await;
        check(ask, "report.changed_ranges.ranges", |it| changed(it).total = Some(5)).await;
        check(ask, "report.changed_ranges.old_start", |it| changed(it).ranges[0].old_start = Some(-1)).await;
        check(ask, "report.size", |it| it.edited().size = None).await;
        check(ask, "report.version", |it| it.edited().version.clear()).await;
        check(ask, "report.replacements", |it| {
            // Two places were changed where one was to be.
            it.edited().replacements = Some(2);
            let range = matches(it).ranges[0];
            matches(it).ranges.push(range);
            matches(it).total = Some(2);
        })
        .await;
    }
}

#[tokio::test]
async fn values_of_a_newer_contract_are_taken_for_the_least_that_they_can_mean() {
    let newer = answers(|it| {
        it.capabilities.durability = UNKNOWN;
        it.file().kind = UNKNOWN;
        it.list[0].entries[0].kind = UNKNOWN;
        it.written().notices = vec![v1::Notice { kind: UNKNOWN, text: "a newer\nremark".into() }];
        it.edited().diff = Some(v1::Diff { omitted: Some(true), ..v1::Diff::default() });
    });
    let provider = Peer::new(newer, []).serve(RemoteOptions::DEFAULT);
    let abort = AbortSignal::new();
    assert_eq!(provider.capabilities(&abort).await.unwrap().durability, Durability::None);
    assert_eq!(provider.stat(&abort, &key(), false).await.unwrap().kind, FileKind::Other);
    let entries = toolfs_provider::ProviderExt::list_whole(&provider, &abort, &key()).await.unwrap();
    assert_eq!(entries[0].kind, FileKind::Other);
    let notice = &provider.write_text(&abort, write(CONTENT, None)).await.unwrap().notices[0];
    assert_eq!((notice.kind, notice.text.as_str()), (NoticeKind::Other, r"a newer\u{a}remark"));
    let diff = provider.edit_text(&abort, edit(None)).await.unwrap().diff;
    assert!(matches!(diff, Some(DiffResult::LeftOut(DiffLeftOut::Told { .. }))), "{diff:?}");
}

#[tokio::test]
async fn what_could_not_be_made_durable_is_there_whatever_the_peer_says_of_it() {
    let failed = v1::FsError {
        code: v1::FsErrorCode::FsIoError.into(),
        reason: "FS_IO_ERROR".into(),
        message: "the disk does not sync".into(),
        published: v1::Published::No.into(),
        remedy: "a remedy that is not a peer's to give".into(),
        ..v1::FsError::default()
    };
    let answers = answers(|it| it.write.not_durable = Some(failed));
    let provider = Peer::new(answers, []).serve(RemoteOptions::DEFAULT);
    let report = provider.write_text(&AbortSignal::new(), write(CONTENT, None)).await.unwrap();
    let error = report.not_durable.unwrap();
    assert_eq!((error.code(), error.published()), (Code::IoError, Published::Yes));
    assert_eq!(error.remedy(), None);
}
