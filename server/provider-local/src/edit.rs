//! Editing: read, judge the version, match, replace and publish in one turn.
//!
//! `in_memory` decides about a small file, `streamed` about one that memory is not to hold; what follows is the same.
//! Deliberately absent: matching and splicing themselves, which are the core's.

mod in_memory;
mod streamed;

use std::os::fd::AsFd;

use toolfs_core::diff::{ChangedRanges, DiffResult};
use toolfs_core::edit::{Matches, Patch};
use toolfs_core::error::Result;
use toolfs_core::guard::EditGuard;
use toolfs_core::notice::line_end_changes;
use toolfs_core::planted::Fault;
use toolfs_core::text::TextSummary;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;
use toolfs_provider::report::EditReport;
use toolfs_provider::request::EditTextRequest;

use crate::attribute::foreseen;
use crate::content::{Form, NewContent, Old};
use crate::disk::{Disk, MAX_ATTEMPTS, OpenFile};
use crate::location::Location;
use crate::lock::Turn;
use crate::operation::{self, Ticket};
use crate::place::{Found, Manner, Place};
use crate::publish::{self, Basis, Setback};
use crate::remark::Remarks;
use crate::watch::Watch;

/// Decides about an edit, and publishes it when `turn` is there.
pub(crate) fn edit(
    disk: &Disk,
    location: &Location,
    request: &EditTextRequest,
    turn: Option<&Turn>,
    abort: &AbortSignal,
) -> Result<Found<EditReport>> {
    let Some((turn, operation)) = turn.zip(request.operation()) else {
        return attempt(disk, location, request, turn, None, abort);
    };
    operation::once(disk, location, operation, abort, |ticket| {
        attempt(disk, location, request, Some(turn), Some(ticket), abort)
    })
}

fn attempt(
    disk: &Disk,
    location: &Location,
    request: &EditTextRequest,
    turn: Option<&Turn>,
    mut ticket: Option<&mut Ticket<'_>>,
    abort: &AbortSignal,
) -> Result<Found<EditReport>> {
    let path = location.display();
    for _ in 0..MAX_ATTEMPTS {
        let call = Call { disk, path: &path, request, turn, abort };
        match call.attempt(location, ticket.as_deref_mut()) {
            Ok(report) => return Ok(Found::Here(report)),
            Err(Setback::Elsewhere) => return Ok(Found::Elsewhere),
            Err(Setback::Failed(error)) => return Err(error),
            Err(Setback::Rescued { actual, rescue_path }) => {
                return Err(publish::stale(&path, call.expected().cloned(), actual, rescue_path));
            }
            // Nothing happened: what is there now is judged, and matched, anew.
            Err(Setback::Overtaken) => {}
        }
    }
    Err(refusal::keeps_changing(path))
}

/// One edit.
struct Call<'a> {
    disk: &'a Disk,
    path: &'a str,
    request: &'a EditTextRequest,
    /// Absent when nothing is to be published.
    turn: Option<&'a Turn>,
    abort: &'a AbortSignal,
}

/// What an edit does, once it is decided.
struct Decided {
    /// The version of the old content.
    replaced: Version,
    before: TextSummary,
    /// Absent when the new content is no text.
    after: Option<TextSummary>,
    version: Version,
    size_bytes: u64,
    matches: Matches,
    changed: ChangedRanges,
    /// Absent when it is not wanted.
    diff: Option<DiffResult>,
    made: Made,
}

/// How the new content is made.
enum Made {
    Whole(Vec<u8>),
    Patched(Patch),
    Respliced,
}

impl Call<'_> {
    fn expected(&self) -> Option<&Version> {
        match &self.request.guard {
            EditGuard::Unconditional => None,
            EditGuard::ReplaceIfVersion(version) => Some(version),
        }
    }

    /// Whether the guard allows to replace a content of this version.
    fn judge(&self, open: &OpenFile, version: &Version) -> Result<()> {
        match self.expected() {
            Some(expected) if expected != version => {
                self.disk.cache.forget(&open.facts);
                Err(refusal::stale(self.path, Some(expected.clone()), Some(version.clone())))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_abort(&self) -> Result<()> {
        self.abort.check().map_err(|error| error.with_path(self.path))
    }

    fn attempt(&self, location: &Location, ticket: Option<&mut Ticket<'_>>) -> Result<EditReport, Setback> {
        let Call { disk, request, turn, abort, .. } = *self;
        self.check_abort()?;
        let Found::Here(place) = Place::find(location.clone(), self.path)? else {
            return Err(Setback::Elsewhere);
        };
        let held = if turn.is_some() { disk.enter(&place, abort)? } else { None };
        let Found::Here(existing) = place.look()? else { return Err(Setback::Elsewhere) };
        let manner = place.check_changeable(disk, existing.as_ref())?;
        let Some(open) = existing else {
            return Err(refusal::stale(self.path, self.expected().cloned(), None).into());
        };
        let is_streamed = streamed::is_due(disk, &open, request);
        let watch = match (turn, manner) {
            (Some(_), Manner::Exchange) if is_streamed => Watch::over(&open),
            // What is in memory does not change, and a copy of what is rewritten in place is compared with it.
            (Some(_) | None, Manner::Exchange | Manner::InPlace) => Watch::unknowing(),
        };
        let decided = match is_streamed {
            true => streamed::decide(self, &open, &watch)?,
            false => in_memory::decide(self, &open)?,
        };
        self.check_abort()?;
        let mut report = report((&open, manner), &decided);
        let Some(turn) = turn else { return Ok(report) };
        if watch.found_writer() {
            // It would be refused in the end, after all of it was written.
            publish::check_quiet(&open)?;
        }
        if let Some(ticket) = ticket {
            ticket.record(Some(&decided.replaced), &report)?;
        }
        let _held = held.filter(|_| !Fault::PublishReleasesLock.is_planted());
        let basis = Basis { old: &open, version: &decided.replaced, manner };
        let old = Old { open: &open, size_bytes: decided.before.size_bytes, watch: &watch };
        let form = match &decided.made {
            Made::Whole(content) => Form::Whole(content),
            Made::Patched(patch) => Form::Patched { old, patch },
            Made::Respliced => Form::Respliced { old, edit: &request.edit, before: &decided.before },
        };
        let content = NewContent { version: &decided.version, size_bytes: decided.size_bytes, form };
        let effect = publish::replace(disk, &place, turn, &basis, &content, abort)?;
        (report.notices, report.not_durable) = effect.amend(report.notices);
        Ok(report)
    }
}

/// What an edit reports when nothing unforeseen happens.
fn report((open, manner): (&OpenFile, Manner), decided: &Decided) -> EditReport {
    let mut remarks = Remarks::default();
    if let Some(after) = &decided.after {
        remarks.extend(line_end_changes(&decided.before, after));
    }
    foreseen(open.file.as_fd(), &open.facts, manner, &mut remarks);
    EditReport {
        matches: decided.matches.clone(),
        changed: decided.changed.clone(),
        size_bytes: decided.size_bytes,
        version: decided.version.clone(),
        notices: remarks.into_notices(),
        diff: decided.diff.clone(),
        not_durable: None,
    }
}
