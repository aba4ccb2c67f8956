use proptest::prelude::*;
use toolfs_policy::suite::{Model, compare, perform, seen, session, step, target};

use super::*;
use crate::support::{count, state};

/// Counts as they are kept, and as a recount has them.
#[track_caller]
fn check_counts(state: &EmbeddedState, limits: &ObservationLimits) {
    let recount = "SELECT (SELECT count(*) FROM observation) + (SELECT count(*) FROM observed_session)";
    let total = count(state, "SELECT facts FROM tally");
    assert_eq!(total, count(state, recount));
    assert!(total <= limits.total, "{total}");
    let off = "SELECT count(*) FROM observed_session AS s
               WHERE facts <> (SELECT count(*) FROM observation AS o WHERE o.session = s.session)
                  OR EXISTS (SELECT 1 FROM observation AS o WHERE o.session = s.session AND o.seen_order <= s.floor)";
    assert_eq!(count(state, off), 0);
    let widest = "SELECT ifnull(max(facts), 0) FROM observed_session";
    assert!(count(state, widest) <= limits.session);
}

/// Writes what is written behind.
async fn settle(state: &EmbeddedState) {
    state.writer.commit(Durability::Process, |_| Ok(())).await.unwrap();
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Room for a handful of facts: what is lost is lost, and nothing else is ever answered.
    #[test]
    fn a_store_without_room_loses_and_never_invents(steps in prop::collection::vec(step(), 1..60)) {
        let limits = ObservationLimits { total: 10, session: 4, ended: 100 };
        let (state, _directory) = state(limits);
        block_on(async {
            let mut model = Model::default();
            for step in &steps {
                perform(&state, step).await;
                model.apply(step);
                compare(&state, &model, |answer, expected| {
                    assert!(answer.is_none() || answer == expected, "{answer:?} {expected:?}");
                }).await;
                settle(&state).await;
                check_counts(&state, &limits);
                compare(&state, &model, |answer, expected| {
                    assert!(answer.is_none() || answer == expected, "{answer:?} {expected:?}");
                }).await;
            }
        });
    }
}

#[tokio::test]
async fn a_session_over_its_share_loses_its_oldest_and_no_other_session_does() {
    let limits = ObservationLimits { session: 64, ..ObservationLimits::DEFAULT };
    let (state, _directory) = state(limits);
    let (greedy, modest) = (session("greedy"), session("modest"));
    state.record(&modest, &target("t"), seen("x"), Order(0)).await.unwrap();
    for index in 1..=1_000 {
        state.record(&greedy, &target(&format!("t{index}")), seen("x"), Order(index)).await.unwrap();
    }
    settle(&state).await;
    check_counts(&state, &limits);
    assert_eq!(state.get(&modest, &target("t")).await.unwrap(), Some(seen("x")));
    assert_eq!(state.get(&greedy, &target("t1000")).await.unwrap(), Some(seen("x")));
    assert_eq!(state.get(&greedy, &target("t1")).await.unwrap(), None);
    // What made room stays below the floor: it cannot come back with its old order.
    state.record(&greedy, &target("t1"), seen("older"), Order(1)).await.unwrap();
    assert_eq!(state.get(&greedy, &target("t1")).await.unwrap(), None);
}

#[tokio::test]
async fn many_small_sessions_stay_within_the_total() {
    let limits = ObservationLimits { total: 50, ..ObservationLimits::DEFAULT };
    let (state, _directory) = state(limits);
    for index in 0..500 {
        let session = session(&format!("s{index}"));
        state.record(&session, &target("t"), seen("x"), Order(index)).await.unwrap();
        settle(&state).await;
        if index % 10 == 0 {
            state.forget(&session, ForgetScope::All, Order(index)).await.unwrap();
            check_counts(&state, &limits);
        }
    }
    let last = state.get(&session("s499"), &target("t")).await.unwrap();
    assert_eq!(last, Some(seen("x")));
}

#[tokio::test]
async fn marks_of_ended_sessions_are_bounded_and_the_newest_stay() {
    let (state, _directory) = state(ObservationLimits { ended: 4, ..ObservationLimits::DEFAULT });
    for index in 0..20 {
        ObservationStore::end_session(&state, &session(&format!("s{index}"))).await.unwrap();
    }
    assert_eq!(count(&state, "SELECT count(*) FROM ended_session"), 4);
    state.record(&session("s19"), &target("t"), seen("x"), Order(1)).await.unwrap();
    settle(&state).await;
    assert_eq!(state.get(&session("s19"), &target("t")).await.unwrap(), None);
    assert_eq!(count(&state, "SELECT facts FROM tally"), 0);
}

/// More than is written behind at once: nothing is lost, and memory is bounded.
#[tokio::test]
async fn a_flood_of_observations_is_written_and_kept() {
    let (state, _directory) = state(ObservationLimits { session: 1 << 20, ..ObservationLimits::DEFAULT });
    let session = session("s");
    for index in 0..40_000 {
        state.record(&session, &target(&index.to_string()), seen("x"), Order(index)).await.unwrap();
    }
    settle(&state).await;
    assert_eq!(count(&state, "SELECT count(*) FROM observation"), 40_000);
    assert!(state.pending.waiting().is_empty());
}
