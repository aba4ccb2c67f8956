//! A client: it enters in the ledger what it asks for before it asks, and what it was answered afterwards.

use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use toolfs_core::version::Version;

use crate::ledger::{Entry, Ledger};
use crate::worker::{Call, Failure, Gone, Guard, Outcome, Worker};

/// How a call ended, as far as the client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was acknowledged.
    Done,
    /// It was refused as it had to be, and nothing was published.
    Declined,
    /// It failed with this code, and nothing was published.
    Failed(String),
    /// There was no answer, or one that leaves open what is there.
    Open,
}

/// A client of a worker.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) ledger: &'a Ledger,
    /// Numbers the contents, so that no two of a tree are alike.
    pub(crate) serial: &'a AtomicU64,
    pub(crate) rng: Rng,
}

/// What no call may be answered.
pub(crate) type Violation = String;

/// The first line of a content, which an edit replaces.
fn stamp(serial: u64) -> String {
    format!("stamp {serial:08}.")
}

/// A failure with that code is what had to come.
fn declined(ending: Ending, code: &str) -> Ending {
    match ending {
        Ending::Failed(told) if told == code => Ending::Declined,
        ending => ending,
    }
}

/// Something that is in no content.
const NOWHERE: &str = "this is nowhere";

impl Client<'_> {
    /// Writes a file that is not there.
    pub(crate) fn create(&mut self, file: &str) -> Result<Ending, Violation> {
        self.write("create", file, file, Guard::Absent)
    }

    /// Writes a file whatever it holds.
    pub(crate) fn overwrite(&mut self, file: &str) -> Result<Ending, Violation> {
        self.write("overwrite", file, file, Guard::Any)
    }

    /// Writes a file by the name of a link that leads to it.
    pub(crate) fn write_through(&mut self, link: &str, file: &str) -> Result<Ending, Violation> {
        self.write("write through a link", link, file, Guard::Any)
    }

    /// Writes a file whose directories are not there.
    pub(crate) fn write_with_parents(&mut self, file: &str) -> Result<Ending, Violation> {
        self.write("write with parents", file, file, Guard::Absent)
    }

    /// Reads a file, and replaces a line of exactly what it read.
    pub(crate) fn edit(&mut self, file: &str) -> Result<Ending, Violation> {
        let Some(content) = self.read(file)? else { return Ok(Ending::Open) };
        let Some(old) = content.get(..stamp(0).len()) else { return Err(format!("`{file}` has no stamp")) };
        let new = self.next_stamp();
        let edited = content.replacen(old, &new, 1);
        let (path, guard) = (file.to_owned(), Guard::of(&content));
        let ending =
            self.change("edit", file, &edited, Call::Edit { path, old: old.to_owned(), new, guard })?;
        // Somebody was faster.
        Ok(declined(ending, "FS_STALE_VERSION"))
    }

    /// Asks for what must be refused, in one of three ways.
    pub(crate) fn be_refused(&mut self, file: &str) -> Result<Ending, Violation> {
        let path = file.to_owned();
        let content = self.content();
        let (ending, code) = match self.rng.u32(..3) {
            0 => (self.write("create of what is there", file, file, Guard::Absent)?, "FS_NOT_OBSERVED"),
            1 => {
                let guard = Guard::of(&format!("not {content}"));
                let call = Call::Write { path, content: content.clone(), guard };
                (self.change("overwrite of another version", file, &content, call)?, "FS_STALE_VERSION")
            }
            _ => {
                let (old, new) = (NOWHERE.to_owned(), content.clone());
                let call = Call::Edit { path, old, new, guard: Guard::Any };
                (self.change("edit of what is not there", file, &content, call)?, "FS_EDIT_NOT_FOUND")
            }
        };
        match declined(ending, code) {
            Ending::Done => Err(format!("a call on `{file}` was acknowledged that had to be refused")),
            ending => Ok(ending),
        }
    }

    /// Reads a file: nothing when it could not.
    pub(crate) fn read(&mut self, file: &str) -> Result<Option<String>, Violation> {
        let Ok(answer) = self.worker.call(Call::Read { path: file.to_owned() }) else { return Ok(None) };
        let Outcome::Ok(effect) = answer.outcome else { return Ok(None) };
        let content = effect.content.unwrap_or_default();
        if self.ledger.knows(file, &Version::of(content.as_bytes())) {
            Ok(Some(content))
        } else {
            Err(format!("a reader saw in `{file}` what nobody asked for"))
        }
    }

    fn write(&mut self, what: &str, path: &str, file: &str, guard: Guard) -> Result<Ending, Violation> {
        let content = self.content();
        let call = Call::Write { path: path.to_owned(), content: content.clone(), guard };
        self.change(what, file, &content, call)
    }

    /// Makes a call that is to leave `content` in `file`.
    fn change(&mut self, what: &str, file: &str, content: &str, call: Call) -> Result<Ending, Violation> {
        let version = Version::of(content.as_bytes());
        let entry = self.ledger.send(file, version.clone(), what);
        match self.worker.call(call) {
            Err(Gone) => Ok(Ending::Open),
            Ok(answer) => match answer.outcome {
                Outcome::Ok(effect) if effect.version.as_deref() != Some(version.as_str()) => {
                    Err(format!("the {what} of `{file}` was answered with another version than it wrote"))
                }
                Outcome::Ok(_) if answer.not_durable.is_some() => Ok(Ending::Open),
                Outcome::Ok(_) => {
                    self.ledger.done(&entry);
                    Ok(Ending::Done)
                }
                Outcome::Error(failure) => Ok(self.failed(&entry, failure)),
            },
        }
    }

    fn failed(&self, entry: &Entry, failure: Failure) -> Ending {
        if failure.published == "no" {
            self.ledger.refused(entry);
            Ending::Failed(failure.code)
        } else {
            Ending::Open
        }
    }

    /// A name that no file has yet.
    pub(crate) fn unused(&self, directory: &str, name: &str) -> String {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        join(directory, &format!("{name}-{serial}"))
    }

    fn next_stamp(&self) -> String {
        stamp(self.serial.fetch_add(1, Ordering::Relaxed))
    }

    /// A content of its own: mostly small, sometimes many blocks.
    fn content(&mut self) -> String {
        let lines = match self.rng.u32(..10) {
            0..5 => self.rng.usize(..8),
            5..9 => self.rng.usize(..400),
            _ => self.rng.usize(..6_000),
        };
        let line = format!("{:016x} and the same again\n", self.rng.u64(..));
        format!("{}\n{}", self.next_stamp(), line.repeat(lines))
    }
}

/// The path of an entry of a directory beneath the root.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
