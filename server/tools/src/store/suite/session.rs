//! What every store of sessions does.

#![allow(missing_docs, reason = "a case is described by its name")]

use std::collections::{BTreeMap, HashSet};

use futures_util::future::join_all;
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::id::{SessionKey, SessionName};
use toolfs_core::target::{Target, TargetKey};

use super::SessionFixture;
use crate::session::{Caller, SessionMode};
use crate::store::{Insertion, SessionRecord, SessionStore};

const MANY: u64 = 1_000;

fn target(path: &[u8]) -> Target {
    Target {
        key: TargetKey::new(path),
        raw_path: path.to_vec(),
        process_path: b"/host".to_vec(),
        display_path: toolfs_core::target::display_form(path),
        file_url: toolfs_core::target::file_url(path),
        protected_rule: None,
    }
}

fn record(number: u64) -> SessionRecord {
    SessionRecord {
        key: SessionKey::new(&format!("key-{number}")),
        name: SessionName::new(&format!("session-{number}")),
        owner: Caller::Local,
        cwd: target(b"/workspace"),
        roots: Vec::new(),
        shown_roots: vec!["/workspace".into()],
        labels: BTreeMap::new(),
        mode: SessionMode::WorkspaceWrite,
        created: Timestamp(1_000),
        last_used: Timestamp(1_000),
    }
}

async fn insert(store: &dyn SessionStore, session: &SessionRecord) {
    assert_eq!(store.insert(session.clone(), MANY).await.unwrap(), Insertion::Inserted);
}

pub async fn what_is_inserted_is_found_as_it_is(state: SessionFixture) {
    let plain = record(1);
    let full = SessionRecord {
        owner: Caller::Named("Jörg \"the\n\0 second\"".into()),
        cwd: target(b"/workspace/\xff\n"),
        roots: vec![target(b"/workspace/\xff"), target(b"/workspace/b")],
        shown_roots: vec!["/workspace/\\xff".into(), "/workspace/b".into()],
        labels: BTreeMap::from([("agent".into(), "seven".into()), (String::new(), "\u{0}😀".into())]),
        mode: SessionMode::ReadOnly,
        created: Timestamp(i64::MAX),
        last_used: Timestamp(i64::MIN),
        ..record(2)
    };
    for session in [plain, full] {
        assert_eq!(state.one.find(&session.key).await.unwrap(), None);
        insert(&*state.one, &session).await;
        assert_eq!(state.one.find(&session.key).await.unwrap(), Some(session.clone()));
        assert_eq!(state.other.find(&session.key).await.unwrap(), Some(session));
    }
}

pub async fn a_full_store_takes_no_session(state: SessionFixture) {
    for number in 0..3 {
        assert_eq!(state.one.insert(record(number), 3).await.unwrap(), Insertion::Inserted);
    }
    for store in [&state.one, &state.other] {
        assert_eq!(store.insert(record(9), 3).await.unwrap(), Insertion::Full);
    }
    assert_eq!(state.one.find(&record(9).key).await.unwrap(), None);
    assert!(state.other.remove(&record(1).key).await.unwrap());
    assert_eq!(state.one.insert(record(9), 3).await.unwrap(), Insertion::Inserted);
}

pub async fn of_many_at_once_only_so_many_are_taken(state: SessionFixture) {
    let inserts = (0..40).map(|number| {
        let store = if number % 2 == 0 { &state.one } else { &state.other };
        store.insert(record(number), 7)
    });
    let inserted = join_all(inserts).await.into_iter().map(Result::unwrap);
    assert_eq!(inserted.filter(|insertion| *insertion == Insertion::Inserted).count(), 7);
    assert_eq!(state.one.page(&Caller::Local, 0, 100).await.unwrap().len(), 7);
}

pub async fn a_name_is_never_used_again(state: SessionFixture) {
    insert(&*state.one, &record(1)).await;
    let namesake = SessionRecord { key: SessionKey::new("another"), ..record(1) };
    for is_removed in [false, true] {
        if is_removed {
            state.one.remove(&record(1).key).await.unwrap();
        }
        for store in [&state.one, &state.other] {
            let insertion = store.insert(namesake.clone(), MANY).await.unwrap();
            assert_eq!(insertion, Insertion::NameTaken, "removed: {is_removed}");
        }
    }
    assert_eq!(state.one.find(&namesake.key).await.unwrap(), None);
}

