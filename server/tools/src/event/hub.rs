//! The ring of events, and the feed of each watched session in it.
//!
//! The events of one feed are numbered from 1 without a gap, and the ring forgets the oldest first, whosever it is. So
//! what a feed still has are its last events, and what lies between a cursor and the first of them is what was missed.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::id::{SessionKey, SessionName};

use super::token::{self, Start};
use super::watch::Watch;
use super::{Event, Happening};
use crate::call::CallError;

/// How much the ring holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl Bounds {
    /// Enough for a watcher that is away for a while, and nothing that a server would notice.
    const OF_A_SERVER: Bounds = Bounds { events: 16_384, bytes: 8 << 20 };
}

/// The events of the sessions of an executor.
#[derive(Debug)]
pub(crate) struct EventHub {
    table: Mutex<Table>,
    /// How many open sessions take part.
    watched: AtomicUsize,
    last_call: AtomicU64,
    /// Tells the runs of servers apart.
    run: u64,
    pub(super) clock: Arc<dyn Clock>,
    bounds: Bounds,
}

#[derive(Debug, Default)]
struct Table {
    ring: VecDeque<Kept>,
    /// The position of the first event of the ring, counted from the first event ever.
    first_position: u64,
    held_bytes: usize,
    feeds: HashMap<u64, Feed>,
    /// The feeds of the sessions that are open.
    by_session: HashMap<SessionKey, u64>,
    last_feed: u64,
}

#[derive(Debug)]
struct Kept {
    feed: u64,
    time: Timestamp,
    happening: Arc<Happening>,
    bytes: usize,
}

/// The events of one session.
#[derive(Debug)]
struct Feed {
    session: SessionKey,
    name: SessionName,
    last_number: u64,
    /// Where its events are that the ring still has: the last ones.
    positions: VecDeque<u64>,
    watchers: usize,
    has_ended: bool,
    changed: Arc<Notify>,
}

impl Feed {
    /// The number of the first event that the ring still has, or of the next one.
    fn first_number(&self) -> u64 {
        self.last_number - self.positions.len() as u64 + 1
    }
}

/// What comes after a cursor.
#[derive(Debug)]
pub(super) enum Next {
    /// This. The cursor has moved there.
    Event(Event),
    /// Nothing yet.
    Nothing,
    /// Nothing any more: the session has ended.
    End,
}

impl EventHub {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> EventHub {
        EventHub::bounded(clock, Bounds::OF_A_SERVER)
    }

    pub(super) fn bounded(clock: Arc<dyn Clock>, bounds: Bounds) -> EventHub {
        EventHub {
            table: Mutex::default(),
            watched: AtomicUsize::new(0),
            last_call: AtomicU64::new(0),
            run: RandomState::new().build_hasher().finish(),
            clock,
            bounds,
        }
    }

