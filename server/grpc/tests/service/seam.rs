use bytes::Bytes;
use tokio_stream::StreamExt as _;
use tonic::{Code, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::edit_guard;
use toolfs_contract::v1::write_guard;
use toolfs_core::error::{ErrorKind, FsError};

use crate::support::{
    MAX_MESSAGE_BYTES, MAX_STREAM_BYTES, SeamHost, code_and_reason, content_parts, fs_error, part, plan_parts,
};

fn edit_request(key: &Bytes, old: &str, new: &str) -> v1::EditTextRequest {
    v1::EditTextRequest {
        target_key: Some(key.clone()),
        guard: Some(unconditional()),
        old_string: Some(old.into()),
        new_string: Some(new.into()),
        want_diff: Some(true),
        ..Default::default()
    }
}

fn unconditional() -> v1::EditGuard {
    v1::EditGuard { condition: Some(edit_guard::Condition::Unconditional(v1::Unconditional {})) }
}

async fn stat(host: &SeamHost, key: &Bytes) -> Result<v1::FileStat, Status> {
    let request = v1::StatRequest { target_key: key.clone(), want_version: true };
    Ok(host.files().stat(request).await?.into_inner().stat.unwrap())
}

/// The field that a refusal names.
#[track_caller]
fn refused_field<T: std::fmt::Debug>(answer: Result<T, Status>) -> String {
    let status = answer.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::InvalidArgument, "FS_INVALID_ARGUMENT".to_owned()));
    let Some(v1::fs_error::Detail::InvalidArgument(detail)) = fs_error(&status).unwrap().detail else {
        panic!("no detail");
    };
    assert!(status.message().contains(&format!("`{}`", detail.field)), "{}", status.message());
    detail.field
}

#[tokio::test]
async fn a_file_is_written_looked_at_edited_and_written_again() {
    let host = SeamHost::start();
    let mut files = host.files();
    let key = host.key("notes.txt").await;
    assert_eq!(code_and_reason(&stat(&host, &key).await.unwrap_err()).0, Code::NotFound);

    let written = files.write_text(content_parts(&key, "one\ntwo\n")).await.unwrap().into_inner();
    assert_eq!(written.not_durable, None);
    let report = written.report.unwrap();
    assert_eq!(report.operation(), v1::WriteOperation::Create);
    assert_eq!((report.size, report.previous_size, report.diff), (Some(8), None, None));
    assert_eq!(host.content("/w/notes.txt").unwrap(), "one\ntwo\n");

    let found = stat(&host, &key).await.unwrap();
    assert_eq!((found.kind(), found.size), (v1::FileKind::Regular, Some(8)));
    assert_eq!(found.version, report.version);

    let edited = files.edit_text(edit_request(&key, "two", "2")).await.unwrap().into_inner();
    let report = edited.report.unwrap();
    assert_eq!((report.replacements, report.size), (Some(1), Some(6)));
    assert_eq!(report.matches.unwrap().ranges[0].start_line, Some(2));
    assert_eq!(report.changed_ranges.unwrap().total, Some(1));
    assert!(report.diff.unwrap().text.contains("+2"));
    assert_eq!(host.content("/w/notes.txt").unwrap(), "one\n2\n");

    // Somebody is told to create what is there, and to replace what is not there any more.
    let status = files.write_text(content_parts(&key, "three")).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::FailedPrecondition, "FS_NOT_OBSERVED".to_owned()));
    let stale = write_guard::Condition::ReplaceIfVersion(found.version);
    let status = files.write_text(crate::support::parts(&key, "three", stale)).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::Aborted, "FS_STALE_VERSION".to_owned()));
    let current = write_guard::Condition::ReplaceIfVersion(report.version);
    let written = files.write_text(crate::support::parts(&key, "three", current)).await.unwrap().into_inner();
    assert_eq!(written.report.unwrap().previous_size, Some(6));
    assert_eq!(host.content("/w/notes.txt").unwrap(), "three");
}

