use expect_test::expect;
use toolfs_core::diff::DiffResult;
use toolfs_core::error::{AbortCause, Code, ErrorKind, Existing, FsError, Published, UnavailableCause};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::limit::Limits;
use toolfs_core::notice::NoticeKind;
use toolfs_core::outcome::{Outcome, ToolResult, WriteOperation};
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;
use toolfs_provider::abort::{AbortSignal, aborted};
use toolfs_tools::{CallError, ExecuteRequest, OpenSession, SessionMode};

use crate::support::{NO_SESSION, Setup, World, code, edit, notices, outcome, read, refusal, request, write};

#[tokio::test]
async fn a_mutation_is_intent_then_publication_then_observation_and_no_look_at_the_file() {
    let world = World::new();
    let session = world.open().await;
    world.script.take_log();
    world.run(&session, write("a.txt", "one\ntwo\n")).await;
    world.run(&session, edit("a.txt", "two", "2")).await;
    expect![[r#"
        resolve a.txt from /workspace
        decide_write
        write_text "one\ntwo\n" create-if-absent
        observed present
        resolve a.txt from /workspace
        decide_edit
        edit_text "two" -> "2" all=false if-version
        observed present
    "#]]
    .assert_eq(&world.script.take_log());
    assert_eq!(world.content("a.txt"), "one\n2\n");
}

#[tokio::test]
async fn after_a_success_the_session_goes_on_without_a_read() {
    let world = World::new();
    let session = world.open().await;
    for call in
        [write("a.txt", "1\n"), edit("a.txt", "1", "2"), write("a.txt", "3\n"), edit("a.txt", "3", "4")]
    {
        assert_eq!(code(&world.run(&session, call).await), None);
    }
    assert_eq!(world.content("a.txt"), "4\n");
}

#[tokio::test]
async fn an_existing_file_that_was_not_seen_is_not_overwritten() {
    let world = World::new();
    world.put("a.txt", "theirs\n");
    let session = world.open().await;
    let refused = world.run(&session, write("a.txt", "mine\n")).await;
    let there = Existing { kind: FileKind::Regular, size: 7, text: Some(true) };
    assert_eq!(refusal(&refused).kind(), &ErrorKind::NotObserved { existing: Some(there) });
    assert_eq!(code(&world.run(&session, edit("a.txt", "theirs", "x")).await), Some(Code::NotObserved));
    assert_eq!(world.content("a.txt"), "theirs\n");
}

#[tokio::test]
async fn a_create_race_that_was_lost_is_not_observed() {
    let world = World::new();
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    world.put("a.txt", "theirs\n");
    assert_eq!(code(&world.run(&session, write("a.txt", "mine\n")).await), Some(Code::NotObserved));
    assert_eq!(world.content("a.txt"), "theirs\n");
}

#[tokio::test]
async fn a_stale_refusal_records_nothing_and_a_read_unblocks() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    world.put("a.txt", "ONE\n");
    for _ in 0..2 {
        world.script.take_log();
        assert_eq!(code(&world.run(&session, write("a.txt", "x")).await), Some(Code::StaleVersion));
        assert_eq!(code(&world.run(&session, edit("a.txt", "ONE", "1")).await), Some(Code::StaleVersion));
        assert!(!world.script.take_log().contains("observed"));
    }
    world.run(&session, read("a.txt")).await;
    assert_eq!(code(&world.run(&session, edit("a.txt", "ONE", "1")).await), None);
}

#[tokio::test]
async fn the_same_bytes_are_never_stale() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    world.put("a.txt", "other\n");
    world.put("a.txt", "one\n");
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "1")).await), None);
}

#[tokio::test]
async fn two_spellings_of_one_file_share_what_was_seen() {
    let world = World::new();
    world.put("dir/a.txt", "one\n");
    let session = world.open().await;
    world.run(&session, read("dir/a.txt")).await;
    assert_eq!(code(&world.run(&session, edit("/workspace/dir/./a.txt", "one", "1")).await), None);
}

#[tokio::test]
async fn an_edit_in_no_session_has_seen_nothing_and_a_write_may_create() {
    let world = World::new();
    world.put("a.txt", "one\n");
    assert_eq!(code(&world.run(NO_SESSION, read("a.txt")).await), None);
    let refused = world.run(NO_SESSION, edit("a.txt", "one", "1")).await;
    assert_eq!(refusal(&refused).kind(), &ErrorKind::NotObserved { existing: None });
    assert_eq!(code(&world.run(NO_SESSION, write("new.txt", "x")).await), None);
    assert_eq!(code(&world.run(NO_SESSION, write("new.txt", "y")).await), Some(Code::NotObserved));
    assert!(!world.script.take_log().contains("observed"));
}

