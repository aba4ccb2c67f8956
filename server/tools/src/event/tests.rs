//! The ring, its feeds and the watches over them, without an executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};

use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::id::{SessionKey, SessionName};

use super::hub::Bounds;
use super::*;

#[derive(Debug, Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

const ROOMY: Bounds = Bounds { events: 1 << 20, bytes: 1 << 30 };

fn hub(bounds: Bounds) -> Arc<EventHub> {
    Arc::new(EventHub::bounded(Arc::new(Ticks::default()), bounds))
}

fn session(name: &str) -> (SessionKey, SessionName) {
    (SessionKey::new(name), SessionName::new(&format!("session-{name}")))
}

fn watch(hub: &Arc<EventHub>, name: &str, token: &str) -> Watch {
    let (key, name) = session(name);
    let mut watch = hub.watch(&key, &name, token).unwrap();
    let began = next(&mut watch).unwrap();
    assert!(matches!(*began.happening, Happening::WatchBegan), "{began:?}");
    assert_eq!(began.session, name);
    watch
}

fn tell(hub: &EventHub, name: &str, call: u64) {
    tell_of(hub, name, call, "");
}

fn tell_of(hub: &EventHub, name: &str, call: u64, path: &str) {
    hub.tell(&SessionKey::new(name), || {
        Happening::ObservationRecorded(ObservationRecorded {
            call,
            path: path.into(),
            observation: Observation::Absent,
        })
    });
}

/// The next event, if it is there already; the end of the session is none.
#[track_caller]
fn next(watch: &mut Watch) -> Option<Event> {
    let mut next = Box::pin(watch.next());
    match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(event) => Some(event.expect("the session has not ended")),
        Poll::Pending => None,
    }
}

fn has_ended(watch: &mut Watch) -> bool {
    let mut next = Box::pin(watch.next());
    matches!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(None))
}

/// What is there: the number of a call, or how many were missed.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Call(u64),
    Missed(Option<u64>),
}

fn told(event: &Event) -> Told {
    match &*event.happening {
        Happening::EventsMissed { count } => Told::Missed(*count),
        Happening::ObservationRecorded(recorded) => Told::Call(recorded.call),
        other => panic!("{other:?}"),
    }
}

fn all(watch: &mut Watch) -> Vec<Told> {
    std::iter::from_fn(|| next(watch)).map(|event| told(&event)).collect()
}

#[test]
fn a_session_that_nobody_watched_costs_no_room() {
    let hub = hub(ROOMY);
    let _other = watch(&hub, "b", "");
    hub.tell(&SessionKey::new("a"), || panic!("nobody would see it"));
    assert_eq!(hub.held(), (0, 0));
}

#[test]
fn events_come_in_order_to_every_watcher_of_their_own_session_only() {
    let hub = hub(ROOMY);
    let (mut one, mut two, mut other) = (watch(&hub, "a", ""), watch(&hub, "a", ""), watch(&hub, "b", ""));
    for call in 1..=3 {
        tell(&hub, "a", call);
        tell(&hub, "b", 10 * call);
    }
    let expected = [Told::Call(1), Told::Call(2), Told::Call(3)];
    assert_eq!(
        (all(&mut one), all(&mut two)),
        (expected.into(), vec![Told::Call(1), Told::Call(2), Told::Call(3)])
    );
    assert_eq!(all(&mut other), [Told::Call(10), Told::Call(20), Told::Call(30)]);
}

#[test]
fn a_slow_watcher_is_told_how_many_it_missed_in_their_place() {
    let hub = hub(Bounds { events: 4, ..ROOMY });
    let mut slow = watch(&hub, "a", "");
    tell(&hub, "a", 1);
    assert_eq!(all(&mut slow), [Told::Call(1)]);
    for call in 2..=9 {
        tell(&hub, "a", call);
    }
    let expected = [Told::Missed(Some(4)), Told::Call(6), Told::Call(7), Told::Call(8), Told::Call(9)];
    assert_eq!(all(&mut slow), expected);
}

#[test]
fn what_a_busy_neighbour_pushes_out_is_counted_too() {
    let hub = hub(Bounds { events: 4, ..ROOMY });
    let mut quiet = watch(&hub, "a", "");
    let _busy = watch(&hub, "b", "");
    tell(&hub, "a", 1);
    tell(&hub, "a", 2);
    (0..100).for_each(|call| tell(&hub, "b", call));
    assert_eq!(all(&mut quiet), [Told::Missed(Some(2))]);
    tell(&hub, "a", 3);
    assert_eq!(all(&mut quiet), [Told::Call(3)]);
}

