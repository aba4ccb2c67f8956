//! Events: what somebody who watches a session is told of its calls.

use expect_test::{Expect, expect};

use crate::support::answer::version_of;
use crate::support::door::{Ask, edit_call};
use crate::support::event::{Events, Told};
use crate::support::{Agent, World, cases};

cases! {
    text: [
        a_whole_edit_is_seen_in_order,
        refusals_and_dry_runs_are_seen_as_such,
        a_watch_goes_on_from_its_token,
        a_token_that_is_none_is_refused,
        a_watch_ends_with_its_session,
    ];
}

async fn watch(world: &World, agent: &Agent<'_>, token: &str) -> Box<dyn Events> {
    let mut events = world.door().watch(agent.session(), token).await.unwrap();
    let began = events.next().await.unwrap();
    assert_eq!(began.text, "watch began");
    assert!(began.session.starts_with("session-"), "{began:?}");
    events
}

async fn take(events: &mut dyn Events, count: usize) -> Vec<Told> {
    let mut told = Vec::new();
    while told.len() < count {
        told.push(events.next().await.expect("the session goes on"));
    }
    told
}

/// Versions show as the contents that they are of.
#[track_caller]
fn check(told: &[Told], contents: &[&str], expected: Expect) {
    let mut text: String = told.iter().map(|event| format!("{}\n", event.text)).collect();
    for content in contents {
        text = text.replace(&version_of(content), &format!("{content:?}"));
    }
    expected.assert_eq(&text);
}

async fn a_whole_edit_is_seen_in_order(world: World) {
    world.put("notes.txt", "a draft\n").await;
    let agent = world.agent().await;
    let mut events = watch(&world, &agent, "").await;
    agent.read("notes.txt").await.ok();
    agent.edit("notes.txt", "draft", "final").await.ok();
    agent.write("more.txt", "text\n").await.ok();
    check(
        &take(&mut *events, 11).await,
        &["a draft\n", "a final\n", "text\n"],
        expect![[r#"
            began: read notes.txt
            recorded: /workspace/notes.txt "a draft\n"
            ended: ok published No "a draft\n" 7 bytes
            began: edit notes.txt
            decided: /workspace/notes.txt replace "a draft\n"
            recorded: /workspace/notes.txt "a final\n"
            ended: ok published Yes "a final\n" 8 bytes
            began: write more.txt
            decided: /workspace/more.txt create
            recorded: /workspace/more.txt "text\n"
            ended: ok published Yes "text\n" 5 bytes
        "#]],
    );
}

async fn refusals_and_dry_runs_are_seen_as_such(world: World) {
    world.put("notes.txt", "a draft\n").await;
    let agent = world.agent().await;
    let mut events = watch(&world, &agent, "").await;
    agent.edit("notes.txt", "draft", "final").await.refused("FS_NOT_OBSERVED");
    agent.read("nothing.txt").await.refused("FS_NOT_FOUND");
    agent.read("notes.txt").await.ok();
    agent.edit("notes.txt", "nowhere", "final").await.refused("FS_EDIT_NOT_FOUND");
    agent.ask(Ask::of(edit_call("notes.txt", "draft", "final")).dry()).await.ok();
    agent.json("edit", "{").await.refused("FS_INVALID_ARGUMENT");
    check(
        &take(&mut *events, 17).await,
        &["a draft\n"],
        expect![[r#"
            began: edit notes.txt
            decided: /workspace/notes.txt FS_NOT_OBSERVED
            ended: FS_NOT_OBSERVED published No 0 bytes
            began: read nothing.txt
            recorded: /workspace/nothing.txt absent
            ended: FS_NOT_FOUND published No 0 bytes
            began: read notes.txt
            recorded: /workspace/notes.txt "a draft\n"
            ended: ok published No "a draft\n" 7 bytes
            began: edit notes.txt
            decided: /workspace/notes.txt replace "a draft\n"
            ended: FS_EDIT_NOT_FOUND published No 0 bytes
            began: edit notes.txt dry
            decided: /workspace/notes.txt replace "a draft\n"
            ended: ok published No 0 bytes
            began: edit
            ended: FS_INVALID_ARGUMENT published No 0 bytes
        "#]],
    );
}

async fn a_watch_goes_on_from_its_token(world: World) {
    let agent = world.agent().await;
    let mut events = watch(&world, &agent, "").await;
    for name in ["a", "b"] {
        agent.read(name).await.refused("FS_NOT_FOUND");
    }
    let told = take(&mut *events, 6).await;
    drop(events);
    agent.read("c").await.refused("FS_NOT_FOUND");
    let mut again = watch(&world, &agent, &told[2].token).await;
    assert_eq!(take(&mut *again, 3).await, told[3..]);
    assert_eq!(again.next().await.unwrap().text, "began: read c");
}

async fn a_token_that_is_none_is_refused(world: World) {
    let (agent, other) = (world.agent().await, world.agent().await);
    let mut events = world.door().watch(other.session(), "").await.unwrap();
    let token = events.next().await.unwrap().token;
    for token in ["garbage", &token] {
        let Err(refusal) = world.door().watch(agent.session(), token).await else { panic!("accepted") };
        assert_eq!(refusal.reason, "RESUME_TOKEN_INVALID");
    }
}

async fn a_watch_ends_with_its_session(world: World) {
    let agent = world.agent().await;
    let mut events = watch(&world, &agent, "").await;
    agent.read("a").await.refused("FS_NOT_FOUND");
    agent.close().await.unwrap();
    take(&mut *events, 3).await;
    assert_eq!(events.next().await, None);
    let Err(refusal) = world.door().watch(agent.session(), "").await else { panic!("it has ended") };
    assert_eq!(refusal.reason, "SESSION_NOT_FOUND");
}
