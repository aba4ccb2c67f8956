//! What everybody noted: the foreign writer what it published, our clients what they saw and what became of their
//! calls. Times are taken before a call and after it, so that what ended before something began was there before it.

use std::time::Instant;

use toolfs_core::error::{Code, Published};
use toolfs_core::version::Version;

/// How the names of files begin that links lead to, and their contents.
pub(super) const OTHER: &str = "other";

/// A time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: Instant,
    pub(super) end: Instant,
}

impl Span {
    /// Does `work` and says how long it took.
    pub(super) fn of<T>(work: impl FnOnce() -> T) -> (Span, T) {
        let start = Instant::now();
        let done = work();
        (Span { start, end: Instant::now() }, done)
    }

    pub(super) fn overlaps(&self, other: &Span) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// What a foreign writer published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) span: Span,
    pub(super) state: State,
    /// Whether the content comes piece by piece.
    pub(super) is_in_place: bool,
    /// When the file was open that is written in place.
    pub(super) opened: Instant,
    /// Whether the file that was written in place has no name any more.
    pub(super) is_stranded: bool,
}

/// What is in a place after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Content(Version),
    Absent,
    Link,
    Directory,
}

/// All of a writer.
#[derive(Debug)]
pub(super) struct OpLog {
    /// The first one is what was there at the start.
    pub(super) ops: Vec<Op>,
    /// The marks of the directories that it put in the place.
    pub(super) marks: Vec<String>,
    /// What it met that must not be.
    pub(super) violation: Option<String>,
}

/// What a read showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Content(Content),
    Absent,
    /// Something without content.
    NoFile,
}

/// A content by its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) version: Version,
    pub(super) is_empty: bool,
    /// Its first line, to tell what it is a part of.
    pub(super) first_line: String,
}

impl Content {
    pub(super) fn of(bytes: &[u8]) -> Content {
        let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Content {
            version: Version::of(bytes),
            is_empty: bytes.is_empty(),
            first_line: String::from_utf8_lossy(first_line).into_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) span: Span,
    pub(super) seen: Seen,
}

/// A guarded change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) span: Span,
    /// What it was to replace; nothing for a creation.
    pub(super) expected: Option<Content>,
    pub(super) new: Version,
    /// The code of its refusal; absent when it was acknowledged.
    pub(super) refused: Option<Code>,
    pub(super) published: Published,
}

/// All that a client did with one target.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    pub(super) sightings: Vec<Sighting>,
    pub(super) calls: Vec<Change>,
    /// The names under which errors said that something is kept.
    pub(super) rescues: Vec<String>,
    /// An answer that must not be.
    pub(super) violation: Option<String>,
}

/// A content of about so many bytes that begins with `id`, in a line of its own.
pub(super) fn content(id: &str, size: usize) -> String {
    let mut content = format!("{id}\n");
    let line = format!("line of {:08x}\n", id.len() * 31 + size);
    while content.len() < size {
        content.push_str(&line);
    }
    content
}

/// The beginning of the contents of the foreign writer of a target.
pub(super) fn theirs(target: usize, number: usize) -> String {
    format!("theirs {target} {number}")
}