pub async fn a_removed_session_is_gone_everywhere(state: SessionFixture) {
    insert(&*state.one, &record(1)).await;
    assert!(state.other.remove(&record(1).key).await.unwrap());
    for store in [&state.one, &state.other] {
        assert_eq!(store.find(&record(1).key).await.unwrap(), None);
        assert!(!store.remove(&record(1).key).await.unwrap());
        // A use that comes late does not bring it back.
        store.touch(&record(1).key, Timestamp(9_000)).await.unwrap();
        assert_eq!(store.find(&record(1).key).await.unwrap(), None);
        assert!(store.page(&Caller::Local, 0, 10).await.unwrap().is_empty());
        assert!(store.unused_since(Timestamp(i64::MAX), 10).await.unwrap().is_empty());
    }
}

pub async fn a_removal_is_counted_before_it_returns(state: SessionFixture) {
    let counts = || (state.one.removals(), state.other.removals());
    for number in 0..2 {
        insert(&*state.one, &record(number)).await;
    }
    let before = counts();
    assert_eq!(counts(), before, "the number stays while nothing is removed");
    state.one.remove(&record(0).key).await.unwrap();
    let after_one = counts();
    assert!(after_one.0 != before.0 && after_one.1 != before.1, "{before:?} {after_one:?}");
    state.other.remove_unused(&record(1).key, Timestamp(1_000)).await.unwrap();
    let after_both = counts();
    assert!(after_both.0 != after_one.0 && after_both.1 != after_one.1, "{after_one:?} {after_both:?}");
}

pub async fn an_older_use_changes_nothing(state: SessionFixture) {
    insert(&*state.one, &record(1)).await;
    for (touched, expected) in [(5_000, 5_000), (4_000, 5_000), (5_000, 5_000), (5_001, 5_001)] {
        state.one.touch(&record(1).key, Timestamp(touched)).await.unwrap();
        let found = state.one.find(&record(1).key).await.unwrap().unwrap();
        assert_eq!(found.last_used, Timestamp(expected));
    }
    state.one.touch(&SessionKey::new("never"), Timestamp(1)).await.unwrap();
}

pub async fn the_longest_unused_come_first(state: SessionFixture) {
    for (number, last_used) in [(1, 30), (2, 10), (3, 20), (4, 40)] {
        let session = SessionRecord { last_used: Timestamp(last_used), ..record(number) };
        insert(&*state.one, &session).await;
    }
    state.one.touch(&record(2).key, Timestamp(25)).await.unwrap();
    let unused = async |time, count| -> Vec<String> {
        let sessions = state.one.unused_since(Timestamp(time), count).await.unwrap();
        sessions.iter().map(|session| session.name.as_str().to_owned()).collect()
    };
    assert_eq!(unused(30, 10).await, ["session-3", "session-2", "session-1"]);
    assert_eq!(unused(29, 10).await, ["session-3", "session-2"]);
    assert_eq!(unused(40, 2).await, ["session-3", "session-2"]);
    assert!(unused(19, 10).await.is_empty());
}

pub async fn only_an_unused_session_is_removed_as_unused(state: SessionFixture) {
    insert(&*state.one, &record(1)).await;
    state.one.touch(&record(1).key, Timestamp(5_000)).await.unwrap();
    assert!(!state.one.remove_unused(&record(1).key, Timestamp(4_999)).await.unwrap());
    assert!(state.one.find(&record(1).key).await.unwrap().is_some());
    assert!(state.one.remove_unused(&record(1).key, Timestamp(5_000)).await.unwrap());
    for store in [&state.one, &state.other] {
        assert!(!store.remove_unused(&record(1).key, Timestamp(i64::MAX)).await.unwrap());
        assert_eq!(store.find(&record(1).key).await.unwrap(), None);
    }
}

