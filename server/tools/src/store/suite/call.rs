//! What every store of calls does.

#![allow(missing_docs, reason = "a case is described by its name")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use toolfs_core::clock::Clock as _;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::id::{RequestId, SessionKey};
use toolfs_core::version::Version;

use super::{CallFixture, MAX_BYTES, WINDOW};
use crate::store::{Beginning, CallKey, CallRecord, CallState, CallStore, DecidedGuard, Ending, Fingerprint};

const SAME: Fingerprint = [7; 32];
const ANOTHER: Fingerprint = [8; 32];

fn key(number: u64) -> CallKey {
    key_in("session", number)
}

fn key_in(session: &str, number: u64) -> CallKey {
    let request = RequestId::parse(&format!("00000000-0000-4000-8000-{number:012x}")).unwrap();
    CallKey { session: SessionKey::new(session), request }
}

/// The guard of the first one, and that of whoever comes later.
fn guards() -> (DecidedGuard, DecidedGuard) {
    let first = DecidedGuard::Edit(EditGuard::ReplaceIfVersion(Version::of(b"seen")));
    (first, DecidedGuard::Write(WriteGuard::CreateIfAbsent))
}

fn begun(guard: &DecidedGuard, is_live: bool) -> CallRecord {
    CallRecord { fingerprint: SAME, state: CallState::Begun { guard: guard.clone(), is_live } }
}

fn ended(result: &[u8]) -> CallRecord {
    CallRecord { fingerprint: SAME, state: CallState::Ended { result: result.to_vec() } }
}

impl CallFixture {
    async fn begin(&self, store: &dyn CallStore, number: u64, guard: &DecidedGuard) -> Beginning {
        store.begin(&key(number), &SAME, guard, self.clock.now()).await.unwrap()
    }

    async fn end(&self, store: &dyn CallStore, number: u64, result: &[u8]) {
        assert_eq!(self.try_end(store, number, result).await, Ending::Remembered);
    }

    async fn try_end(&self, store: &dyn CallStore, number: u64, result: &[u8]) -> Ending {
        store.end(&key(number), &SAME, result.to_vec(), false, self.clock.now()).await.unwrap()
    }
}

pub async fn a_call_that_nobody_noted_is_unknown(state: CallFixture) {
    let (guard, _) = guards();
    assert_eq!(state.one.find(&key(1)).await.unwrap(), None);
    state.begin(&*state.one, 1, &guard).await;
    // A request id means something within its session only.
    for unknown in [key(2), key_in("another", 1)] {
        assert_eq!(state.one.find(&unknown).await.unwrap(), None);
        state.one.abandon(&unknown).await.unwrap();
        state.one.release(&unknown).await.unwrap();
        assert_eq!(state.one.find(&unknown).await.unwrap(), None);
    }
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
}

