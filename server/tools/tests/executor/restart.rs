use std::time::Duration;

use toolfs_core::error::{AbortCause, Code, ErrorKind, FsError, UnavailableCause};
use toolfs_core::id::SessionId;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{
    CallError, Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession, SessionInfo,
};

use crate::support::{Setup, World, code, edit, read, request, write};

const IDLE: Duration = Duration::from_secs(600);
/// The store is told of a use this often: a tenth of the idle time.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

fn shared() -> World {
    World::set_up(Setup { idle: Some(IDLE), shares_state: true, ..Setup::default() })
}

fn away() -> FsError {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    FsError::new(kind, "scripted")
}

async fn info(world: &World, session: &SessionId) -> Result<SessionInfo, CallError> {
    world.executor.session(&Caller::Local, session).await
}

async fn close(world: &World, session: &SessionId) -> Result<(), CallError> {
    world.executor.close_session(CloseSession { caller: Caller::Local, session: session.clone() }).await
}

#[track_caller]
fn assert_gone<T: std::fmt::Debug>(answer: Result<T, CallError>) {
    assert!(matches!(answer, Err(CallError::SessionNotFound)), "{answer:?}");
}

#[tokio::test]
async fn a_session_goes_on_after_a_restart_without_a_read() {
    let world = shared();
    world.put("sub/a.txt", "one\n");
    let request = OpenSession { roots: vec!["sub".into()], ..OpenSession::default() };
    let session = world.open_as(request).await;
    world.run(&session, read("a.txt")).await;
    let before = info(&world, &session).await.unwrap();
    let restarted = world.another_server();
    drop(world);
    restarted.clock.advance(Duration::from_millis(1));
    assert_eq!(code(&restarted.run(&session, edit("a.txt", "one", "two")).await), None);
    assert_eq!(code(&restarted.run(&session, write("../b.txt", "x")).await), Some(Code::SandboxDenied));
    let after = info(&restarted, &session).await.unwrap();
    assert_eq!(SessionInfo { expires: before.expires, ..after }, before);
}

#[tokio::test]
async fn a_closed_session_stays_closed_after_a_restart() {
    let world = shared();
    let (closed, open) = (world.open().await, world.open().await);
    close(&world, &closed).await.unwrap();
    let restarted = world.another_server();
    drop(world);
    assert_gone(info(&restarted, &closed).await);
    assert_gone(restarted.execute(request(&closed, read("a.txt"))).await);
    assert!(info(&restarted, &open).await.is_ok());
}

#[tokio::test]
async fn a_session_that_another_server_closed_is_gone_at_once() {
    let world = shared();
    let other = world.another_server();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    for server in [&world, &other] {
        assert_eq!(code(&server.run(&session, read("a.txt")).await), None);
    }
    close(&other, &session).await.unwrap();
    assert_gone(world.execute(request(&session, read("a.txt"))).await);
    assert_gone(info(&world, &session).await);
    assert_gone(close(&world, &session).await);
}

#[tokio::test]
async fn the_removal_of_another_session_ends_no_call() {
    let world = shared();
    let other = world.another_server();
    world.put("a.txt", "one\n");
    let (session, closed) = (world.open().await, world.open().await);
    world.run(&session, read("a.txt")).await;
    close(&other, &closed).await.unwrap();
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "two")).await), None);
}

#[tokio::test]
async fn a_handle_is_trusted_while_nothing_is_removed_and_the_store_is_away() {
    let world = shared();
    world.put("a.txt", "one\n");
    let (session, closed) = (world.open().await, world.open().await);
    world.script.fail_next("find session", away());
    assert_eq!(code(&world.run(&session, read("a.txt")).await), None);
    close(&world, &closed).await.unwrap();
    // Now it must be looked up, and cannot be.
    let refused = world.execute(request(&session, read("a.txt"))).await;
    assert!(
        matches!(&refused, Err(CallError::Fs(error)) if error.code() == Code::Unavailable),
        "{refused:?}"
    );
    assert_eq!(code(&world.run(&session, read("a.txt")).await), None);
}

#[tokio::test]
async fn a_session_that_cannot_be_removed_is_not_closed() {
    let world = shared();
    let session = world.open().await;
    world.script.fail_next("remove", away());
    let refused = close(&world, &session).await;
    assert!(
        matches!(&refused, Err(CallError::Fs(error)) if error.code() == Code::Unavailable),
        "{refused:?}"
    );
    assert!(info(&world, &session).await.is_ok());
    close(&world, &session).await.unwrap();
}

