use expect_test::{Expect, expect};
use toolfs_core::error::{Code, ErrorKind, FsError, UnavailableCause};
use toolfs_core::notice::NoticeKind;
use toolfs_core::outcome::Outcome;
use toolfs_tools::{CallError, ExecuteRequest};

use crate::support::{
    NO_SESSION, World, code, edit, notices, outcome, read, read_at, refusal, request, write,
};

#[tokio::test]
async fn a_read_resolves_and_opens_once_and_records() {
    let world = World::new();
    world.put("a.txt", "one\ntwo\n");
    let session = world.open().await;
    world.script.take_log();
    world.run(&session, read("a.txt")).await;
    expect![[r#"
        resolve a.txt from /workspace
        read_lines LineWindow { first_line: 1, max_lines: 2000, max_bytes: 51200, max_line_chars: 2000 }
        observed present
    "#]]
    .assert_eq(&world.script.take_log());
}

#[tokio::test]
async fn a_missing_file_is_an_observation_and_a_missing_parent_too() {
    let world = World::new();
    let session = world.open().await;
    for path in ["gone.txt", "no/such/dir/gone.txt"] {
        world.script.take_log();
        assert_eq!(code(&world.run(&session, read(path)).await), Some(Code::NotFound));
        assert!(world.script.take_log().ends_with("observed absent\n"));
        assert_eq!(code(&world.run(&session, edit(path, "a", "b")).await), Some(Code::NotFound));
        assert_eq!(code(&world.run(&session, write(path, "made")).await), None);
        assert_eq!(world.content(path), "made");
    }
}

#[tokio::test]
async fn what_does_not_resolve_leaves_no_observation() {
    let world = World::new();
    let session = world.open().await;
    world.script.take_log();
    assert_eq!(code(&world.run(&session, read("missing/../x")).await), Some(Code::NotFound));
    assert!(!world.script.take_log().contains("observed"));
}

#[tokio::test]
async fn no_other_failure_of_a_read_is_an_observation() {
    let world = World::new();
    world.put("a.txt", "a\n");
    let session = world.open().await;
    let kinds = [
        ErrorKind::PermissionDenied,
        ErrorKind::IoError,
        ErrorKind::NotText { byte_offset: 0, encoding: None },
        ErrorKind::NotRegularFile { kind: None },
        ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging },
    ];
    for kind in kinds {
        let expected = kind.code();
        world.script.fail_next("read_lines", FsError::new(kind, "scripted"));
        world.script.take_log();
        assert_eq!(code(&world.run(&session, read("a.txt")).await), Some(expected));
        assert!(!world.script.take_log().contains("observed"), "{expected}");
        assert_eq!(code(&world.run(&session, edit("a.txt", "a", "b")).await), Some(Code::NotObserved));
    }
}

#[tokio::test]
async fn an_offset_past_the_end_tells_the_total_and_is_no_observation() {
    let world = World::new();
    world.put("two.txt", "one\ntwo");
    world.put("empty.txt", "");
    let session = world.open().await;
    let table =
        [("two.txt", 2, None), ("two.txt", 3, Some(2)), ("empty.txt", 1, None), ("empty.txt", 2, Some(0))];
    for (path, offset, expected) in table {
        world.script.take_log();
        let response = world.run(&session, read_at(path, offset)).await;
        match expected {
            None => assert_eq!(code(&response), None, "{path} {offset}"),
            Some(total_lines) => {
                assert_eq!(refusal(&response).kind(), &ErrorKind::OutOfRange { total_lines });
                assert!(!world.script.take_log().contains("observed"));
            }
        }
    }
}

#[tokio::test]
async fn any_window_authorizes() {
    let world = World::new();
    world.put("a.txt", "one\ntwo\nthree\n");
    let session = world.open().await;
    world.run(&session, read_at("a.txt", 3)).await;
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "1")).await), None);
}

#[tokio::test]
async fn a_read_that_was_not_recorded_says_so() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    let away = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
    world.script.fail_next("record_observation", FsError::new(away, "scripted"));
    let response = world.run(&session, read("a.txt")).await;
    assert_eq!(notices(outcome(&response)), [NoticeKind::ObservationNotRecorded]);
    assert_eq!(code(&world.run(&session, edit("a.txt", "one", "1")).await), Some(Code::NotObserved));
}

#[tokio::test]
async fn a_dry_run_of_a_read_shows_and_does_not_record() {
    let world = World::new();
    world.put("a.txt", "one\n");
    let session = world.open().await;
    let dry = |call| ExecuteRequest { dry_run: true, ..request(&session, call) };
    let response = world.execute(dry(read("a.txt"))).await.unwrap();
    assert!(response.dry_run && response.text.starts_with("1: one"));
    let absent = world.execute(dry(read("gone.txt"))).await.unwrap();
    assert_eq!(code(&absent), Some(Code::NotFound));
    assert!(!world.script.take_log().contains("observed"));
}

#[tokio::test]
async fn the_outcome_has_the_canonical_path_and_a_refusal_the_one_that_was_asked_for() {
    let world = World::new();
    world.put("dir/a.txt", "one\n");
    let session = world.open().await;
    let Outcome::Read(seen) = outcome(&world.run(&session, read("./dir/../dir/a.txt")).await).clone() else {
        panic!("a read has a read's outcome")
    };
    assert_eq!(seen.path, "/workspace/dir/a.txt");
    let refused = world.run(&session, read("./dir/../dir/b\n.txt")).await;
    assert_eq!(refusal(&refused).path(), Some(r"./dir/../dir/b\u{a}.txt"));
}

#[tokio::test]
async fn without_a_session_a_read_starts_at_the_first_root_and_records_nothing() {
    let world = World::new();
    world.put("a.txt", "one\n");
    world.run(NO_SESSION, read("a.txt")).await;
    expect![[r#"
        resolve a.txt
        read_lines LineWindow { first_line: 1, max_lines: 2000, max_bytes: 51200, max_line_chars: 2000 }
    "#]]
    .assert_eq(&world.script.take_log());
}

#[tokio::test]
async fn a_request_without_a_call_is_the_callers_mistake() {
    let world = World::new();
    let empty = ExecuteRequest { call: None, ..request(NO_SESSION, read("a.txt")) };
    assert!(matches!(world.execute(empty).await, Err(CallError::CallMissing)));
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}

#[tokio::test]
async fn arguments_of_the_provider_are_called_by_the_tools_names() {
    let world = World::new();
    let session = world.open().await;
    let long_name = "n".repeat(300);
    let refused = world.run(&session, read(&long_name)).await;
    let error = refusal(&refused);
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument { field, .. } if field == "file_path"));
    check(error.remedy().unwrap(), expect!["correct `file_path`, then retry"]);
}