#[tokio::test]
async fn without_a_gate_mutations_are_unconditional_and_codes_stay() {
    let world = World::without_gate();
    world.put("a.txt", "one one\n");
    let session = world.open().await;
    for session in [None, Some(&session)] {
        assert_eq!(code(&world.run(session, edit("gone.txt", "a", "b")).await), Some(Code::StaleVersion));
        assert_eq!(code(&world.run(session, edit("a.txt", "two", "b")).await), Some(Code::EditNotFound));
        assert_eq!(code(&world.run(session, edit("a.txt", "one", "b")).await), Some(Code::AmbiguousEdit));
        let edited = world.run(session, edit("a.txt", "one one", "one one")).await;
        assert_eq!(code(&edited), Some(Code::InvalidArgument));
        let edited = world.run(session, edit("a.txt", "\n", "!\n")).await;
        assert!(matches!(outcome(&edited), Outcome::Edit(edit) if edit.guard == EditGuard::Unconditional));
        let written = world.run(session, write("a.txt", "one one\n")).await;
        assert!(
            matches!(outcome(&written), Outcome::Write(write) if write.guard == WriteGuard::Unconditional)
        );
    }
}

#[tokio::test]
async fn a_success_that_was_not_recorded_stays_a_success_with_a_notice() {
    let world = World::new();
    let session = world.open().await;
    let away =
        || FsError::new(ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable }, "scripted");
    world.script.fail_next("record_observation", away());
    let written = world.run(&session, write("a.txt", "one\n")).await;
    assert_eq!(notices(outcome(&written)), [NoticeKind::ObservationNotRecorded]);
    assert_eq!(world.content("a.txt"), "one\n");
    world.run(&session, read("a.txt")).await;
    world.script.fail_next("record_observation", away());
    let edited = world.run(&session, edit("a.txt", "one", "two")).await;
    assert_eq!(notices(outcome(&edited)), [NoticeKind::ObservationNotRecorded]);
    assert_eq!(code(&world.run(&session, edit("a.txt", "two", "three")).await), Some(Code::StaleVersion));
}

#[tokio::test]
async fn a_gate_that_cannot_be_asked_refuses_before_anything_is_published() {
    let world = World::new();
    let session = world.open().await;
    let away = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    world.script.fail_next("decide_write", FsError::new(away, "scripted"));
    world.script.take_log();
    assert_eq!(code(&world.run(&session, write("a.txt", "x")).await), Some(Code::Unavailable));
    assert!(!world.script.take_log().contains("write_text"));
}

#[tokio::test]
async fn what_is_there_and_not_durable_is_told_as_both_and_was_observed() {
    let world = World::new();
    let session = world.open().await;
    world.script.next_is_not_durable(FsError::new(ErrorKind::IoError, "fsync failed"));
    let written = world.run(&session, write("a.txt", "one\n")).await;
    let ToolResult::PublishedNotDurable(Outcome::Write(outcome), error) = &written.result else {
        panic!("{:?}", written.result)
    };
    assert_eq!(outcome.operation, WriteOperation::Create);
    assert_eq!(
        (error.code(), error.published(), error.path()),
        (Code::IoError, Published::Yes, Some("a.txt"))
    );
    world.script.next_is_not_durable(FsError::new(ErrorKind::IoError, "fsync failed"));
    let edited = world.run(&session, edit("a.txt", "one", "two")).await;
    assert!(matches!(edited.result, ToolResult::PublishedNotDurable(Outcome::Edit(_), _)));
    assert_eq!(code(&world.run(&session, edit("a.txt", "two", "three")).await), None);
}

