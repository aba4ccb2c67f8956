//! Named operations: a repetition is answered from its record and from what is on disk, and happens once.
//!
//! The meaning is that of [`toolfs_provider::operation::OperationId`]. `record` is what a record says and `store` is
//! where it lies; here is what follows from it. All of this happens while the caller holds the target's turn, and the
//! record is locked in it and let go with it, so that no two calls can wait for each other.

mod record;
mod store;

use rustix::fs::fsync;
use rustix::io::{Errno, retry_on_intr};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolfs_core::error::{ErrorKind, FsError, Published, Result};
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::operation::{Operation, RequestDigest};
use toolfs_provider::refusal;
use toolfs_provider::report::{EditReport, WriteReport};

use self::record::{Intent, Record, Unreadable};
use self::store::RecordFile;
pub(crate) use self::store::RecordStore;
use crate::disk::{Disk, OpenFile};
use crate::io_error::{fs_error, record_error};
use crate::location::Location;
use crate::place::{Found, Place};
use crate::read;
use crate::root;
use crate::step::Step;

/// What a mutation reports, as far as a record needs to know it.
pub(crate) trait Report: Clone + Serialize + DeserializeOwned {
    /// The same without content.
    fn without_diff(&self) -> Self;
    /// The version that it makes.
    fn version(&self) -> &Version;
    /// Says that the effect may not survive a power cut.
    fn set_not_durable(&mut self, error: Option<FsError>);
}

impl Report for WriteReport {
    fn without_diff(&self) -> WriteReport {
        WriteReport { diff: None, ..self.clone() }
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn set_not_durable(&mut self, error: Option<FsError>) {
        self.not_durable = error;
    }
}

impl Report for EditReport {
    fn without_diff(&self) -> EditReport {
        EditReport { diff: None, ..self.clone() }
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn set_not_durable(&mut self, error: Option<FsError>) {
        self.not_durable = error;
    }
}

/// Carries a named operation out, unless it was before.
///
/// `attempt` records what it is about to publish on the ticket that it gets. A panic in it leaves the record as a
/// crash would.
///
/// # Errors
/// Those of `attempt` and of [`toolfs_provider::operation::OperationId`]; `FS_UNSUPPORTED` where nothing is recorded;
/// `FS_IO_ERROR` and `FS_UNAVAILABLE` when the record cannot be read or made, with `published` maybe for one that is
/// there and is not understood.
pub(crate) fn once<R: Report>(
    disk: &Disk,
    location: &Location,
    operation: Operation,
    abort: &AbortSignal,
    attempt: impl FnOnce(&mut Ticket<'_>) -> Result<Found<R>>,
) -> Result<Found<R>> {
    let path = location.display();
    let Some(store) = &disk.operations else { return Err(refusal::no_operation_ids(path)) };
    let mut file = store.open_record(&operation.id, &path, abort)?;
    let bytes = file.read().map_err(|cause| unreadable(&path).with_source(std::io::Error::from(cause)))?;
    let mut ticket = Ticket { disk, path, digest: operation.digest, file, length: 0 };
    match record::parse(&bytes).map_err(|Unreadable| unreadable(&ticket.path))? {
        Record::Nothing => {}
        Record::Intended { intent: Intent { digest, .. }, .. } | Record::Published { digest, .. }
            if digest != ticket.digest =>
        {
            return Err(refusal::operation_id_reused(ticket.path));
        }
        Record::Published { report, .. } => return ticket.report(report).map(Found::Here),
        Record::Intended { intent, length } => {
            let mut report: R = ticket.report(intent.report)?;
            let happened = has_happened(disk, location, intent.replaced, report.version(), abort);
            // As long as that is not known, nobody may take this refusal for a sign that nothing was published.
            match happened.map_err(|error| error.with_published(Published::Maybe))? {
                Found::Elsewhere => return Ok(Found::Elsewhere),
                Found::Here(Past::Happened { not_durable }) => {
                    report.set_not_durable(not_durable);
                    ticket.length = length;
                    ticket.mark(&report);
                    return Ok(Found::Here(report));
                }
                Found::Here(Past::NotHappened) => {}
            }
        }
    }
    let result = attempt(&mut ticket);
    match &result {
        Ok(Found::Here(report)) => ticket.mark(&report.without_diff()),
        Ok(Found::Elsewhere) => ticket.withdraw(),
        Err(error) => match error.published() {
            Published::No => ticket.withdraw(),
            // A repetition looks at the disk.
            Published::Yes | Published::Maybe => {}
        },
    }
    store.count_operation(disk.clock.now());
    result
}

/// The right to carry out a named operation, and to record it.
#[derive(Debug)]
pub(crate) struct Ticket<'a> {
    disk: &'a Disk,
    path: String,
    digest: RequestDigest,
    file: RecordFile,
    /// How many bytes of the record say what is about to happen.
    length: usize,
}

impl Ticket<'_> {
    /// Records what is about to be published in the place of `replaced` (nothing, when absent).
    ///
    /// # Errors
    /// `FS_IO_ERROR`, `FS_UNAVAILABLE`: nothing may be published then.
    pub(crate) fn record<R: Report>(&mut self, replaced: Option<&Version>, report: &R) -> Result<()> {
        let digest = self.digest.clone();
        let line = record::intent_line(&Intent {
            digest,
            replaced: replaced.cloned(),
            report: report.without_diff(),
        });
        let written = self.disk.before(Step::Record).and_then(|()| self.file.write(0, &line));
        written.map_err(|cause| record_error(&self.path, cause))?;
        self.length = line.len();
        Ok(())
    }