pub async fn a_page_is_its_owners_and_oldest_first(state: SessionFixture) {
    let other = Caller::Named("other".into());
    for number in 0..12 {
        let owner = if number % 3 == 0 { other.clone() } else { Caller::Local };
        let store = if number % 2 == 0 { &state.one } else { &state.other };
        // Time may stand, or go back: the order is that of the insertions.
        insert(&**store, &SessionRecord { owner, created: Timestamp(-1), ..record(number) }).await;
    }
    let names = async |store: &dyn SessionStore, owner: &Caller, size: usize| {
        let (mut names, mut after) = (Vec::new(), 0);
        loop {
            let page = store.page(owner, after, size).await.unwrap();
            assert!(page.len() <= size);
            let Some((last, _)) = page.last() else { return names };
            assert!(page.iter().all(|(serial, _)| *serial > after), "serial numbers rise from 1");
            after = *last;
            names.extend(page.into_iter().map(|(_, session)| session.name.as_str().to_owned()));
        }
    };
    let of_local = [1, 2, 4, 5, 7, 8, 10, 11].map(|number| format!("session-{number}"));
    for size in [1, 3, 100] {
        assert_eq!(names(&*state.one, &Caller::Local, size).await, of_local);
        assert_eq!(names(&*state.other, &other, size).await.len(), 4);
    }
    // A serial number stays when others go, and is not used again.
    let before = state.one.page(&Caller::Local, 0, 100).await.unwrap();
    for number in [1, 11] {
        state.one.remove(&record(number).key).await.unwrap();
    }
    insert(&*state.one, &record(20)).await;
    let after = state.other.page(&Caller::Local, 0, 100).await.unwrap();
    assert_eq!(after[..6], before[1..7]);
    assert!(after[6].0 > before[7].0);
    assert!(state.one.page(&Caller::Local, u64::MAX, 1).await.unwrap().is_empty());
}

pub async fn the_end_of_a_removed_session_is_left_to_do_until_it_is_done(state: SessionFixture) {
    for number in 1..=4 {
        insert(&*state.one, &record(number)).await;
    }
    assert!(state.one.ending(10).await.unwrap().is_empty());
    state.one.remove(&record(1).key).await.unwrap();
    state.other.remove(&record(2).key).await.unwrap();
    state.one.remove_unused(&record(3).key, Timestamp(1_000)).await.unwrap();
    let keys = |numbers: &[u64]| numbers.iter().map(|number| record(*number).key).collect::<HashSet<_>>();
    let ending = async |store: &dyn SessionStore| {
        store.ending(10).await.unwrap().into_iter().collect::<HashSet<SessionKey>>()
    };
    assert_eq!(ending(&*state.one).await, keys(&[1, 2, 3]));
    assert_eq!(ending(&*state.other).await, keys(&[1, 2, 3]));
    assert_eq!(state.one.ending(2).await.unwrap().len(), 2);
    state.one.ended(&record(2).key).await.unwrap();
    state.one.ended(&SessionKey::new("never")).await.unwrap();
    assert_eq!(ending(&*state.other).await, keys(&[1, 3]));
    state.other.ended(&record(2).key).await.unwrap();
    // What is open does not end.
    state.one.ended(&record(4).key).await.unwrap();
    assert!(state.one.find(&record(4).key).await.unwrap().is_some());
}

/// So that no server ends a session that is used through the other one.
pub async fn a_use_at_one_server_is_known_at_the_other(state: SessionFixture) {
    for (number, one, other) in [(1, &state.one, &state.other), (2, &state.other, &state.one)] {
        let session = record(number);
        insert(&**one, &session).await;
        one.touch(&session.key, Timestamp(2_000)).await.unwrap();
        assert_eq!(other.find(&session.key).await.unwrap().unwrap().last_used, Timestamp(2_000));
        assert!(!other.remove_unused(&session.key, Timestamp(1_999)).await.unwrap());
        assert!(other.unused_since(Timestamp(1_999), 10).await.unwrap().is_empty());
        let page = other.page(&session.owner, 0, 10).await.unwrap();
        assert_eq!(page.last().unwrap().1.last_used, Timestamp(2_000));
    }
}

/// Also when the clock stands, steps back, or is another one.
pub async fn orders_rise_whichever_server_draws_them(state: SessionFixture) {
    let mut last = state.one.next_order(Timestamp(1_000));
    assert_eq!(last, Order::ZERO.next(Timestamp(1_000)));
    for (number, time) in [1_000, 1_000, 999, 5, 2_000, 2_000, 1, 1, 2_001].into_iter().enumerate() {
        for store in [&state.one, &state.other, &state.other] {
            let next = store.next_order(Timestamp(time));
            assert!(next > last, "{number}: {next:?} {last:?}");
            last = next;
        }
    }
    assert!(last > Order::ZERO.next(Timestamp(2_001)));
}

pub async fn no_two_servers_draw_one_order(state: SessionFixture) {
    let draw =
        |store: &dyn SessionStore| (0..2_000).map(|_| store.next_order(Timestamp(7)).0).collect::<Vec<_>>();
    let mut orders: Vec<i64> = std::thread::scope(|scope| {
        let (one, other) = (&*state.one, &*state.other);
        let drawers = [scope.spawn(move || draw(one)), scope.spawn(move || draw(other))];
        drawers.into_iter().flat_map(|drawer| drawer.join().unwrap()).collect()
    });
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 4_000);
}
