//! What every store does that two servers share: what an operation at one of them was answered holds at the other
//! from then on.

#![allow(missing_docs, reason = "a case is described by its name")]

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use toolfs_core::clock::Order;
use toolfs_core::guard::Observation;

use super::{Model, compare, perform, seen, session, step, target};
use crate::gate::ForgetScope;
use crate::store::ObservationStore;

type Store = dyn ObservationStore;

pub async fn what_one_server_records_the_other_answers(one: &Store, other: &Store) {
    let session = session("s");
    for (number, seen) in (1..).zip([seen("x"), Observation::Absent, seen("x"), seen("y"), seen("y")]) {
        one.record(&session, &target("t"), seen.clone(), Order(number)).await.unwrap();
        assert_eq!(other.get(&session, &target("t")).await.unwrap(), Some(seen));
    }
}

/// An edit here, one there, and one here again are each judged by what the one before left.
pub async fn a_server_does_not_go_by_what_it_knew_before_the_other_saw_more(one: &Store, other: &Store) {
    let (session, target) = (session("s"), target("t"));
    for number in 1..50 {
        let (here, there) = if number % 2 == 0 { (one, other) } else { (other, one) };
        let content = seen(&number.to_string());
        here.record(&session, &target, content.clone(), Order(number)).await.unwrap();
        assert_eq!(there.get(&session, &target).await.unwrap(), Some(content.clone()));
        assert_eq!(here.get(&session, &target).await.unwrap(), Some(content));
    }
}

pub async fn what_comes_late_to_the_other_server_does_not_replace_a_newer_one(one: &Store, other: &Store) {
    let (session, target) = (session("s"), target("t"));
    one.record(&session, &target, seen("new"), Order(7)).await.unwrap();
    other.record(&session, &target, seen("old"), Order(6)).await.unwrap();
    other.record(&session, &target, seen("same order"), Order(7)).await.unwrap();
    for store in [one, other] {
        assert_eq!(store.get(&session, &target).await.unwrap(), Some(seen("new")));
    }
}

pub async fn what_one_server_forgets_the_other_does_not_know(one: &Store, other: &Store) {
    let session = session("s");
    let scopes = [ForgetScope::Targets(vec![target("t")]), ForgetScope::All];
    for (number, scope) in (1..).zip(scopes) {
        other.record(&session, &target("t"), seen("x"), Order(10 * number)).await.unwrap();
        one.forget(&session, scope, Order(10 * number + 5)).await.unwrap();
        assert_eq!(other.get(&session, &target("t")).await.unwrap(), None);
        // What began before comes late.
        other.record(&session, &target("t"), seen("x"), Order(10 * number + 5)).await.unwrap();
        for store in [one, other] {
            assert_eq!(store.get(&session, &target("t")).await.unwrap(), None);
        }
        other.record(&session, &target("t"), seen("y"), Order(10 * number + 6)).await.unwrap();
        assert_eq!(one.get(&session, &target("t")).await.unwrap(), Some(seen("y")));
    }
}

pub async fn what_one_server_recorded_the_other_forgets(one: &Store, other: &Store) {
    let session = session("s");
    for name in ["a", "b", "c"] {
        one.record(&session, &target(name), seen(name), Order(5)).await.unwrap();
    }
    other.forget(&session, ForgetScope::Targets(vec![target("a")]), Order(5)).await.unwrap();
    assert_eq!(one.get(&session, &target("a")).await.unwrap(), None);
    assert_eq!(one.get(&session, &target("b")).await.unwrap(), Some(seen("b")));
    other.forget(&session, ForgetScope::All, Order(4)).await.unwrap();
    assert_eq!(one.get(&session, &target("c")).await.unwrap(), Some(seen("c")));
    other.forget(&session, ForgetScope::All, Order(6)).await.unwrap();
    assert_eq!(one.get(&session, &target("c")).await.unwrap(), None);
}

pub async fn a_session_that_ended_at_one_server_ended_at_the_other(one: &Store, other: &Store) {
    let (session, target) = (session("s"), target("t"));
    for store in [one, other] {
        store.record(&session, &target, seen("x"), Order(1)).await.unwrap();
    }
    one.end_session(&session).await.unwrap();
    assert_eq!(other.get(&session, &target).await.unwrap(), None);
    other.record(&session, &target, seen("x"), Order(2)).await.unwrap();
    for store in [one, other] {
        assert_eq!(store.get(&session, &target).await.unwrap(), None);
    }
}

/// Histories whose steps fall on both servers; after each step both answer the same.
pub async fn two_servers_answer_as_the_whole_history_would(one: &Store, other: &Store) {
    let mut runner = TestRunner::deterministic();
    let history =
        prop::collection::vec((any::<bool>(), step()), 300).new_tree(&mut runner).unwrap().current();
    let mut model = Model::default();
    for (is_at_one, step) in &history {
        perform(if *is_at_one { one } else { other }, step).await;
        model.apply(step);
        for store in [one, other] {
            compare(store, &model, |answer, expected| assert_eq!(answer, expected, "{step:?}")).await;
        }
    }
}
