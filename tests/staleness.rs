//! What an edit needs to have seen: staleness, several edits at once, one file by several names.

use std::time::SystemTime;

use expect_test::{Expect, expect};
use futures_util::future::join_all;

use crate::support::answer::{Answer, version_of};
use crate::support::{World, cases};

cases! {
    text: [
        an_unseen_file_is_not_edited,
        an_outside_change_is_stale_until_it_is_read,
        staleness_is_judged_before_matching,
        after_an_edit_the_session_goes_on_without_a_read,
        two_edits_of_one_version_by_two_sessions_have_one_winner,
        fifty_edits_at_once_in_one_session_all_land,
        of_many_edits_by_many_sessions_as_many_land_as_are_told,
        neither_anothers_read_nor_its_own_write_covers_what_a_session_has_not_seen,
        two_spellings_of_one_file_are_one_file,
        the_same_bytes_written_again_are_not_stale,
        a_checkout_there_and_back_is_not_stale,
        a_formatter_that_changed_another_line_is_stale,
    ];
    outside: [
        a_file_that_vanished_is_stale_until_it_is_read,
        a_new_time_stamp_is_not_stale,
        another_mode_is_not_stale,
        a_link_and_its_target_are_one_file,
    ];
    disk: [
        the_same_size_with_a_restored_time_is_stale,
    ];
}

#[track_caller]
fn check(answer: &Answer, expected: Expect) {
    expected.assert_eq(&answer.show());
}

