use toolfs_core::clock::Order;
use toolfs_core::error::{Code, ErrorKind, UnavailableCause};
use toolfs_policy::ObservationStore as _;
use toolfs_policy::suite::{seen, session, target};

use super::*;
use rusqlite::Connection;

use crate::EmbeddedState;
use crate::observation::ObservationLimits;
use crate::support::{count, eventually, state};

/// Lets the database grow by at most this many pages from here on.
async fn leave_room(state: &EmbeddedState, pages: i64) {
    let change = move |transaction: &Transaction<'_>| {
        let used: i64 = transaction.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let set = format!("PRAGMA max_page_count = {}", used + pages);
        Ok(transaction.query_row(&set, [], |_| Ok(()))?)
    };
    state.writer.commit(Durability::Process, change).await.unwrap();
}

/// A change of this many bytes.
async fn fill(state: &EmbeddedState, bytes: i64) -> Result<()> {
    let change = move |transaction: &Transaction<'_>| {
        transaction.execute("INSERT INTO ending_session (key) SELECT hex(randomblob(?1 / 2))", [bytes])?;
        Ok(())
    };
    state.writer.commit(Durability::Process, change).await
}

#[tokio::test]
async fn a_full_disk_is_told_and_changes_nothing() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    leave_room(&state, 2).await;
    let error = fill(&state, 1 << 20).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable });
    assert!(error.message().contains("full"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(count(&state, "SELECT count(*) FROM ending_session"), 0);
    // Room again: the state goes on.
    leave_room(&state, 1_000).await;
    fill(&state, 1 << 20).await.unwrap();
    assert_eq!(count(&state, "SELECT count(*) FROM ending_session"), 1);
}

#[tokio::test]
async fn what_is_written_behind_waits_for_room_and_is_answered_meanwhile() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    leave_room(&state, 0).await;
    let session = session("s");
    for index in 0..1_000 {
        state.record(&session, &target(&index.to_string()), seen("x"), Order(index)).await.unwrap();
    }
    // The writer has tried by the time that it answers.
    state.writer.commit(Durability::Process, |_| Ok(())).await.unwrap();
    assert_eq!(count(&state, "SELECT count(*) FROM observation"), 0);
    assert_eq!(state.get(&session, &target("7")).await.unwrap(), Some(seen("x")));
    leave_room(&state, 1_000).await;
    state.writer.commit(Durability::Process, |_| Ok(())).await.unwrap();
    assert_eq!(count(&state, "SELECT count(*) FROM observation"), 1_000);
}

/// Many wait for one transaction, and one of them cannot be done.
#[tokio::test]
async fn a_change_that_fails_fails_alone() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    let outcomes = futures_util::future::join_all((0..200).map(|index| {
        let writer = &state.writer;
        async move {
            let change = move |transaction: &Transaction<'_>| {
                transaction.execute("INSERT INTO ending_session (key) VALUES (?1)", [index.to_string()])?;
                if index % 50 == 7 { Err(Cause::Unknown("number")) } else { Ok(index) }
            };
            (index, writer.commit(Durability::Process, change).await)
        }
    }))
    .await;
    for (index, outcome) in outcomes {
        match outcome {
            Ok(value) => assert_eq!(value, index),
            Err(error) => assert_eq!((index % 50, error.code()), (7, Code::Unavailable)),
        }
    }
    assert_eq!(count(&state, "SELECT count(*) FROM ending_session"), 196);
}

/// More than fit into the queue wait for their place, and each is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_makes_callers_wait() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    let changes = (0..3 * QUEUE_LENGTH).map(|_| fill(&state, 16));
    for outcome in futures_util::future::join_all(changes).await {
        outcome.unwrap();
    }
    let expected = i64::try_from(3 * QUEUE_LENGTH).unwrap();
    assert_eq!(count(&state, "SELECT count(*) FROM ending_session"), expected);
    assert_eq!(state.writer.shared.room.available_permits(), QUEUE_LENGTH);
}

#[tokio::test]
async fn a_closed_state_refuses_changes_and_has_written_what_waited() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    state.record(&session("s"), &target("t"), seen("x"), Order(1)).await.unwrap();
    state.close();
    assert_eq!(count(&state, "SELECT count(*) FROM observation"), 1);
    assert_eq!(fill(&state, 16).await.unwrap_err().code(), Code::Unavailable);
    state.close();
}

#[tokio::test]
async fn a_panic_in_a_change_answers_everybody() {
    let (state, _directory) = state(ObservationLimits::DEFAULT);
    let change = |_: &Transaction<'_>| -> Result<(), Cause> { panic!("a planted panic") };
    let failed = state.writer.commit(Durability::Process, change).await.unwrap_err();
    assert_eq!(failed.code(), Code::Unavailable);
    assert_eq!(fill(&state, 16).await.unwrap_err().code(), Code::Unavailable);
}

/// A removal whose server died between its commit and the file: others must not go on with what they kept.
#[tokio::test]
async fn a_removal_that_was_not_made_known_is_made_known() {
    let (state, directory) = state(ObservationLimits::DEFAULT);
    let before = state.removal.read();
    let other = Connection::open(directory.path().join("state.db")).unwrap();
    other.execute_batch("UPDATE tally SET removal = removal + 1").unwrap();
    eventually(|| state.removal.read() != before).await;
    assert_eq!(u64::try_from(count(&state, "SELECT removal FROM tally")).unwrap(), state.removal.read());
}

#[tokio::test]
async fn calls_that_cannot_be_pruned_do_not_keep_a_removal_from_being_made_known() {
    let (state, directory) = state(ObservationLimits::DEFAULT);
    let before = state.removal.read();
    let other = Connection::open(directory.path().join("state.db")).unwrap();
    other
        .execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TRIGGER refuse BEFORE DELETE ON call BEGIN SELECT RAISE(ABORT, 'refused'); END;
             INSERT INTO call (session, request, fingerprint, ended, result, bytes)
                 VALUES (x'00', 'r', x'00', 1, x'', 0);
             UPDATE tally SET removal = removal + 1;
             COMMIT",
        )
        .unwrap();
    eventually(|| state.removal.read() != before).await;
    assert_eq!(count(&state, "SELECT count(*) FROM call"), 1, "it was not pruned");
}
