//! What is wrong with a call, and how it is told: arguments, messages, statuses.

use expect_test::expect;
use tonic::Code;
use tonic_types::StatusExt as _;
use toolfs_client::v1::execute_request::Call;
use toolfs_client::{Error, Reason, v1};
use toolfs_contract::code::CallReason;
use toolfs_core::argument::RawCall;

use crate::support::door::{Ask, edit_call, read_call, write_call};
use crate::support::wire::execute_request;
use crate::support::{World, cases};

cases! {
    text: [
        numbers_in_json_are_judged_by_their_value,
        a_value_of_the_wrong_type_is_refused_by_field_and_type,
        unknown_and_repeated_keys_are_refused_by_name,
        broken_json_is_a_result_and_no_crash,
        an_unknown_tool_is_told_which_there_are,
        half_a_surrogate_pair_is_refused,
        paths_that_are_none_are_refused,
        the_first_fault_is_told_whatever_comes_after,
        a_refusal_can_be_retried_only_where_that_helps,
        a_long_error_stays_short_and_arrives,
        no_call_is_a_mistake_of_the_caller,
    ];
    wire: [
        identifiers_are_echoed_as_they_came,
        a_request_id_that_is_no_uuid_is_refused,
        the_view_decides_what_is_in_an_outcome,
        a_mistake_of_the_caller_is_a_status_with_its_reason,
        a_wrong_directory_of_a_session_is_a_status_with_the_error,
        contents_beyond_grpcs_own_limit_travel_both_ways,
        a_message_beyond_the_limit_is_a_bare_status,
        the_limits_are_announced_by_name,
    ];
}

