//! Handles on sessions: who is in a session at this server, and when somebody last was.
//!
//! Deliberately absent: which sessions are open, and what the store is told, which are the registry's.

use std::time::Duration;

use toolfs_core::clock::Timestamp;

use super::session::SessionInfo;
use super::store::SessionRecord;
use super::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use super::sync::{Arc, AsyncRwLock, OwnedRwLockReadGuard};

/// A handle on a session that is open, or was: whoever holds one may still be finishing a call in it.
///
/// The secret is not in here; the key that it is found by derives from it and does not lead back.
#[derive(Debug)]
pub(crate) struct Session {
    /// As it was kept when it was looked up; when it was last used, [`Session::usage`] knows better.
    pub(crate) record: SessionRecord,
    pub(crate) usage: Usage,
    /// The count of removals at which it was known to be kept.
    pub(crate) known_at: AtomicU64,
}

impl Session {
    /// A handle on a session that was kept at this count of removals.
    pub(crate) fn known_at(record: SessionRecord, removals: u64) -> Session {
        let usage = Usage::since(record.last_used);
        Session { record, usage, known_at: AtomicU64::new(removals) }
    }

    /// What is public about it.
    pub(crate) fn info(&self, idle: Option<Duration>) -> SessionInfo {
        info(&self.record, self.usage.last_used(), idle)
    }
}

/// What is public about a session.
pub(crate) fn info(record: &SessionRecord, last_used: Timestamp, idle: Option<Duration>) -> SessionInfo {
    let expires = idle.map(|idle| Timestamp(last_used.0.saturating_add(milliseconds(idle))));
    SessionInfo {
        name: record.name.clone(),
        cwd: record.cwd.display_path.clone(),
        roots: record.shown_roots.clone(),
        labels: record.labels.clone(),
        mode: record.mode,
        created: record.created,
        expires,
    }
}

/// A duration in the unit of [`Timestamp`].
pub(crate) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Who is in a session at this server, and when somebody last was.
#[derive(Debug)]
pub(crate) struct Usage {
    /// When a call last came or ended, in milliseconds.
    last_used: AtomicI64,
    /// What the store was told of that.
    told: AtomicI64,
    /// How many calls are in the session.
    count: Arc<AtomicUsize>,
    /// Read by each call in the session, written by its end and by nobody else: a writer refuses calls.
    calls: Arc<AsyncRwLock<()>>,
}

/// A call that is counted in a session until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedCall {
    count: Arc<AtomicUsize>,
    _call: OwnedRwLockReadGuard<()>,
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Usage {
    fn since(time: Timestamp) -> Usage {
        Usage {
            last_used: AtomicI64::new(time.0),
            told: AtomicI64::new(time.0),
            count: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Counts a call in; `None` once the end has begun.
    pub(crate) fn begin_call(&self, now: Timestamp) -> Option<CountedCall> {
        let call = Arc::clone(&self.calls).try_read_owned().ok()?;
        self.count.fetch_add(1, Ordering::AcqRel);
        let counted = CountedCall { count: Arc::clone(&self.count), _call: call };
        self.touch(now);
        Some(counted)
    }

    /// Whether no call is in the session at this server right now. To ask hinders no call.
    pub(crate) fn is_quiet(&self) -> bool {
        // A write, so that whoever removes the session before asking sees the call, or the call sees the removal.
        self.count.fetch_add(0, Ordering::AcqRel) == 0
    }

    /// Waits until the calls in the session have ended. New ones must not find it any more.
    pub(crate) async fn calls_ended(&self) {
        drop(self.calls.write().await);
    }

    pub(crate) fn last_used(&self) -> Timestamp {
        Timestamp(self.last_used.load(Ordering::Acquire))
    }

    pub(crate) fn touch(&self, now: Timestamp) {
        self.last_used.fetch_max(now.0, Ordering::AcqRel);
    }

    /// What the store is to be told, if it knows only of uses longer ago than `interval`. Whoever asks tells it.
    pub(crate) fn news(&self, interval: Duration) -> Option<Timestamp> {
        let last_used = self.last_used();
        let told = self.told.load(Ordering::Acquire);
        let is_news = last_used.0 > told && last_used.0.saturating_sub(told) >= milliseconds(interval);
        (is_news && self.told.fetch_max(last_used.0, Ordering::AcqRel) < last_used.0).then_some(last_used)
    }

    /// The store tells of a use, perhaps at another server.
    pub(crate) fn heard(&self, time: Timestamp) {
        self.touch(time);
        self.told.fetch_max(time.0, Ordering::AcqRel);
    }
}
