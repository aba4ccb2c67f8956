//! What an executor keeps beyond one call, and where: sessions, and the results of calls that may be repeated.
//!
//! The stores here are seams like the provider: memory is beside them, an embedded database and others are crates of
//! their own. Every operation is atomic, and several servers may share one store. An error is `FS_UNAVAILABLE`, and
//! nothing changed then.
//! Deliberately absent: observations, which are the policy gate's, and any decision about what a call may do.

mod memory_call;
mod memory_session;
#[cfg(feature = "conformance")]
pub mod suite;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::id::{RequestId, SessionKey, SessionName};
use toolfs_core::target::Target;

pub use self::memory_call::MemoryCallStore;
pub use self::memory_session::MemorySessionStore;
use crate::session::{Caller, SessionMode};

/// What is kept of a session. The secret is not in it: its key derives from that and does not lead back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// What it is found by.
    pub key: SessionKey,
    /// Its public name.
    pub name: SessionName,
    /// Whose it is.
    pub owner: Caller,
    /// Where relative paths start.
    pub cwd: Target,
    /// What it is narrowed to; none: all roots of the server.
    pub roots: Vec<Target>,
    /// The roots in effect, to be shown.
    pub shown_roots: Vec<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What it may do.
    pub mode: SessionMode,
    /// When it was opened.
    pub created: Timestamp,
    /// When a call last came or ended, as far as the store was told.
    pub last_used: Timestamp,
}

/// What became of a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insertion {
    /// It is kept.
    Inserted,
    /// Its name is, or once was, another's: draw a new one.
    NameTaken,
    /// As many sessions as may be are kept already.
    Full,
}

/// Keeps sessions.
///
/// - an insertion or a removal is kept for good when the operation returns; a removed session never comes back, and its
///   name is never used again
/// - a touch may be kept later, or be lost in a crash
/// - a removed session has an end that is left to do, at the policy gate for instance: its key is kept, across restarts
///   where sessions are, until somebody says that it is done. To lose it is safe: nobody finds the session any more, and
///   no other one ever has its key
#[async_trait]
pub trait SessionStore: Send + Sync + fmt::Debug {
    /// Whether sessions survive a restart.
    fn is_persistent(&self) -> bool;

    /// A number that is another one after a session was removed, by whichever server: whoever keeps a record at hand
    /// may go on with it while the number stays. Asked for every call, so it must be cheap.
    fn removals(&self) -> u64;

    /// An order above every one that was drawn before, by whichever server: at the time `now`, or after the last one
    /// where that is later. It rises across restarts where sessions survive them.
    fn next_order(&self, now: Timestamp) -> Order;

    /// Keeps a new session, unless `max_sessions` are kept already.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn insert(&self, session: SessionRecord, max_sessions: u64) -> Result<Insertion>;

    /// The session of a key.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn find(&self, key: &SessionKey) -> Result<Option<SessionRecord>>;

    /// Notes that a session was used. An older time than the one that is known changes nothing.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn touch(&self, key: &SessionKey, last_used: Timestamp) -> Result<()>;

    /// Removes a session for good; whether it was there.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn remove(&self, key: &SessionKey) -> Result<bool>;

    /// Removes a session for good if it was last used at `time` or before, by whichever server; whether it was removed.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn remove_unused(&self, key: &SessionKey, time: Timestamp) -> Result<bool>;

    /// At most `count` sessions that were last used at `time` or before, those that were longest unused first.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn unused_since(&self, time: Timestamp, count: usize) -> Result<Vec<SessionRecord>>;

    /// At most `count` sessions of an owner with a serial number above `after`, in their order: oldest first. Serial
    /// numbers are at least 1, rise, and stay what they are across restarts.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn page(&self, owner: &Caller, after: u64, count: usize) -> Result<Vec<(u64, SessionRecord)>>;

    /// At most `count` sessions that were removed, by whichever server, and whose end is left to do.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn ending(&self, count: usize) -> Result<Vec<SessionKey>>;

    /// The end of a removed session is done. One that is not known changes nothing.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn ended(&self, key: &SessionKey) -> Result<()>;
}

/// Draws the next order of a sequence whose last one is kept in a number, in memory that may be other processes' too.
pub fn next_order(last: &AtomicI64, now: Timestamp) -> Order {
    let advance = |last| Order(last).next(now).0;
    let before = last
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(advance(last)))
        .expect("the update always yields an order");
    Order(advance(before))
}

/// The name of one logical call: a `request_id` means something within its session only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// In which session.
    pub session: SessionKey,
    /// The caller's name of it.
    pub request: RequestId,
}

/// What a call asks for, as a digest: two calls with one [`CallKey`] are the same exactly when theirs are equal.
pub type Fingerprint = [u8; 32];

/// The guard that a call was given before it published. A call that goes on after a crash keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecidedGuard {
    /// Of a write.
    Write(WriteGuard),
    /// Of an edit.
    Edit(EditGuard),
}

/// What is remembered of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// What it asked for.
    pub fingerprint: Fingerprint,
    /// How far it came.
    pub state: CallState,
}

/// How far a call came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It was about to publish.
    Begun {
        /// The guard that it had.
        guard: DecidedGuard,
        /// Whether the server that noted it still runs and did not release it: then it will come to an end there.
        is_live: bool,
    },
    /// It ended with this result, encoded by the executor.
    Ended {
        /// The result.
        result: Vec<u8>,
    },
}

/// What became of a call that is about to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// It is noted, and this server is the one that runs it, under this guard: the one that was given, or the one of a
    /// server that noted the same call before and does not run any more. A call that may have published keeps its guard.
    Noted(DecidedGuard),
    /// It is not noted: this is remembered of the call instead.
    Known(CallRecord),
}

/// What became of a result that is to be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is remembered, or there is no room for it.
    Remembered,
    /// It is not: this is remembered of the call instead.
    Known(CallRecord),
}

/// Remembers calls, for as long as the store was told when it was made.
///
/// What is begun or ended is kept for good, as far as a crash of the process goes, when the operation returns. Beyond
/// its bounds a store forgets the calls that ended first; it never forgets one that has not ended and whose server
/// runs. One whose
/// server does not run, or released it, is forgotten once that time has passed since it was noted.
#[async_trait]
pub trait CallStore: Send + Sync + fmt::Debug {
    /// What is remembered of a call.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn find(&self, key: &CallKey) -> Result<Option<CallRecord>>;

    /// Notes that a call is about to publish, and that this server is the one that does. Not noted is a call that has
    /// ended, one that a server which runs has noted, this one included, and one of another fingerprint.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn begin(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        guard: &DecidedGuard,
        now: Timestamp,
    ) -> Result<Beginning>;

    /// Remembers a result, whether or not the call was noted before. Not remembered is that of a call which has ended,
    /// which another server that runs has noted, and of one of another fingerprint: what a call ended in first stays.
    /// Nor that of a call which was left, unless its caller `resumes` it: found it left, and judged it as such.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn end(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        result: Vec<u8>,
        resumes: bool,
        now: Timestamp,
    ) -> Result<Ending>;

    /// Leaves a call that this server noted and that has not ended to whoever repeats it: it stays noted, as if this
    /// server ran no more.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn release(&self, key: &CallKey) -> Result<()>;

    /// Forgets a call that this server noted and that came to nothing. One that has ended stays, and one that another
    /// server noted or took over is that server's: it stays too.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn abandon(&self, key: &CallKey) -> Result<()>;

    /// Forgets the calls of a session that has ended.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn end_session(&self, session: &SessionKey) -> Result<()>;
}
