use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use toolfs_core::version::Version;

use super::*;

fn session(name: &str) -> SessionKey {
    SessionKey::new(name)
}

fn target(name: &str) -> TargetKey {
    TargetKey::new(name.as_bytes())
}

fn seen(content: &str) -> Observation {
    Observation::Present(Version::of(content.as_bytes()))
}

#[tokio::test]
async fn an_observation_that_comes_late_does_not_replace_a_newer_one() {
    let store = MemoryObservationStore::new();
    let (session, target) = (session("s"), target("t"));
    store.record(&session, &target, seen("new"), Order(7)).await.unwrap();
    store.record(&session, &target, seen("old"), Order(6)).await.unwrap();
    store.record(&session, &target, seen("same order"), Order(7)).await.unwrap();
    assert_eq!(store.get(&session, &target).await.unwrap(), Some(seen("new")));
}

#[tokio::test]
async fn what_began_before_a_forget_is_not_recorded_after_it() {
    let store = MemoryObservationStore::new();
    let session = session("s");
    for scope in [ForgetScope::Targets(vec![target("never seen")]), ForgetScope::All] {
        store.forget(&session, scope, Order(10)).await.unwrap();
        store.record(&session, &target("never seen"), seen("x"), Order(10)).await.unwrap();
        assert_eq!(store.get(&session, &target("never seen")).await.unwrap(), None);
    }
    store.record(&session, &target("never seen"), seen("x"), Order(11)).await.unwrap();
    assert_eq!(store.get(&session, &target("never seen")).await.unwrap(), Some(seen("x")));
}

#[tokio::test]
async fn a_forget_of_the_same_order_wins_in_both_sequences() {
    for scope in [ForgetScope::Targets(vec![target("t")]), ForgetScope::All] {
        let store = MemoryObservationStore::new();
        let session = session("s");
        store.record(&session, &target("t"), seen("x"), Order(5)).await.unwrap();
        store.forget(&session, scope, Order(5)).await.unwrap();
        store.record(&session, &target("t"), seen("x"), Order(5)).await.unwrap();
        assert_eq!(store.get(&session, &target("t")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_forget_keeps_what_was_seen_after_it() {
    let store = MemoryObservationStore::new();
    let session = session("s");
    store.record(&session, &target("t"), seen("x"), Order(11)).await.unwrap();
    for scope in [ForgetScope::Targets(vec![target("t")]), ForgetScope::All] {
        store.forget(&session, scope, Order(10)).await.unwrap();
        assert_eq!(store.get(&session, &target("t")).await.unwrap(), Some(seen("x")));
    }
}

#[tokio::test]
async fn an_ended_session_does_not_revive_by_a_record_that_comes_late() {
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

#[derive(Clone, Debug)]
enum Step {
    Record { session: u8, target: u8, observation: Option<u8>, order: i64 },
    Forget { session: u8, targets: Vec<u8>, order: i64 },
    ForgetAll { session: u8, order: i64 },
    End { session: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    let (session, target, order) = (0..3u8, 0..6u8, 0..40i64);
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
#[derive(Default)]
struct Model {
    facts: HashMap<(u8, u8), Vec<ModelFact>>,
    ended: HashSet<u8>,
}

impl Model {
    fn note(&mut self, session: u8, target: u8, order: i64, seen: Option<Observation>) {
        self.facts.entry((session, target)).or_default().push((order, seen));
    }

    /// The first observation of the highest order, unless it was forgotten at that order or the session ended.
    fn get(&self, session: u8, target: u8) -> Option<Observation> {
        if self.ended.contains(&session) {
            return None;
        }
        let facts = self.facts.get(&(session, target))?;
        let highest = facts.iter().map(|(order, _)| *order).max()?;
        let mut newest = facts.iter().filter(|(order, _)| *order == highest);
        if newest.clone().any(|(_, seen)| seen.is_none()) { None } else { newest.next()?.1.clone() }
    }
}

async fn replay(
    limits: MemoryStoreLimits,
    steps: &[Step],
    judge: impl Fn(Option<Observation>, Option<Observation>),
) {
    let store = MemoryObservationStore::with_limits(limits);
    let mut model = Model::default();
    let name = |session: u8| self::session(&format!("s{session}"));
    let place = |target: u8| self::target(&format!("t{target}"));
    for step in steps {
        match step.clone() {
            Step::Record { session, target, observation, order } => {
                let observation = observation.map_or(Observation::Absent, |id| seen(&id.to_string()));
                store
                    .record(&name(session), &place(target), observation.clone(), Order(order))
                    .await
                    .unwrap();
                model.note(session, target, order, Some(observation));
            }
            Step::Forget { session, targets, order } => {
                let scope = ForgetScope::Targets(targets.iter().copied().map(place).collect());
                store.forget(&name(session), scope, Order(order)).await.unwrap();
                targets.iter().for_each(|&target| model.note(session, target, order, None));
            }
            Step::ForgetAll { session, order } => {
                store.forget(&name(session), ForgetScope::All, Order(order)).await.unwrap();
                (0..6).for_each(|target| model.note(session, target, order, None));
            }
            Step::End { session } => {
                store.end_session(&name(session)).await.unwrap();
                model.ended.insert(session);
            }
        }
        for (session, target) in (0..3).flat_map(|session| (0..6).map(move |target| (session, target))) {
            let answer = store.get(&name(session), &place(target)).await.unwrap();
            judge(answer, model.get(session, target));
        }
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
        block_on(replay(MemoryStoreLimits::DEFAULT, &steps, |answer, expected| assert_eq!(answer, expected)));
    }

    /// Room for a handful of facts: what is lost is lost, and nothing else is ever answered.
    #[test]
    fn a_store_without_room_loses_and_never_invents(steps in prop::collection::vec(step(), 1..60)) {
        let limits = MemoryStoreLimits { total_bytes: 1_600 * SHARD_COUNT, session_bytes: 1_000, ended_sessions: 1_600 };
        block_on(replay(limits, &steps, |answer, expected| assert!(answer.is_none() || answer == expected)));
    }
}
