use proptest::prelude::*;
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::guard::Observation;
use toolfs_core::target::TargetKey;
use toolfs_policy::suite::{Model, Step, compare, perform, seen, session, target};
use toolfs_policy::{ForgetScope, ObservationStore};
use toolfs_tools::{Beginning, CallState, CallStore, Insertion, SessionStore};

use crate::support::{NEVER, SOON, call, eventually, findings, guard, open, record};

#[tokio::test]
async fn what_an_operation_returned_survives_and_what_waited_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let state = open(directory.path(), NEVER);
    let (kept, removed) = (record(1), record(2));
    for session in [&kept, &removed] {
        assert_eq!(state.insert(session.clone(), 10).await.unwrap(), Insertion::Inserted);
    }
    assert!(SessionStore::remove(&state, &removed.key).await.unwrap());
    state.end(&call("s", 1), &[1; 32], b"one".to_vec(), false, Timestamp(1_700_000_000_000)).await.unwrap();
    CallStore::begin(&state, &call("s", 2), &[2; 32], &guard(), Timestamp(1_700_000_000_000)).await.unwrap();
    state.forget(&session("s"), ForgetScope::All, Order(50)).await.unwrap();
    ObservationStore::end_session(&state, &session("ended")).await.unwrap();
    // These wait in memory.
    state.record(&session("s"), &target("t"), seen("x"), Order(60)).await.unwrap();
    state.touch(&kept.key, Timestamp(99)).await.unwrap();
    assert_eq!(state.get(&session("s"), &target("t")).await.unwrap(), Some(seen("x")));
    assert_eq!(SessionStore::find(&state, &kept.key).await.unwrap().unwrap().last_used, Timestamp(99));
    state.crash();
    drop(state);

    let state = open(directory.path(), NEVER);
    assert_eq!(SessionStore::find(&state, &kept.key).await.unwrap(), Some(kept.clone()));
    assert_eq!(SessionStore::find(&state, &removed.key).await.unwrap(), None);
    assert_eq!(state.insert(removed.clone(), 10).await.unwrap(), Insertion::NameTaken);
    assert_eq!(state.ending(10).await.unwrap(), [removed.key]);
    let ended = CallStore::find(&state, &call("s", 1)).await.unwrap().unwrap();
    assert_eq!(ended.state, CallState::Ended { result: b"one".to_vec() });
    let begun = CallStore::find(&state, &call("s", 2)).await.unwrap().unwrap();
    assert_eq!(begun.state, CallState::Begun { guard: guard(), is_live: false });
    assert_eq!(state.get(&session("s"), &target("t")).await.unwrap(), None);
    for (name, order) in [("s", 50), ("ended", 99)] {
        state.record(&session(name), &target("t"), seen("x"), Order(order)).await.unwrap();
        assert_eq!(state.get(&session(name), &target("t")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_close_writes_what_waited() {
    let directory = tempfile::tempdir().unwrap();
    for close in [true, false] {
        let state = open(directory.path(), NEVER);
        let key = TargetKey::new(vec![u8::from(close)]);
        state.record(&session("s"), &key, Observation::Absent, Order(1)).await.unwrap();
        if close {
            state.close();
        }
        drop(state);
        let state = open(directory.path(), NEVER);
        assert_eq!(state.get(&session("s"), &key).await.unwrap(), Some(Observation::Absent));
    }
}

#[tokio::test]
async fn what_was_written_behind_survives_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let state = open(directory.path(), SOON);
    let kept = record(1);
    state.insert(kept.clone(), 10).await.unwrap();
    state.record(&session("s"), &target("t"), seen("x"), Order(60)).await.unwrap();
    state.touch(&kept.key, Timestamp(99)).await.unwrap();
    let other = open(directory.path(), NEVER);
    // Written means: another server sees it.
    eventually(async || {
        other.get(&session("s"), &target("t")).await.unwrap().is_some()
            && SessionStore::find(&other, &kept.key).await.unwrap().unwrap().last_used == Timestamp(99)
    })
    .await;
    state.crash();
    drop((state, other));
    let state = open(directory.path(), NEVER);
    assert_eq!(state.get(&session("s"), &target("t")).await.unwrap(), Some(seen("x")));
    assert_eq!(SessionStore::find(&state, &kept.key).await.unwrap().unwrap().last_used, Timestamp(99));
}

/// A crash that loses an observation must not bring back the one that it had replaced.
#[tokio::test]
async fn what_replaces_another_observation_is_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    let state = open(directory.path(), NEVER);
    state.record(&session("s"), &target("t"), seen("old"), Order(1)).await.unwrap();
    state.close();
    let state = open(directory.path(), NEVER);
    state.record(&session("s"), &target("t"), seen("new"), Order(2)).await.unwrap();
    state.record(&session("s"), &target("u"), seen("old"), Order(1)).await.unwrap();
    state.record(&session("s"), &target("u"), seen("new"), Order(2)).await.unwrap();
    state.crash();
    let state = open(directory.path(), NEVER);
    assert_eq!(state.get(&session("s"), &target("t")).await.unwrap(), Some(seen("new")));
    assert_eq!(state.get(&session("s"), &target("u")).await.unwrap(), Some(seen("new")));
}

/// A released call, and one of a server that was closed, is anybody's.
#[tokio::test]
async fn a_begun_call_of_a_crashed_server_is_taken_over_once() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second, third) =
        (open(directory.path(), NEVER), open(directory.path(), NEVER), open(directory.path(), NEVER));
    let now = Timestamp(1_700_000_000_000);
    CallStore::begin(&first, &call("s", 1), &[1; 32], &guard(), now).await.unwrap();
    first.crash();
    let (key, guard) = (call("s", 1), guard());
    let (one, other) = tokio::join!(
        CallStore::begin(&second, &key, &[1; 32], &guard, now),
        CallStore::begin(&third, &key, &[1; 32], &guard, now)
    );
    let noted = [one.unwrap(), other.unwrap()].iter().filter(|it| matches!(it, Beginning::Noted(_))).count();
    assert_eq!(noted, 1);
}