#[tokio::test]
async fn the_end_of_a_session_is_finished_after_a_restart() {
    let world = shared();
    let session = world.open().await;
    world.script.fail_next("end_session", away());
    close(&world, &session).await.unwrap();
    let restarted = world.another_server();
    drop(world);
    restarted.executor.end_sessions().await;
    assert_eq!(restarted.script.take_log(), "end_session\n");
    restarted.executor.end_sessions().await;
    assert_eq!(restarted.script.take_log(), "\n");
}

#[tokio::test]
async fn use_at_one_server_keeps_a_session_at_the_others() {
    let world = shared();
    let other = world.another_server();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    other.run(&session, read("a.txt")).await;
    for _ in 0..30 {
        world.clock.advance(TOUCH_INTERVAL);
        assert_eq!(code(&other.run(&session, read("a.txt")).await), None);
        world.executor.end_sessions().await;
    }
    assert!(info(&world, &session).await.is_ok());
    world.clock.advance(IDLE + TOUCH_INTERVAL);
    assert_gone(info(&world, &session).await);
    assert_gone(other.execute(request(&session, read("a.txt"))).await);
}

#[tokio::test]
async fn a_use_that_the_store_was_not_told_of_is_allowed_for() {
    let world = shared();
    let other = world.another_server();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    // Too soon after the opening to be told.
    world.clock.advance(TOUCH_INTERVAL - Duration::from_millis(1));
    world.run(&session, read("a.txt")).await;
    assert!(!world.script.take_log().contains("touch"));
    world.clock.advance(IDLE - Duration::from_millis(1));
    other.executor.end_sessions().await;
    assert_eq!(code(&world.run(&session, read("a.txt")).await), None);
}

#[tokio::test]
async fn the_store_is_told_of_uses_only_so_often() {
    let world = shared();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    for _ in 0..600 {
        world.clock.advance(Duration::from_secs(1));
        world.run(&session, read("a.txt")).await;
    }
    assert_eq!(world.script.take_log().matches("touch").count(), 10);
}

#[tokio::test]
async fn a_use_that_cannot_be_noted_fails_no_call() {
    let world = shared();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    world.clock.advance(TOUCH_INTERVAL);
    world.script.fail_next("touch", away());
    assert_eq!(code(&world.run(&session, read("a.txt")).await), None);
}

#[tokio::test]
async fn a_page_token_is_good_at_every_server_of_the_state() {
    let world = shared();
    for _ in 0..5 {
        world.open().await;
    }
    let first = world.executor.sessions(&Caller::Local, Some(2), None).await.unwrap();
    let restarted = world.another_server();
    drop(world);
    let token = first.next_page_token.as_deref();
    let rest = restarted.executor.sessions(&Caller::Local, Some(100), token).await.unwrap();
    assert_eq!((rest.sessions.len(), rest.next_page_token), (3, None));
}

#[tokio::test]
async fn thousands_of_sessions_have_names_of_their_own_and_are_listed_in_order() {
    let world = shared();
    let mut names = Vec::new();
    for _ in 0..2_500 {
        let opened =
            world.executor.open_session(&AbortSignal::new(), Caller::Local, OpenSession::default()).await;
        names.push(opened.unwrap().info.name);
    }
    let (mut listed, mut token) = (Vec::new(), None);
    loop {
        let page = world.executor.sessions(&Caller::Local, Some(999), token.as_deref()).await.unwrap();
        listed.extend(page.sessions.into_iter().map(|session| session.name));
        token = page.next_page_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(listed, names);
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), 2_500);
}

#[tokio::test]
async fn operations_on_sessions_end_with_their_callers_patience() {
    let world = shared();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    let abort = AbortSignal::new();
    abort.fire(AbortCause::DeadlineExceeded);
    let opened = world.executor.open_session(&abort, Caller::Local, OpenSession::default()).await;
    assert!(matches!(opened, Err(CallError::Aborted(_))), "{opened:?}");
    for scope in [ForgetPaths::All, ForgetPaths::Paths(vec!["a.txt".into()])] {
        let request = ForgetObservations { caller: Caller::Local, session: session.clone(), scope };
        let forgotten = world.executor.forget_observations(&abort, request).await;
        assert!(matches!(forgotten, Err(CallError::Aborted(_))), "{forgotten:?}");
    }
    assert_eq!(world.executor.sessions(&Caller::Local, None, None).await.unwrap().sessions.len(), 1);
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "two")).await), None);
}

#[tokio::test]
async fn what_survives_a_restart_is_told_as_it_is() {
    // The gate of these tests forgets, whatever the store of sessions does.
    for (gate, shares_state, expected) in
        [(true, true, false), (true, false, false), (false, true, true), (false, false, false)]
    {
        let world = World::set_up(Setup { gate, shares_state, ..Setup::default() });
        let told = world.executor.capabilities().await.unwrap();
        assert_eq!(told.sessions_persistent, expected, "gate {gate}, store {shares_state}");
    }
}