#[tokio::test]
async fn a_plan_reports_like_its_mutation_and_publishes_nothing() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n");
    let mut files = host.files();
    let (there, new) = (host.key("a").await, host.key("b").await);
    let planned = files.plan_write(plan_parts(&new, "x")).await.unwrap().into_inner().report.unwrap();
    assert_eq!((planned.operation(), planned.size), (v1::WriteOperation::Create, Some(1)));
    assert_eq!(host.content("/w/b"), None);
    let status = files.plan_write(plan_parts(&there, "x")).await.unwrap_err();
    assert_eq!(code_and_reason(&status).1, "FS_NOT_OBSERVED");

    let plan = v1::PlanEditRequest {
        target_key: Some(there),
        guard: Some(unconditional()),
        old_string: Some("one".into()),
        new_string: Some(String::new()),
        replace_all: Some(true),
        want_diff: None,
    };
    let planned = files.plan_edit(plan).await.unwrap().into_inner().report.unwrap();
    assert_eq!((planned.replacements, planned.size, planned.diff), (Some(1), Some(1), None));
    assert_eq!(host.content("/w/a").unwrap(), "one\n");
}

#[tokio::test]
async fn names_are_bytes() {
    use v1::{lstat_request, resolve_request};
    let host = SeamHost::start();
    host.provider.files.put(b"/w/d/\xff", "one\n");
    let mut files = host.files();
    let request = v1::ResolveRequest {
        directory: Some(resolve_request::Directory::RawCwd(Bytes::from_static(b"/w/d"))),
        location: Some(resolve_request::Location::RawPath(Bytes::from_static(b"\xff"))),
    };
    let target = files.resolve(request).await.unwrap().into_inner().target.unwrap();
    assert_eq!(target.raw_path, Bytes::from_static(b"/w/d/\xff"));
    assert_eq!(target.display_path, r"/w/d/\xff");
    assert_eq!(target.protected_rule, "");

    let request = v1::LstatRequest {
        directory: Some(lstat_request::Directory::Cwd("/w/d".into())),
        location: Some(lstat_request::Location::RawPath(Bytes::from_static(b"\xff"))),
    };
    let found = files.lstat(request).await.unwrap().into_inner().stat.unwrap();
    assert_eq!((found.kind(), found.size, found.version.as_str()), (v1::FileKind::Regular, Some(4), ""));
    let request =
        v1::LstatRequest { directory: None, location: Some(lstat_request::Location::Path("d".into())) };
    let found = files.lstat(request).await.unwrap().into_inner().stat.unwrap();
    assert_eq!((found.kind(), found.size), (v1::FileKind::Directory, None));

    let directory = host.key("d").await;
    let mut listed = files.list_dir(v1::ListDirRequest { target_key: directory }).await.unwrap().into_inner();
    let entries = listed.next().await.unwrap().unwrap().entries;
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].raw_name.as_ref(), entries[0].display_name.as_str()), (&b"\xff"[..], r"\xff"));
    assert!(listed.next().await.is_none());
}

#[tokio::test]
async fn a_target_lies_beneath_itself_and_its_parents_only() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/d/a", "one\n");
    let (parent, child, other) = (host.key("d").await, host.key("d/a").await, host.key("e").await);
    for (ancestor_key, target_key, expected) in
        [(&parent, &child, true), (&child, &child, true), (&child, &parent, false), (&other, &child, false)]
    {
        let request =
            v1::ContainsRequest { ancestor_key: ancestor_key.clone(), target_key: target_key.clone() };
        let contained = host.files().contains(request).await.unwrap().into_inner().contained;
        assert_eq!(contained, Some(expected));
    }
}