#[test]
fn the_ring_is_bounded_in_bytes_whatever_the_events_hold() {
    let bounds = Bounds { events: 1_000, bytes: 64 << 10 };
    let hub = hub(bounds);
    let mut slow = watch(&hub, "a", "");
    let path = "p".repeat(4_096);
    for call in 1..=500 {
        tell_of(&hub, "a", call, &path);
        let (events, bytes) = hub.held();
        assert!(events <= bounds.events && bytes <= bounds.bytes, "{events} events of {bytes} bytes");
    }
    let (kept, _) = hub.held();
    assert!((10..=16).contains(&kept), "{kept} events are kept");
    let told = all(&mut slow);
    assert_eq!(told[0], Told::Missed(Some(500 - kept as u64)));
    assert_eq!(told.len(), kept + 1);
    (0..10_000).for_each(|call| tell(&hub, "a", call));
    assert!(hub.held().0 <= bounds.events);
}

#[test]
fn an_event_that_is_larger_than_the_ring_is_missed() {
    let hub = hub(Bounds { events: 10, bytes: 1_000 });
    let mut slow = watch(&hub, "a", "");
    tell_of(&hub, "a", 1, &"p".repeat(2_000));
    tell(&hub, "a", 2);
    assert_eq!(all(&mut slow), [Told::Missed(Some(1)), Told::Call(2)]);
    assert_eq!(hub.held().0, 1);
}

#[test]
fn a_token_goes_on_after_its_event() {
    let hub = hub(Bounds { events: 4, ..ROOMY });
    let mut first = watch(&hub, "a", "");
    (1..=4).for_each(|call| tell(&hub, "a", call));
    let tokens: Vec<String> = (0..4).map(|_| next(&mut first).unwrap().resume_token).collect();
    drop(first);
    tell(&hub, "a", 5);
    assert_eq!(all(&mut watch(&hub, "a", &tokens[1])), [Told::Call(3), Told::Call(4), Told::Call(5)]);
    assert_eq!(all(&mut watch(&hub, "a", &tokens[3])), [Told::Call(5)]);
    assert_eq!(all(&mut watch(&hub, "a", "")), [], "from now on");

    (6..=20).for_each(|call| tell(&hub, "a", call));
    let mut late = watch(&hub, "a", &tokens[0]);
    let missed = next(&mut late).unwrap();
    assert_eq!(told(&missed), Told::Missed(Some(15)));
    let rest = [Told::Call(17), Told::Call(18), Told::Call(19), Told::Call(20)];
    assert_eq!(all(&mut late), rest);
    assert_eq!(all(&mut watch(&hub, "a", &missed.resume_token)), rest, "what was told as missed is so once");
}

#[test]
fn the_token_of_a_beginning_goes_on_from_there() {
    let hub = hub(ROOMY);
    let (key, name) = session("a");
    let mut first = hub.watch(&key, &name, "").unwrap();
    let began = next(&mut first).unwrap();
    tell(&hub, "a", 1);
    drop(first);
    assert_eq!(all(&mut watch(&hub, "a", &began.resume_token)), [Told::Call(1)]);
}

#[test]
fn a_token_of_another_run_is_told_as_missed_without_a_count() {
    let (before, after) = (hub(ROOMY), hub(ROOMY));
    let mut first = watch(&before, "a", "");
    tell(&before, "a", 1);
    let token = next(&mut first).unwrap().resume_token;

    let (key, name) = session("a");
    let mut second = after.watch(&key, &name, &token).unwrap();
    let began = next(&mut second).unwrap();
    tell(&after, "a", 2);
    assert_eq!(all(&mut second), [Told::Missed(None), Told::Call(2)]);
    // Whoever saw no more than the beginning has not heard of the gap yet.
    assert_eq!(all(&mut watch(&after, "a", &began.resume_token)), [Told::Missed(None)]);
}

