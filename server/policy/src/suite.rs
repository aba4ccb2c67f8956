//! The suite that every store of observations must pass.
//!
//! [`observation_store_suite!`](crate::observation_store_suite) makes one test of each case; [`replay`] plays a random
//! history against the whole of it as a model. A store that several servers share must pass
//! [`shared_observation_store_suite!`](crate::shared_observation_store_suite) too. What is expected comes from the
//! description of [`ObservationStore`].
//!
//! Deliberately absent: bounds, crashes and files, which are tested beside the store that has them.

#![expect(clippy::unwrap_used, reason = "a case that cannot go on has failed")]

#[doc(hidden)]
pub mod shared;

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use toolfs_core::clock::Order;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::target::TargetKey;
use toolfs_core::version::Version;

use crate::gate::ForgetScope;
use crate::store::ObservationStore;

/// Makes a test of every case over the stores of an `async fn() -> (store, what must outlive it)`, where the store
/// dereferences to an [`ObservationStore`](crate::ObservationStore) and is empty. Use it once a module, in a crate that
/// has tokio with its macros.
#[macro_export]
macro_rules! observation_store_suite {
    ($factory:expr) => {
        $crate::observation_store_tests! { $factory;
            an_observation_that_comes_late_does_not_replace_a_newer_one
            what_began_before_a_forget_is_not_recorded_after_it
            a_forget_of_the_same_order_wins_in_both_sequences
            a_forget_keeps_what_was_seen_after_it
            an_ended_session_does_not_revive_by_a_record_that_comes_late
            sessions_and_targets_do_not_share_observations
        }
    };
}