#[tokio::test]
async fn lines_are_raw_and_say_how_they_ended() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "\u{feff}one\r\ntwo\nthree");
    let key = host.key("a").await;
    let request = v1::ReadLinesRequest { target_key: key.clone(), ..Default::default() };
    let read = host.files().read_lines(request).await.unwrap().into_inner();
    let lines: Vec<_> =
        read.lines.iter().map(|line| (line.text.as_ref(), line.crlf, line.truncated)).collect();
    assert_eq!(
        lines,
        [
            (&b"one"[..], Some(true), Some(false)),
            (&b"two"[..], Some(false), Some(false)),
            (&b"three"[..], Some(false), Some(false)),
        ]
    );
    assert_eq!((read.first_line, read.total_lines, read.size), (Some(1), Some(3), Some(17)));
    assert_eq!((read.bom, read.ends_with_newline), (Some(true), Some(false)));
    assert_eq!(
        (read.line_endings(), read.stop_reason()),
        (v1::LineEndings::Mixed, v1::ReadStopReason::EndOfFile)
    );
    assert_eq!(read.version, stat(&host, &key).await.unwrap().version);

    let request = v1::ReadLinesRequest {
        target_key: key.clone(),
        first_line: Some(2),
        max_lines: Some(1),
        max_bytes: Some(100),
        max_line_chars: Some(2),
    };
    let read = host.files().read_lines(request).await.unwrap().into_inner();
    assert_eq!(read.stop_reason(), v1::ReadStopReason::LineLimit);
    let line = &read.lines[0];
    assert_eq!((line.text.as_ref(), line.truncated, line.full_length), (&b"tw"[..], Some(true), Some(3)));

    let past = v1::ReadLinesRequest { target_key: key, first_line: Some(9), ..Default::default() };
    let read = host.files().read_lines(past).await.unwrap().into_inner();
    assert_eq!((read.lines.len(), read.first_line, read.total_lines), (0, Some(9), Some(3)));
}

/// The widest window of the worst lines still is one message.
#[tokio::test]
async fn a_window_without_bounds_fits_its_message() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "\n".repeat(200_000));
    host.provider.files.put(b"/w/b", "ab\n".repeat(200_000));
    host.provider.files.put(b"/w/c", format!("{}\n", "x".repeat(300)).repeat(10_000));
    for path in ["a", "b", "c"] {
        let request = v1::ReadLinesRequest {
            target_key: host.key(path).await,
            first_line: None,
            max_lines: Some(i64::MAX),
            max_bytes: Some(i64::MAX),
            max_line_chars: Some(if path == "b" { 1 } else { i64::MAX }),
        };
        let read = host.files().read_lines(request).await.unwrap().into_inner();
        assert!(read.lines.len() > 800, "{path}: {}", read.lines.len());
        assert!(prost::Message::encoded_len(&read) <= MAX_MESSAGE_BYTES);
        assert_ne!(read.stop_reason(), v1::ReadStopReason::EndOfFile);
        assert!(read.total_lines >= Some(10_000));
    }
}

#[tokio::test]
async fn a_range_of_bytes_has_a_version_only_when_it_is_the_whole_file() {
    use v1::read_bytes_response::Part;
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", &b"\x00\xffabc"[..]);
    let key = host.key("a").await;
    for (offset, length, expected, whole) in [
        (None, None, &b"\x00\xffabc"[..], true),
        (Some(0), Some(5), b"\x00\xffabc", true),
        (Some(1), Some(2), b"\xffa", false),
        (Some(9), None, b"", false),
    ] {
        let request = v1::ReadBytesRequest { target_key: key.clone(), offset, length };
        let parts = host.files().read_bytes(request).await.unwrap().into_inner();
        let parts: Vec<_> = parts.map(|part| part.unwrap().part.unwrap()).collect().await;
        let Some(Part::Header(header)) = parts.first() else { panic!("no header: {parts:?}") };
        assert_eq!((header.kind(), header.size), (v1::FileKind::Regular, Some(5)));
        let Some(Part::Trailer(trailer)) = parts.last() else { panic!("no trailer: {parts:?}") };
        assert_eq!(!trailer.version.is_empty(), whole);
        let content: Vec<u8> = parts[1..parts.len() - 1]
            .iter()
            .flat_map(|part| match part {
                Part::Chunk(chunk) => chunk.to_vec(),
                Part::Header(_) | Part::Trailer(_) => panic!("out of order: {parts:?}"),
            })
            .collect();
        assert_eq!(content, expected);
    }
}

