use std::fmt::Write as _;
use std::time::Duration;

use expect_test::{Expect, expect};
use futures_util::FutureExt as _;
use toolfs_core::argument::RawCall;
use toolfs_core::error::AbortCause;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionId;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{CallError, Caller, CloseSession, Event, ExecuteRequest, Happening, Watch};

use crate::support::{Setup, World, edit, read, request, write};

async fn watch(world: &World, session: &SessionId) -> Watch {
    let mut watch = world.executor.watch(&Caller::Local, session, "").await.unwrap();
    let began = watch.next().await.unwrap();
    assert!(matches!(*began.happening, Happening::WatchBegan), "{began:?}");
    watch
}

/// What is there to be told, without waiting.
fn told(watch: &mut Watch) -> Vec<Event> {
    std::iter::from_fn(|| watch.next().now_or_never().flatten()).collect()
}

fn has_ended(watch: &mut Watch) -> bool {
    matches!(watch.next().now_or_never(), Some(None))
}

/// Events in short. Versions are told by which of `contents` they are of.
fn show(events: &[Event], contents: &[&str]) -> String {
    let of = |version: &Version| {
        let found = contents.iter().find(|content| Version::of(content.as_bytes()) == *version);
        format!("{:?}", found.expect("the version of a content that is named"))
    };
    let mut text = String::new();
    for event in events {
        let line = match &*event.happening {
            Happening::WatchBegan => "watch began".to_owned(),
            Happening::EventsMissed { count } => format!("missed {count:?}"),
            Happening::CallBegan(began) => {
                let dry = if began.dry_run { " dry" } else { "" };
                format!("{} began: {} {:?}{dry}", began.call, began.tool, began.path)
            }
            Happening::GuardDecided(decided) => {
                let decision = format!("{:?}", decided.decision);
                let decision = contents.iter().fold(decision, |text, content| {
                    text.replace(Version::of(content.as_bytes()).as_str(), &format!("{content:?}"))
                });
                format!("{} decided: {} {decision}", decided.call, decided.path)
            }
            Happening::ObservationRecorded(recorded) => {
                let seen = match &recorded.observation {
                    Observation::Absent => "absent".to_owned(),
                    Observation::Present(version) => of(version),
                };
                format!("{} recorded: {} {seen}", recorded.call, recorded.path)
            }
            Happening::CallEnded(ended) => {
                let failure = ended.failure.as_ref().map(|failure| format!(" {failure:?}"));
                let version = ended.version.as_ref().map(|version| format!(" {}", of(version)));
                format!(
                    "{} ended:{}{} {} bytes, published {:?}",
                    ended.call,
                    failure.unwrap_or_default(),
                    version.unwrap_or_default(),
                    ended.content_bytes,
                    ended.published
                )
            }
        };
        writeln!(text, "{line}").unwrap();
    }
    text
}

#[track_caller]
fn check(events: &[Event], contents: &[&str], expected: Expect) {
    expected.assert_eq(&show(events, contents));
}