/// Makes a test of every case about two servers over one state, of an `async fn() -> (one, other, what must outlive
/// them)`, where both dereference to an [`ObservationStore`](crate::ObservationStore) and the state is empty.
#[macro_export]
macro_rules! shared_observation_store_suite {
    ($factory:expr) => {
        $crate::shared_observation_store_tests! { $factory;
            what_one_server_records_the_other_answers
            a_server_does_not_go_by_what_it_knew_before_the_other_saw_more
            what_comes_late_to_the_other_server_does_not_replace_a_newer_one
            what_one_server_forgets_the_other_does_not_know
            what_one_server_recorded_the_other_forgets
            a_session_that_ended_at_one_server_ended_at_the_other
            two_servers_answer_as_the_whole_history_would
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! shared_observation_store_tests {
    ($factory:expr; $($name:ident)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                let (one, other, _keep) = ($factory)().await;
                $crate::suite::shared::$name(&*one, &*other).await;
                // Whoever came first.
                let (one, other, _keep) = ($factory)().await;
                $crate::suite::shared::$name(&*other, &*one).await;
            }
        )+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! observation_store_tests {
    ($factory:expr; $($name:ident)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                let (store, _keep) = ($factory)().await;
                $crate::suite::$name(&*store).await;
            }
        )+
    };
}

/// A session of the suite.
pub fn session(name: &str) -> SessionKey {
    SessionKey::new(name)
}

/// A target of the suite.
pub fn target(name: &str) -> TargetKey {
    TargetKey::new(name.as_bytes())
}

/// Content as it was observed.
pub fn seen(content: &str) -> Observation {
    Observation::Present(Version::of(content.as_bytes()))
}

/// Of two observations the higher order stays, and of one order the first.
pub async fn an_observation_that_comes_late_does_not_replace_a_newer_one(store: &dyn ObservationStore) {
    let (session, target) = (session("s"), target("t"));
    store.record(&session, &target, seen("new"), Order(7)).await.unwrap();
    store.record(&session, &target, seen("old"), Order(6)).await.unwrap();
    store.record(&session, &target, seen("same order"), Order(7)).await.unwrap();
    assert_eq!(store.get(&session, &target).await.unwrap(), Some(seen("new")));
    store.record(&session, &target, Observation::Absent, Order(8)).await.unwrap();
    assert_eq!(store.get(&session, &target).await.unwrap(), Some(Observation::Absent));
}

/// A forget covers observations that began before it and come after it.
pub async fn what_began_before_a_forget_is_not_recorded_after_it(store: &dyn ObservationStore) {
    let session = session("s");
    for scope in [ForgetScope::Targets(vec![target("never seen")]), ForgetScope::All] {
        store.forget(&session, scope, Order(10)).await.unwrap();
        store.record(&session, &target("never seen"), seen("x"), Order(10)).await.unwrap();
        assert_eq!(store.get(&session, &target("never seen")).await.unwrap(), None);
    }
    store.record(&session, &target("never seen"), seen("x"), Order(11)).await.unwrap();
    assert_eq!(store.get(&session, &target("never seen")).await.unwrap(), Some(seen("x")));
}

/// A forget covers the observations of its own order, whichever came first.
pub async fn a_forget_of_the_same_order_wins_in_both_sequences(store: &dyn ObservationStore) {
    let scopes = [("a", ForgetScope::Targets(vec![target("t")])), ("b", ForgetScope::All)];
    for (name, scope) in scopes {
        let session = session(name);
        store.record(&session, &target("t"), seen("x"), Order(5)).await.unwrap();
        store.forget(&session, scope, Order(5)).await.unwrap();
        store.record(&session, &target("t"), seen("x"), Order(5)).await.unwrap();
        assert_eq!(store.get(&session, &target("t")).await.unwrap(), None);
    }
}

/// A forget does not reach what was seen after it.
pub async fn a_forget_keeps_what_was_seen_after_it(store: &dyn ObservationStore) {
    let session = session("s");
    store.record(&session, &target("t"), seen("x"), Order(11)).await.unwrap();
    for scope in [ForgetScope::Targets(vec![target("t")]), ForgetScope::All] {
        store.forget(&session, scope, Order(10)).await.unwrap();
        assert_eq!(store.get(&session, &target("t")).await.unwrap(), Some(seen("x")));
    }
}

/// An ended session stays ended.
pub async fn an_ended_session_does_not_revive_by_a_record_that_comes_late(store: &dyn ObservationStore) {
    let (session, target) = (session("s"), target("t"));
    store.record(&session, &target, seen("x"), Order(1)).await.unwrap();
    store.end_session(&session).await.unwrap();
    store.record(&session, &target, seen("x"), Order(2)).await.unwrap();
    store.forget(&session, ForgetScope::All, Order(3)).await.unwrap();
    assert_eq!(store.get(&session, &target).await.unwrap(), None);
    store.end_session(&session).await.unwrap();
    assert_eq!(store.get(&session, &target).await.unwrap(), None);
}

/// What one session saw at one target says nothing of another session or target.
pub async fn sessions_and_targets_do_not_share_observations(store: &dyn ObservationStore) {
    store.record(&session("s"), &target("t"), seen("x"), Order(1)).await.unwrap();
    assert_eq!(store.get(&session("s"), &target("T")).await.unwrap(), None);
    assert_eq!(store.get(&session("S"), &target("t")).await.unwrap(), None);
    store.forget(&session("S"), ForgetScope::All, Order(9)).await.unwrap();
    store.end_session(&session("S")).await.unwrap();
    assert_eq!(store.get(&session("s"), &target("t")).await.unwrap(), Some(seen("x")));
}

/// How many sessions a random history has.
pub const SESSIONS: u8 = 3;
/// How many targets a random history has.
pub const TARGETS: u8 = 6;

/// One step of a random history; sessions, targets and contents by number.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the arguments of the operations")]
pub enum Step {
    /// [`ObservationStore::record`]; no observation: absent.
    Record { session: u8, target: u8, observation: Option<u8>, order: i64 },
    /// [`ObservationStore::forget`] of some targets.
    Forget { session: u8, targets: Vec<u8>, order: i64 },
    /// [`ObservationStore::forget`] of all targets.
    ForgetAll { session: u8, order: i64 },
    /// [`ObservationStore::end_session`].
    End { session: u8 },
}

/// Any step, with orders that often meet.
pub fn step() -> impl Strategy<Value = Step> {
    let (session, target, order) = (0..SESSIONS, 0..TARGETS, 0..40i64);
    prop_oneof![
        12 => (session.clone(), target.clone(), any::<Option<u8>>(), order.clone()).prop_map(
            |(session, target, observation, order)| Step::Record { session, target, observation, order }
        ),
        3 => (session.clone(), prop::collection::vec(target, 0..3), order.clone())
            .prop_map(|(session, targets, order)| Step::Forget { session, targets, order }),
        2 => (session.clone(), order).prop_map(|(session, order)| Step::ForgetAll { session, order }),
        1 => session.prop_map(|session| Step::End { session }),
    ]
}

/// An order, and what was seen at it; `None`: it was forgotten.
type ModelFact = (i64, Option<Observation>);

/// The whole history, looked through at each question.
#[derive(Debug, Default)]
pub struct Model {
    facts: HashMap<(u8, u8), Vec<ModelFact>>,
    ended: HashSet<u8>,
}

impl Model {
    fn note(&mut self, session: u8, target: u8, order: i64, seen: Option<Observation>) {
        self.facts.entry((session, target)).or_default().push((order, seen));
    }

    /// Notes a step.
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Record { session, target, observation, order } => {
                self.note(*session, *target, *order, Some(content(*observation)));
            }
            Step::Forget { session, targets, order } => {
                targets.iter().for_each(|&target| self.note(*session, target, *order, None));
            }
            Step::ForgetAll { session, order } => {
                (0..TARGETS).for_each(|target| self.note(*session, target, *order, None));
            }
            Step::End { session } => {
                self.ended.insert(*session);
            }
        }
    }

    /// The first observation of the highest order, unless it was forgotten at that order or the session ended.
    pub fn get(&self, session: u8, target: u8) -> Option<Observation> {
        if self.ended.contains(&session) {
            return None;
        }
        let facts = self.facts.get(&(session, target))?;
        let highest = facts.iter().map(|(order, _)| *order).max()?;
        let mut newest = facts.iter().filter(|(order, _)| *order == highest);
        if newest.clone().any(|(_, seen)| seen.is_none()) { None } else { newest.next()?.1.clone() }
    }
}