#[tokio::test]
async fn a_directory_of_5000_entries_is_listed_whole_in_messages_of_bounded_size() {
    let host = SeamHost::start();
    for index in 0..5_000 {
        host.provider.files.put(format!("/w/d/{index:04}-{}", "n".repeat(200)).as_bytes(), "");
    }
    let request = v1::ListDirRequest { target_key: host.key("d").await };
    let mut listed = host.files().list_dir(request).await.unwrap().into_inner();
    let mut names = Vec::new();
    while let Some(batch) = listed.next().await {
        let batch = batch.unwrap();
        assert!(!batch.entries.is_empty());
        assert!(prost::Message::encoded_len(&batch) <= 70 << 10);
        names.extend(batch.entries.into_iter().map(|entry| entry.raw_name));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5_000);

    host.provider.files.make_dir(b"/w/empty");
    let request = v1::ListDirRequest { target_key: host.key("empty").await };
    assert!(host.files().list_dir(request).await.unwrap().into_inner().next().await.is_none());
}

#[tokio::test]
async fn capabilities_tell_the_provider_and_the_limits_of_the_seam() {
    let host = SeamHost::start();
    let request = v1::GetProviderCapabilitiesRequest {};
    let told = host.files().get_provider_capabilities(request).await.unwrap().into_inner();
    let provider = told.provider.clone().unwrap();
    assert_eq!(provider.name, "memory");
    assert!(provider.verified_replacement.is_some() && provider.operation_ids.is_some());
    assert_ne!(told.durability(), v1::Durability::Unspecified);
    assert_eq!(told.roots[0].raw_path, Bytes::from_static(b"/w"));
    assert_eq!(told.protected_patterns, [".git"]);
    let limit = |name: &str| {
        let found = told.limits.iter().find(|limit| limit.name == name);
        found.map(|limit| limit.value)
    };
    assert_eq!(limit("max_content_bytes"), Some(Some(i64::try_from(MAX_STREAM_BYTES).unwrap())));
    assert_eq!(limit("max_message_bytes"), Some(Some(i64::try_from(MAX_MESSAGE_BYTES).unwrap())));
    assert_eq!(limit("max_file_bytes"), Some(None));
    assert!(limit("max_read_bytes").is_some());
    assert_eq!(limit("max_sessions"), None);
}

#[tokio::test]
async fn what_is_missing_or_out_of_range_is_named() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n");
    let key = host.key("a").await;
    let mut files = host.files();

    assert_eq!(refused_field(files.resolve(v1::ResolveRequest::default()).await), "path");
    assert_eq!(refused_field(files.lstat(v1::LstatRequest::default()).await), "path");
    let contains = v1::ContainsRequest { ancestor_key: Bytes::new(), target_key: key.clone() };
    assert_eq!(refused_field(files.contains(contains).await), "ancestor_key");
    let contains = v1::ContainsRequest { ancestor_key: key.clone(), target_key: Bytes::new() };
    assert_eq!(refused_field(files.contains(contains).await), "target_key");
    assert_eq!(refused_field(files.stat(v1::StatRequest::default()).await), "target_key");
    assert_eq!(refused_field(files.read_lines(v1::ReadLinesRequest::default()).await), "target_key");
    assert_eq!(refused_field(files.read_text(v1::ReadTextRequest::default()).await), "target_key");
    assert_eq!(refused_field(files.read_bytes(v1::ReadBytesRequest::default()).await), "target_key");
    assert_eq!(refused_field(files.list_dir(v1::ListDirRequest::default()).await), "target_key");
    let foreign = v1::StatRequest { target_key: Bytes::from_static(b"no key"), want_version: false };
    assert_eq!(refused_field(files.stat(foreign).await), "target_key");

    let lines = || v1::ReadLinesRequest { target_key: key.clone(), ..Default::default() };
    for value in [0, -1, i64::MIN] {
        for (request, field) in [
            (v1::ReadLinesRequest { first_line: Some(value), ..lines() }, "first_line"),
            (v1::ReadLinesRequest { max_lines: Some(value), ..lines() }, "max_lines"),
            (v1::ReadLinesRequest { max_bytes: Some(value), ..lines() }, "max_bytes"),
            (v1::ReadLinesRequest { max_line_chars: Some(value), ..lines() }, "max_line_chars"),
        ] {
            assert_eq!(refused_field(files.read_lines(request).await), field);
        }
    }
    let bytes = v1::ReadBytesRequest { target_key: key.clone(), offset: Some(-1), length: None };
    assert_eq!(refused_field(files.read_bytes(bytes).await), "offset");
    let bytes = v1::ReadBytesRequest { target_key: key.clone(), offset: None, length: Some(-1) };
    assert_eq!(refused_field(files.read_bytes(bytes).await), "length");
}

