use proptest::prelude::*;

use super::*;
use crate::suite::{Model, Step, compare, perform, seen, session, step, target};

crate::observation_store_suite!(async || (Box::new(MemoryObservationStore::new()), ()));

mod shared {
    use std::sync::Arc;

    use super::*;

    // Two servers of one process share the store itself.
    crate::shared_observation_store_suite!(async || {
        let store = Arc::new(MemoryObservationStore::new());
        (Arc::clone(&store), store, ())
    });
}

#[tokio::test]
async fn an_ended_session_takes_no_room() {
    let store = MemoryObservationStore::new();
    let (session, target) = (session("s"), target("t"));
    store.record(&session, &target, seen("x"), Order(1)).await.unwrap();
    store.end_session(&session).await.unwrap();
    store.record(&session, &target, seen("x"), Order(2)).await.unwrap();
    store.forget(&session, ForgetScope::All, Order(3)).await.unwrap();
    assert_eq!(store.get(&session, &target).await.unwrap(), None);
    let (shard, _) = store.shard(&session);
    assert_eq!(shard.counted_bytes(), (0, 0));
}

#[tokio::test]
async fn marks_of_ended_sessions_are_bounded_and_the_newest_stay() {
    let limits = MemoryStoreLimits { ended_sessions: 16 * SHARD_COUNT, ..MemoryStoreLimits::DEFAULT };
    let store = MemoryObservationStore::with_limits(limits);
    for index in 0..10_000 {
        store.end_session(&session(&format!("s{index}"))).await.unwrap();
    }
    let last = session("s9999");
    store.record(&last, &target("t"), seen("x"), Order(1)).await.unwrap();
    assert_eq!(store.get(&last, &target("t")).await.unwrap(), None);
    for shard in &store.shards {
        assert!(shard.lock().unwrap().ended_count() <= 16);
    }
}

#[tokio::test]
async fn a_session_over_its_share_loses_its_oldest_and_no_other_session_does() {
    let limits = MemoryStoreLimits { session_bytes: 16 << 10, ..MemoryStoreLimits::DEFAULT };
    let store = MemoryObservationStore::with_limits(limits);
    let (greedy, modest) = (session("greedy"), session("modest"));
    store.record(&modest, &target("t"), seen("x"), Order(0)).await.unwrap();
    for index in 1..=1_000 {
        store.record(&greedy, &target(&format!("t{index}")), seen("x"), Order(index)).await.unwrap();
    }
    assert_eq!(store.get(&modest, &target("t")).await.unwrap(), Some(seen("x")));
    assert_eq!(store.get(&greedy, &target("t1000")).await.unwrap(), Some(seen("x")));
    assert_eq!(store.get(&greedy, &target("t1")).await.unwrap(), None);
    // What made room stays below the floor: it cannot come back with its old order.
    store.record(&greedy, &target("t1"), seen("older"), Order(1)).await.unwrap();
    assert_eq!(store.get(&greedy, &target("t1")).await.unwrap(), None);
}

#[tokio::test]
async fn many_small_sessions_stay_within_the_total() {
    let limits = MemoryStoreLimits { total_bytes: 1 << 20, ..MemoryStoreLimits::DEFAULT };
    let store = MemoryObservationStore::with_limits(limits);
    for index in 0..20_000 {
        let session = session(&format!("s{index}"));
        store.record(&session, &target("t"), seen("x"), Order(index)).await.unwrap();
        store.forget(&session, ForgetScope::All, Order(index)).await.unwrap();
    }
    for shard in &store.shards {
        let (counted, real) = shard.lock().unwrap().counted_bytes();
        assert_eq!(counted, real);
        assert!(counted <= (1 << 20) / SHARD_COUNT);
    }
}

/// Replays one step at a time, so that the counts are looked at after each.
async fn replay_within(
    limits: MemoryStoreLimits,
    steps: &[Step],
    judge: impl Fn(Option<Observation>, Option<Observation>),
) {
    let store = MemoryObservationStore::with_limits(limits);
    let mut model = Model::default();
    for step in steps {
        perform(&store, step).await;
        model.apply(step);
        compare(&store, &model, &judge).await;
        for shard in &store.shards {
            let (counted, real) = shard.lock().unwrap().counted_bytes();
            assert_eq!(counted, real);
            assert!(counted <= limits.total_bytes / SHARD_COUNT);
        }
    }
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work);
}

proptest! {
    #[test]
    fn the_store_answers_as_the_whole_history_would(steps in prop::collection::vec(step(), 1..60)) {
        block_on(replay_within(MemoryStoreLimits::DEFAULT, &steps, |answer, expected| assert_eq!(answer, expected)));
    }

    /// Room for a handful of facts: what is lost is lost, and nothing else is ever answered.
    #[test]
    fn a_store_without_room_loses_and_never_invents(steps in prop::collection::vec(step(), 1..60)) {
        let limits = MemoryStoreLimits { total_bytes: 1_600 * SHARD_COUNT, session_bytes: 1_000, ended_sessions: 1_600 };
        block_on(replay_within(limits, &steps, |answer, expected| assert!(answer.is_none() || answer == expected)));
    }
}
