use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use expect_test::{Expect, expect};
use toolfs_core::clock::Timestamp;
use toolfs_core::error::{Code, ErrorKind, FsError, UnavailableCause};
use toolfs_core::id::SessionId;
use toolfs_core::limit::Limits;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{
    CallError, Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession, SessionInfo, SessionMode,
};

use crate::support::{CountingRandom, Setup, World, code, edit, read, refusal, request, write};

fn standing_in(cwd: &str) -> OpenSession {
    OpenSession { cwd: Some(cwd.into()), ..OpenSession::default() }
}

fn narrowed_to(roots: &[&str]) -> OpenSession {
    OpenSession { roots: roots.iter().map(|root| (*root).into()).collect(), ..OpenSession::default() }
}

async fn info(world: &World, session: &SessionId) -> Result<SessionInfo, CallError> {
    world.executor.session(&Caller::Local, session).await
}

#[tokio::test]
async fn a_session_tells_everything_but_its_secret() {
    let world = World::set_up(Setup { idle: Some(Duration::from_secs(60)), ..Setup::default() });
    world.put("sub/a.txt", "");
    let request = OpenSession {
        labels: BTreeMap::from([("agent".into(), "seven".into())]),
        mode: SessionMode::ReadOnly,
        ..standing_in("sub")
    };
    let opened = world.executor.open_session(&AbortSignal::new(), Caller::Local, request).await.unwrap();
    expect![[r#"
        SessionInfo {
            name: SessionName(
                "session-0000000000000001",
            ),
            cwd: "/workspace/sub",
            roots: [
                "/workspace",
            ],
            labels: {
                "agent": "seven",
            },
            mode: ReadOnly,
            created: Timestamp(
                1700000000000,
            ),
            expires: Some(
                Timestamp(
                    1700000060000,
                ),
            ),
        }
    "#]]
    .assert_debug_eq(&opened.info);
    assert_eq!(info(&world, &opened.id).await.unwrap(), opened.info);
    assert!(!format!("{:?}", world.executor).contains(opened.id.reveal()));
}

#[tokio::test]
async fn another_callers_session_does_not_exist() {
    let world = World::new();
    let session = world.open().await;
    let other = Caller::Named("other".into());
    assert!(matches!(world.executor.session(&other, &session).await, Err(CallError::SessionNotFound)));
    let close = CloseSession { caller: other.clone(), session: session.clone() };
    assert!(matches!(world.executor.close_session(close).await, Err(CallError::SessionNotFound)));
    let call = toolfs_tools::ExecuteRequest { caller: other.clone(), ..request(&session, read("a.txt")) };
    assert!(matches!(world.execute(call).await, Err(CallError::SessionNotFound)));
    assert!(world.executor.sessions(&other, None, None).await.unwrap().sessions.is_empty());
    assert!(info(&world, &session).await.is_ok());
}

#[tokio::test]
async fn relative_paths_start_at_the_sessions_cwd() {
    let world = World::new();
    for directory in ["one", "two"] {
        world.put(&format!("{directory}/keep"), "");
        let session = world.open_as(standing_in(directory)).await;
        world.run(&session, write("a.txt", directory)).await;
        world.run(&session, write("../from.txt", directory)).await;
    }
    assert_eq!(world.content("/workspace/one/a.txt"), "one");
    assert_eq!(world.content("/workspace/two/a.txt"), "two");
    assert_eq!(world.content("/workspace/from.txt"), "one");
}

#[tokio::test]
async fn dots_after_a_link_go_to_the_parent_of_what_it_points_to() {
    let world = World::new();
    world.put("deep/down/keep", "");
    world.put("here/keep", "");
    world.files.make_link(b"/workspace/here/link", "../deep/down");
    world.files.make_link(b"/workspace/here/file", "../deep/down/keep");
    let session = world.open_as(standing_in("here")).await;
    world.run(&session, write("link/../a.txt", "made")).await;
    assert_eq!(world.content("deep/a.txt"), "made");
    // What was seen through a link was seen.
    world.run(&session, read("file")).await;
    assert_eq!(code(&world.run(&session, write("/workspace/deep/down/keep", "x")).await), None);
    let through = world.open_as(standing_in("here/link")).await;
    assert_eq!(info(&world, &through).await.unwrap().cwd, "/workspace/deep/down");
}

#[tokio::test]
async fn a_session_whose_directory_is_gone_is_told_so() {
    let world = World::new();
    world.put("sub/a.txt", "one\n");
    world.put("top.txt", "one\n");
    let session = world.open_as(standing_in("sub")).await;
    world.delete("sub");
    let mut seen = world.text(&session, read("a.txt")).await;
    seen += &world.text(&session, write("../a.txt", "x")).await;
    seen += &world.text(&session, read("/workspace/top.txt")).await;
    expect![[r#"
        FS_NOT_FOUND: nothing is at `/workspace/sub/a.txt`
        remedy: check the path; a new file is made with `write`
        FS_NOT_FOUND: the working directory `/workspace/sub` of this session is no more
        path: `../a.txt`
        remedy: use an absolute path, or open a session with a `cwd` that exists
        1: one

        (line 1 of 1)
    "#]]
    .assert_eq(&seen);
    world.put("sub", "a file now");
    expect![[r#"
        FS_NOT_DIRECTORY: the working directory `/workspace/sub` of this session is no more
        path: `a.txt`
        remedy: use an absolute path, or open a session with a `cwd` that exists
    "#]]
    .assert_eq(&world.text(&session, read("a.txt")).await);
}

#[track_caller]
fn check_refused_opening(opened: Result<toolfs_tools::OpenedSession, CallError>, expected: Expect) {
    let Err(CallError::Fs(error)) = opened else { panic!("{opened:?}") };
    let shown = format!(
        "{error}\npath: {}\nremedy: {}\n",
        error.path().unwrap_or_default(),
        error.remedy().unwrap_or_default()
    );
    expected.assert_eq(&shown);
}

#[tokio::test]
async fn a_session_stands_only_in_directories_beneath_the_roots() {
    let world = World::new();
    world.put("dir/file", "");
    let abort = AbortSignal::new();
    let open = |request| world.executor.open_session(&abort, Caller::Local, request);
    check_refused_opening(
        open(standing_in("gone")).await,
        expect![[r#"
            FS_NOT_FOUND: nothing is at `/workspace/gone`
            path: gone
            remedy: let `cwd` name existing directories only
        "#]],
    );
    check_refused_opening(
        open(standing_in("dir/file")).await,
        expect![[r#"
            FS_NOT_DIRECTORY: `cwd` must name a directory, `/workspace/dir/file` is a regular file
            path: dir/file
            remedy: let `cwd` name existing directories only
        "#]],
    );
    check_refused_opening(
        open(standing_in("/etc")).await,
        expect![[r#"
            FS_SANDBOX_DENIED: `/etc` leads out of the roots, only paths beneath a root are served
            path: /etc
            remedy: let `cwd` lie beneath the roots that the session asks for, or else beneath those that are served
        "#]],
    );
    check_refused_opening(
        open(standing_in("~")).await,
        expect![[r#"
        FS_INVALID_ARGUMENT: `cwd` was a path that starts with `~`, it must be a path without `~` at its start (it is not expanded here; `./~` reaches a name that begins with it)
        path: ~
        remedy: correct `cwd`, then retry
    "#]],
    );
    check_refused_opening(
        open(narrowed_to(&["dir", "gone"])).await,
        expect![[r#"
            FS_NOT_FOUND: nothing is at `/workspace/gone`
            path: gone
            remedy: let `roots` name existing directories only
        "#]],
    );
    check_refused_opening(
        open(narrowed_to(&["dir/file"])).await,
        expect![[r#"
            FS_NOT_DIRECTORY: `roots` must name a directory, `/workspace/dir/file` is a regular file
            path: dir/file
            remedy: let `roots` name existing directories only
        "#]],
    );
    let outside = OpenSession { cwd: Some("/workspace".into()), ..narrowed_to(&["dir"]) };
    check_refused_opening(
        open(outside).await,
        expect![[r#"
            FS_SANDBOX_DENIED: the `cwd` `/workspace` lies outside of the `roots` that the session asks for
            path: /workspace
            remedy: let `cwd` lie beneath the roots that the session asks for, or else beneath those that are served
        "#]],
    );
    assert!(world.executor.sessions(&Caller::Local, None, None).await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn a_narrowed_session_reaches_nothing_outside_and_stands_in_its_first_root() {
    let world = World::new();
    for path in ["one/a.txt", "one-more/a.txt", "two/a.txt", "top.txt"] {
        world.put(path, "content\n");
    }
    let session = world.open_as(narrowed_to(&["one", "two"])).await;
    let shown = info(&world, &session).await.unwrap();
    assert_eq!(shown.cwd, "/workspace/one");
    assert_eq!(shown.roots, ["/workspace/one", "/workspace/two"]);
    for path in ["a.txt", "../two/a.txt", "/workspace/two/a.txt"] {
        assert_eq!(code(&world.run(&session, read(path)).await), None, "{path}");
    }
    assert_eq!(code(&world.run(&session, write("new/b.txt", "x")).await), None);
    for path in ["../top.txt", "/workspace/top.txt", "../one-more/a.txt", "../gone.txt"] {
        for call in [read(path), write(path, "x"), edit(path, "content", "x")] {
            let refused = world.run(&session, call).await;
            let rule = "session-roots".to_owned();
            assert_eq!(refusal(&refused).kind(), &ErrorKind::SandboxDenied { rule }, "{path}");
            assert_eq!(refusal(&refused).path(), Some(path));
        }
    }
    assert_eq!(world.content("top.txt"), "content\n");
    let inside = OpenSession { cwd: Some("../two".into()), ..narrowed_to(&["one", "two"]) };
    let session = world.open_as(inside).await;
    assert_eq!(info(&world, &session).await.unwrap().cwd, "/workspace/two");
}

#[tokio::test]
async fn a_narrowed_session_learns_nothing_of_what_lies_outside() {
    let world = World::new();
    for path in ["one/a.txt", "one/deep/b.txt", "private/secret.txt"] {
        world.put(path, "content\n");
    }
    world.link("one/way", "../private");
    world.link("private/back", "../one");
    let session = world.open_as(narrowed_to(&["one"])).await;
    // There and not there, a file and a directory, out and in again: one answer for all.
    for path in [
        "../private/secret.txt",
        "../private/secret.txt/x",
        "../private/missing.txt/x",
        "../private/../one/a.txt",
        "../missing/../one/a.txt",
        "/workspace/private/../one/a.txt",
        "way/secret.txt/x",
        "way/missing",
        "way/../one/a.txt",
        "way/back/a.txt",
    ] {
        for call in [read(path), write(path, "x"), edit(path, "content", "x")] {
            let refused = world.run(&session, call).await;
            let rule = "session-roots".to_owned();
            assert_eq!(refusal(&refused).kind(), &ErrorKind::SandboxDenied { rule }, "{path}");
        }
        let request = ForgetObservations {
            caller: Caller::Local,
            session: session.clone(),
            scope: ForgetPaths::Paths(vec![path.into()]),
        };
        let forgotten = world.executor.forget_observations(&AbortSignal::new(), request).await.unwrap_err();
        assert!(forgotten.to_string().starts_with("FS_SANDBOX_DENIED"), "{path}: {forgotten}");
    }
    // Inside, a path answers as ever.
    for (path, expected) in [
        ("deep/../a.txt", None),
        ("./deep//b.txt", None),
        ("../one/a.txt", None),
        ("/workspace/one/a.txt", None),
        ("a.txt/x", Some(Code::NotDirectory)),
        ("gone/../a.txt", Some(Code::NotFound)),
    ] {
        assert_eq!(code(&world.run(&session, read(path)).await), expected, "{path}");
    }
}

#[tokio::test]
async fn each_session_has_its_own_observations() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let (reader, other) = (world.open().await, world.open().await);
    world.run(&reader, read("a.txt")).await;
    assert_eq!(code(&world.run(&other, edit("a.txt", "one", "two")).await), Some(Code::NotObserved));
    assert_eq!(code(&world.run(&reader, edit("a.txt", "one", "two")).await), None);
}

#[tokio::test]
async fn a_forgotten_file_must_be_read_again() {
    let world = World::new();
    for path in ["a.txt", "b.txt"] {
        world.put(path, "one\n");
    }
    let session = world.open().await;
    let abort = AbortSignal::new();
    let forget = |scope| {
        world.executor.forget_observations(
            &abort,
            ForgetObservations { caller: Caller::Local, session: session.clone(), scope },
        )
    };
    let see_both = async || {
        world.run(&session, read("a.txt")).await;
        world.run(&session, read("b.txt")).await;
    };
    see_both().await;
    forget(ForgetPaths::Paths(vec!["./a.txt".into(), "never/seen".into()])).await.unwrap();
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "two")).await), Some(Code::NotObserved));
    assert_eq!(code(&world.run(&session, edit("b.txt", "one", "two")).await), None);
    see_both().await;
    forget(ForgetPaths::All).await.unwrap();
    for path in ["a.txt", "b.txt"] {
        assert_eq!(code(&world.run(&session, edit(path, "o", "x")).await), Some(Code::NotObserved));
    }
    see_both().await;
    let unresolved = forget(ForgetPaths::Paths(vec!["a.txt".into(), "/etc/passwd".into()])).await;
    assert!(matches!(unresolved, Err(CallError::Fs(error)) if error.path() == Some("/etc/passwd")));
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "1")).await), None);
}

#[tokio::test]
async fn an_unused_session_expires_and_use_puts_it_off() {
    let world = World::set_up(Setup { idle: Some(Duration::from_secs(60)), ..Setup::default() });
    world.put("a.txt", "one\n");
    let session = world.open().await;
    for _ in 0..3 {
        world.clock.advance(Duration::from_secs(59));
        world.run(&session, read("a.txt")).await;
        // Looking is no use.
        info(&world, &session).await.unwrap();
    }
    let expires = info(&world, &session).await.unwrap().expires;
    assert_eq!(expires, Some(Timestamp(1_700_000_000_000 + 3 * 59_000 + 60_000)));
    world.clock.advance(Duration::from_secs(60));
    let late = world.execute(request(&session, read("a.txt"))).await;
    assert!(matches!(late, Err(CallError::SessionNotFound)));
    world.script.take_log();
    world.executor.end_sessions().await;
    assert_eq!(world.script.take_log(), "end_session\n");
    world.executor.end_sessions().await;
    assert_eq!(world.script.take_log(), "\n");
}

#[tokio::test]
async fn a_session_with_a_call_in_it_does_not_expire() {
    let world = World::set_up(Setup { idle: Some(Duration::from_secs(60)), ..Setup::default() });
    world.put("a.txt", "one\n");
    let session = world.open().await;
    let mut slow = world.script.pause_next("read_lines");
    let reading = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { code(&world.run(&session, read("a.txt")).await) }
    });
    slow.reached().await;
    world.clock.advance(Duration::from_secs(600));
    world.executor.end_sessions().await;
    slow.release();
    assert_eq!(reading.await.unwrap(), None);
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "two")).await), None);
}

#[tokio::test]
async fn only_so_many_sessions_are_open_and_idle_ones_make_room() {
    let limits = Limits { max_sessions: 2, ..Limits::DEFAULT };
    let world = World::set_up(Setup { limits, idle: Some(Duration::from_secs(60)), ..Setup::default() });
    let first = world.open().await;
    world.open().await;
    let abort = AbortSignal::new();
    let open = || world.executor.open_session(&abort, Caller::Named("other".into()), OpenSession::default());
    assert!(matches!(open().await, Err(CallError::TooManySessions { limit: 2 })));
    world.clock.advance(Duration::from_secs(30));
    world.run(&first, read("a.txt")).await;
    world.clock.advance(Duration::from_secs(30));
    open().await.unwrap();
    assert!(matches!(open().await, Err(CallError::TooManySessions { limit: 2 })));
    world.executor.close_session(CloseSession { caller: Caller::Local, session: first }).await.unwrap();
    open().await.unwrap();
}

#[tokio::test]
async fn pages_laid_end_to_end_are_the_callers_sessions_oldest_first() {
    let world = World::new();
    let mut names = Vec::new();
    for _ in 0..7 {
        let session = world.open().await;
        names.push(info(&world, &session).await.unwrap().name);
        world
            .executor
            .open_session(&AbortSignal::new(), Caller::Named("other".into()), OpenSession::default())
            .await
            .unwrap();
    }
    for page_size in [1, 3, 7, 100] {
        let (mut listed, mut token) = (Vec::new(), None);
        loop {
            let page =
                world.executor.sessions(&Caller::Local, Some(page_size), token.as_deref()).await.unwrap();
            assert!(page.sessions.len() <= usize::try_from(page_size).unwrap());
            listed.extend(page.sessions.into_iter().map(|session| session.name));
            token = page.next_page_token;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(listed, names, "{page_size}");
    }
}

#[tokio::test]
async fn a_page_token_is_good_for_the_list_it_was_given_for() {
    let world = World::new();
    let other = Caller::Named("other".into());
    for caller in [Caller::Local, Caller::Local, other.clone()] {
        world.executor.open_session(&AbortSignal::new(), caller, OpenSession::default()).await.unwrap();
    }
    let page = world.executor.sessions(&Caller::Local, Some(1), None).await.unwrap();
    let token = page.next_page_token.unwrap();
    for (caller, token) in [(&other, token.as_str()), (&Caller::Local, "1"), (&Caller::Local, "zz-0")] {
        let refused = world.executor.sessions(caller, Some(1), Some(token)).await;
        assert!(matches!(refused, Err(CallError::PageTokenInvalid)), "{token}");
    }
    let rest = world.executor.sessions(&Caller::Local, Some(1), Some(&token)).await.unwrap();
    assert_eq!((rest.sessions.len(), rest.next_page_token), (1, None));
}

#[tokio::test]
async fn two_open_sessions_never_share_a_name() {
    let random = CountingRandom::with_repeats(4);
    let world = World::set_up(Setup { random, ..Setup::default() });
    let mut names = HashSet::new();
    for _ in 0..4 {
        let session = world.open().await;
        assert!(names.insert(info(&world, &session).await.unwrap().name));
    }
}

#[tokio::test]
async fn a_session_that_the_gate_could_not_end_is_closed_and_ended_later() {
    let world = World::new();
    let session = world.open().await;
    let away = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    world.script.fail_next("end_session", FsError::new(away, "scripted"));
    let close = CloseSession { caller: Caller::Local, session: session.clone() };
    world.executor.close_session(close).await.unwrap();
    assert!(matches!(info(&world, &session).await, Err(CallError::SessionNotFound)));
    world.script.take_log();
    world.executor.end_sessions().await;
    assert_eq!(world.script.take_log(), "end_session\n");
}