fn numbered(session: u8) -> SessionKey {
    self::session(&format!("s{session}"))
}

fn place(target: u8) -> TargetKey {
    self::target(&format!("t{target}"))
}

fn content(observation: Option<u8>) -> Observation {
    observation.map_or(Observation::Absent, |id| seen(&id.to_string()))
}

/// Does a step.
pub async fn perform(store: &dyn ObservationStore, step: &Step) {
    match step {
        Step::Record { session, target, observation, order } => {
            let (session, target) = (numbered(*session), place(*target));
            store.record(&session, &target, content(*observation), Order(*order)).await.unwrap();
        }
        Step::Forget { session, targets, order } => {
            let scope = ForgetScope::Targets(targets.iter().copied().map(place).collect());
            store.forget(&numbered(*session), scope, Order(*order)).await.unwrap();
        }
        Step::ForgetAll { session, order } => {
            store.forget(&numbered(*session), ForgetScope::All, Order(*order)).await.unwrap();
        }
        Step::End { session } => store.end_session(&numbered(*session)).await.unwrap(),
    }
}

/// Looks at every session and target, and hands what the store answers and what the model expects to a judge.
pub async fn compare(
    store: &dyn ObservationStore,
    model: &Model,
    judge: impl Fn(Option<Observation>, Option<Observation>),
) {
    for (session, target) in
        (0..SESSIONS).flat_map(|session| (0..TARGETS).map(move |target| (session, target)))
    {
        let answer = store.get(&numbered(session), &place(target)).await.unwrap();
        judge(answer, model.get(session, target));
    }
}

/// Plays a history against the whole of it, and judges after every step.
pub async fn replay(
    store: &dyn ObservationStore,
    steps: &[Step],
    judge: impl Fn(Option<Observation>, Option<Observation>),
) {
    let mut model = Model::default();
    for step in steps {
        perform(store, step).await;
        model.apply(step);
        compare(store, &model, &judge).await;
    }
}