    /// Records that it is published. Where that fails, the record still says what was intended.
    fn mark<R: Report>(&mut self, report: &R) {
        let line = record::published_line(report);
        let marked = self.disk.before(Step::Mark).and_then(|()| self.file.write(self.length, &line));
        if let Err(cause) = marked {
            tracing::warn!(%cause, "an operation could not be recorded as published");
        }
    }

    /// Frees the name: nothing was published under it.
    fn withdraw(self) {
        if let Err(cause) = self.file.remove() {
            tracing::warn!(%cause, "the record of a refused operation could not be removed");
        }
    }

    fn report<R: Report>(&self, recorded: Value) -> Result<R> {
        serde_json::from_value(recorded).map_err(|cause| unreadable(&self.path).with_source(cause))
    }
}

/// What became of an operation that was begun before.
enum Past {
    Happened { not_durable: Option<FsError> },
    NotHappened,
}

/// Looks whether an operation happened that was to put `intended` in the place of `replaced`.
fn has_happened(
    disk: &Disk,
    location: &Location,
    replaced: Option<Version>,
    intended: &Version,
    abort: &AbortSignal,
) -> Result<Found<Past>> {
    let path = location.display();
    let Found::Here(place) = Place::find(location.clone(), &path)? else { return Ok(Found::Elsewhere) };
    // What another server is about to take back is not what is there.
    let _held = disk.enter(&place, abort)?;
    let Found::Here(existing) = place.look()? else { return Ok(Found::Elsewhere) };
    let actual = match &existing {
        Some(open) => Some(read::version(disk, open, abort)?),
        None => None,
    };
    match &existing {
        Some(open) if actual.as_ref() == Some(intended) => {
            // The crash may have come before the last step of the publication.
            let synced = sync(disk, &place, open);
            let not_durable = synced.err().map(|cause| {
                let error = fs_error(&path, "making an effect of before durable", cause);
                error.with_published(Published::Yes)
            });
            Ok(Found::Here(Past::Happened { not_durable }))
        }
        Some(_) | None if actual == replaced => Ok(Found::Here(Past::NotHappened)),
        Some(_) | None => Err(refusal::operation_in_doubt(path, replaced, actual)),
    }
}

/// Makes a file durable as far as the server was told to, and with it all directories that may have been made for it.
fn sync(disk: &Disk, place: &Place, open: &OpenFile) -> Result<(), Errno> {
    match disk.durability {
        Durability::None => Ok(()),
        Durability::Data => retry_on_intr(|| fsync(&open.file)),
        Durability::Full => {
            retry_on_intr(|| fsync(&open.file))?;
            root::sync_directory(place.directory())?;
            let Location { root, relative, .. } = &place.location;
            let names: Vec<&[u8]> = relative.split(|&byte| byte == b'/').collect();
            // The last is the file, and the directory that it is in is done.
            for count in (0..names.len().saturating_sub(1)).rev() {
                root::sync_directory(root.open_exact(&names[..count].join(&b'/'), root::directory())?)?;
            }
            Ok(())
        }
    }
}

/// A record is there and cannot be understood: it may stand for an effect.
fn unreadable(path: &str) -> FsError {
    let message = format!(
        "the record of this operation on `{path}` cannot be read, so whether it happened is not known"
    );
    FsError::new(ErrorKind::IoError, message).with_path(path).with_published(Published::Maybe)
}
