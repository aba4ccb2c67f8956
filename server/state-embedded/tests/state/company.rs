use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use toolfs_core::clock::{Order, Timestamp};
use toolfs_policy::ObservationStore;
use toolfs_policy::suite::{seen, session, target};
use toolfs_state_embedded::{EmbeddedState, StateOptions};
use toolfs_tools::SessionStore;

use crate::support::{ManualClock, NEVER, eventually, findings, open, options, record};

/// How many observations are in the database, whoever may keep more in memory.
fn written(directory: &Path) -> i64 {
    let connection = rusqlite::Connection::open(directory.join("state.db")).unwrap();
    connection.query_row("SELECT count(*) FROM observation", [], |row| row.get(0)).unwrap()
}

async fn observe(state: &EmbeddedState, number: i64) {
    state.record(&session("s"), &target(&number.to_string()), seen("x"), Order(number)).await.unwrap();
}

async fn has_seen(state: &EmbeddedState, number: i64) -> bool {
    state.get(&session("s"), &target(&number.to_string())).await.unwrap().is_some()
}

#[tokio::test]
async fn what_a_lone_server_kept_is_known_to_the_one_that_comes() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), NEVER);
    first.insert(record(1), 10).await.unwrap();
    observe(&first, 1).await;
    first.touch(&record(1).key, Timestamp(99)).await.unwrap();
    assert_eq!(written(directory.path()), 0, "alone it writes behind");
    let second = open(directory.path(), NEVER);
    assert!(has_seen(&second, 1).await);
    assert_eq!(SessionStore::find(&second, &record(1).key).await.unwrap().unwrap().last_used, Timestamp(99));
    // From now on neither keeps anything to itself.
    for (number, state) in [(2, &first), (3, &second)] {
        observe(state, number).await;
        assert_eq!(written(directory.path()), number);
    }
}

#[tokio::test]
async fn a_server_that_is_alone_again_writes_behind_again() {
    for crashes in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let first = StateOptions { clock: clock.clone(), ..options(NEVER) };
        let first = EmbeddedState::open(directory.path(), first).unwrap();
        let second = open(directory.path(), NEVER);
        observe(&first, 0).await;
        assert_eq!(written(directory.path()), 1);
        if crashes {
            second.crash();
        }
        drop(second);
        let next = AtomicI64::new(1);
        eventually(async || {
            // Others are looked for every second.
            clock.advance(Duration::from_secs(2));
            let before = written(directory.path());
            observe(&first, next.fetch_add(1, Ordering::Relaxed)).await;
            written(directory.path()) == before
        })
        .await;
        let third = open(directory.path(), NEVER);
        for number in 0..next.into_inner() {
            assert!(has_seen(&third, number).await, "{number}");
        }
    }
}

/// Every observation that returned at the one is known at the other from the moment on at which the other is open.
#[test]
fn nothing_falls_between_while_a_server_comes() {
    const ROUNDS: usize = 20;
    let directory = tempfile::tempdir().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    for round in 0..ROUNDS {
        let first = open(directory.path(), NEVER);
        let start = i64::try_from(round).unwrap() * 1_000_000;
        let (returned, stop) = (AtomicI64::new(start), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                runtime().block_on(async {
                    for number in start + 1.. {
                        observe(&first, number).await;
                        returned.store(number, Ordering::SeqCst);
                        if stop.load(Ordering::SeqCst) {
                            return;
                        }
                    }
                });
            });
            while returned.load(Ordering::SeqCst) < start + 50 {
                std::thread::yield_now();
            }
            let second = open(directory.path(), NEVER);
            runtime().block_on(async {
                for _ in 0..200 {
                    let number = returned.load(Ordering::SeqCst);
                    assert!(has_seen(&second, number).await, "{number} of round {round}");
                }
                for number in start + 1..returned.load(Ordering::SeqCst) {
                    assert!(has_seen(&second, number).await, "{number} of round {round}");
                }
            });
            stop.store(true, Ordering::SeqCst);
        });
    }
    assert_eq!(findings(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_died_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), NEVER);
    observe(&first, 1).await;
    first.crash();
    let begun = Instant::now();
    let second = open(directory.path(), NEVER);
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(!has_seen(&second, 1).await);
}

/// Orders outlive the servers, and what was recorded is never above those to come.
#[tokio::test]
async fn orders_rise_across_restarts_also_when_the_clock_was_set_back() {
    let directory = tempfile::tempdir().unwrap();
    let hour = 3_600_000;
    let now = 1_700_000_000_000;
    let mut last = Order::ZERO;
    for is_lost in [false, true, false] {
        let state = open(directory.path(), NEVER);
        let next = state.next_order(Timestamp(now - hour));
        assert!(next > last, "{next:?} {last:?}");
        last = state.next_order(Timestamp(now));
        state.record(&session("s"), &target("t"), seen("x"), last).await.unwrap();
        drop(state);
        if is_lost {
            std::fs::remove_file(directory.path().join("common")).unwrap();
        }
    }
}

/// A gate takes any order that it is told: one from far ahead leaves room for those to come.
#[tokio::test]
async fn an_order_from_far_ahead_does_not_end_the_sequence() {
    let directory = tempfile::tempdir().unwrap();
    let state = open(directory.path(), NEVER);
    state.record(&session("s"), &target("t"), seen("x"), Order(i64::MAX)).await.unwrap();
    drop(state);
    let state = open(directory.path(), NEVER);
    let orders: Vec<_> = (0..100).map(|_| state.next_order(Timestamp(1_700_000_000_000))).collect();
    assert!(orders.is_sorted_by(|one, next| one < next), "{orders:?}");
}

/// Observations one after the other, as one session's calls make them: of new targets, of the same content again, and
/// of another content.
#[tokio::test]
#[ignore = "prints what it measures"]
#[expect(clippy::print_stdout, reason = "it is read by whoever runs it")]
async fn what_an_observation_costs() {
    const COUNT: u32 = 20_000;
    for servers in [1, 2, 3] {
        let directory = tempfile::tempdir().unwrap();
        let states: Vec<_> =
            (0..servers).map(|_| open(directory.path(), Duration::from_millis(250))).collect();
        for (number, kind) in (1..).zip(["new", "same", "other"]) {
            let begun = Instant::now();
            for index in 0..COUNT {
                let content = if number == 3 { "y" } else { "x" };
                let order = Order(number * 1_000_000 + i64::from(index));
                let place = target(&(index % 5_000).to_string());
                states[0].record(&session("s"), &place, seen(content), order).await.unwrap();
            }
            let recording = begun.elapsed() / COUNT;
            let begun = Instant::now();
            for index in 0..COUNT {
                states[0].get(&session("s"), &target(&(index % 5_000).to_string())).await.unwrap();
            }
            let asking = begun.elapsed() / COUNT;
            let begun = Instant::now();
            for _ in 0..COUNT {
                std::hint::black_box(states[0].next_order(Timestamp(5)));
            }
            let order = begun.elapsed() / COUNT;
            println!("{servers} servers, {kind}: record {recording:?}, get {asking:?}, order {order:?}");
        }
    }
}