#[test]
fn a_token_that_is_none_of_the_sessions_is_refused() {
    let hub = hub(ROOMY);
    let mut other = watch(&hub, "b", "");
    tell(&hub, "b", 1);
    let of_another = next(&mut other).unwrap().resume_token;
    let mut own = watch(&hub, "a", "");
    tell(&hub, "a", 1);
    let token = next(&mut own).unwrap().resume_token;
    let (key, name) = session("a");
    for garbage in ["x", "0", &of_another, &token[..47], &format!("{token} ")] {
        let refused = hub.watch(&key, &name, garbage).unwrap_err();
        assert!(matches!(refused, CallError::ResumeTokenInvalid), "{garbage}");
    }
    hub.watch(&key, &name, &token).unwrap();
}

#[test]
fn a_watch_ends_with_its_session_after_what_was_told() {
    let hub = hub(ROOMY);
    let (mut one, mut other) = (watch(&hub, "a", ""), watch(&hub, "b", ""));
    tell(&hub, "a", 1);
    hub.end(&SessionKey::new("a"));
    hub.end(&SessionKey::new("a"));
    tell(&hub, "a", 2);
    assert_eq!(told(&next(&mut one).unwrap()), Told::Call(1));
    assert!(has_ended(&mut one));
    assert!(has_ended(&mut one), "and stays ended");
    assert_eq!(next(&mut other).map(|event| told(&event)), None);
}

#[test]
fn nothing_is_left_of_sessions_that_ended() {
    let hub = hub(ROOMY);
    for number in 0..100 {
        let name = number.to_string();
        let watched = watch(&hub, &name, "");
        tell(&hub, &name, 1);
        if number % 2 == 0 {
            drop(watched);
            hub.end(&SessionKey::new(&name));
        } else {
            hub.end(&SessionKey::new(&name));
            drop(watched);
        }
    }
    assert_eq!(hub.feeds(), 0);
    // Their events leave with the ring, and disturb nobody there.
    let hub = self::hub(Bounds { events: 2, ..ROOMY });
    drop(watch(&hub, "a", ""));
    tell(&hub, "a", 1);
    hub.end(&SessionKey::new("a"));
    let mut next_session = watch(&hub, "b", "");
    (1..=3).for_each(|call| tell(&hub, "b", call));
    assert_eq!(all(&mut next_session), [Told::Missed(Some(1)), Told::Call(2), Told::Call(3)]);
}

#[tokio::test]
async fn a_watcher_that_waits_is_woken() {
    let hub = hub(ROOMY);
    let mut waiting = watch(&hub, "a", "");
    let (event, ()) = tokio::join!(biased; waiting.next(), async { tell(&hub, "a", 1) });
    assert_eq!(told(&event.unwrap()), Told::Call(1));
    let (end, ()) = tokio::join!(biased; waiting.next(), async { hub.end(&SessionKey::new("a")) });
    assert!(end.is_none());
}

/// Whatever is seen and missed adds up, and what is seen comes in order, while four threads tell and two watchers of
/// different speed read.
#[test]
fn nothing_is_lost_uncounted_under_four_threads() {
    const CALLS: u64 = 20_000;
    let hub = hub(Bounds { events: 256, ..ROOMY });
    let (fast, mut never) = (watch(&hub, "a", ""), watch(&hub, "a", ""));
    let reader = |mut watch: Watch| {
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let (mut seen, mut missed, mut last) = (0, 0, [0; 4]);
                while let Some(event) = watch.next().await {
                    match told(&event) {
                        Told::Missed(count) => missed += count.unwrap(),
                        Told::Call(call) => {
                            let (teller, number) = (usize::try_from(call % 4).unwrap(), call / 4);
                            assert!(number > last[teller], "{number} after {}", last[teller]);
                            last[teller] = number;
                            seen += 1;
                        }
                    }
                }
                (seen, missed)
            })
        })
    };
    let reading = reader(fast);
    std::thread::scope(|scope| {
        for teller in 0..4 {
            let hub = &hub;
            scope.spawn(move || (1..=CALLS).for_each(|number| tell(hub, "a", number * 4 + teller)));
        }
    });
    let never_read = all(&mut never);
    assert_eq!(never_read[0], Told::Missed(Some(4 * CALLS - 256)));
    assert_eq!(never_read.len(), 257);
    hub.end(&SessionKey::new("a"));
    let (seen, missed) = reading.join().unwrap();
    assert_eq!(seen + missed, 4 * CALLS, "{seen} seen, {missed} missed");
    assert!(seen > 0);
}
