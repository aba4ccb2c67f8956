//! The gate: three states under the observation policy, and what changes without one.

use crate::support::answer::version_of;
use crate::support::door::{Ask, edit_call, write_call};
use crate::support::{World, cases};

cases! {
    text: [
        unseen_absent_and_present_decide_what_a_write_may_do,
        unseen_absent_and_present_decide_what_an_edit_may_do,
    ];
    unguarded: [
        a_write_creates_or_overwrites,
        an_edit_needs_no_read,
        an_edit_of_a_missing_file_is_stale,
        the_codes_of_matching_are_the_same,
        a_dry_run_tells_that_nothing_guards,
        a_call_without_a_session_is_unconditional_like_any_other,
        protected_names_and_read_only_sessions_are_refused_all_the_same,
    ];
    unguarded_outside: [
        an_outside_change_is_overwritten_and_edited,
        a_directory_is_still_no_file,
    ];
}

async fn unseen_absent_and_present_decide_what_a_write_may_do(world: World) {
    world.put("there", "one\n").await;
    let agent = world.agent().await;
    let guard = async |path: &str| {
        let answer = agent.ask(Ask::of(write_call(path, "x")).dry()).await;
        answer.ok().get("guard").to_owned()
    };
    assert_eq!(guard("unseen").await, "create_if_absent");
    agent.read("absent").await.refused("FS_NOT_FOUND");
    assert_eq!(guard("absent").await, "create_if_absent");
    agent.read("there").await.ok();
    assert_eq!(guard("there").await, format!("replace_if_version {}", version_of("one\n")));
}

async fn unseen_absent_and_present_decide_what_an_edit_may_do(world: World) {
    world.put("there", "one\n").await;
    let agent = world.agent().await;
    agent.edit("there", "one", "x").await.refused("FS_NOT_OBSERVED");
    agent.read("absent").await.refused("FS_NOT_FOUND");
    agent.edit("absent", "one", "x").await.refused("FS_NOT_FOUND");
    agent.read("there").await.ok();
    let answer = agent.ask(Ask::of(edit_call("there", "one", "x")).dry()).await;
    assert_eq!(answer.ok().get("guard"), format!("replace_if_version {}", version_of("one\n")));
    // What was absent and is there now must be read first.
    world.put("absent", "one\n").await;
    agent.edit("absent", "one", "x").await.refused("FS_NOT_FOUND");
    agent.read("absent").await.ok();
    agent.edit("absent", "one", "x").await.ok();
}

async fn a_write_creates_or_overwrites(world: World) {
    let agent = world.agent().await;
    assert_eq!(agent.write("d/f", "one\n").await.ok().get("operation"), "Create");
    let other = world.agent().await;
    let answer = other.write("d/f", "two\n").await;
    assert_eq!((answer.ok().get("operation"), answer.ok().get("previous_size")), ("Update", "4"));
    agent.write("d/f", "three\n").await.ok();
    world.expect("d/f", "three\n").await;
}

async fn an_edit_needs_no_read(world: World) {
    world.put("f", "one\n").await;
    world.agent().await.edit("f", "one", "two").await.ok();
    world.expect("f", "two\n").await;
}

async fn an_edit_of_a_missing_file_is_stale(world: World) {
    let agent = world.agent().await;
    let answer = agent.edit("f", "one", "two").await;
    let error = answer.refused("FS_STALE_VERSION");
    assert_eq!((error.find("expected_version"), error.find("actual_version")), (None, None));
    agent.read("f").await.refused("FS_NOT_FOUND");
    agent.edit("f", "one", "two").await.refused("FS_STALE_VERSION");
    world.expect_nothing("f").await;
}

async fn the_codes_of_matching_are_the_same(world: World) {
    world.put("f", "x x\n").await;
    let agent = world.agent().await;
    agent.edit("f", "nowhere", "y").await.refused("FS_EDIT_NOT_FOUND");
    let answer = agent.edit("f", "x", "y").await;
    assert_eq!(answer.refused("FS_AMBIGUOUS_EDIT").get("match_count"), "2");
    agent.edit("f", "", "y").await.refused("FS_INVALID_ARGUMENT");
    agent.edit("f", "x", "x").await.refused("FS_INVALID_ARGUMENT");
    world.expect("f", "x x\n").await;
}

async fn a_dry_run_tells_that_nothing_guards(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    let answer = agent.ask(Ask::of(write_call("f", "two\n")).dry()).await;
    assert_eq!(answer.ok().get("guard"), "unconditional");
    let answer = agent.ask(Ask::of(edit_call("f", "one", "two")).dry()).await;
    assert_eq!(answer.ok().get("guard"), "unconditional");
    world.expect("f", "one\n").await;
}

async fn a_call_without_a_session_is_unconditional_like_any_other(world: World) {
    world.put("f", "one\n").await;
    world.stranger().edit("f", "one", "two").await.ok();
    world.stranger().write("f", "three\n").await.ok();
    world.expect("f", "three\n").await;
}

async fn protected_names_and_read_only_sessions_are_refused_all_the_same(world: World) {
    let agent = world.agent().await;
    agent.write(".git/config", "x").await.refused("FS_SANDBOX_DENIED");
    agent.write("../x", "x").await.refused("FS_SANDBOX_DENIED");
    let open = crate::support::door::Open { read_only: true, ..Default::default() };
    world.agent_with(open).await.write("f", "x").await.refused("FS_SANDBOX_DENIED");
}

async fn an_outside_change_is_overwritten_and_edited(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", "changed\n").await;
    agent.edit("f", "changed", "seen").await.ok();
    world.put("f", b"\x00binary").await;
    agent.write("f", "mine\n").await.ok();
    world.expect("f", "mine\n").await;
    world.hand().remove(b"f");
    assert_eq!(agent.write("f", "again\n").await.ok().get("operation"), "Create");
}

async fn a_directory_is_still_no_file(world: World) {
    world.hand().make_dir(b"d");
    let agent = world.agent().await;
    agent.write("d", "x").await.refused("FS_NOT_REGULAR_FILE");
    agent.edit("d", "a", "b").await.refused("FS_NOT_REGULAR_FILE");
}
