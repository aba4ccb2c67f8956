use std::time::Duration;

use tonic::Code;
use toolfs_contract::v1;
use toolfs_contract::v1::content_block::Block;
use toolfs_contract::v1::execute_request::Call;
use toolfs_contract::v1::execute_response::Outcome;
use toolfs_contract::v1::{edit_guard, write_guard};

use crate::support::{Host, MAX_MESSAGE_BYTES, Script, Setup, code_and_reason, edit, read, request, write};

fn text(response: &v1::ExecuteResponse) -> &str {
    match response.content.as_slice() {
        [v1::ContentBlock { block: Some(Block::Text(text)) }] => text,
        other => panic!("content is one text block, not {} blocks", other.len()),
    }
}

fn code(response: &v1::ExecuteResponse) -> v1::FsErrorCode {
    assert_eq!(response.is_error, Some(true));
    assert!(response.outcome.is_none());
    assert!(!text(response).is_empty());
    response.error.as_ref().expect("`is_error` holds exactly when `error` is set").code()
}

fn read_outcome(response: v1::ExecuteResponse) -> v1::ReadOutcome {
    assert_eq!((response.is_error, &response.error), (Some(false), &None));
    match response.outcome {
        Some(Outcome::Read(outcome)) => outcome,
        other => panic!("no outcome of a read: {other:?}"),
    }
}

fn write_outcome(response: v1::ExecuteResponse) -> v1::WriteOutcome {
    assert_eq!((response.is_error, &response.error), (Some(false), &None));
    match response.outcome {
        Some(Outcome::Write(outcome)) => outcome,
        other => panic!("no outcome of a write: {other:?}"),
    }
}

fn edit_outcome(response: v1::ExecuteResponse) -> v1::EditOutcome {
    assert_eq!((response.is_error, &response.error), (Some(false), &None));
    match response.outcome {
        Some(Outcome::Edit(outcome)) => outcome,
        other => panic!("no outcome of an edit: {other:?}"),
    }
}

#[tokio::test]
async fn the_tools_are_listed_whole() {
    let host = Host::start();
    let tools = host.tools().list_tools(v1::ListToolsRequest {}).await.unwrap().into_inner().tools;
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["read", "write", "edit"]);
    for tool in tools {
        assert!(!tool.description.is_empty() && !tool.prompt_section.is_empty());
        assert!(tool.input_schema_json.contains("file_path"));
        assert!(tool.strict_input_schema_json.contains("file_path"));
        let hints = tool.hints.unwrap();
        assert_eq!(hints.read_only, Some(tool.name == "read"));
        assert_eq!(hints.destructive, Some(tool.name != "read"));
        assert!(hints.idempotent.is_some() && hints.concurrency_safe.is_some());
    }
}

#[tokio::test]
async fn capabilities_tell_what_is_in_force() {
    let host = Host::start();
    let told = host.tools().get_capabilities(v1::GetCapabilitiesRequest {}).await.unwrap().into_inner();
    assert_eq!(told.server_version, "1.2.3");
    assert_eq!(told.contract_version, env!("CARGO_PKG_VERSION"));
    assert_eq!(told.roots.iter().map(|root| root.display_path.as_str()).collect::<Vec<_>>(), ["/w"]);
    assert_eq!(told.roots[0].raw_path, "/w");
    assert_eq!(
        told.modes().collect::<Vec<_>>(),
        [v1::SessionMode::WorkspaceWrite, v1::SessionMode::ReadOnly]
    );
    assert_eq!(told.protected_patterns, [".git"]);
    assert_eq!(told.provider.unwrap().name, "memory");
    let policy = told.policy.unwrap();
    assert_eq!((policy.name.as_str(), policy.persistent), ("observation", Some(false)));
    assert_eq!(told.sessions_persistent, Some(false));
    assert_eq!(told.request_id_window, Some(prost_types::Duration { seconds: 3_600, nanos: 0 }));

    let limit = |kind: v1::LimitKind| {
        let limit = told.limits.iter().find(|limit| limit.kind() == kind).unwrap();
        assert!(kind.as_str_name().ends_with(&limit.name.to_ascii_uppercase()));
        limit.value
    };
    assert_eq!(limit(v1::LimitKind::MaxMessageBytes), Some(MAX_MESSAGE_BYTES.try_into().unwrap()));
    assert_eq!(limit(v1::LimitKind::MaxWindowBytes), Some(51_200));
    assert_eq!(limit(v1::LimitKind::MaxFileBytes), None);
}

