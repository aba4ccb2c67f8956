use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::guard::Observation;
use toolfs_policy::suite::{seen, session, target};
use toolfs_policy::{ForgetScope, ObservationStore};
use toolfs_state_embedded::EmbeddedState;
use toolfs_tools::{Beginning, CallState, CallStore, Insertion, SessionStore};

use crate::support::{
    ManualClock, NEVER, SOON, WINDOW, call, eventually, findings, guard, open, options, record,
};

/// Both orders: what the one who opened first does, and what the one who opened second does.
async fn in_both_orders(check: impl AsyncFn(&EmbeddedState, &EmbeddedState)) {
    for is_first in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (open(directory.path(), NEVER), open(directory.path(), NEVER));
        if is_first {
            check(&first, &second).await
        } else {
            check(&second, &first).await
        }
        drop((first, second));
        assert_eq!(findings(directory.path()), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_removal_is_known_to_the_other_at_once() {
    in_both_orders(async |one, other| {
        one.insert(record(1), 10).await.unwrap();
        one.insert(record(2), 10).await.unwrap();
        for (number, is_unused) in [(1, false), (2, true)] {
            let key = record(number).key;
            let (before, found) = (other.removals(), SessionStore::find(other, &key).await.unwrap());
            assert_eq!(found, Some(record(number)));
            assert_eq!(other.removals(), before);
            let is_removed = if is_unused {
                one.remove_unused(&key, Timestamp(6)).await.unwrap()
            } else {
                SessionStore::remove(one, &key).await.unwrap()
            };
            assert!(is_removed);
            assert_ne!(other.removals(), before);
            assert_ne!(one.removals(), before);
            assert_eq!(SessionStore::find(other, &key).await.unwrap(), None);
        }
    })
    .await;
}

/// A number that somebody kept never comes back, whoever removes and whoever opens.
#[tokio::test]
async fn numbers_of_removals_never_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut met = std::collections::HashSet::new();
    for round in 0..5 {
        let states = [open(directory.path(), NEVER), open(directory.path(), NEVER)];
        assert!(met.insert(states[0].removals()));
        for number in 0..10 {
            let session = record(round * 10 + number);
            states[0].insert(session.clone(), 1_000).await.unwrap();
            SessionStore::remove(&states[number % 2], &session.key).await.unwrap();
            assert!(met.insert(states[0].removals()));
            assert_eq!(states[0].removals(), states[1].removals());
        }
        states[round % 2].crash();
    }
}

#[tokio::test]
async fn what_waits_in_one_is_not_revived_after_the_other_ended_or_forgot() {
    in_both_orders(async |one, other| {
        let place = target("t");
        for name in ["ended", "forgot", "forgot all"] {
            one.record(&session(name), &place, seen("x"), Order(5)).await.unwrap();
            assert_eq!(one.get(&session(name), &place).await.unwrap(), Some(seen("x")));
        }
        ObservationStore::end_session(other, &session("ended")).await.unwrap();
        let scope = ForgetScope::Targets(vec![place.clone()]);
        other.forget(&session("forgot"), scope, Order(5)).await.unwrap();
        other.forget(&session("forgot all"), ForgetScope::All, Order(5)).await.unwrap();
        for name in ["ended", "forgot", "forgot all"] {
            assert_eq!(one.get(&session(name), &place).await.unwrap(), None, "{name}");
        }
        // Any write of its server takes along what waits.
        one.insert(record(1), 10).await.unwrap();
        one.record(&session("ended"), &place, seen("x"), Order(9)).await.unwrap();
        for state in [one, other] {
            for name in ["ended", "forgot", "forgot all"] {
                assert_eq!(state.get(&session(name), &place).await.unwrap(), None, "{name}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn of_what_both_saw_the_newest_stays_whoever_writes_first() {
    in_both_orders(async |one, other| {
        let (session, place) = (session("s"), target("t"));
        one.record(&session, &place, seen("newer"), Order(7)).await.unwrap();
        other.record(&session, &place, Observation::Absent, Order(6)).await.unwrap();
        for (number, state) in [(1, other), (2, one)] {
            state.insert(record(number), 10).await.unwrap();
        }
        for state in [one, other] {
            assert_eq!(state.get(&session, &place).await.unwrap(), Some(seen("newer")));
        }
    })
    .await;
}

#[tokio::test]
async fn the_limit_of_sessions_and_their_names_are_shared() {
    in_both_orders(async |one, other| {
        assert_eq!(one.insert(record(1), 2).await.unwrap(), Insertion::Inserted);
        assert_eq!(other.insert(record(2), 2).await.unwrap(), Insertion::Inserted);
        for state in [one, other] {
            assert_eq!(state.insert(record(3), 2).await.unwrap(), Insertion::Full);
        }
        SessionStore::remove(one, &record(2).key).await.unwrap();
        assert_eq!(one.insert(record(2), 2).await.unwrap(), Insertion::NameTaken);
        assert_eq!(one.insert(record(3), 2).await.unwrap(), Insertion::Inserted);
        let page = other.page(&record(1).owner, 0, 10).await.unwrap();
        assert_eq!(page, [(1, record(1)), (3, record(3))]);
    })
    .await;
}

#[tokio::test]
async fn a_use_here_keeps_a_session_from_being_removed_as_unused() {
    in_both_orders(async |one, other| {
        one.insert(record(1), 10).await.unwrap();
        one.touch(&record(1).key, Timestamp(20)).await.unwrap();
        assert!(!one.remove_unused(&record(1).key, Timestamp(19)).await.unwrap());
        // That wrote the use.
        assert!(!other.remove_unused(&record(1).key, Timestamp(19)).await.unwrap());
        assert!(other.unused_since(Timestamp(19), 10).await.unwrap().is_empty());
        assert!(other.remove_unused(&record(1).key, Timestamp(20)).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_call_is_noted_by_one_server_and_ended_for_all() {
    in_both_orders(async |one, other| {
        let now = Timestamp(1_700_000_000_000);
        let noted = CallStore::begin(one, &call("s", 1), &[1; 32], &guard(), now).await.unwrap();
        assert_eq!(noted, Beginning::Noted(guard()));
        let Beginning::Known(known) =
            CallStore::begin(other, &call("s", 1), &[1; 32], &guard(), now).await.unwrap()
        else {
            panic!("two servers run one call");
        };
        assert_eq!(known.state, CallState::Begun { guard: guard(), is_live: true });
        other.abandon(&call("s", 1)).await.unwrap();
        assert_eq!(CallStore::find(other, &call("s", 1)).await.unwrap(), Some(known));
        one.end(&call("s", 1), &[1; 32], b"done".to_vec(), false, now).await.unwrap();
        let ended = CallStore::find(other, &call("s", 1)).await.unwrap().unwrap();
        assert_eq!(ended.state, CallState::Ended { result: b"done".to_vec() });
    })
    .await;
}

/// Housekeeping is on the writer's thread: it is waited for.
#[tokio::test]
async fn old_calls_leave_the_database_and_those_of_running_servers_stay() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let open = || {
        let options = toolfs_state_embedded::StateOptions { clock: clock.clone(), ..options(SOON) };
        EmbeddedState::open(directory.path(), options).unwrap()
    };
    let (stays, goes) = (open(), open());
    let start = Timestamp(1_700_000_000_000);
    for number in 0..600 {
        stays.end(&call("s", number), &[1; 32], Vec::new(), false, start).await.unwrap();
    }
    CallStore::begin(&stays, &call("s", 1_000), &[1; 32], &guard(), start).await.unwrap();
    CallStore::begin(&goes, &call("s", 1_001), &[1; 32], &guard(), start).await.unwrap();
    goes.crash();
    assert_eq!(std::fs::read_dir(directory.path().join("instances")).unwrap().count(), 1);
    clock.advance(WINDOW);
    assert_eq!(CallStore::find(&stays, &call("s", 7)).await.unwrap(), None);
    assert_eq!(CallStore::find(&stays, &call("s", 1_001)).await.unwrap(), None);
    let connection = rusqlite::Connection::open(directory.path().join("state.db")).unwrap();
    eventually(async || {
        let left: i64 = connection.query_row("SELECT count(*) FROM call", [], |row| row.get(0)).unwrap();
        left == 1
    })
    .await;
    let begun = CallStore::find(&stays, &call("s", 1_000)).await.unwrap().unwrap();
    assert_eq!(begun.state, CallState::Begun { guard: guard(), is_live: true });
}
