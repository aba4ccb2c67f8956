use std::sync::Arc;

use toolfs_core::clock::{Order, Timestamp};
use toolfs_policy::suite::{seen, session, target};
use toolfs_policy::{ForgetScope, ObservationStore};
use toolfs_tools::{Beginning, CallState, CallStore, Insertion, SessionStore};

use crate::support::{SOON, call, findings, guard, open, record};

const THREADS: usize = 8;
const ROUNDS: usize = 60;

/// Each thread goes by its own sessions and calls and finds what it left, while all others write too.
#[test]
fn eight_threads_on_two_servers_find_what_they_left() {
    let directory = tempfile::tempdir().unwrap();
    let states = [Arc::new(open(directory.path(), SOON)), Arc::new(open(directory.path(), SOON))];
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let states = &states;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(work(thread, &states[thread % 2], &states[(thread / 2) % 2]));
            });
        }
    });
    let removed: Vec<_> = (0..THREADS * ROUNDS).filter(|number| number % 3 == 0).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let kept = states[0].page(&record(0).owner, 0, 10_000).await.unwrap();
        assert_eq!(kept.len(), THREADS * ROUNDS - removed.len());
        assert_eq!(states[1].ending(10_000).await.unwrap().len(), removed.len());
    });
    drop(states);
    assert_eq!(findings(directory.path()), Vec::<String>::new());
}

async fn work(
    thread: usize,
    state: &toolfs_state_embedded::EmbeddedState,
    other: &toolfs_state_embedded::EmbeddedState,
) {
    let now = Timestamp(1_700_000_000_000);
    let own = session(&format!("thread {thread}"));
    for round in 0..ROUNDS {
        let number = thread * ROUNDS + round;
        let order = i64::try_from(round).unwrap() * 10;
        let (kept, place) = (record(number), target(&format!("t{}", round % 5)));
        assert_eq!(state.insert(kept.clone(), 10_000).await.unwrap(), Insertion::Inserted);
        assert_eq!(SessionStore::find(other, &kept.key).await.unwrap(), Some(kept.clone()));
        state.touch(&kept.key, Timestamp(7)).await.unwrap();
        if number.is_multiple_of(3) {
            assert!(SessionStore::remove(other, &kept.key).await.unwrap());
            assert_eq!(SessionStore::find(state, &kept.key).await.unwrap(), None);
        }
        let noted = CallStore::begin(state, &call("s", number), &[1; 32], &guard(), now).await.unwrap();
        assert_eq!(noted, Beginning::Noted(guard()));
        state.end(&call("s", number), &[1; 32], vec![7], false, now).await.unwrap();
        let ended = CallStore::find(other, &call("s", number)).await.unwrap().unwrap();
        assert_eq!(ended.state, CallState::Ended { result: vec![7] });
        let content = seen(&number.to_string());
        state.record(&own, &place, content.clone(), Order(order)).await.unwrap();
        assert_eq!(state.get(&own, &place).await.unwrap(), Some(content));
        if round % 4 == 0 {
            state.forget(&own, ForgetScope::All, Order(order)).await.unwrap();
            assert_eq!(state.get(&own, &place).await.unwrap(), None);
            assert_eq!(other.get(&own, &place).await.unwrap(), None);
        }
    }
}