#[tokio::test]
async fn the_time_that_an_unused_session_lives_is_told_and_absent_where_it_lives_on() {
    for (session_idle, expected) in [
        (Some(Duration::from_millis(86_400_500)), Some((86_400, 500_000_000))),
        (Some(Duration::MAX), Some((315_576_000_000, 0))),
        (None, None),
    ] {
        let host = Host::with(Setup { session_idle, ..Setup::default() });
        let told = host.tools().get_capabilities(v1::GetCapabilitiesRequest {}).await.unwrap().into_inner();
        let timeout = told.session_idle_timeout.map(|timeout| (timeout.seconds, timeout.nanos));
        assert_eq!(timeout, expected);
    }
}

#[tokio::test]
async fn without_a_gate_the_policy_is_none_and_mutations_are_unconditional() {
    let host = Host::with(Setup { gate: false, ..Setup::default() });
    let told = host.tools().get_capabilities(v1::GetCapabilitiesRequest {}).await.unwrap().into_inner();
    assert_eq!(told.policy.unwrap(), v1::PolicyCapabilities { name: "none".into(), persistent: None });

    host.provider.files.put(b"/w/a", "one\n");
    let dry = v1::ExecuteRequest { dry_run: true, ..request("", write("a", "two\n")) };
    let outcome = write_outcome(host.tools().execute(dry).await.unwrap().into_inner());
    let guard = outcome.guard.unwrap().condition.unwrap();
    assert_eq!(guard, write_guard::Condition::Unconditional(v1::Unconditional {}));
}

#[tokio::test]
async fn a_read_tells_its_numbers_and_its_lines_only_in_the_full_view() {
    let host = Host::start();
    host.provider.files.put(b"/w/notes.txt", "one\r\ntwo\r\nthree");
    let call =
        Call::Read(v1::ReadCall { file_path: Some("notes.txt".into()), offset: Some(2), limit: Some(1) });

    let response = host.execute("", call.clone()).await;
    assert!(text(&response).starts_with("2: two\n"));
    let basic = read_outcome(response);
    assert!(basic.lines.is_empty());
    assert_eq!(basic.path, "/w/notes.txt");
    assert_eq!((basic.offset, basic.line_count, basic.total_lines), (Some(2), Some(1), Some(3)));
    assert_eq!((basic.next_offset, basic.partial_view), (Some(3), Some(true)));
    assert_eq!(basic.stop_reason(), v1::ReadStopReason::LineLimit);
    assert_eq!((basic.size, basic.ends_with_newline, basic.bom), (Some(15), Some(false), Some(false)));
    assert_eq!(basic.line_endings(), v1::LineEndings::Crlf);
    assert!(basic.version.starts_with("b3-"));

    let full = v1::ExecuteRequest { view: v1::ResultView::Full.into(), ..request("", call) };
    let full = read_outcome(host.tools().execute(full).await.unwrap().into_inner());
    let line =
        v1::ReadLine { number: Some(2), text: "two".into(), truncated: Some(false), full_length: Some(3) };
    assert_eq!(full.lines, [line]);
    assert_eq!(v1::ReadOutcome { lines: Vec::new(), ..full }, basic);
}

#[tokio::test]
async fn a_session_creates_edits_and_replaces() {
    let host = Host::start();
    let session = host.open_session().await;

    let created = write_outcome(host.execute(&session, write("sub/a.txt", "one\ntwo\n")).await);
    assert_eq!(created.operation(), v1::WriteOperation::Create);
    assert_eq!((created.size, created.previous_size, &created.diff), (Some(8), None, &None));

    let full = v1::ExecuteRequest {
        view: v1::ResultView::Full.into(),
        ..request(&session, edit("sub/a.txt", "two", "2"))
    };
    let edited = edit_outcome(host.tools().execute(full).await.unwrap().into_inner());
    assert_eq!((edited.replacements, edited.replace_all), (Some(1), Some(false)));
    let changed = edited.changed_ranges.unwrap();
    assert_eq!((changed.total, changed.ranges.len()), (Some(1), 1));
    let diff = edited.diff.unwrap();
    assert_eq!((diff.omitted, diff.hunks.len()), (Some(false), 1));
    assert!(diff.text.contains("-two\n+2\n"), "{}", diff.text);
    assert!(edited.guard.is_none() && edited.matches.is_none());

    let replaced = write_outcome(host.execute(&session, write("sub/a.txt", "")).await);
    assert_eq!(replaced.operation(), v1::WriteOperation::Update);
    assert_eq!((replaced.size, replaced.previous_size), (Some(0), Some(6)));
    assert_eq!(host.content("/w/sub/a.txt").unwrap(), "");
}