pub async fn a_noted_call_is_live_and_keeps_its_guard(state: CallFixture) {
    let (guard, later) = guards();
    assert_eq!(state.begin(&*state.one, 1, &guard).await, Beginning::Noted(guard.clone()));
    for store in [&state.one, &state.other] {
        assert_eq!(store.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
        assert_eq!(state.begin(&**store, 1, &later).await, Beginning::Known(begun(&guard, true)));
    }
    let guards = [
        DecidedGuard::Write(WriteGuard::Unconditional),
        DecidedGuard::Write(WriteGuard::ReplaceIfVersion(Version::of(b"x"))),
        DecidedGuard::Edit(EditGuard::Unconditional),
    ];
    for (number, guard) in (2..).zip(guards) {
        state.begin(&*state.one, number, &guard).await;
        assert_eq!(state.other.find(&key(number)).await.unwrap(), Some(begun(&guard, true)));
    }
}

pub async fn of_many_that_begin_one_is_noted(state: CallFixture) {
    let (guard, _) = guards();
    let beginnings = (0..20).map(|number| {
        let store = if number % 2 == 0 { &state.one } else { &state.other };
        state.begin(&**store, 1, &guard)
    });
    let noted = Beginning::Noted(guard.clone());
    assert_eq!(join_all(beginnings).await.into_iter().filter(|begun| *begun == noted).count(), 1);
}

pub async fn an_ended_call_has_its_result_everywhere(state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.end(&*state.one, 1, b"\0result\xff").await;
    for store in [&state.one, &state.other] {
        assert_eq!(store.find(&key(1)).await.unwrap(), Some(ended(b"\0result\xff")));
        assert_eq!(state.begin(&**store, 1, &later).await, Beginning::Known(ended(b"\0result\xff")));
    }
}

pub async fn a_result_needs_no_note(state: CallFixture) {
    state.end(&*state.one, 1, b"").await;
    assert_eq!(state.other.find(&key(1)).await.unwrap(), Some(ended(b"")));
}

pub async fn what_a_call_ended_in_first_stays(state: CallFixture) {
    state.end(&*state.one, 1, b"first").await;
    for store in [&state.one, &state.other] {
        assert_eq!(state.try_end(&**store, 1, b"second").await, Ending::Known(ended(b"first")));
        assert_eq!(store.find(&key(1)).await.unwrap(), Some(ended(b"first")));
    }
    let another =
        state.other.end(&key(1), &ANOTHER, b"third".to_vec(), false, state.clock.now()).await.unwrap();
    assert_eq!(another, Ending::Known(ended(b"first")));
}

pub async fn only_who_noted_a_call_ends_it(state: CallFixture) {
    let (guard, _) = guards();
    state.begin(&*state.one, 1, &guard).await;
    assert_eq!(state.try_end(&*state.other, 1, b"refused").await, Ending::Known(begun(&guard, true)));
    let another =
        state.one.end(&key(1), &ANOTHER, b"refused".to_vec(), false, state.clock.now()).await.unwrap();
    assert_eq!(another, Ending::Known(begun(&guard, true)));
    state.end(&*state.one, 1, b"done").await;
    // One that was left belongs to whoever takes it over.
    state.begin(&*state.one, 2, &guard).await;
    state.one.release(&key(2)).await.unwrap();
    assert_eq!(state.try_end(&*state.other, 2, b"refused").await, Ending::Known(begun(&guard, false)));
    state.begin(&*state.other, 2, &guard).await;
    state.end(&*state.other, 2, b"done").await;
}

pub async fn a_call_that_was_left_is_ended_by_who_resumes_it(state: CallFixture) {
    let (guard, _) = guards();
    let resume = async |store: &dyn CallStore, number| {
        store.end(&key(number), &SAME, b"refused".to_vec(), true, state.clock.now()).await.unwrap()
    };
    state.begin(&*state.one, 1, &guard).await;
    assert_eq!(resume(&*state.other, 1).await, Ending::Known(begun(&guard, true)));
    state.one.release(&key(1)).await.unwrap();
    assert_eq!(resume(&*state.other, 1).await, Ending::Remembered);
    assert_eq!(resume(&*state.other, 1).await, Ending::Known(ended(b"refused")));
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(ended(b"refused")));
}

pub async fn another_fingerprint_is_told(mut state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.end(&*state.one, 2, b"two").await;
    state.begin(&*state.other, 3, &guard).await;
    state.other = Arc::clone(&state.one);
    let expected = [(1, begun(&guard, true)), (2, ended(b"two")), (3, begun(&guard, false))];
    for (number, expected) in expected {
        let beginning = state.one.begin(&key(number), &ANOTHER, &later, state.clock.now()).await.unwrap();
        assert_eq!(beginning, Beginning::Known(expected));
    }
}

pub async fn a_call_of_a_server_that_is_gone_is_taken_over_with_its_guard(mut state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.other, 1, &guard).await;
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
    state.other = Arc::clone(&state.one);
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, false)));
    assert_eq!(state.begin(&*state.one, 1, &later).await, Beginning::Noted(guard.clone()));
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
    assert_eq!(state.begin(&*state.one, 1, &later).await, Beginning::Known(begun(&guard, true)));
}

pub async fn a_released_call_is_taken_over_with_its_guard(state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.one.release(&key(1)).await.unwrap();
    for store in [&state.one, &state.other] {
        assert_eq!(store.find(&key(1)).await.unwrap(), Some(begun(&guard, false)));
    }
    assert_eq!(state.begin(&*state.other, 1, &later).await, Beginning::Noted(guard.clone()));
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
    state.end(&*state.other, 1, b"done").await;
    state.other.release(&key(1)).await.unwrap();
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(ended(b"done")));
}

pub async fn only_who_noted_a_call_releases_it(state: CallFixture) {
    let (guard, _) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.other.release(&key(1)).await.unwrap();
    assert_eq!(state.other.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
}

pub async fn only_who_noted_a_call_last_abandons_it(state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.other.abandon(&key(1)).await.unwrap();
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
    state.one.release(&key(1)).await.unwrap();
    // It is nobody's now: whoever noted it may not know what became of it.
    state.one.abandon(&key(1)).await.unwrap();
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, false)));
    assert_eq!(state.begin(&*state.other, 1, &later).await, Beginning::Noted(guard.clone()));
    state.one.abandon(&key(1)).await.unwrap();
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(begun(&guard, true)));
    state.other.abandon(&key(1)).await.unwrap();
    assert_eq!(state.one.find(&key(1)).await.unwrap(), None);
}

