//! What is tried of the two tables of turns.

use shuttle::future::{JoinHandle, block_on, spawn};
use shuttle::thread;
use toolfs_core::error::{AbortCause, Code};
use toolfs_core::target::TargetKey;
use toolfs_provider::abort::AbortSignal;

use super::disk::lock::LockTable;
use super::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use super::sync::{Arc, Mutex, perhaps};
use super::tools::lock::Turns;

fn key(name: &str) -> TargetKey {
    TargetKey::new(name.as_bytes())
}

fn wait_for(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    for task in tasks {
        block_on(task).expect("no task here is cancelled");
    }
}

/// Sees when two are inside at once.
#[derive(Debug, Default)]
struct Room(AtomicUsize);

impl Room {
    fn enter(&self) {
        assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0, "two have one turn");
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Three change a target, and two read it meanwhile.
pub(crate) fn a_target_has_one_turn() {
    let (table, room) = (LockTable::default(), Arc::new(Room::default()));
    let is_settled = Arc::new(AtomicBool::new(true));
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let (table, room, is_settled) = (table.clone(), Arc::clone(&room), Arc::clone(&is_settled));
            spawn(async move {
                let turn = table.turn(&key("a"), &AbortSignal::new()).await.unwrap();
                room.enter();
                turn.until_verdict(|| {
                    is_settled.store(false, Ordering::SeqCst);
                    is_settled.store(true, Ordering::SeqCst);
                });
                room.leave();
            })
        })
        .collect();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (table, is_settled) = (table.clone(), Arc::clone(&is_settled));
            thread::spawn(move || {
                table.seat(&key("a")).after_verdict(|| {
                    assert!(is_settled.load(Ordering::SeqCst), "somebody reads before the verdict");
                });
            })
        })
        .collect();
    wait_for(writers);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert_eq!(table.entry_count(), 0, "an entry is left");
}

/// One target's turn is held until two others had theirs.
pub(crate) fn targets_do_not_wait_for_each_other() {
    let table = LockTable::default();
    let held = block_on(table.turn(&key("a"), &AbortSignal::new())).unwrap();
    let others: Vec<_> = ["b", "b", "c"]
        .map(|name| {
            let table = table.clone();
            spawn(async move {
                let turn = table.turn(&key(name), &AbortSignal::new()).await.unwrap();
                turn.until_verdict(|| table.seat(&key("a")).after_verdict(|| ()));
            })
        })
        .into();
    wait_for(others);
    assert_eq!(table.entry_count(), 1, "not only the entry in use is left");
    drop(held);
    assert_eq!(table.entry_count(), 0, "an entry is left");
}

/// Of those who want a turn, some are told to stop and some stop unasked, before, while or after they have it.
pub(crate) fn waiters_give_up() {
    let (table, room) = (LockTable::default(), Arc::new(Room::default()));
    let signal = AbortSignal::new();
    let take = |signal: AbortSignal| {
        let (table, room) = (table.clone(), Arc::clone(&room));
        async move {
            match table.turn(&key("a"), &signal).await {
                Ok(_turn) => {
                    room.enter();
                    room.leave();
                }
                Err(refused) => assert_eq!(refused.code(), Code::Aborted),
            }
        }
    };
    let stopped = [spawn(take(signal.clone())), spawn(take(signal.clone()))];
    let (first, second) = (take(AbortSignal::new()), take(AbortSignal::new()));
    let stopping = [
        spawn(async move { perhaps(first).await.unwrap_or_default() }),
        spawn(async move { perhaps(second).await.unwrap_or_default() }),
    ];
    let stays = spawn(take(AbortSignal::new()));
    signal.fire(AbortCause::Cancelled);
    wait_for(stopped.into_iter().chain(stopping).chain([stays]));
    assert_eq!(table.entry_count(), 0, "an entry is left");
    block_on(take(AbortSignal::new()));
}

/// What the last holder of a place left, and how many were there.
type Left = Arc<Mutex<u32>>;

async fn take_place(turns: Turns<&'static str, u32>, room: Arc<Room>, last: Left) {
    let mut waiting = Box::pin(turns.take("place"));
    let at_once =
        std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await;
    let (mut turn, had_to_wait) = match at_once {
        std::task::Poll::Ready(turn) => (turn, false),
        std::task::Poll::Pending => (waiting.await, true),
    };
    room.enter();
    let (left, last_left) = (*turn.left(), *last.lock().unwrap());
    // Who waited was there when the last one left.
    assert!(left == last_left || (left == 0 && !had_to_wait), "{left} is left, and not {last_left}");
    turn.leave(last_left + 1);
    *last.lock().unwrap() = last_left + 1;
    room.leave();
}

/// Four take a place one after the other, and leave something to each other.
pub(crate) fn a_place_has_one_turn() {
    let (turns, room, last) = (Turns::default(), Arc::new(Room::default()), Left::default());
    let callers: Vec<_> =
        (0..4).map(|_| spawn(take_place(turns.clone(), Arc::clone(&room), Arc::clone(&last)))).collect();
    wait_for(callers);
    assert_eq!(turns.place_count(), 0, "a place is left");
}

/// Of those who want a place, some give up, before, while or after they have it.
pub(crate) fn waiters_give_up_their_place() {
    let (turns, room) = (Turns::<&str>::default(), Arc::new(Room::default()));
    let take = || {
        let (turns, room) = (turns.clone(), Arc::clone(&room));
        async move {
            let _turn = turns.take("place").await;
            room.enter();
            room.leave();
        }
    };
    let stay = [spawn(take()), spawn(take())];
    let (first, second) = (take(), take());
    let stopping = [
        spawn(async move { perhaps(first).await.unwrap_or_default() }),
        spawn(async move { perhaps(second).await.unwrap_or_default() }),
    ];
    wait_for(stay.into_iter().chain(stopping));
    assert_eq!(turns.place_count(), 0, "a place is left");
    block_on(take());
}