#[tokio::test]
async fn a_dry_run_decides_everything_and_publishes_nothing() {
    let host = Host::start();
    host.provider.files.put(b"/w/a", "x\nx\n");
    let session = host.open_session().await;
    let seen = read_outcome(host.execute(&session, read("a")).await).version;

    let call = Call::Edit(v1::EditCall {
        file_path: Some("a".into()),
        old_string: Some("x".into()),
        new_string: Some("y".into()),
        replace_all: Some(true),
    });
    let dry = v1::ExecuteRequest { dry_run: true, ..request(&session, call) };
    let response = host.tools().execute(dry).await.unwrap().into_inner();
    assert_eq!(response.dry_run, Some(true));
    let outcome = edit_outcome(response);
    assert_eq!(outcome.guard.unwrap().condition, Some(edit_guard::Condition::ReplaceIfVersion(seen.clone())));
    let matches = outcome.matches.unwrap();
    assert_eq!(matches.total, Some(2));
    assert_eq!(matches.ranges[1], v1::LineRange { start_line: Some(2), end_line: Some(2) });
    assert_eq!(outcome.diff.unwrap().omitted, Some(false));
    assert_ne!(outcome.version, seen);
    assert_eq!(host.content("/w/a").unwrap(), "x\nx\n");
}

#[tokio::test]
async fn refusals_of_the_tools_are_results() {
    let host = Host::start();
    host.provider.files.put(b"/w/a", "one\n");
    let session = host.open_session().await;
    let no_content = Call::Write(v1::WriteCall { file_path: Some("b".into()), content: None });
    let json = |name: &str, arguments: &str| {
        Call::Json(v1::JsonCall { name: Some(name.into()), arguments_json: Some(arguments.into()) })
    };
    for (call, expected) in [
        (edit("a", "one", "two"), v1::FsErrorCode::FsNotObserved),
        (write("a", "two"), v1::FsErrorCode::FsNotObserved),
        (read("none"), v1::FsErrorCode::FsNotFound),
        (read("../etc/passwd"), v1::FsErrorCode::FsSandboxDenied),
        (no_content, v1::FsErrorCode::FsInvalidArgument),
        (json("shell", "{}"), v1::FsErrorCode::FsInvalidArgument),
        (json("read", ""), v1::FsErrorCode::FsInvalidArgument),
        (Call::Json(v1::JsonCall::default()), v1::FsErrorCode::FsInvalidArgument),
    ] {
        let response = host.execute(&session, call).await;
        assert_eq!(code(&response), expected);
        let error = response.error.unwrap();
        assert_eq!(error.reason, expected.as_str());
        assert_eq!((error.retryable, error.published()), (Some(false), v1::Published::No));
        assert_eq!(error.detail_truncated, None, "the body carries it whole");
    }
    let read = host.execute(&session, json("read", r#"{"file_path": "a"}"#)).await;
    assert_eq!(read_outcome(read).total_lines, Some(1));
    host.provider.files.put(b"/w/a", "changed outside\n");
    let stale = host.execute(&session, edit("a", "one", "two")).await;
    assert_eq!(code(&stale), v1::FsErrorCode::FsStaleVersion);
    assert!(!stale.error.unwrap().remedy.is_empty());
}

#[tokio::test]
async fn mistakes_of_the_caller_are_statuses_with_a_reason() {
    let host = Host::start();
    for (request, expected) in [
        (v1::ExecuteRequest::default(), (Code::InvalidArgument, "CALL_MISSING")),
        (request("ses_unknown", read("a")), (Code::NotFound, "SESSION_NOT_FOUND")),
        (
            v1::ExecuteRequest { request_id: "1".into(), ..request("", read("a")) },
            (Code::InvalidArgument, "REQUEST_ID_INVALID"),
        ),
    ] {
        let status = host.tools().execute(request).await.unwrap_err();
        let (code, reason) = code_and_reason(&status);
        assert_eq!((code, reason.as_str()), expected);
    }
}

#[tokio::test]
async fn what_names_the_call_comes_back_as_it_was() {
    let host = Host::start();
    let request = v1::ExecuteRequest {
        request_id: "5F0C1B2A-0000-4000-8000-00000000000A".into(),
        tool_call_id: "toolu_01 é".into(),
        ..request("", read("none"))
    };
    let response = host.tools().execute(request.clone()).await.unwrap().into_inner();
    assert_eq!((response.request_id, response.tool_call_id), (request.request_id, request.tool_call_id));
    assert_eq!((response.dry_run, response.is_error), (Some(false), Some(true)));
}

#[tokio::test]
async fn a_panic_is_one_failed_call_and_the_server_lives() {
    let host = Host::start();
    host.provider.will(Script::Panic);
    let status = host.tools().execute(request("", write("a", "one"))).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::Internal, "INTERNAL".to_owned()));
    assert!(!status.message().contains("a mistake of the server"), "{}", status.message());

    host.provider.will(Script::Obey);
    assert_eq!(host.execute("", write("b", "one")).await.is_error, Some(false));
}