#[tokio::test]
async fn an_edit_that_lacks_something_changes_nothing() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n");
    let key = host.key("a").await;
    let mut files = host.files();
    let whole = || edit_request(&key, "one", "two");
    let version = |text: &str| v1::EditGuard {
        condition: Some(edit_guard::Condition::ReplaceIfVersion(text.to_owned())),
    };
    for (request, field) in [
        (v1::EditTextRequest { target_key: None, ..whole() }, "target_key"),
        (v1::EditTextRequest { target_key: Some(Bytes::new()), ..whole() }, "target_key"),
        (v1::EditTextRequest { old_string: None, ..whole() }, "old_string"),
        (v1::EditTextRequest { old_string: Some(String::new()), ..whole() }, "old_string"),
        (v1::EditTextRequest { new_string: None, ..whole() }, "new_string"),
        (v1::EditTextRequest { new_string: Some("one".into()), ..whole() }, "new_string"),
        (v1::EditTextRequest { guard: Some(version("")), ..whole() }, "replace_if_version"),
        (v1::EditTextRequest { guard: Some(version(&"v".repeat(129))), ..whole() }, "replace_if_version"),
        (v1::EditTextRequest { operation_id: Some(String::new()), ..whole() }, "operation_id"),
        (v1::EditTextRequest { operation_id: Some("o".repeat(129)), ..whole() }, "operation_id"),
        (v1::EditTextRequest { operation_id: Some("é".into()), ..whole() }, "operation_id"),
    ] {
        assert_eq!(refused_field(files.edit_text(request.clone()).await), field);
        let v1::EditTextRequest {
            target_key,
            guard,
            old_string,
            new_string,
            replace_all,
            operation_id,
            want_diff,
        } = request;
        if operation_id.is_none() {
            let plan =
                v1::PlanEditRequest { target_key, guard, old_string, new_string, replace_all, want_diff };
            assert_eq!(refused_field(files.plan_edit(plan).await), field);
        }
    }
    for guard in [None, Some(v1::EditGuard { condition: None })] {
        let status = files.edit_text(v1::EditTextRequest { guard, ..whole() }).await.unwrap_err();
        assert_eq!(code_and_reason(&status), (Code::InvalidArgument, "GUARD_MISSING".to_owned()));
    }
    assert_eq!(host.content("/w/a").unwrap(), "one\n");
}