pub async fn an_abandoned_call_is_forgotten_and_an_ended_one_is_not(state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.one.abandon(&key(1)).await.unwrap();
    assert_eq!(state.other.find(&key(1)).await.unwrap(), None);
    assert_eq!(state.begin(&*state.other, 1, &later).await, Beginning::Noted(later));
    state.end(&*state.one, 2, b"two").await;
    state.one.abandon(&key(2)).await.unwrap();
    assert_eq!(state.one.find(&key(2)).await.unwrap(), Some(ended(b"two")));
}

pub async fn a_session_ends_with_its_calls(state: CallFixture) {
    let (guard, _) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.end(&*state.one, 2, b"two").await;
    let stays = key_in("another", 1);
    state.one.end(&stays, &SAME, b"stays".to_vec(), false, state.clock.now()).await.unwrap();
    state.other.end_session(&key(1).session).await.unwrap();
    for number in [1, 2] {
        assert_eq!(state.one.find(&key(number)).await.unwrap(), None);
    }
    assert_eq!(state.one.find(&stays).await.unwrap(), Some(ended(b"stays")));
    state.one.end_session(&SessionKey::new("never")).await.unwrap();
}

pub async fn a_result_is_forgotten_after_the_window(state: CallFixture) {
    let (guard, later) = guards();
    state.end(&*state.one, 1, b"first").await;
    state.begin(&*state.one, 2, &guard).await;
    state.clock.advance(WINDOW - Duration::from_millis(1));
    state.end(&*state.one, 3, b"third").await;
    assert_eq!(state.one.find(&key(1)).await.unwrap(), Some(ended(b"first")));
    state.clock.advance(Duration::from_millis(2));
    for store in [&state.one, &state.other] {
        assert_eq!(store.find(&key(1)).await.unwrap(), None);
        // One that a server still runs stays however long it takes.
        assert_eq!(store.find(&key(2)).await.unwrap(), Some(begun(&guard, true)));
        assert_eq!(store.find(&key(3)).await.unwrap(), Some(ended(b"third")));
    }
    assert_eq!(state.begin(&*state.one, 1, &later).await, Beginning::Noted(later));
}

pub async fn a_call_that_was_left_is_forgotten_after_the_window(mut state: CallFixture) {
    let (guard, later) = guards();
    state.begin(&*state.one, 1, &guard).await;
    state.one.release(&key(1)).await.unwrap();
    state.begin(&*state.other, 2, &guard).await;
    state.other = Arc::clone(&state.one);
    state.clock.advance(WINDOW - Duration::from_millis(1));
    for number in [1, 2] {
        assert_eq!(state.one.find(&key(number)).await.unwrap(), Some(begun(&guard, false)));
    }
    state.clock.advance(Duration::from_millis(2));
    for number in [1, 2] {
        assert_eq!(state.one.find(&key(number)).await.unwrap(), None);
        assert_eq!(state.begin(&*state.one, number, &later).await, Beginning::Noted(later.clone()));
        assert_eq!(state.one.find(&key(number)).await.unwrap(), Some(begun(&later, true)));
    }
}

pub async fn results_that_ended_first_make_room(state: CallFixture) {
    let (guard, _) = guards();
    state.begin(&*state.one, 0, &guard).await;
    let size = usize::try_from(MAX_BYTES / 10).unwrap();
    let count = 100;
    for number in 1..=count {
        state.clock.advance(Duration::from_millis(1));
        state.end(&*state.one, number, &vec![1; size]).await;
    }
    // A store may make room a little later than it is needed: it is looked at after each result here.
    let mut kept = Vec::new();
    for number in 1..=count {
        if state.one.find(&key(number)).await.unwrap().is_some() {
            kept.push(number);
        }
    }
    assert!((1..=10).contains(&kept.len()), "{kept:?}");
    assert!(kept.iter().copied().eq(count + 1 - kept.len() as u64..=count), "not the newest: {kept:?}");
    assert_eq!(state.one.find(&key(0)).await.unwrap(), Some(begun(&guard, true)));
    // A result larger than all the room is not kept, and nobody is hurt.
    state.end(&*state.one, 200, &vec![1; 2 * usize::try_from(MAX_BYTES).unwrap()]).await;
    assert_eq!(state.one.find(&key(200)).await.unwrap(), None);
}
