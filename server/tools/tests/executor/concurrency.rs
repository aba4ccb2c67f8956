use futures_util::future::join_all;
use toolfs_core::error::{AbortCause, Code};
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{CallError, Caller, CloseSession};

use crate::support::{World, code, edit, read, request, write};

#[tokio::test(flavor = "multi_thread")]
async fn edits_that_one_session_sends_at_once_all_land() {
    let world = World::new();
    let lines = |word: &str| (1..=6).map(|line| format!("{word} {line};\n")).collect::<String>();
    world.put("a.txt", &lines("line"));
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    let edits = (1..=6).map(|line| {
        let (world, session) = (world.clone(), session.clone());
        tokio::spawn(async move {
            let call = edit("a.txt", &format!("line {line};"), &format!("LINE {line};"));
            code(&world.run(&session, call).await)
        })
    });
    for ended in join_all(edits).await {
        assert_eq!(ended.unwrap(), None);
    }
    assert_eq!(world.content("a.txt"), lines("LINE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_sessions_that_edit_one_version_one_wins_and_the_other_is_stale() {
    for round in 0..20 {
        let world = World::new();
        world.put("a.txt", "one\ntwo\n");
        let sessions = [world.open().await, world.open().await];
        for session in &sessions {
            world.run(session, read("a.txt")).await;
        }
        let edits = sessions.iter().zip(["one", "two"]).map(|(session, old)| {
            let (world, session) = (world.clone(), session.clone());
            tokio::spawn(async move { code(&world.run(&session, edit("a.txt", old, "new")).await) })
        });
        let mut ended: Vec<_> = join_all(edits).await.into_iter().map(|ended| ended.unwrap()).collect();
        ended.sort();
        assert_eq!(ended, [None, Some(Code::StaleVersion)], "round {round}");
        let content = world.content("a.txt");
        assert!(["new\ntwo\n", "one\nnew\n"].contains(&content.as_str()));
    }
}

#[tokio::test]
async fn a_slow_read_does_not_replace_what_was_observed_meanwhile() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    let mut slow = world.script.pause_next("read_lines");
    let reading = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { world.text(&session, read("a.txt")).await }
    });
    slow.reached().await;
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "two")).await), None);
    slow.release();
    assert!(reading.await.unwrap().starts_with("1: one"));
    // Had the read's old version been kept, this would be stale.
    assert_eq!(code(&world.run(&session, edit("a.txt", "two", "three")).await), None);
}

#[tokio::test]
async fn a_slow_read_that_found_nothing_does_not_hide_a_file_that_was_made_meanwhile() {
    let world = World::new();
    let session = world.open().await;
    let mut slow = world.script.pause_next("read_lines");
    let reading = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { code(&world.run(&session, read("a.txt")).await) }
    });
    slow.reached().await;
    world.run(&session, write("a.txt", "made\n")).await;
    slow.release();
    assert_eq!(reading.await.unwrap(), Some(Code::NotFound));
    assert_eq!(code(&world.run(&session, edit("a.txt", "made", "edited")).await), None);
}

#[tokio::test]
async fn a_read_does_not_wait_for_a_mutation_of_its_session() {
    let world = World::new();
    let session = world.open().await;
    world.run(&session, write("a.txt", "one\n")).await;
    let mut slow = world.script.pause_next("edit_text");
    let editing = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { code(&world.run(&session, edit("a.txt", "one", "two")).await) }
    });
    slow.reached().await;
    assert_eq!(code(&world.run(&session, read("a.txt")).await), None);
    assert_eq!(code(&world.run(&session, write("other.txt", "x")).await), None);
    slow.release();
    assert_eq!(editing.await.unwrap(), None);
}

#[tokio::test]
async fn a_mutation_that_waits_for_its_turn_gives_up_when_it_is_aborted() {
    let world = World::new();
    let session = world.open().await;
    world.run(&session, write("a.txt", "one\n")).await;
    let mut slow = world.script.pause_next("edit_text");
    let first = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { code(&world.run(&session, edit("a.txt", "one", "two")).await) }
    });
    slow.reached().await;
    let abort = AbortSignal::new();
    let second = tokio::spawn({
        let (world, session, abort) = (world.clone(), session.clone(), abort.clone());
        async move { world.executor.execute(&abort, request(&session, write("a.txt", "late"))).await }
    });
    tokio::task::yield_now().await;
    abort.fire(AbortCause::DeadlineExceeded);
    assert!(matches!(second.await.unwrap(), Err(CallError::Aborted(_))));
    slow.release();
    assert_eq!(first.await.unwrap(), None);
    assert_eq!(world.content("a.txt"), "two\n");
}

#[tokio::test]
async fn a_close_waits_for_the_call_in_flight_and_nothing_of_the_session_comes_back() {
    let world = World::new();
    let session = world.open().await;
    let mut slow = world.script.pause_next("write_text");
    let writing = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { code(&world.run(&session, write("a.txt", "one\n")).await) }
    });
    slow.reached().await;
    let close = || CloseSession { caller: Caller::Local, session: session.clone() };
    let closing = tokio::spawn({
        let (world, close) = (world.clone(), close());
        async move { world.executor.close_session(close).await }
    });
    while world.executor.session(&Caller::Local, &session).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!closing.is_finished());
    let late = world.execute(request(&session, read("a.txt"))).await;
    assert!(matches!(late, Err(CallError::SessionNotFound)));
    assert!(matches!(world.executor.close_session(close()).await, Err(CallError::SessionNotFound)));
    world.script.take_log();
    slow.release();
    assert_eq!(writing.await.unwrap(), None);
    closing.await.unwrap().unwrap();
    assert_eq!(world.script.take_log(), "observed present\nend_session\n");
    let revived = world.execute(request(&session, edit("a.txt", "one", "two"))).await;
    assert!(matches!(revived, Err(CallError::SessionNotFound)));
}

#[tokio::test]
async fn a_close_that_was_given_up_is_finished_later() {
    let world = World::new();
    let session = world.open().await;
    let mut slow = world.script.pause_next("write_text");
    let writing = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { code(&world.run(&session, write("a.txt", "one\n")).await) }
    });
    slow.reached().await;
    let closing = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { world.executor.close_session(CloseSession { caller: Caller::Local, session }).await }
    });
    while world.executor.session(&Caller::Local, &session).await.is_ok() {
        tokio::task::yield_now().await;
    }
    closing.abort();
    assert!(closing.await.unwrap_err().is_cancelled());
    world.script.take_log();
    world.executor.end_sessions().await;
    assert_eq!(world.script.take_log(), "\n");
    slow.release();
    assert_eq!(writing.await.unwrap(), None);
    world.open().await;
    assert!(world.script.take_log().contains("end_session"));
}