async fn an_unseen_file_is_not_edited(world: World) {
    world.put("there.md", "one\n").await;
    let agent = world.agent().await;
    let answer = agent.edit("there.md", "one", "two").await;
    check(
        &answer,
        expect![[r#"
        FS_NOT_OBSERVED: this session has not read the file
        path: `there.md`
        remedy: read it first, then retry
        --
        code: FS_NOT_OBSERVED
        message: this session has not read the file
        path: there.md
        remedy: read it first, then retry
        retryable: false
        published: No
    "#]],
    );
    world.expect("there.md", "one\n").await;
    // Not even whether something is there is told.
    let missing = agent.edit("missing.md", "one", "two").await;
    missing.refused("FS_NOT_OBSERVED");
    assert_eq!(missing.show().replace("missing.md", "there.md"), answer.show());
}

async fn an_outside_change_is_stale_until_it_is_read(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", "one\nmore\n").await;
    let answer = agent.edit("f", "one", "two").await;
    check(
        &answer,
        expect![[r#"
        FS_STALE_VERSION: `/workspace/f` is not what was seen last, its content changed
        remedy: read it again, then retry with what is there now
        --
        code: FS_STALE_VERSION
        message: `/workspace/f` is not what was seen last, its content changed
        path: f
        remedy: read it again, then retry with what is there now
        retryable: false
        published: No
        expected_version: <version>
        actual_version: <version>
    "#]],
    );
    world.expect("f", "one\nmore\n").await;
    // Nothing but a read unblocks it.
    agent.edit("f", "one", "two").await.refused("FS_STALE_VERSION");
    agent.read("f").await.ok();
    agent.edit("f", "one", "two").await.ok();
    world.expect("f", "two\nmore\n").await;
}

async fn staleness_is_judged_before_matching(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", "x x\n").await;
    agent.edit("f", "nowhere", "y").await.refused("FS_STALE_VERSION");
    agent.edit("f", "x", "y").await.refused("FS_STALE_VERSION");
}

async fn after_an_edit_the_session_goes_on_without_a_read(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    agent.edit("f", "one", "two").await.ok();
    agent.edit("f", "two", "three").await.ok();
    agent.write("f", "four\n").await.ok();
    agent.edit("f", "four", "five").await.ok();
    world.expect("f", "five\n").await;
}

async fn two_edits_of_one_version_by_two_sessions_have_one_winner(world: World) {
    world.put("f", "a\nb\n").await;
    for round in 0..5 {
        let (first, second) = (world.agent().await, world.agent().await);
        world.put("f", format!("a\nb\n{round}\n")).await;
        first.read("f").await.ok();
        second.read("f").await.ok();
        let answers = join_all([first.edit("f", "a", "A"), second.edit("f", "b", "B")]).await;
        let codes: Vec<&str> = answers.iter().map(Answer::code).collect();
        match codes[..] {
            ["worked", "FS_STALE_VERSION"] => world.expect("f", format!("A\nb\n{round}\n")).await,
            ["FS_STALE_VERSION", "worked"] => world.expect("f", format!("a\nB\n{round}\n")).await,
            _ => panic!("one must win and one be stale: {codes:?}"),
        }
    }
}

async fn fifty_edits_at_once_in_one_session_all_land(world: World) {
    let lines = |letter: char| (1..=50).map(|line| format!("{letter}{line}.\n")).collect::<String>();
    world.put("f", &lines('l')).await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let edits = (1..=50).map(|line| {
        let agent = &agent;
        async move { agent.edit("f", &format!("l{line}."), &format!("L{line}.")).await }
    });
    for answer in join_all(edits).await {
        answer.ok();
    }
    world.expect("f", &lines('L')).await;
}

async fn of_many_edits_by_many_sessions_as_many_land_as_are_told(world: World) {
    const SESSIONS: usize = 4;
    let lines: String = (1..=24).map(|line| format!("<{line}>\n")).collect();
    world.put("f", &lines).await;
    let mut agents = Vec::new();
    for _ in 0..SESSIONS {
        agents.push(world.agent().await);
    }
    for agent in &agents {
        agent.read("f").await.ok();
    }
    // Each session has lines of its own, and goes on from a fresh read after a refusal.
    let turns = agents.iter().enumerate().map(|(index, agent)| async move {
        let mut landed = 0;
        for line in (1..=24).filter(|line| line % SESSIONS == index) {
            while agent.edit("f", &format!("<{line}>"), &format!("[{line}]")).await.code() != "worked" {
                agent.read("f").await.ok();
            }
            landed += 1;
        }
        landed
    });
    assert_eq!(join_all(turns).await.iter().sum::<usize>(), 24);
    world.expect("f", lines.replace('<', "[").replace('>', "]")).await;
}

async fn neither_anothers_read_nor_its_own_write_covers_what_a_session_has_not_seen(world: World) {
    world.put("f", "one\n").await;
    let (first, second, third) = (world.agent().await, world.agent().await, world.agent().await);
    first.read("f").await.ok();
    second.read("f").await.ok();
    // What others read licenses nobody.
    third.write("f", "blind\n").await.refused("FS_NOT_OBSERVED");
    first.edit("f", "one", "two").await.ok();
    second.write("f", "one, changed\n").await.refused("FS_STALE_VERSION");
    // A read by the first does not refresh the second.
    first.read("f").await.ok();
    second.write("f", "one, changed\n").await.refused("FS_STALE_VERSION");
    world.expect("f", "two\n").await;
    // The first one's own write is not hidden by what the second does after a read.
    second.read("f").await.ok();
    second.write("f", "three\n").await.ok();
    first.write("f", "two, changed\n").await.refused("FS_STALE_VERSION");
    first.edit("f", "two", "x").await.refused("FS_STALE_VERSION");
    world.expect("f", "three\n").await;
}

async fn two_spellings_of_one_file_are_one_file(world: World) {
    world.put("a/x", "x\n").await;
    world.put("n.md", "one\n").await;
    let agent = world.agent().await;
    agent.read("./a/../n.md").await.ok();
    agent.edit("n.md", "one", "two").await.ok();
    agent.edit("/workspace/n.md", "two", "three").await.ok();
    agent.edit("a/.././/n.md", "three", "four").await.ok();
    world.expect("n.md", "four\n").await;
}

async fn the_same_bytes_written_again_are_not_stale(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", "one\n").await;
    agent.edit("f", "one", "two").await.ok();
    world.expect("f", "two\n").await;
}

async fn a_checkout_there_and_back_is_not_stale(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", "another branch\n").await;
    world.put("f", "one\n").await;
    agent.edit("f", "one", "two").await.ok();
    world.expect("f", "two\n").await;
}

async fn a_formatter_that_changed_another_line_is_stale(world: World) {
    let line = |number: usize| format!("line {number}\n");
    let before: String = (1..=100).map(line).collect();
    world.put("f", &before).await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.put("f", before.replace("line 90", "line  90")).await;
    let answer = agent.edit("f", "line 5\n", "LINE 5\n").await;
    let error = answer.refused("FS_STALE_VERSION");
    assert!(error.get("remedy").contains("read it again"));
    // Both versions are told, so that a host sees whether what it holds is the one or the other.
    assert_eq!(error.get("expected_version"), version_of(&before));
    assert_eq!(error.get("actual_version"), version_of(before.replace("line 90", "line  90")));
    agent.read_window("f", 5, 1).await.ok();
    agent.edit("f", "line 5\n", "LINE 5\n").await.ok();
}

async fn a_file_that_vanished_is_stale_until_it_is_read(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.hand().remove(b"f");
    check(
        &agent.edit("f", "one", "two").await,
        expect![[r#"
        FS_STALE_VERSION: `/workspace/f` is not what was seen last, it is gone
        remedy: read it again; if it is gone, make it with `write`
        --
        code: FS_STALE_VERSION
        message: `/workspace/f` is not what was seen last, it is gone
        path: f
        remedy: read it again; if it is gone, make it with `write`
        retryable: false
        published: No
        expected_version: <version>
    "#]],
    );
    world.expect_nothing("f").await;
    agent.read("f").await.refused("FS_NOT_FOUND");
    agent.edit("f", "one", "two").await.refused("FS_NOT_FOUND");
    agent.write("f", "two\n").await.ok();
    world.expect("f", "two\n").await;
}

async fn a_new_time_stamp_is_not_stale(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.hand().touch(b"f");
    agent.edit("f", "one", "two").await.ok();
    world.expect("f", "two\n").await;
}

async fn another_mode_is_not_stale(world: World) {
    world.put("f", "one\n").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    world.hand().set_mode(b"f", 0o600);
    agent.edit("f", "one", "two").await.ok();
    world.expect("f", "two\n").await;
}

async fn a_link_and_its_target_are_one_file(world: World) {
    world.put("real/f", "one\n").await;
    world.hand().link(b"dir", "real");
    world.hand().link(b"l", "real/f");
    let agent = world.agent().await;
    agent.read("dir/f").await.ok();
    agent.edit("real/f", "one", "two").await.ok();
    agent.edit("l", "two", "three").await.ok();
    assert!(world.hand().is_link(b"l"));
    world.expect("real/f", "three\n").await;
}

async fn the_same_size_with_a_restored_time_is_stale(world: World) {
    world.put("f", "aaaa").await;
    let agent = world.agent().await;
    agent.read("f").await.ok();
    let path = world.around().join("root/f");
    let modified: SystemTime = path.metadata().unwrap().modified().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"bbbb", 0).unwrap();
    file.set_modified(modified).unwrap();
    drop(file);
    agent.edit("f", "aaaa", "cccc").await.refused("FS_STALE_VERSION");
    // Reading again helps, whatever was remembered under the old time.
    assert!(agent.read("f").await.text.starts_with("1: bbbb\n"));
    agent.edit("f", "bbbb", "cccc").await.ok();
    world.expect("f", "cccc").await;
}