/// What happens between two looks at the store.
#[derive(Clone, Debug)]
enum Event {
    Do(Step),
    Crash,
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    let crash = prop_oneof![2 => Just(Event::Crash), 1 => Just(Event::Restart)];
    prop_oneof![6 => toolfs_policy::suite::step().prop_map(Event::Do), 1 => crash]
}

/// Orders rise, as those of one executor do.
fn in_order(step: Step, now: i64) -> Step {
    match step {
        Step::Record { session, target, observation, .. } => {
            Step::Record { session, target, observation: observation.map(|id| id % 3), order: now }
        }
        Step::Forget { session, targets, .. } => Step::Forget { session, targets, order: now },
        Step::ForgetAll { session, .. } => Step::ForgetAll { session, order: now },
        Step::End { session } => Step::End { session },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Crashes at any step: an observation may be lost, and never another one answered.
    #[test]
    fn a_crash_loses_and_never_invents(events in prop::collection::vec(event(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut state = open(directory.path(), NEVER);
            let mut model = Model::default();
            let mut has_crashed = false;
            for (now, event) in (0..).zip(events) {
                match event {
                    Event::Do(step) => {
                        let step = in_order(step, now);
                        perform(&state, &step).await;
                        model.apply(&step);
                    }
                    Event::Crash => {
                        has_crashed = true;
                        state.crash();
                        state = open(directory.path(), NEVER);
                    }
                    Event::Restart => {
                        state.close();
                        state = open(directory.path(), NEVER);
                    }
                }
                compare(&state, &model, |answer, expected| {
                    let is_lost = has_crashed && answer.is_none();
                    assert!(is_lost || answer == expected, "{answer:?} {expected:?}");
                }).await;
            }
        });
        prop_assert_eq!(findings(directory.path()), Vec::<String>::new());
    }
}