async fn numbers_in_json_are_judged_by_their_value(world: World) {
    world.put("f", "1\n2\n3\n4\n5\n6\n").await;
    let agent = world.agent().await;
    for five in ["5", "5.0", "5e0", "0.5e1", "50E-1"] {
        let answer = agent.json("read", &format!(r#"{{"file_path": "f", "offset": {five}}}"#)).await;
        assert_eq!(answer.ok().get("offset"), "5", "{five}");
    }
    for (value, actual) in [
        (r#""5""#, "a string"),
        ("5.5", "5.5"),
        ("true", "a boolean"),
        ("9223372036854775808", "9223372036854775808"),
        ("1e400", "1e400"),
        ("0", "0"),
        ("-1", "-1"),
        ("[5]", "an array"),
    ] {
        let answer = agent.json("read", &format!(r#"{{"file_path": "f", "offset": {value}}}"#)).await;
        let error = answer.refused("FS_INVALID_ARGUMENT");
        assert_eq!((error.get("field"), error.get("actual")), ("offset", actual), "{value}");
    }
}

async fn a_value_of_the_wrong_type_is_refused_by_field_and_type(world: World) {
    world.put("f", "true\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    for (tool, arguments, field, actual) in [
        ("read", r#"{"file_path": 5}"#, "file_path", "a number"),
        ("read", r#"{"file_path": {"path": "f"}}"#, "file_path", "an object"),
        ("read", r#"{"file_path": ["f"]}"#, "file_path", "an array"),
        ("edit", r#"{"file_path": "f", "old_string": true, "new_string": "x"}"#, "old_string", "a boolean"),
        ("edit", r#"{"file_path": "f", "old_string": "true", "new_string": {}}"#, "new_string", "an object"),
        (
            "edit",
            r#"{"file_path": "f", "old_string": "true", "new_string": "x", "replace_all": "true"}"#,
            "replace_all",
            "a string",
        ),
        (
            "edit",
            r#"{"file_path": "f", "old_string": "true", "new_string": "x", "replace_all": 1}"#,
            "replace_all",
            "a number",
        ),
    ] {
        let answer = agent.json(tool, arguments).await;
        let error = answer.refused("FS_INVALID_ARGUMENT");
        assert_eq!((error.get("field"), error.get("actual")), (field, actual), "{arguments}");
        assert!(error.get("remedy").contains(field), "{error}");
    }
    world.expect("f", "true\n").await;
    expect![[r#"
        FS_INVALID_ARGUMENT: `file_path` was a number, it must be a path, as a string
        remedy: correct `file_path`, then retry
        --
        code: FS_INVALID_ARGUMENT
        message: `file_path` was a number, it must be a path, as a string
        remedy: correct `file_path`, then retry
        retryable: false
        published: No
        field: file_path
        actual: a number
        expected: a path, as a string
    "#]]
    .assert_eq(&agent.json("read", r#"{"file_path": 5}"#).await.show());
}

async fn unknown_and_repeated_keys_are_refused_by_name(world: World) {
    world.put("f", "x\n").await;
    let agent = world.agent().await;
    let answer = agent.json("read", r#"{"path": "f"}"#).await;
    answer.refused("FS_INVALID_ARGUMENT");
    expect![[r#"
        FS_INVALID_ARGUMENT: `path` is not an argument of `read`: did you mean `file_path`? its arguments are `file_path`, `offset`, `limit`
        actual: an unknown argument
        expected: one of `file_path`, `offset`, `limit`
        remedy: correct `path`, then retry
        --
        code: FS_INVALID_ARGUMENT
        message: `path` is not an argument of `read`: did you mean `file_path`? its arguments are `file_path`, `offset`, `limit`
        remedy: correct `path`, then retry
        retryable: false
        published: No
        field: path
        actual: an unknown argument
        expected: one of `file_path`, `offset`, `limit`
    "#]].assert_eq(&answer.show());
    for key in ["filePath", "file_path ", "FILE_PATH", "content"] {
        let arguments = format!(r#"{{"file_path": "f", "{key}": "f"}}"#);
        let answer = agent.json("read", &arguments).await;
        answer.refused("FS_INVALID_ARGUMENT");
        assert!(answer.text.contains(key), "{}", answer.text);
    }
    for arguments in
        [r#"{"file_path": "f", "file_path": "f"}"#, r#"{"file_path": "f", "file_\u0070ath": "g"}"#]
    {
        let answer = agent.json("read", arguments).await;
        assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "file_path");
        assert!(answer.text.contains("more than once"), "{}", answer.text);
    }
}

async fn broken_json_is_a_result_and_no_crash(world: World) {
    let agent = world.agent().await;
    for arguments in
        ["", "  ", "{", "null", "[]", "\"f\"", "5", "{'file_path': 'f'}", r#"{"file_path": "f",}"#, "{} {}"]
    {
        let answer = agent.json("read", arguments).await;
        assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "arguments_json", "{arguments}");
    }
    let deep = format!(r#"{{"file_path": {}"#, "[".repeat(100_000));
    agent.json("read", &deep).await.refused("FS_INVALID_ARGUMENT");
}

async fn an_unknown_tool_is_told_which_there_are(world: World) {
    let agent = world.agent().await;
    for name in ["", "Read", "read ", "bash", "str_replace"] {
        let answer = agent.json(name, "{}").await;
        assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "name");
        assert!(answer.text.contains("`read`, `write`, `edit`"), "{}", answer.text);
    }
}

async fn half_a_surrogate_pair_is_refused(world: World) {
    let agent = world.agent().await;
    let answer = agent.json("write", r#"{"file_path": "f", "content": "a\ud83d"}"#).await;
    assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "content");
    world.expect_nothing("f").await;
    agent.json("write", r#"{"file_path": "f", "content": "\ud83d\ude00"}"#).await.ok();
    world.expect("f", "😀").await;
}

async fn paths_that_are_none_are_refused(world: World) {
    let agent = world.agent().await;
    let long_name = "n".repeat(256);
    let long_path = "d/".repeat(3_000) + "f";
    for path in ["", "a\0b", "~/f", &long_name, &long_path] {
        for answer in [agent.read(path).await, agent.write(path, "x").await] {
            assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "file_path", "{path:?}");
        }
    }
    // The longest name that is one.
    agent.write(&long_name[1..], "x").await.ok();
}

async fn the_first_fault_is_told_whatever_comes_after(world: World) {
    let agent = world.agent().await;
    let call = RawCall::Read { file_path: None, offset: Some(0), limit: Some(0) };
    let answer = agent.ask(Ask::of(call)).await;
    assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "file_path");
    let json = agent.json("read", r#"{"limit": 0, "offset": 0}"#).await;
    assert_eq!(json, answer);
}

async fn a_refusal_can_be_retried_only_where_that_helps(world: World) {
    world.put("f", "x x\n").await;
    let agent = world.agent().await;
    let unseen = agent.edit("f", "x", "y").await;
    agent.read("f").await.ok();
    for answer in [
        unseen,
        agent.edit("f", "x", "y").await,
        agent.edit("f", "none", "y").await,
        agent.read("missing").await,
        agent.read_window("f", 9, None).await,
        agent.read("../f").await,
    ] {
        let error = answer.error.as_ref().expect("each of these is refused");
        assert_eq!((error.get("retryable"), error.get("published")), ("false", "No"));
        assert!(!error.get("remedy").is_empty() && !error.get("path").is_empty());
        assert!(answer.text.ends_with(&format!("remedy: {}", error.get("remedy"))), "{}", answer.text);
    }
}

async fn a_long_error_stays_short_and_arrives(world: World) {
    world.put("f", "ä\n".repeat(10_000)).await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let long = "ö".repeat(50_000);
    let answer = agent.edit("f", &long, "x").await;
    answer.refused("FS_EDIT_NOT_FOUND");
    assert!(answer.text.len() < 16_000 && !answer.show().contains("öö"));
    let answer = agent.edit("f", "ä", &long).await;
    assert_eq!(answer.refused("FS_AMBIGUOUS_EDIT").get("match_count"), "10000");
    assert!(answer.text.len() < 16_000);
    let path = "é".repeat(100) + "/";
    let answer = agent.read(&(path.repeat(20) + "f")).await;
    answer.refused("FS_NOT_FOUND");
}

async fn no_call_is_a_mistake_of_the_caller(world: World) {
    let agent = world.agent().await;
    assert_eq!(agent.try_ask(Ask::default()).await.unwrap_err().reason, "CALL_MISSING");
    assert_eq!(world.stranger().try_ask(Ask::default()).await.unwrap_err().reason, "CALL_MISSING");
}

// --- what only messages have ---

fn failure(error: &Error) -> (&Reason, &tonic::Status) {
    match error {
        Error::Call(failure) => (failure.reason(), failure.status()),
        other => panic!("no status: {other:?}"),
    }
}

async fn identifiers_are_echoed_as_they_came(world: World) {
    let agent = world.agent().await;
    let request_id = "5F0C1B2A-0000-4000-8000-00000000000A";
    for (call, dry_run) in [(write_call("f", "x\n"), false), (edit_call("f", "y", "z"), true)] {
        let request = v1::ExecuteRequest {
            request_id: request_id.replace("000A", if dry_run { "000B" } else { "000A" }),
            tool_call_id: "toolu_01 ü".to_owned(),
            ..execute_request(Some(agent.session()), Ask { dry_run, ..Ask::of(call) })
        };
        let response = world.client().execute(request.clone(), None).await.unwrap();
        assert_eq!(response.request_id, request.request_id);
        assert_eq!(response.tool_call_id, "toolu_01 ü");
        assert_eq!(response.dry_run, Some(dry_run));
    }
}

async fn a_request_id_that_is_no_uuid_is_refused(world: World) {
    for request_id in
        ["call-1", " ", "5f0c1b2a00004000800000000000000a", "{5f0c1b2a-0000-4000-8000-00000000000a}"]
    {
        let request = v1::ExecuteRequest {
            request_id: request_id.to_owned(),
            ..execute_request(None, Ask::of(write_call("f", "x")))
        };
        let error = world.client().execute(request, None).await.unwrap_err();
        let (reason, status) = failure(&error);
        assert_eq!(reason, &Reason::Call(CallReason::RequestIdInvalid));
        assert_eq!(status.code(), Code::InvalidArgument);
    }
    world.expect_nothing("f").await;
}

async fn the_view_decides_what_is_in_an_outcome(world: World) {
    use v1::execute_response::Outcome;
    world.put("f", "one\n").await;
    for (view, full) in
        [(v1::ResultView::Unspecified, false), (v1::ResultView::Basic, false), (v1::ResultView::Full, true)]
    {
        let agent = world.agent().await;
        let execute = async |call| {
            let request = execute_request(Some(agent.session()), Ask::of(call));
            let response =
                world.client().execute(v1::ExecuteRequest { view: view.into(), ..request }, None).await;
            response.unwrap().outcome.unwrap()
        };
        let Outcome::Read(read) = execute(read_call("f", None, None)).await else { panic!("no read") };
        assert_eq!(!read.lines.is_empty(), full, "{view:?}");
        let Outcome::Write(write) = execute(write_call("f", "two\n")).await else { panic!("no write") };
        assert_eq!((write.diff.is_some(), write.guard.is_some()), (full, false), "{view:?}");
        let Outcome::Edit(edit) = execute(edit_call("f", "two", "one")).await else { panic!("no edit") };
        assert_eq!((edit.diff.is_some(), edit.matches.is_some()), (full, false), "{view:?}");
    }
}

async fn a_mistake_of_the_caller_is_a_status_with_its_reason(world: World) {
    let client = world.client();
    let unknown =
        client.execute(execute_request(Some("ses_unknown"), Ask::of(read_call("f", None, None))), None);
    let none = client.execute(v1::ExecuteRequest::default(), None);
    let unknown_arm = client.execute(v1::ExecuteRequest { call: None, ..Default::default() }, None);
    for (answer, reason, code) in [
        (unknown.await, CallReason::SessionNotFound, Code::NotFound),
        (none.await, CallReason::CallMissing, Code::InvalidArgument),
        (unknown_arm.await, CallReason::CallMissing, Code::InvalidArgument),
    ] {
        let error = answer.unwrap_err();
        let (told, status) = failure(&error);
        assert_eq!((told, status.code()), (&Reason::Call(reason), code));
        assert_eq!(status.get_details_error_info().unwrap().domain, "toolfs");
    }
    // An absent name and absent arguments are faults of the call, so they are results.
    let json = Call::Json(v1::JsonCall { name: Some("read".into()), arguments_json: None });
    let response =
        client.execute(v1::ExecuteRequest { call: Some(json), ..Default::default() }, None).await.unwrap();
    assert_eq!(response.error.unwrap().reason, "FS_INVALID_ARGUMENT");
}

async fn a_wrong_directory_of_a_session_is_a_status_with_the_error(world: World) {
    let open = toolfs_client::OpenSession { cwd: "missing".into(), ..Default::default() };
    let error = world.client().open_session(open).await.unwrap_err();
    let (reason, status) = failure(&error);
    assert_eq!(reason, &Reason::Fs(v1::FsErrorCode::FsNotFound));
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().starts_with("FS_NOT_FOUND: "), "{}", status.message());
}

async fn contents_beyond_grpcs_own_limit_travel_both_ways(world: World) {
    let agent = world.agent().await;
    for size in [(4 << 20) - 1024, 4 << 20, (4 << 20) + 1, (16 << 20) - (100 << 10)] {
        // Two lines, the last one short: what is asked for at the end must be there.
        let content = "x".repeat(size - 5) + "\nend\n";
        assert_eq!(agent.write("f", &content).await.ok().get("size"), size.to_string());
        world.expect("f", &content).await;
        // Back again: the diff of a rewrite has both contents, unless it is left out, and says so.
        let answer = agent.ask(Ask::of(write_call("f", &content[1..])).full()).await;
        assert_eq!(answer.ok().get("diff"), "left out", "{size}");
        assert!(agent.read_window("f", 2, None).await.text.starts_with("2: end\n"));
        // An edit with strings of that size.
        let answer = agent.edit("f", &content[1..], &content).await;
        assert_eq!(answer.ok().get("replacements"), "1");
        world.expect("f", &content).await;
    }
}

async fn a_message_beyond_the_limit_is_a_bare_status(world: World) {
    let limits = world.client().capabilities().await.unwrap().limits;
    let limit = limits.iter().find(|limit| limit.name == "max_message_bytes").unwrap().value.unwrap();
    let content = "x".repeat(usize::try_from(limit).unwrap());
    let request = execute_request(None, Ask::of(write_call("f", &content)));
    let error = world.client().execute(request, None).await.unwrap_err();
    assert_eq!(failure(&error).0, &Reason::Transport);
    world.expect_nothing("f").await;
    // The connection, and the server, go on.
    world.agent().await.write("f", "x").await.ok();
}

async fn the_limits_are_announced_by_name(world: World) {
    let told = world.client().capabilities().await.unwrap();
    let limits: Vec<String> = told
        .limits
        .iter()
        .filter(|limit| limit.name != "near_miss_ms")
        .map(|limit| {
            format!("{}={}\n", limit.name, limit.value.map_or("none".into(), |value| value.to_string()))
        })
        .collect();
    expect![[r#"
        default_limit_lines=2000
        max_limit_lines=2000
        max_window_bytes=51200
        max_line_chars=2000
        max_content_bytes=16777216
        max_file_bytes=none
        max_read_bytes=67108864
        max_diff_bytes=4194304
        max_message_bytes=67108864
        max_path_bytes=4096
        near_miss_bytes=4194304
        max_sessions=100000
        write_behind_ms=250
        max_remembered_bytes=268435456
    "#]]
    .assert_eq(&limits.concat());
    assert_eq!(told.roots.iter().map(|root| root.display_path.as_str()).collect::<Vec<_>>(), ["/workspace"]);
    assert_eq!(told.protected_patterns, [".git"]);
    assert_eq!(told.policy.unwrap().name, "observation");
    assert!(!told.server_version.is_empty() && !told.contract_version.is_empty());
}