#[tokio::test]
async fn an_edit_from_the_first_look_on_is_told_whole_and_in_order() {
    let world = World::new();
    let session = world.open().await;
    world.put("notes.txt", "draft\n");
    let mut watch = watch(&world, &session).await;
    world.run(&session, read("notes.txt")).await;
    world.run(&session, edit("notes.txt", "draft", "final")).await;
    world.run(&session, write("./notes.txt", "more\n")).await;
    let events = told(&mut watch);
    check(
        &events,
        &["draft\n", "final\n", "more\n"],
        expect![[r#"
            1 began: read "notes.txt"
            1 recorded: /workspace/notes.txt "draft\n"
            1 ended: "draft\n" 5 bytes, published No
            2 began: edit "notes.txt"
            2 decided: /workspace/notes.txt Edit(ReplaceIfVersion(Version("draft\n")))
            2 recorded: /workspace/notes.txt "final\n"
            2 ended: "final\n" 6 bytes, published Yes
            3 began: write "./notes.txt"
            3 decided: /workspace/notes.txt Write(ReplaceIfVersion(Version("final\n")))
            3 recorded: /workspace/notes.txt "more\n"
            3 ended: "more\n" 5 bytes, published Yes
        "#]],
    );
    let name = world.executor.session(&Caller::Local, &session).await.unwrap().name;
    assert!(events.iter().all(|event| event.session == name));
}

#[tokio::test]
async fn refusals_of_gate_and_tool_are_told_apart() {
    let world = World::new();
    let session = world.open().await;
    world.put("a.txt", "one\n");
    let mut watch = watch(&world, &session).await;
    world.run(&session, edit("a.txt", "one", "two")).await;
    world.run(&session, read("b.txt")).await;
    world.run(&session, read("a.txt")).await;
    world.run(&session, edit("a.txt", "nowhere", "two")).await;
    let dry = ExecuteRequest { dry_run: true, ..request(&session, edit("a.txt", "one", "two")) };
    world.execute(dry).await.unwrap();
    check(
        &told(&mut watch),
        &["one\n"],
        expect![[r#"
            1 began: edit "a.txt"
            1 decided: /workspace/a.txt Refused(NotObserved)
            1 ended: Fs(NotObserved) 0 bytes, published No
            2 began: read "b.txt"
            2 recorded: /workspace/b.txt absent
            2 ended: Fs(NotFound) 0 bytes, published No
            3 began: read "a.txt"
            3 recorded: /workspace/a.txt "one\n"
            3 ended: "one\n" 3 bytes, published No
            4 began: edit "a.txt"
            4 decided: /workspace/a.txt Edit(ReplaceIfVersion(Version("one\n")))
            4 ended: Fs(EditNotFound) 0 bytes, published No
            5 began: edit "a.txt" dry
            5 decided: /workspace/a.txt Edit(ReplaceIfVersion(Version("one\n")))
            5 ended: 0 bytes, published No
        "#]],
    );
}

#[tokio::test]
async fn calls_that_are_not_in_order_are_told_with_what_can_be_read_of_them() {
    let world = World::new();
    let session = world.open().await;
    let mut watch = watch(&world, &session).await;
    let json =
        |name: &str, arguments: &str| RawCall::Json { name: name.into(), arguments_json: arguments.into() };
    world.run(&session, RawCall::Read { file_path: None, offset: None, limit: None }).await;
    world.run(&session, RawCall::Write { file_path: Some("a\nb".into()), content: None }).await;
    world.run(&session, json("write", r#"{"file_path": "c.txt"}"#)).await;
    world.run(&session, json("write", r#"{"file_path": 7}"#)).await;
    world.run(&session, json("read", "{")).await;
    world.run(&session, json("delete", r#"{"file_path": "c.txt"}"#)).await;
    world.run(&session, json(&"x".repeat(100_000), &"y".repeat(100_000))).await;
    let long = RawCall::Read { file_path: Some("p".repeat(100_000)), offset: None, limit: None };
    world.run(&session, long).await;
    let events = told(&mut watch);
    let size = format!("{events:?}").len();
    assert!(size < 60_000, "what is refused for its length is not told whole: {size} bytes");
    check(
        &events[..12],
        &[],
        expect![[r#"
            1 began: read ""
            1 ended: Fs(InvalidArgument) 0 bytes, published No
            2 began: write "a\\u{a}b"
            2 ended: Fs(InvalidArgument) 0 bytes, published No
            3 began: write "c.txt"
            3 ended: Fs(InvalidArgument) 0 bytes, published No
            4 began: write ""
            4 ended: Fs(InvalidArgument) 0 bytes, published No
            5 began: read ""
            5 ended: Fs(InvalidArgument) 0 bytes, published No
            6 began: delete ""
            6 ended: Fs(InvalidArgument) 0 bytes, published No
        "#]],
    );
}

#[tokio::test]
async fn the_names_that_a_caller_gave_are_told_and_no_content_is() {
    let world = World::new();
    let session = world.open().await;
    world.put("a.txt", "SECRET one\n");
    let mut watch = watch(&world, &session).await;
    world.run(&session, read("a.txt")).await;
    let named = ExecuteRequest {
        request_id: toolfs_core::id::RequestId::parse("5f0c1b2a-0000-4000-8000-00000000000a"),
        tool_call_id: "toolu_7".into(),
        ..request(&session, edit("a.txt", "SECRET", "SECRET too"))
    };
    world.execute(named).await.unwrap();
    world.run(&session, edit("a.txt", "SECRET SECRET", "")).await;
    world.run(&session, write("b.txt", "SECRET")).await;
    let events = told(&mut watch);
    let everything = format!("{events:?}");
    assert!(!everything.contains("SECRET") && !everything.contains(session.reveal()), "{everything}");
    let began = events.iter().filter_map(|event| match &*event.happening {
        Happening::CallBegan(began) => Some((began.request_id.is_some(), &*began.tool_call_id)),
        _ => None,
    });
    assert_eq!(began.collect::<Vec<_>>(), [(false, ""), (true, "toolu_7"), (false, ""), (false, "")]);
}

#[tokio::test]
async fn without_a_gate_nothing_is_decided_or_recorded() {
    let world = World::without_gate();
    let session = world.open().await;
    let mut watch = watch(&world, &session).await;
    world.run(&session, write("a.txt", "one\n")).await;
    check(
        &told(&mut watch),
        &["one\n"],
        expect![[r#"
            1 began: write "a.txt"
            1 ended: "one\n" 4 bytes, published Yes
        "#]],
    );
}

#[tokio::test]
async fn calls_of_others_are_not_told() {
    let world = World::new();
    let (session, other) = (world.open().await, world.open().await);
    let mut watch = watch(&world, &session).await;
    world.run(&other, read("a.txt")).await;
    world.run(crate::support::NO_SESSION, read("a.txt")).await;
    assert!(told(&mut watch).is_empty());
    let stranger = Caller::Named("stranger".into());
    let refused = world.executor.watch(&stranger, &session, "").await.unwrap_err();
    assert!(matches!(refused, CallError::SessionNotFound), "{refused}");
}

#[tokio::test]
async fn a_call_that_was_given_up_or_lost_is_told_as_ended() {
    let world = World::new();
    let session = world.open().await;
    let mut watch = watch(&world, &session).await;
    let abort = AbortSignal::new();
    abort.fire(AbortCause::Cancelled);
    world.executor.execute(&abort, request(&session, write("a.txt", "one\n"))).await.unwrap_err();

    let mut slow = world.script.pause_next("write_text");
    let lost = world.execute(request(&session, write("b.txt", "one\n")));
    tokio::select! {
        _ = lost => panic!("the call is held back"),
        () = slow.reached() => {}
    }
    check(
        &told(&mut watch),
        &["one\n"],
        expect![[r#"
            1 began: write "a.txt"
            1 ended: Call(Aborted(FsError { kind: Aborted { cause: Cancelled }, message: "", path: None, remedy: None, published: No, rescue_path: None, source: None })) 0 bytes, published No
            2 began: write "b.txt"
            2 decided: /workspace/b.txt Write(CreateIfAbsent)
            2 ended: Lost 0 bytes, published Maybe
        "#]],
    );
}

#[tokio::test]
async fn a_watch_ends_when_its_session_is_closed_after_the_calls_in_it() {
    let world = World::new();
    let session = world.open().await;
    let mut watch = watch(&world, &session).await;
    let mut slow = world.script.pause_next("write_text");
    let call = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { world.run(&session, write("a.txt", "one\n")).await }
    });
    slow.reached().await;
    let close = CloseSession { caller: Caller::Local, session: session.clone() };
    let mut closing = Box::pin(world.executor.close_session(close));
    assert!(closing.as_mut().now_or_never().is_none());
    let refused = world.executor.watch(&Caller::Local, &session, "").await.unwrap_err();
    assert!(matches!(refused, CallError::SessionNotFound), "{refused}");
    assert_eq!(told(&mut watch).len(), 2, "it began, and was decided about");
    slow.release();
    call.await.unwrap();
    closing.await.unwrap();
    let last = told(&mut watch).pop().unwrap();
    assert!(matches!(*last.happening, Happening::CallEnded(_)), "{last:?}");
    assert!(has_ended(&mut watch));
}

#[tokio::test]
async fn watching_keeps_no_session_from_expiring_and_ends_with_it() {
    let world = World::set_up(Setup { idle: Some(Duration::from_secs(60)), ..Setup::default() });
    let session = world.open().await;
    let mut watched = watch(&world, &session).await;
    for _ in 0..3 {
        world.clock.advance(Duration::from_secs(21));
        let _ = world.executor.watch(&Caller::Local, &session, "").await;
    }
    assert!(told(&mut watched).is_empty());
    world.executor.end_sessions().await;
    assert!(has_ended(&mut watched));
}

/// The watcher never reads while a server is busy: it is told afterwards how many it missed, to the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_that_reads_nothing_costs_no_call_and_no_memory() {
    const CALLS: u64 = 200_000;
    const TASKS: u64 = 4;
    let world = World::new();
    let session = world.open().await;
    world.put("a.txt", "one\n");
    let mut slow = watch(&world, &session).await;
    let reading = (0..TASKS).map(|_| {
        let (world, session) = (world.clone(), session.clone());
        tokio::spawn(async move {
            for _ in 0..CALLS / TASKS {
                let answer = world.run(&session, read("a.txt")).await;
                assert_eq!(crate::support::code(&answer), None);
                world.script.take_log();
            }
        })
    });
    for task in reading.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let first = slow.next().await.unwrap();
    let Happening::EventsMissed { count: Some(missed) } = *first.happening else { panic!("{first:?}") };
    let kept = told(&mut slow);
    assert!(kept.len() <= 16_384, "{} events were kept", kept.len());
    assert!(kept.len() > 8_000, "{} events were kept", kept.len());
    // A read begins, is recorded and ends.
    assert_eq!(missed + kept.len() as u64, 3 * CALLS);
    let mut numbers: Vec<u64> = kept
        .iter()
        .filter_map(|event| match &*event.happening {
            Happening::CallEnded(ended) => Some(ended.call),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.last(), Some(&CALLS), "each call has a number of its own");
}

#[tokio::test]
async fn a_repeat_that_is_answered_from_memory_is_a_call_too() {
    let world = World::new();
    let session = world.open().await;
    let mut watch = watch(&world, &session).await;
    let id = toolfs_core::id::RequestId::parse("5f0c1b2a-0000-4000-8000-00000000000a");
    let call = |call| ExecuteRequest { request_id: id.clone(), ..request(&session, call) };
    world.execute(call(write("a.txt", "one\n"))).await.unwrap();
    world.execute(call(write("a.txt", "one\n"))).await.unwrap();
    world.execute(call(write("a.txt", "two\n"))).await.unwrap_err();
    check(
        &told(&mut watch),
        &["one\n"],
        expect![[r#"
            1 began: write "a.txt"
            1 decided: /workspace/a.txt Write(CreateIfAbsent)
            1 recorded: /workspace/a.txt "one\n"
            1 ended: "one\n" 4 bytes, published Yes
            2 began: write "a.txt"
            2 ended: "one\n" 4 bytes, published Yes
            3 began: write "a.txt"
            3 ended: Call(RequestIdReused) 0 bytes, published No
        "#]],
    );
}

#[tokio::test]
async fn a_watch_ends_when_another_server_closes_its_session() {
    let world = World::new();
    let (session, kept) = (world.open().await, world.open().await);
    let (mut watched, mut other) = (watch(&world, &session).await, watch(&world, &kept).await);
    world.run(&session, read("a.txt")).await;
    assert_eq!(told(&mut watched).len(), 3);
    let mut slow = world.script.pause_next("read_lines");
    let call = tokio::spawn({
        let (world, session) = (world.clone(), session.clone());
        async move { world.run(&session, read("a.txt")).await }
    });
    slow.reached().await;
    let close = CloseSession { caller: Caller::Local, session: session.clone() };
    world.another_server().executor.close_session(close).await.unwrap();
    world.executor.end_sessions().await;
    assert_eq!(told(&mut watched).len(), 1, "a call is still in it here");
    assert!(!has_ended(&mut watched));
    slow.release();
    call.await.unwrap();
    world.executor.end_sessions().await;
    assert_eq!(told(&mut watched).len(), 2, "it is told to its end");
    assert!(has_ended(&mut watched));
    assert!(told(&mut other).is_empty() && !has_ended(&mut other));
}

#[tokio::test]
async fn after_a_restart_a_token_tells_that_something_was_missed() {
    let world = World::new();
    let session = world.open().await;
    let mut before = watch(&world, &session).await;
    world.run(&session, read("a.txt")).await;
    let token = told(&mut before).pop().unwrap().resume_token;
    let restarted = world.another_server();
    let mut after = restarted.executor.watch(&Caller::Local, &session, &token).await.unwrap();
    restarted.run(&session, read("a.txt")).await;
    check(
        &told(&mut after),
        &[],
        expect![[r#"
            watch began
            missed None
            1 began: read "a.txt"
            1 recorded: /workspace/a.txt absent
            1 ended: Fs(NotFound) 0 bytes, published No
        "#]],
    );
}