#[tokio::test]
async fn a_dry_run_decides_and_reports_and_changes_nothing() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    world.run(&session, read("a.txt")).await;
    world.script.take_log();
    let dry = |call| ExecuteRequest { dry_run: true, ..request(&session, call) };

    let response = world.execute(dry(edit("a.txt", "one", "two"))).await.unwrap();
    let Outcome::Edit(would_be) = outcome(&response).clone() else { panic!("{response:?}") };
    assert_eq!(would_be.guard, EditGuard::ReplaceIfVersion(Version::of(b"one\n")));
    assert_eq!(would_be.version, Version::of(b"two\n"));
    assert_eq!((would_be.matches.total, would_be.matches.ranges.len()), (1, 1));
    assert!(matches!(&would_be.diff, DiffResult::Computed(diff) if diff.hunks.len() == 1));

    let response = world.execute(dry(write("b.txt", "two\n"))).await.unwrap();
    let Outcome::Write(would_be) = outcome(&response).clone() else { panic!("{response:?}") };
    assert_eq!((would_be.guard, would_be.operation), (WriteGuard::CreateIfAbsent, WriteOperation::Create));
    assert!(matches!(&would_be.diff, DiffResult::Computed(diff) if diff.hunks.len() == 1));

    expect![[r#"
        resolve a.txt from /workspace
        decide_edit
        plan_edit "one" -> "two" all=false if-version
        resolve b.txt from /workspace
        decide_write
        plan_write create-if-absent
    "#]]
    .assert_eq(&world.script.take_log());
    assert_eq!(world.content("a.txt"), "one\n");
    assert_eq!(code(&world.execute(dry(write("c.txt", "x"))).await.unwrap()), None);
    assert_eq!(code(&world.run(&session, edit("c.txt", "x", "y")).await), Some(Code::NotObserved));
}

#[tokio::test]
async fn a_diff_is_there_when_it_is_wanted_and_a_notice_when_it_is_left_out() {
    let limits = Limits { max_diff_bytes: 20, ..Limits::DEFAULT };
    let world = World::set_up(Setup { limits, ..Setup::default() });
    let session = world.open().await;
    let wanted = |call| ExecuteRequest { want_diff: true, ..request(&session, call) };
    let small = world.execute(wanted(write("a.txt", "one\n"))).await.unwrap();
    assert_eq!(notices(outcome(&small)), []);
    let large = world.execute(wanted(write("a.txt", &"long\n".repeat(9)))).await.unwrap();
    assert_eq!(notices(outcome(&large)), [NoticeKind::DiffLeftOut]);
    let unwanted = world.run(&session, write("a.txt", &"more\n".repeat(9))).await;
    assert_eq!(notices(outcome(&unwanted)), []);
}

#[tokio::test]
async fn protected_names_and_read_only_sessions_refuse_mutations_and_show_content() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    let refused = world.run(&session, write("sub/.git/config", "x")).await;
    assert_eq!(refusal(&refused).kind(), &ErrorKind::SandboxDenied { rule: ".git".into() });
    assert_eq!(refusal(&refused).path(), Some("sub/.git/config"));

    let reader = world.open_as(OpenSession { mode: SessionMode::ReadOnly, ..OpenSession::default() }).await;
    assert_eq!(code(&world.run(&reader, read("a.txt")).await), None);
    world.script.take_log();
    for call in [write("b.txt", "x"), edit("a.txt", "one", "two")] {
        let refused = world.run(&reader, call).await;
        assert_eq!(refusal(&refused).kind(), &ErrorKind::SandboxDenied { rule: "read-only".into() });
    }
    assert_eq!(world.script.take_log(), "\n");
}

#[tokio::test]
async fn bad_arguments_change_nothing_and_ask_nobody() {
    let world = World::new();
    let session = world.open().await;
    world.script.take_log();
    let json = |name: &str, arguments: &str| toolfs_core::argument::RawCall::Json {
        name: name.into(),
        arguments_json: arguments.into(),
    };
    let calls = [
        json("write", r#"{"file_path": "a.txt"}"#),
        json("edit", r#"{"file_path": "a.txt", "old_string": "x"}"#),
        json("write", r#"{"file_path": "a.txt", "content": {"a": 1}}"#),
        json("append", "{}"),
        json("write", "not json"),
        edit("a.txt", "", "x"),
        write("~/a.txt", "x"),
    ];
    for call in calls {
        assert_eq!(code(&world.run(&session, call).await), Some(Code::InvalidArgument));
    }
    assert_eq!(world.script.take_log(), "\n");
}

#[tokio::test]
async fn a_call_out_of_time_is_no_result_unless_something_may_have_changed() {
    let world = World::new();
    let session = world.open().await;
    let table = [
        (AbortCause::Cancelled, Published::No, true),
        (AbortCause::DeadlineExceeded, Published::No, true),
        (AbortCause::Draining, Published::No, false),
        (AbortCause::DeadlineExceeded, Published::Maybe, false),
    ];
    for (cause, published, is_status) in table {
        world.script.fail_next("write_text", aborted(cause).with_published(published));
        let answer = world.execute(request(&session, write("a.txt", "x"))).await;
        assert_eq!(matches!(answer, Err(CallError::Aborted(_))), is_status, "{cause:?} {published:?}");
        if let Ok(response) = answer {
            assert_eq!(
                (refusal(&response).code(), refusal(&response).published()),
                (Code::Aborted, published)
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_is_late_from_the_start_publishes_nothing() {
    let world = World::new();
    let session = world.open().await;
    let abort = AbortSignal::new();
    abort.fire(AbortCause::DeadlineExceeded);
    let answer = world.executor.execute(&abort, request(&session, write("a.txt", "x"))).await;
    assert!(matches!(answer, Err(CallError::Aborted(_))));
    assert_eq!(code(&world.run(&session, read("a.txt")).await), Some(Code::NotFound));
}
