//! A mutation with a `request_id` takes effect once, however often it is sent.

use futures_util::future::join_all;
use prost::Message as _;
use toolfs_core::argument::RawCall;
use uuid::Uuid;

use crate::support::door::{Ask, Open, edit_all_call, edit_call, json_call, read_call, write_call};
use crate::support::wire::execute_request;
use crate::support::{World, cases};

cases! {
    text: [
        a_repeat_returns_the_first_result_and_changes_nothing,
        a_repeat_as_a_model_produced_it_returns_the_first_result,
        a_request_id_for_another_call_is_refused,
        a_request_id_belongs_to_its_session,
        of_fifty_repeats_at_once_one_takes_effect,
        a_refusal_is_repeated_whatever_was_done_since,
        a_dry_run_ignores_the_request_id,
        a_read_ignores_the_request_id,
        without_a_session_nothing_is_remembered,
        a_fresh_request_id_is_a_call_of_its_own,
        a_closed_session_answers_no_repeat,
    ];
    outside: [
        a_repeat_leaves_what_others_did_since,
    ];
    unguarded: [
        without_a_gate_a_repeat_changes_nothing_either,
    ];
    wire: [
        a_repeat_is_the_first_message_byte_for_byte,
        the_window_is_announced,
    ];
}

/// An edit that grows the file each time it is applied.
fn growing() -> RawCall {
    edit_all_call("f", "one", "one two")
}

async fn a_repeat_returns_the_first_result_and_changes_nothing(world: World) {
    world.put("f", "one one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    for call in [growing(), write_call("d/new", "made\r\n"), write_call("f", "one\n"), growing()] {
        for full in [false, true] {
            let name = Uuid::new_v4();
            let ask = || Ask { full, ..Ask::of(call.clone()).named(name) };
            let first = agent.ask(ask()).await;
            first.ok();
            let version = agent.read("f").await.ok().get("version").to_owned();
            assert_eq!(agent.ask(ask()).await, first);
            assert_eq!(agent.ask(ask()).await, first);
            assert_eq!(agent.read("f").await.ok().get("version"), version);
        }
    }
}

async fn a_repeat_as_a_model_produced_it_returns_the_first_result(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let arguments = r#"{"file_path":"f","old_string":"one","new_string":"one one","replace_all":true}"#;
    let name = Uuid::new_v4();
    let first = agent.ask(Ask::of(json_call("edit", arguments)).named(name)).await;
    first.ok();
    assert_eq!(agent.ask(Ask::of(json_call("edit", arguments)).named(name)).await, first);
    world.expect("f", "one one\n").await;
    // The arguments count as they came.
    let spaced = arguments.replace(',', ", ");
    let refusal = agent.try_ask(Ask::of(json_call("edit", &spaced)).named(name)).await.unwrap_err();
    assert_eq!(refusal.reason, "REQUEST_ID_REUSED");
}

async fn a_request_id_for_another_call_is_refused(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let name = Uuid::new_v4();
    agent.ask(Ask::of(write_call("g", "secret content")).named(name)).await.ok();
    for ask in [
        Ask::of(write_call("g", "other content")),
        Ask::of(write_call("h", "secret content")),
        Ask::of(growing()),
        Ask::of(write_call("g", "secret content")).full(),
    ] {
        let refusal = agent.try_ask(ask.named(name)).await.unwrap_err();
        assert_eq!(refusal.reason, "REQUEST_ID_REUSED");
        assert!(!refusal.message.contains("content"), "{refusal}");
    }
    world.expect("g", "secret content").await;
    world.expect("f", "one\n").await;
    world.expect_nothing("h").await;
}

async fn a_request_id_belongs_to_its_session(world: World) {
    let name = Uuid::new_v4();
    for (number, agent) in [world.agent().await, world.agent().await].iter().enumerate() {
        let path = format!("f{number}");
        agent.ask(Ask::of(write_call(&path, "x")).named(name)).await.ok();
        world.expect(&path, "x").await;
    }
}

