//! What is recorded: each call with what it asked, when, and what it was answered.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use toolfs_core::version::Version;

/// The content of a file. No two that clients make are alike.
pub(super) type Content = Arc<str>;

/// The last line of every content: what is put before it is added at the end.
pub(super) const END: &str = "end\n";

/// The version of a content.
pub(super) fn version_of(content: &str) -> String {
    Version::of(content.as_bytes()).as_str().to_owned()
}

/// What a call asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Read,
    Write(Content),
    /// Something unique for something that is in no other content.
    Edit {
        old: String,
        new: String,
    },
}

/// What a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A read saw this.
    Seen(Content),
    /// Nothing is there; to an edit: the session had seen that nothing is there.
    Absent,
    /// The change is there.
    Changed {
        version: String,
        /// Of a write, what it replaced; absent of one that created. An edit is not asked: what it made tells.
        base: Option<Content>,
    },
    /// The file was another one than the session had seen.
    Stale { presented: String, there: Option<String> },
    /// The session had not seen the file, whose size a write is told.
    NotObserved { size: Option<u64> },
    /// The text to be replaced is not there.
    NoMatch,
    /// The call was given up, and the answer says that nothing happened.
    Nothing,
    /// The call was given up, or its connection cut: nobody knows.
    Unknown,
    /// It must not be answered this.
    Forbidden(String),
}

/// A time that is later than every other.
pub(super) const NEVER: u64 = u64::MAX;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) session: usize,
    /// Which server was called.
    pub(super) server: usize,
    pub(super) file: usize,
    pub(super) ask: Ask,
    pub(super) answer: Answer,
    /// When it was sent, and when it was answered, on a clock that counts.
    pub(super) began: u64,
    pub(super) ended: u64,
}

impl Entry {
    /// In one word or two, for counting.
    pub(super) fn kind(&self) -> &'static str {
        match (&self.answer, &self.ask) {
            (Answer::Seen(_), _) => "reads that saw a content",
            (Answer::Absent, Ask::Read) => "reads that saw that nothing is there",
            (Answer::Absent, _) => "edits of what was seen to be absent",
            (Answer::Changed { .. }, Ask::Edit { .. }) => "edits that succeeded",
            (Answer::Changed { .. }, _) => "writes that succeeded",
            (Answer::Stale { .. }, _) => "changes refused as stale",
            (Answer::NotObserved { .. }, _) => "changes refused as not observed",
            (Answer::NoMatch, _) => "edits whose text was not there",
            (Answer::Nothing, _) => "calls given up that did nothing",
            (Answer::Unknown, _) => "calls with an unknown end",
            (Answer::Forbidden(_), _) => "calls with a wrong answer",
        }
    }

    /// Whether another call on the same file was under way at the same time.
    pub(super) fn overlaps(&self, other: &Entry) -> bool {
        self.file == other.file
            && self.began != other.began
            && self.began < other.ended
            && other.began < self.ended
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { session, server, ask, answer, began, ended, .. } = self;
        match ended {
            &NEVER => write!(f, "{began}.. session {session} at {server}: {ask:?} -> {answer:?}"),
            ended => write!(f, "{began}..{ended} session {session} at {server}: {ask:?} -> {answer:?}"),
        }
    }
}

/// Where the clients of a case write down what they do.
#[derive(Debug)]
pub(super) struct Log {
    seed: u64,
    clock: AtomicU64,
    tokens: AtomicU64,
    entries: Mutex<Vec<Entry>>,
}

impl Log {
    pub(super) fn new(seed: u64) -> Log {
        Log { seed, clock: AtomicU64::new(1), tokens: AtomicU64::new(1), entries: Mutex::default() }
    }

    /// The time, which no other call is told.
    pub(super) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn add(&self, entry: Entry) {
        self.entries.lock().unwrap().push(entry);
    }

    /// Everything, in the order in which it was asked.
    pub(super) fn take(&self) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut *self.entries.lock().unwrap());
        entries.sort_by_key(|entry| entry.began);
        entries
    }

    /// A line that no other content has.
    pub(super) fn token(&self) -> String {
        let number = self.tokens.fetch_add(1, Ordering::Relaxed);
        format!("line {number} of {}\n", self.seed)
    }

    /// A content of a few lines.
    pub(super) fn content(&self, rng: &mut Rng) -> Content {
        let mut content: String = (0..rng.usize(1..=6)).map(|_| self.token()).collect();
        content.push_str(END);
        content.into()
    }
}