#[tokio::test]
async fn refusals_of_the_provider_keep_their_facts() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/.git/config", "one\n");
    host.provider.files.put(b"/w/bin", &b"\xffabc"[..]);
    let mut files = host.files();

    let protected = host.key(".git/config").await;
    for status in [
        files.edit_text(edit_request(&protected, "one", "two")).await.unwrap_err(),
        files.write_text(content_parts(&host.key(".git/new").await, "x")).await.unwrap_err(),
    ] {
        assert_eq!(code_and_reason(&status), (Code::PermissionDenied, "FS_SANDBOX_DENIED".to_owned()));
        let Some(v1::fs_error::Detail::Sandbox(detail)) = fs_error(&status).unwrap().detail else {
            panic!("no detail");
        };
        assert_eq!(detail.rule, ".git");
    }
    assert_eq!(host.content("/w/.git/config").unwrap(), "one\n");

    let outside = v1::ResolveRequest {
        directory: None,
        location: Some(v1::resolve_request::Location::Path("../x".into())),
    };
    assert_eq!(code_and_reason(&files.resolve(outside).await.unwrap_err()).1, "FS_SANDBOX_DENIED");

    let text = v1::ReadTextRequest { target_key: host.key("bin").await };
    assert_eq!(
        last_status(files.read_text(text).await).await,
        (Code::FailedPrecondition, "FS_NOT_TEXT".to_owned())
    );
    let file = v1::ListDirRequest { target_key: host.key("bin").await };
    assert_eq!(
        last_status(files.list_dir(file).await).await,
        (Code::FailedPrecondition, "FS_NOT_DIRECTORY".to_owned())
    );
    let nothing = v1::ListDirRequest { target_key: host.key("none").await };
    assert_eq!(last_status(files.list_dir(nothing).await).await, (Code::NotFound, "FS_NOT_FOUND".to_owned()));
}

/// How a stream ends, whether or not it begins.
async fn last_status<T>(answer: Result<tonic::Response<tonic::Streaming<T>>, Status>) -> (Code, String) {
    let status = match answer {
        Err(status) => status,
        Ok(parts) => parts.into_inner().filter_map(Result::err).next().await.unwrap(),
    };
    code_and_reason(&status)
}

#[tokio::test]
async fn an_operation_id_that_is_not_recorded_here_is_refused_and_not_passed_over() {
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "one\n");
    let key = host.key("a").await;
    let told = host.files().get_provider_capabilities(v1::GetProviderCapabilitiesRequest {}).await.unwrap();
    let recorded = told.into_inner().provider.unwrap().operation_ids.unwrap();
    let request = v1::EditTextRequest {
        operation_id: Some("5f0c1b2a-0000-4000-8000-000000000001".into()),
        ..edit_request(&key, "one", "two")
    };
    match host.files().edit_text(request).await {
        Ok(_) => assert!(recorded),
        Err(status) => {
            assert!(!recorded);
            assert_eq!(code_and_reason(&status), (Code::Unimplemented, "FS_UNSUPPORTED".to_owned()));
            assert_eq!(host.content("/w/a").unwrap(), "one\n");
        }
    }
}

#[tokio::test]
async fn a_mutation_that_is_in_place_but_not_durable_is_answered_with_ok() {
    use toolfs_core::error::Published;
    let host = SeamHost::start();
    let kind = ErrorKind::NoSpace;
    let error =
        FsError::new(kind, "the disk is full").with_remedy("for models").with_published(Published::Yes);
    host.provider.will_not_be_durable(error);
    let key = host.key("a").await;
    let written = host.files().write_text(content_parts(&key, "one\n")).await.unwrap().into_inner();
    let edited = host.files().edit_text(edit_request(&key, "one", "two")).await.unwrap().into_inner();
    assert!(written.report.is_some() && edited.report.is_some());
    for error in [written.not_durable.unwrap(), edited.not_durable.unwrap()] {
        assert_eq!((error.code(), error.published()), (v1::FsErrorCode::FsNoSpace, v1::Published::Yes));
        assert_eq!((error.reason.as_str(), error.remedy.as_str()), ("FS_NO_SPACE", ""));
    }
    assert_eq!(host.content("/w/a").unwrap(), "two\n");
}

#[tokio::test]
async fn a_write_whose_guard_is_not_known_publishes_nothing() {
    let host = SeamHost::start();
    let key = host.key("a").await;
    for guard in [None, Some(v1::WriteGuard { condition: None })] {
        let header =
            v1::WriteTextHeader { target_key: Some(key.clone()), guard, size: Some(0), ..Default::default() };
        let parts = [v1::write_text_request::Part::Header(header), crate::support::trailer("")].map(part);
        let status = host.files().write_text(tokio_stream::iter(parts)).await.unwrap_err();
        assert_eq!(code_and_reason(&status), (Code::InvalidArgument, "GUARD_MISSING".to_owned()));
    }
    assert_eq!(host.content("/w/a"), None);
}