async fn of_fifty_repeats_at_once_one_takes_effect(world: World) {
    world.put("f", "one one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let name = Uuid::new_v4();
    let answers = join_all((0..50).map(|_| agent.ask(Ask::of(growing()).named(name)))).await;
    for answer in &answers {
        answer.ok();
        assert_eq!(answer, &answers[0]);
    }
    world.expect("f", "one two one two\n").await;
}

async fn a_refusal_is_repeated_whatever_was_done_since(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    let name = Uuid::new_v4();
    let ask = || Ask::of(edit_call("f", "one", "two")).named(name);
    let first = agent.ask(ask()).await;
    first.refused("FS_NOT_OBSERVED");
    agent.read("f").await.ok();
    assert_eq!(agent.ask(ask()).await, first);
    world.expect("f", "one\n").await;
    // A call of its own has a name of its own.
    agent.ask(Ask::of(edit_call("f", "one", "two")).named(Uuid::new_v4())).await.ok();

    let name = Uuid::new_v4();
    let ask = || Ask::of(edit_call("f", "nowhere", "x")).named(name);
    let first = agent.ask(ask()).await;
    first.refused("FS_EDIT_NOT_FOUND");
    agent.write("f", "nowhere\n").await.ok();
    assert_eq!(agent.ask(ask()).await, first);
    world.expect("f", "nowhere\n").await;
}

async fn a_dry_run_ignores_the_request_id(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let name = Uuid::new_v4();
    agent.ask(Ask::of(growing()).dry().named(name)).await.ok();
    world.expect("f", "one\n").await;
    let first = agent.ask(Ask::of(growing()).named(name)).await;
    first.ok();
    let planned = agent.ask(Ask::of(write_call("f", "other")).dry().named(name)).await;
    assert!(planned.ok().find("guard").is_some());
    assert_eq!(agent.ask(Ask::of(growing()).named(name)).await, first);
    world.expect("f", "one two\n").await;
}

async fn a_read_ignores_the_request_id(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    let name = Uuid::new_v4();
    let ask = || Ask::of(read_call("f", None, None)).named(name);
    agent.ask(ask()).await.ok();
    agent.write("f", "two\n").await.ok();
    assert!(agent.ask(ask()).await.text.contains("two"));
    agent.ask(Ask::of(write_call("g", "x")).named(name)).await.ok();
}

async fn without_a_session_nothing_is_remembered(world: World) {
    let stranger = world.stranger();
    let name = Uuid::new_v4();
    let ask = || Ask::of(write_call("f", "x")).named(name);
    stranger.ask(ask()).await.ok();
    stranger.ask(ask()).await.refused("FS_NOT_OBSERVED");
}

async fn a_fresh_request_id_is_a_call_of_its_own(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    for _ in 0..3 {
        agent.ask(Ask::of(growing()).named(Uuid::new_v4())).await.ok();
    }
    world.expect("f", "one two two two\n").await;
}

async fn a_closed_session_answers_no_repeat(world: World) {
    let agent = world.agent_with(Open::default()).await;
    let ask = || Ask::of(write_call("f", "x")).named(Uuid::from_u128(7));
    agent.ask(ask()).await.ok();
    agent.close().await.unwrap();
    assert_eq!(agent.try_ask(ask()).await.unwrap_err().reason, "SESSION_NOT_FOUND");
}

async fn a_repeat_leaves_what_others_did_since(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let name = Uuid::new_v4();
    let first = agent.ask(Ask::of(growing()).named(name)).await;
    world.put("f", "one, by somebody else\n").await;
    assert_eq!(agent.ask(Ask::of(growing()).named(name)).await, first);
    world.expect("f", "one, by somebody else\n").await;
    world.hand().remove(b"f");
    assert_eq!(agent.ask(Ask::of(growing()).named(name)).await, first);
    world.expect_nothing("f").await;
}

async fn without_a_gate_a_repeat_changes_nothing_either(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    let name = Uuid::new_v4();
    let first = agent.ask(Ask::of(growing()).named(name)).await;
    first.ok();
    assert_eq!(agent.ask(Ask::of(growing()).named(name)).await, first);
    world.expect("f", "one two\n").await;
}

async fn a_repeat_is_the_first_message_byte_for_byte(world: World) {
    world.put("f", "one\u{feff}\r\none\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let calls = [
        growing(),
        write_call("new/g", "x"),
        edit_call("f", "tow", "x"),
        write_call(".git/config", "x"),
        RawCall::Write { file_path: None, content: None },
        write_call("f", "all\nnew"),
    ];
    for (call, full) in calls.into_iter().flat_map(|call| [(call.clone(), false), (call, true)]) {
        let name = Uuid::new_v4();
        let ask = Ask { full, ..Ask::of(call).named(name) };
        let mut answers = Vec::new();
        for tool_call_id in ["toolu_1", "toolu_2"] {
            let mut request = execute_request(Some(agent.session()), ask.clone());
            request.tool_call_id = tool_call_id.to_owned();
            let mut response = world.client().execute(request, None).await.unwrap();
            // The one echo that is the repeat's own.
            assert_eq!(std::mem::take(&mut response.tool_call_id), tool_call_id);
            assert_eq!(response.request_id, name.to_string());
            answers.push(response.encode_to_vec());
        }
        assert_eq!(answers[0], answers[1]);
    }
}

async fn the_window_is_announced(world: World) {
    let told = world.client().capabilities().await.unwrap();
    let window = told.request_id_window.expect("results are remembered");
    assert!(window.seconds >= 60, "{window:?}");
}