    /// The number of a call that begins now.
    pub(super) fn next_call(&self) -> u64 {
        self.last_call.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Tells that something happened in a session, if anybody ever watched it.
    pub(super) fn tell(&self, session: &SessionKey, happening: impl FnOnce() -> Happening) {
        if self.watched.load(Ordering::Acquire) == 0 || !self.table().by_session.contains_key(session) {
            return;
        }
        let (happening, time) = (Arc::new(happening()), self.clock.now());
        let bytes = size_of::<Kept>() + size_of::<Happening>() + size_of::<u64>() + happening.held_bytes();
        let mut table = self.table();
        if let Some(feed) = table.by_session.get(session).copied() {
            table.push(Kept { feed, time, happening, bytes }, self.bounds);
        }
    }

    /// Begins to watch an open session.
    ///
    /// # Errors
    /// [`CallError::ResumeTokenInvalid`]
    pub(crate) fn watch(
        self: &Arc<EventHub>,
        session: &SessionKey,
        name: &SessionName,
        resume_token: &str,
    ) -> Result<Watch, CallError> {
        let start = token::read(session, self.run, resume_token).ok_or(CallError::ResumeTokenInvalid)?;
        let mut table = self.table();
        let found = table.by_session.get(session).copied();
        let last_number = found.map_or(0, |feed| table.feeds[&feed].last_number);
        let cursor = match start {
            Start::Now | Start::AfterAnotherRun => last_number,
            Start::After(number) if number <= last_number => number,
            Start::After(_) => return Err(CallError::ResumeTokenInvalid),
        };
        let feed = found.unwrap_or_else(|| {
            self.watched.fetch_add(1, Ordering::Release);
            table.add_feed(session, name)
        });
        let entry = table.feeds.get_mut(&feed).expect("a feed is there as long as its session is listed");
        entry.watchers += 1;
        let changed = Arc::clone(&entry.changed);
        drop(table);
        let began = Event {
            // Of another run nothing is known but that something was missed: that is told again after a repeat.
            resume_token: match start {
                Start::AfterAnotherRun => resume_token.to_owned(),
                Start::Now | Start::After(_) => token::write(session, self.run, cursor),
            },
            time: self.clock.now(),
            session: name.clone(),
            happening: Arc::new(Happening::WatchBegan),
        };
        let missed = (start == Start::AfterAnotherRun).then(|| Event {
            resume_token: token::write(session, self.run, cursor),
            happening: Arc::new(Happening::EventsMissed { count: None }),
            ..began.clone()
        });
        Ok(Watch::new(Arc::clone(self), feed, cursor, changed, [Some(began), missed]))
    }

    /// A session has ended: so do its watches, after what was told so far.
    pub(crate) fn end(&self, session: &SessionKey) {
        let mut table = self.table();
        let Some(number) = table.by_session.remove(session) else { return };
        self.watched.fetch_sub(1, Ordering::Release);
        let feed = table.feeds.get_mut(&number).expect("a feed is there as long as its session is listed");
        feed.has_ended = true;
        let changed = Arc::clone(&feed.changed);
        table.drop_if_unused(number);
        drop(table);
        changed.notify_waiters();
    }

    /// The open sessions that take part.
    pub(crate) fn watched(&self) -> Vec<SessionKey> {
        if self.watched.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.table().by_session.keys().cloned().collect()
    }

    /// What comes after a cursor, which moves on.
    pub(super) fn next(&self, feed: u64, cursor: &mut u64) -> Next {
        let table = self.table();
        let Some(entry) = table.feeds.get(&feed) else { return Next::End };
        if *cursor == entry.last_number {
            return if entry.has_ended { Next::End } else { Next::Nothing };
        }
        let first_number = entry.first_number();
        let (session, name) = (entry.session.clone(), entry.name.clone());
        let (number, kept) = match (*cursor + 1).checked_sub(first_number) {
            Some(index) => {
                let index = usize::try_from(index).expect("it counts events that are in memory");
                (*cursor + 1, Some(table.at(entry.positions[index])))
            }
            None => (first_number - 1, None),
        };
        let (time, happening) = match kept {
            Some(kept) => (kept.time, Arc::clone(&kept.happening)),
            None => {
                let count = Some(number - *cursor);
                (self.clock.now(), Arc::new(Happening::EventsMissed { count }))
            }
        };
        drop(table);
        *cursor = number;
        let resume_token = token::write(&session, self.run, number);
        Next::Event(Event { resume_token, time, session: name, happening })
    }

    /// A watch is over.
    pub(super) fn leave(&self, feed: u64) {
        let mut table = self.table();
        if let Some(entry) = table.feeds.get_mut(&feed) {
            entry.watchers -= 1;
            table.drop_if_unused(feed);
        }
    }

    /// How many events the ring has, and how many bytes they take.
    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        let table = self.table();
        (table.ring.len(), table.held_bytes)
    }

    /// How many sessions, open or ended, are remembered.
    #[cfg(test)]
    pub(super) fn feeds(&self) -> usize {
        self.table().feeds.len()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn add_feed(&mut self, session: &SessionKey, name: &SessionName) -> u64 {
        self.last_feed += 1;
        let feed = Feed {
            session: session.clone(),
            name: name.clone(),
            last_number: 0,
            positions: VecDeque::new(),
            watchers: 0,
            has_ended: false,
            changed: Arc::default(),
        };
        self.feeds.insert(self.last_feed, feed);
        self.by_session.insert(session.clone(), self.last_feed);
        self.last_feed
    }

    fn push(&mut self, kept: Kept, bounds: Bounds) {
        let position = self.first_position + self.ring.len() as u64;
        let feed = self.feeds.get_mut(&kept.feed).expect("a feed is there as long as its session is listed");
        feed.last_number += 1;
        feed.positions.push_back(position);
        feed.changed.notify_waiters();
        self.held_bytes += kept.bytes;
        self.ring.push_back(kept);
        while self.ring.len() > bounds.events || self.held_bytes > bounds.bytes {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let first = self.ring.pop_front().expect("what is over a bound is not empty");
        self.first_position += 1;
        self.held_bytes -= first.bytes;
        // The feed of a session that ended may be gone.
        if let Some(feed) = self.feeds.get_mut(&first.feed) {
            feed.positions.pop_front();
        }
    }

    fn at(&self, position: u64) -> &Kept {
        let index = usize::try_from(position - self.first_position).expect("it is an index of the ring");
        &self.ring[index]
    }

    /// Forgets the feed of a session that has ended once nobody watches it any more. Its events leave with the ring.
    fn drop_if_unused(&mut self, number: u64) {
        if self.feeds.get(&number).is_some_and(|feed| feed.has_ended && feed.watchers == 0) {
            self.feeds.remove(&number);
        }
    }
}
