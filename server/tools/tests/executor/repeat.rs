use std::time::Duration;

use expect_test::expect;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use toolfs_core::argument::RawCall;
use toolfs_core::error::{AbortCause, Code, ErrorKind, FsError, Published, UnavailableCause};
use toolfs_core::id::{RequestId, SessionId};
use toolfs_core::outcome::{Outcome, ToolResult};
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{CallError, CloseSession, ExecuteRequest, ExecuteResponse};

use crate::support::{
    REQUEST_ID_WINDOW, Setup, World, code, edit, notices, outcome, read, refusal, request, write,
};

fn named(session: &SessionId, number: u64, call: RawCall) -> ExecuteRequest {
    let request_id = RequestId::parse(&format!("00000000-0000-4000-8000-{number:012x}"));
    ExecuteRequest { request_id, ..request(session, call) }
}

fn away() -> FsError {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    FsError::new(kind, "scripted")
}

fn json(path: &str, content: &str) -> RawCall {
    let arguments_json = format!(r#"{{"file_path": "{path}", "content": "{content}"}}"#);
    RawCall::Json { name: "write".into(), arguments_json }
}

/// A world whose file `a.txt` was read in a session.
async fn world_with_a_file(setup: Setup) -> (World, SessionId) {
    let world = World::set_up(setup);
    world.put("a.txt", "one one\n");
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    world.script.take_log();
    (world, session)
}

/// An edit that each run of it would make longer.
fn growing() -> RawCall {
    RawCall::Edit {
        file_path: Some("a.txt".into()),
        old_string: Some("one".into()),
        new_string: Some("one two".into()),
        replace_all: Some(true),
    }
}

const GROWN_ONCE: &str = "one two one two\n";

#[track_caller]
fn assert_same(first: &ExecuteResponse, repeated: &ExecuteResponse) {
    assert_eq!(format!("{repeated:#?}"), format!("{first:#?}"));
}

#[tokio::test]
async fn a_call_is_noted_after_the_gate_and_before_the_provider() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    world.execute(named(&session, 1, growing())).await.unwrap();
    expect![[r#"
        find call
        resolve a.txt from /workspace
        decide_edit
        capabilities
        begin call
        edit_text "one" -> "one two" all=true if-version
        observed present
        end call
    "#]]
    .assert_eq(&world.script.take_log());
    world.execute(named(&session, 1, growing())).await.unwrap();
    assert_eq!(world.script.take_log(), "find call\n");
    // Whether operations are recorded is known by then.
    world.execute(named(&session, 2, write("b.txt", "x"))).await.unwrap();
    expect![[r#"
        find call
        resolve b.txt from /workspace
        decide_write
        begin call
        write_text "x" create-if-absent
        observed present
        end call
    "#]]
    .assert_eq(&world.script.take_log());
}

#[tokio::test]
async fn a_repeat_is_answered_as_the_first_and_changes_nothing() {
    for want_diff in [false, true] {
        let (world, session) = world_with_a_file(Setup::default()).await;
        let calls = [
            growing(),
            write("new/b.txt", "bom\u{feff}\r\n"),
            json("c.txt", "c"),
            write("a.txt", "whole\n"),
            // Refusals too: what is asked for again is the same call.
            edit("a.txt", "nowhere\t", "x"),
            edit("unseen.txt", "a", "b"),
            write(".git/config", "x"),
            write("../../etc/x", "x"),
            RawCall::Write { file_path: None, content: None },
            RawCall::Json { name: "edit".into(), arguments_json: "{broken".into() },
        ];
        for (number, call) in (0..).zip(calls) {
            let ask = || ExecuteRequest { want_diff, ..named(&session, number, call.clone()) };
            let first = world.execute(ask()).await.unwrap();
            world.put("unseen.txt", "now it is there");
            let before = world.content("a.txt");
            world.script.take_log();
            assert_same(&first, &world.execute(ask()).await.unwrap());
            assert_same(&first, &world.another_server().execute(ask()).await.unwrap());
            assert_eq!(world.script.take_log(), "find call\n");
            assert_eq!(world.content("a.txt"), before);
        }
    }
}

#[tokio::test]
async fn an_effect_that_is_not_durable_is_told_again() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    world.script.next_is_not_durable(FsError::new(ErrorKind::IoError, "scripted"));
    let first = world.execute(named(&session, 1, growing())).await.unwrap();
    assert!(matches!(first.result, ToolResult::PublishedNotDurable(..)));
    assert_same(&first, &world.execute(named(&session, 1, growing())).await.unwrap());
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_request_id_names_one_call() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap();
    let others = [
        named(&session, 1, write("b.txt", "c")),
        named(&session, 1, write("c.txt", "b")),
        named(&session, 1, json("b.txt", "b")),
        named(&session, 1, RawCall::Write { file_path: Some("b.txtb".into()), content: Some(String::new()) }),
        named(&session, 1, RawCall::Write { file_path: Some("b.txt".into()), content: None }),
        named(&session, 1, growing()),
        ExecuteRequest { want_diff: true, ..named(&session, 1, write("b.txt", "b")) },
    ];
    for other in others {
        let refused = world.execute(other).await;
        assert!(matches!(refused, Err(CallError::RequestIdReused)), "{refused:?}");
    }
    // In another session it names another call, and a read is no call that is remembered.
    let elsewhere = world.open().await;
    world.execute(named(&elsewhere, 1, write("d.txt", "d"))).await.unwrap();
    world.execute(named(&session, 1, read("b.txt"))).await.unwrap();
    assert_eq!(world.find("c.txt"), None);
    assert_eq!((world.content("b.txt"), world.content("a.txt")), ("b".into(), "one one\n".into()));
}

#[tokio::test]
async fn what_is_no_named_mutation_is_not_remembered() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    let plain = request(&session, growing());
    let dry = ExecuteRequest { dry_run: true, ..named(&session, 1, growing()) };
    let stranger = ExecuteRequest { session: None, ..named(&session, 1, write("b.txt", "b")) };
    let reading = named(&session, 1, read("a.txt"));
    let unknown = named(&session, 1, RawCall::Json { name: "move".into(), arguments_json: "{}".into() });
    for call in [plain, dry, stranger, reading, unknown] {
        world.execute(call).await.unwrap();
        let log = world.script.take_log();
        assert!(!log.contains("call"), "{log}");
    }
    // A dry run under the name of a call that is remembered is a dry run.
    let first = world.execute(named(&session, 2, write("c.txt", "c"))).await.unwrap();
    let dry = ExecuteRequest { dry_run: true, ..named(&session, 2, write("e.txt", "e")) };
    assert!(world.execute(dry).await.unwrap().dry_run);
    assert_same(&first, &world.execute(named(&session, 2, write("c.txt", "c"))).await.unwrap());
    assert_eq!(world.find("e.txt"), None);
}

/// Runs a call, and repeats of it at the servers, all of which came before the first ended.
async fn at_once(servers: &[&World], call: impl Fn() -> ExecuteRequest) -> Vec<ExecuteResponse> {
    let mut held = servers[0].script.pause_next("edit_text");
    let mut first = Box::pin(servers[0].execute(call()));
    tokio::select! {
        biased;
        ended = &mut first => panic!("{ended:?}"),
        () = held.reached() => {}
    }
    let mut repeats = Box::pin(join_all(servers.iter().map(|server| server.execute(call()))));
    assert!((&mut repeats).now_or_never().is_none(), "all of them wait");
    held.release();
    let (first, mut answers) = tokio::join!(first, repeats);
    answers.push(first);
    answers.into_iter().map(Result::unwrap).collect()
}

#[tokio::test]
async fn of_fifty_at_once_one_takes_effect() {
    let (world, session) = world_with_a_file(Setup { shares_state: true, ..Setup::default() }).await;
    let second = world.another_server();
    let servers: Vec<&World> = [&world, &second].into_iter().cycle().take(49).collect();
    let answers = at_once(&servers, || named(&session, 1, growing())).await;
    assert_eq!((answers.len(), code(&answers[0])), (50, None));
    for answer in &answers {
        assert_same(&answers[0], answer);
    }
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_result_too_large_to_be_kept_still_answers_those_who_wait() {
    let (world, session) = world_with_a_file(Setup { remembered_bytes: 1, ..Setup::default() }).await;
    let answers = at_once(&[&world; 5], || named(&session, 1, growing())).await;
    for answer in &answers {
        assert_same(&answers[0], answer);
    }
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
    // Who comes later finds nothing remembered.
    world.execute(named(&session, 1, growing())).await.unwrap();
    assert_ne!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_repeat_runs_itself_when_the_first_came_to_nothing() {
    let failures: [(&'static str, FsError); 4] = [
        ("resolve", away()),
        ("write_text", away()),
        ("write_text", toolfs_provider::abort::aborted(AbortCause::Draining)),
        ("begin call", away()),
    ];
    for (step, failure) in failures {
        let (world, session) = world_with_a_file(Setup::default()).await;
        world.script.fail_next(step, failure);
        let refused = world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap();
        assert!(refusal(&refused).is_retryable(), "{step}");
        assert_eq!(world.find("b.txt"), None, "{step}");
        let repeated = world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap();
        assert_eq!(code(&repeated), None, "{step}");
        assert_eq!(world.content("b.txt"), "b");
    }
    // Waiting for it changes nothing about that, nor does another fingerprint.
    let (world, session) = world_with_a_file(Setup::default()).await;
    world.script.fail_next("write_text", away());
    let (first, second) = tokio::join!(
        world.execute(named(&session, 1, write("b.txt", "b"))),
        world.execute(named(&session, 1, write("b.txt", "other"))),
    );
    assert_eq!((code(&first.unwrap()), code(&second.unwrap())), (Some(Code::Unavailable), None));
    assert_eq!(world.content("b.txt"), "other");
}

#[tokio::test]
async fn an_aborted_call_leaves_its_name_to_a_repeat() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    let abort = AbortSignal::new();
    abort.fire(AbortCause::DeadlineExceeded);
    let aborted = world.executor.execute(&abort, named(&session, 1, growing())).await;
    assert!(matches!(aborted, Err(CallError::Aborted(_))));
    assert_eq!(code(&world.execute(named(&session, 1, growing())).await.unwrap()), None);
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_repeat_waits_no_longer_than_its_caller() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    let mut held = world.script.pause_next("edit_text");
    let first = world.execute(named(&session, 1, growing()));
    let second = async {
        held.reached().await;
        let abort = AbortSignal::new();
        let waiting = world.executor.execute(&abort, named(&session, 1, growing()));
        let (waited, ()) = tokio::join!(waiting, async { abort.fire(AbortCause::Cancelled) });
        assert!(matches!(waited, Err(CallError::Aborted(_))));
        held.release();
    };
    let (first, ()) = tokio::join!(first, second);
    assert_eq!(code(&first.unwrap()), None);
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_repeat_at_another_server_waits_no_longer_than_its_caller() {
    let (world, session) = world_with_a_file(Setup { shares_state: true, ..Setup::default() }).await;
    let other = world.another_server();
    let mut held = world.script.pause_next("edit_text");
    let first = world.execute(named(&session, 1, growing()));
    let second = async {
        held.reached().await;
        let abort = AbortSignal::new();
        let mut looked = other.script.pause_next("find call");
        let (waited, ()) =
            tokio::join!(other.executor.execute(&abort, named(&session, 1, growing())), async {
                looked.reached().await;
                let mut looked_again = other.script.pause_next("find call");
                looked.release();
                looked_again.reached().await;
                abort.fire(AbortCause::Cancelled);
                looked_again.release();
            });
        assert!(matches!(waited, Err(CallError::Aborted(_))), "{waited:?}");
        assert_eq!(other.script.take_log(), "find call\nfind call\n");
        held.release();
    };
    let (first, ()) = tokio::join!(first, second);
    // The first does not mind, and is what a repeat gets that waits long enough.
    assert_same(&first.unwrap(), &other.execute(named(&session, 1, growing())).await.unwrap());
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_repeat_at_another_server_waits_for_the_first() {
    let (world, session) = world_with_a_file(Setup { shares_state: true, ..Setup::default() }).await;
    let other = world.another_server();
    let mut held = world.script.pause_next("edit_text");
    let repeat = async {
        held.reached().await;
        let mut looked = other.script.pause_next("find call");
        let (repeated, ()) = tokio::join!(other.execute(named(&session, 1, growing())), async {
            looked.reached().await;
            looked.release();
            held.release();
        });
        repeated.unwrap()
    };
    let (first, repeated) = tokio::join!(world.execute(named(&session, 1, growing())), repeat);
    assert_same(&first.unwrap(), &repeated);
    assert!(!other.script.take_log().contains("edit_text"));
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

/// Where a server may die in the middle of an edit, and whether the change is there by then.
const DEATHS: [(&str, bool); 4] =
    [("find call", false), ("decide_edit", false), ("begin call", false), ("edit_text", true)];

/// Runs a call up to the end of one of its steps, and lets its server die there.
async fn die_after(world: World, step: &'static str, call: ExecuteRequest) {
    let mut reached = world.script.pause_next(step);
    let mut running = Box::pin(world.execute(call));
    tokio::select! {
        biased;
        ended = &mut running => panic!("{step}: {ended:?}"),
        () = reached.reached() => {}
    }
    // Whoever comes later comes later: orders of two servers compare by their clocks.
    world.clock.advance(Duration::from_millis(1));
}

#[tokio::test]
async fn a_call_whose_server_died_takes_effect_once() {
    for operation_ids in [false, true] {
        for (step, is_published) in DEATHS {
            let setup = Setup { operation_ids, shares_state: true, ..Setup::default() };
            let (world, session) = world_with_a_file(setup).await;
            let next = world.another_server();
            die_after(world, step, named(&session, 1, growing())).await;
            let grown = if is_published { GROWN_ONCE } else { "one one\n" };
            assert_eq!(next.content("a.txt"), grown, "{step}");

            let repeated = next.execute(named(&session, 1, growing())).await.unwrap();
            assert_eq!(next.content("a.txt"), GROWN_ONCE, "{step}");
            if is_published && !operation_ids {
                // Nobody can tell whose change is there: the caller is told to look.
                assert_eq!(refusal(&repeated).code(), Code::StaleVersion);
                assert_eq!(refusal(&repeated).published(), Published::Maybe);
            } else {
                assert_eq!(code(&repeated), None, "{step}");
                // It was observed: the session goes on without a read.
                let goes_on = next.execute(named(&session, 2, edit("a.txt", "one two one", "x"))).await;
                assert_eq!(code(&goes_on.unwrap()), None, "{step}");
            }
            assert_same(&repeated, &next.execute(named(&session, 1, growing())).await.unwrap());
        }
    }
}

#[tokio::test]
async fn what_the_session_saw_after_a_death_does_not_let_the_change_happen_twice() {
    for operation_ids in [false, true] {
        let setup = Setup { operation_ids, shares_state: true, ..Setup::default() };
        let (world, session) = world_with_a_file(setup).await;
        let next = world.another_server();
        die_after(world, "edit_text", named(&session, 1, growing())).await;
        // By now the session has seen the very content that the change made.
        next.run(&session, read("a.txt")).await;
        next.script.take_log();
        let repeated = next.execute(named(&session, 1, growing())).await.unwrap();
        let log = next.script.take_log();
        assert!(!log.contains("decide_edit") && log.contains("edit_text"), "{log}");
        assert_eq!(next.content("a.txt"), GROWN_ONCE);
        assert_eq!(code(&repeated).is_none(), operation_ids);
    }
}

#[tokio::test]
async fn a_resumed_call_that_fails_for_now_keeps_its_guard() {
    let setup = Setup { operation_ids: true, shares_state: true, ..Setup::default() };
    let (world, session) = world_with_a_file(setup).await;
    let next = world.another_server();
    die_after(world, "edit_text", named(&session, 1, growing())).await;
    for step in ["resolve", "begin call", "edit_text"] {
        next.script.fail_next(step, away());
        let refused = next.execute(named(&session, 1, growing())).await.unwrap();
        assert_eq!(code(&refused), Some(Code::Unavailable), "{step}");
        next.run(&session, read("a.txt")).await;
    }
    assert_eq!(code(&next.execute(named(&session, 1, growing())).await.unwrap()), None);
    assert_eq!(next.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_resumed_call_that_cannot_be_judged_any_more_may_have_published() {
    let setup = Setup { shares_state: true, ..Setup::default() };
    let (world, session) = world_with_a_file(setup).await;
    let next = world.another_server();
    die_after(world, "edit_text", named(&session, 1, growing())).await;
    next.script.fail_next("resolve", FsError::new(ErrorKind::PermissionDenied, "scripted"));
    let repeated = next.execute(named(&session, 1, growing())).await.unwrap();
    assert_eq!(refusal(&repeated).published(), Published::Maybe);
    assert_same(&repeated, &next.execute(named(&session, 1, growing())).await.unwrap());
}

#[tokio::test]
async fn a_resumed_call_that_wants_a_diff_is_told_that_there_is_none() {
    let setup = Setup { operation_ids: true, shares_state: true, ..Setup::default() };
    let (world, session) = world_with_a_file(setup).await;
    let next = world.another_server();
    let ask = || ExecuteRequest { want_diff: true, ..named(&session, 1, growing()) };
    die_after(world, "edit_text", ask()).await;
    let repeated = next.execute(ask()).await.unwrap();
    let left_out = notices(outcome(&repeated));
    assert_eq!(left_out, [toolfs_core::notice::NoticeKind::DiffLeftOut]);
}

#[tokio::test]
async fn an_answer_that_was_lost_on_its_way_is_resumed() {
    let setup = Setup { operation_ids: true, ..Setup::default() };
    let (world, session) = world_with_a_file(setup).await;
    world.script.fail_next("edit_text, its answer", away().with_published(Published::Maybe));
    let lost = world.execute(named(&session, 1, growing())).await.unwrap();
    assert_eq!(refusal(&lost).published(), Published::Maybe);
    world.run(&session, read("a.txt")).await;
    assert_eq!(code(&world.execute(named(&session, 1, growing())).await.unwrap()), None);
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_refusal_that_may_have_published_is_remembered() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    let failure = FsError::new(ErrorKind::IoError, "scripted").with_published(Published::Maybe);
    world.script.fail_next("edit_text, its answer", failure);
    let first = world.execute(named(&session, 1, growing())).await.unwrap();
    world.run(&session, read("a.txt")).await;
    assert_same(&first, &world.execute(named(&session, 1, growing())).await.unwrap());
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn nothing_is_published_that_cannot_be_noted() {
    for step in ["find call", "begin call", "begin call, its answer"] {
        let (world, session) = world_with_a_file(Setup::default()).await;
        world.script.fail_next(step, away());
        let refused = world.execute(named(&session, 1, growing())).await.unwrap();
        assert_eq!(refusal(&refused).code(), Code::Unavailable, "{step}");
        assert_eq!(world.content("a.txt"), "one one\n", "{step}");
        assert!(!world.script.take_log().contains("edit_text"), "{step}");
        assert_eq!(code(&world.execute(named(&session, 1, growing())).await.unwrap()), None, "{step}");
        assert_eq!(world.content("a.txt"), GROWN_ONCE, "{step}");
    }
}

#[tokio::test]
async fn an_effect_whose_end_cannot_be_remembered_stands_and_is_not_repeated() {
    let (world, session) = world_with_a_file(Setup { shares_state: true, ..Setup::default() }).await;
    let other = world.another_server();
    world.script.fail_next("end call", away());
    let first = world.execute(named(&session, 1, growing())).await.unwrap();
    assert_eq!(code(&first), None);
    // As long as the store is away the server itself knows.
    world.script.fail_next("end call", away());
    assert_same(&first, &world.execute(named(&session, 1, growing())).await.unwrap());
    // It tells the store as soon as it can, so that other servers know.
    world.executor.end_sessions().await;
    assert_same(&first, &other.execute(named(&session, 1, growing())).await.unwrap());
    assert_eq!(world.content("a.txt"), GROWN_ONCE);
}

#[tokio::test]
async fn a_call_whose_future_was_dropped_is_resumed_at_the_same_server() {
    for (step, _) in DEATHS {
        let (world, session) = world_with_a_file(Setup { operation_ids: true, ..Setup::default() }).await;
        die_after(world.clone(), step, named(&session, 1, growing())).await;
        let repeated = world.execute(named(&session, 1, growing())).await.unwrap();
        assert_eq!(code(&repeated), None, "{step}");
        assert_eq!(world.content("a.txt"), GROWN_ONCE, "{step}");
    }
}

#[tokio::test]
async fn a_server_that_began_the_call_meanwhile_is_waited_for() {
    let (world, session) = world_with_a_file(Setup { shares_state: true, ..Setup::default() }).await;
    let other = world.another_server();
    let mut decided = world.script.pause_next("decide_write");
    let late = world.execute(named(&session, 1, write("b.txt", "b")));
    let quick = async {
        decided.reached().await;
        let first = other.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap();
        decided.release();
        first
    };
    let (late, first) = tokio::join!(late, quick);
    assert_same(&first, &late.unwrap());
    assert!(!world.script.take_log().contains("write_text"));
    assert_same(&first, &world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap());
}

/// The session forgets while one server publishes: the other, which is asked the same, would refuse.
#[tokio::test]
async fn a_refusal_does_not_take_the_place_of_what_another_server_did_meanwhile() {
    for ends_first in [true, false] {
        let (world, session) = world_with_a_file(Setup { shares_state: true, ..Setup::default() }).await;
        let other = world.another_server();
        let mut found = world.script.pause_next("find call");
        let mut begun = other.script.pause_next("begin call");
        let refused = world.execute(named(&session, 1, growing()));
        let lands = other.execute(named(&session, 1, growing()));
        let between = async {
            found.reached().await;
            begun.reached().await;
            let scope = toolfs_tools::ForgetPaths::All;
            let caller = toolfs_tools::Caller::Local;
            let forget = toolfs_tools::ForgetObservations { caller, session: session.clone(), scope };
            other.executor.forget_observations(&AbortSignal::new(), forget).await.unwrap();
            if ends_first {
                begun.release();
                // The other one ends before this one is refused.
                while other.content("a.txt") != GROWN_ONCE {
                    tokio::task::yield_now().await;
                }
                found.release();
            } else {
                found.release();
                while !world.script.take_log().contains("end call") {
                    tokio::task::yield_now().await;
                }
                begun.release();
            }
        };
        let (refused, lands, ()) = tokio::join!(refused, lands, between);
        let lands = lands.unwrap();
        assert_eq!(code(&lands), None, "{ends_first}");
        assert_same(&lands, &refused.unwrap());
        for server in [&world, &other] {
            assert_same(&lands, &server.execute(named(&session, 1, growing())).await.unwrap());
        }
        assert_eq!(world.content("a.txt"), GROWN_ONCE);
    }
}

#[tokio::test]
async fn a_result_is_remembered_for_the_window_and_as_long_as_its_session() {
    let (world, session) = world_with_a_file(Setup::default()).await;
    let first = world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap();
    world.clock.advance(REQUEST_ID_WINDOW - Duration::from_millis(1));
    assert_same(&first, &world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap());
    world.clock.advance(Duration::from_millis(1));
    let again = world.execute(named(&session, 1, write("b.txt", "b"))).await.unwrap();
    let Outcome::Write(outcome) = outcome(&again) else { panic!("{again:?}") };
    assert_eq!(outcome.previous_size_bytes, Some(1), "it ran anew");

    let close = CloseSession { caller: toolfs_tools::Caller::Local, session: session.clone() };
    world.executor.close_session(close).await.unwrap();
    let closed = world.execute(named(&session, 1, write("b.txt", "b"))).await;
    assert!(matches!(closed, Err(CallError::SessionNotFound)));
}

#[tokio::test]
async fn a_provider_that_stopped_recording_operations_is_asked_again() {
    // What tells of it is a refusal of a name, or that the provider was away.
    for is_away_first in [false, true] {
        let setup = Setup { operation_ids: true, ..Setup::default() };
        let (world, session) = world_with_a_file(setup).await;
        assert_eq!(code(&world.execute(named(&session, 1, growing())).await.unwrap()), None);
        world.script.lose_records();
        if is_away_first {
            world.script.fail_next("write_text", away());
        }
        let refused = world.execute(named(&session, 2, write("b.txt", "b"))).await.unwrap();
        let expected = if is_away_first { Code::Unavailable } else { Code::Unsupported };
        assert_eq!(code(&refused), Some(expected));
        // The refusal is not what the call comes to, and other calls are not refused either.
        for (number, path) in [(2, "b.txt"), (3, "c.txt")] {
            let goes_on = world.execute(named(&session, number, write(path, "b"))).await.unwrap();
            assert_eq!(code(&goes_on), None, "{path}");
            assert_same(&goes_on, &world.execute(named(&session, number, write(path, "b"))).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_provider_that_lost_its_records_vouches_for_nothing() {
    let setup = Setup { operation_ids: true, shares_state: true, ..Setup::default() };
    let (world, session) = world_with_a_file(setup).await;
    let next = world.another_server();
    next.execute(named(&session, 2, write("b.txt", "b"))).await.unwrap();
    die_after(world, "edit_text", named(&session, 1, growing())).await;
    next.script.lose_records();
    // Neither the provider that takes no name nor the guard of the call tells whether it had published.
    for expected in [Code::Unsupported, Code::StaleVersion] {
        let repeated = next.execute(named(&session, 1, growing())).await.unwrap();
        assert_eq!((refusal(&repeated).code(), refusal(&repeated).published()), (expected, Published::Maybe));
        assert_eq!(next.content("a.txt"), GROWN_ONCE);
    }
}
