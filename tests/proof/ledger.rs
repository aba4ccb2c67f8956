//! What clients asked for and were answered, and what a file may hold after a crash because of it.
//!
//! A file is a register. Each change has a moment at which it was sent and, when it was answered in time, one at which
//! the client had the answer. A file may hold the content of any change that is not older than another one's answer
//! allows: a change is gone for good when one that was sent after its answer was acknowledged, too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use toolfs_core::version::Version;
use toolfs_provider::capability::Durability;

/// What the clients of one tree know.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    clock: AtomicU64,
    files: Mutex<BTreeMap<String, File>>,
}

#[derive(Debug, Default)]
struct File {
    /// What was there when the clients began; nothing when it is absent.
    before: Option<Version>,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    sent: u64,
    content: Version,
    fate: Fate,
    /// Which call it was, to be told.
    what: String,
}

/// What a client knows of a change that it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// There is no answer, or one that leaves it open.
    Open,
    /// It was acknowledged, at this moment.
    Done(u64),
    /// It was answered that nothing was published.
    Refused,
}

/// A change that was entered before it was sent.
#[derive(Debug)]
pub(crate) struct Entry {
    file: String,
    index: usize,
}

impl Ledger {
    /// Enters a change that is about to be sent.
    pub(crate) fn send(&self, file: &str, content: Version, what: &str) -> Entry {
        let mut files = self.files.lock().unwrap();
        let changes = &mut files.entry(file.to_owned()).or_default().changes;
        let sent = self.tick();
        changes.push(Change { sent, content, fate: Fate::Open, what: format!("{what} at {sent}") });
        Entry { file: file.to_owned(), index: changes.len() - 1 }
    }

    /// Enters that a change was acknowledged.
    pub(crate) fn done(&self, entry: &Entry) {
        self.settle(entry, Fate::Done(self.tick()));
    }

    /// Enters that a change was refused, with nothing published.
    pub(crate) fn refused(&self, entry: &Entry) {
        self.settle(entry, Fate::Refused);
    }

    fn settle(&self, entry: &Entry, fate: Fate) {
        if let Some(file) = self.files.lock().unwrap().get_mut(&entry.file) {
            file.changes[entry.index].fate = fate;
        }
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// The files that there may be.
    pub(crate) fn files(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().cloned().collect()
    }

    /// The files that somebody asked to change since they were last taken stock of.
    pub(crate) fn touched(&self) -> Vec<String> {
        let files = self.files.lock().unwrap();
        files.iter().filter(|(_, file)| !file.changes.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// Whether what was read by a client may be what it is: any content that somebody asked for.
    pub(crate) fn knows(&self, file: &str, content: &Version) -> bool {
        self.files.lock().unwrap().get(file).is_some_and(|file| {
            file.before.as_ref() == Some(content)
                || file.changes.iter().any(|change| change.content == *content)
        })
    }

    /// Compares what is there with what was asked for and answered.
    ///
    /// # Errors
    /// What is lost, torn, or there without having been acknowledged.
    pub(crate) fn compare(
        &self,
        there: &HashMap<String, Version>,
        promised: Durability,
    ) -> Result<(), String> {
        let files = self.files.lock().unwrap();
        if let Some(stranger) = there.keys().find(|name| !files.contains_key(*name)) {
            return Err(format!("`{stranger}` was never written"));
        }
        let mut files = files.iter();
        files.try_for_each(|(name, file)| {
            file.judge(there.get(name), promised).map_err(|wrong| format!("`{name}` {wrong}"))
        })
    }

    /// Takes what is there, and is durable, for what there is from now on.
    pub(crate) fn take_stock(&self, there: HashMap<String, Version>) {
        let stock = there
            .into_iter()
            .map(|(name, content)| (name, File { before: Some(content), changes: Vec::new() }));
        *self.files.lock().unwrap() = stock.collect();
    }
}

impl File {
    fn judge(&self, there: Option<&Version>, promised: Durability) -> Result<(), String> {
        // What is acknowledged with less than full durability may be undone, but only as a whole.
        let keeps = promised == Durability::Full;
        let last_sent = self
            .changes
            .iter()
            .filter(|change| matches!(change.fate, Fate::Done(_)))
            .max_by_key(|change| change.sent);
        let last = last_sent.filter(|_| keeps);
        let Some(there) = there else {
            return match (last, &self.before) {
                (None, None) => Ok(()),
                (Some(change), _) => Err(format!("is gone after the acknowledged {}", change.what)),
                (None, Some(_)) => Err("is gone, and nobody changed it".to_owned()),
            };
        };
        let change = self.changes.iter().find(|change| change.content == *there);
        match (change, last) {
            (Some(Change { fate: Fate::Refused, what, .. }), _) => {
                Err(format!("holds the content of the refused {what}"))
            }
            (Some(Change { fate: Fate::Done(answered), what, .. }), Some(last)) if *answered < last.sent => {
                Err(format!("holds the content of the {what}, older than the acknowledged {}", last.what))
            }
            (Some(_), _) => Ok(()),
            (None, _) if self.before.as_ref() != Some(there) => {
                Err("is torn: nobody asked for what it holds".to_owned())
            }
            (None, Some(last)) => Err(format!("is as it was before the acknowledged {}", last.what)),
            (None, None) => Ok(()),
        }
    }
}
