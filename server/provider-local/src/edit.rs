//! Editing: read, judge the version, match, replace and publish in one turn.
//!
//! A text is held in memory while it is edited, once as it was and once as it will be; what is no text is only hashed.
//! Deliberately absent so far: matching and splicing in a stream, which huge files call for.

use std::os::fd::AsFd;

use rustix::io::Errno;
use toolfs_core::edit::{self, Edited};
use toolfs_core::error::{FsError, Result};
use toolfs_core::guard::EditGuard;
use toolfs_core::notice::line_end_changes;
use toolfs_core::planted::Fault;
use toolfs_core::text::{NotText, TextScanner, summarize};
use toolfs_core::version::{Version, VersionHasher};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::patience::CallPatience;
use toolfs_provider::refusal;
use toolfs_provider::report::EditReport;
use toolfs_provider::request::EditTextRequest;

use crate::attribute::foreseen;
use crate::content::NewContent;
use crate::disk::{Disk, MAX_ATTEMPTS, OpenFile};
use crate::io_error::{READING, fs_error};
use crate::location::Location;
use crate::lock::Turn;
use crate::operation::{self, Ticket};
use crate::place::{Found, Manner, Place};
use crate::publish::{self, Basis, Setback};
use crate::read::{Pieces, judged, not_text};
use crate::remark::Remarks;

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
    let expected = match &request.guard {
        EditGuard::Unconditional => None,
        EditGuard::ReplaceIfVersion(version) => Some(version),
    };
    for _ in 0..MAX_ATTEMPTS {
        abort.check().map_err(|error| error.with_path(&path))?;
        let Found::Here(place) = Place::find(location.clone(), &path)? else { return Ok(Found::Elsewhere) };
        let held = if turn.is_some() { disk.enter(&place, abort)? } else { None };
        let Found::Here(existing) = place.look()? else { return Ok(Found::Elsewhere) };
        let manner = place.check_changeable(disk, existing.as_ref())?;
        let Some(open) = existing else {
            return Err(refusal::stale(&path, expected.cloned(), None));
        };
        let Old { version, content } = Old::read(disk, &open, abort)?;
        if let Some(expected) = expected
            && *expected != version
        {
            disk.cache.forget(&open.facts);
            return Err(refusal::stale(&path, Some(expected.clone()), Some(version)));
        }
        let content = content.map_err(|refused| not_text(refused, &path))?;
        let patience = CallPatience::new(abort, &disk.limits, Some(&*disk.clock));
        let edited = edit::apply(&content, &request.edit, &disk.limits, &patience)
            .map_err(|refused| FsError::from(refused).with_path(&path))?;
        drop(content);
        abort.check().map_err(|error| error.with_path(&path))?;
        let (mut report, content) = report((&open, manner), request, edited);
        if let Some(ticket) = &mut ticket {
            ticket.record(Some(&version), &report)?;
        }
        let _held = held.filter(|_| !Fault::PublishReleasesLock.is_planted());
        let basis = Basis { old: &open, version: &version, manner };
        let made = report.version.clone();
        let content = NewContent::whole(&content, &made);
        let effect = match turn {
            None => None,
            Some(turn) => match publish::replace(disk, &place, turn, &basis, &content, abort) {
                Ok(effect) => Some(effect),
                Err(Setback::Elsewhere) => return Ok(Found::Elsewhere),
                Err(Setback::Failed(error)) => return Err(error),
                Err(Setback::Rescued { actual, rescue_path }) => {
                    return Err(publish::stale(&place, expected.cloned(), actual, rescue_path));
                }
                // Nothing happened: what is there now is judged, and matched, anew.
                Err(Setback::Overtaken) => continue,
            },
        };
        if let Some(effect) = effect {
            (report.notices, report.not_durable) = effect.amend(report.notices);
        }
        return Ok(Found::Here(report));
    }
    Err(refusal::keeps_changing(path))
}

/// What an edit does, and the content that it makes.
fn report(
    (open, manner): (&OpenFile, Manner),
    request: &EditTextRequest,
    mut edited: Edited,
) -> (EditReport, Vec<u8>) {
    if Fault::EditUnifiesLineEnds.is_planted() {
        edited.content = String::from_utf8_lossy(&edited.content).replace("\r\n", "\n").into_bytes();
    }
    let mut remarks = Remarks::default();
    if let Ok(after) = summarize(&edited.content) {
        remarks.extend(line_end_changes(&edited.before, &after));
    }
    foreseen(open.file.as_fd(), &open.facts, manner, &mut remarks);
    let report = EditReport {
        matches: edited.matches,
        changed: edited.changed,
        size_bytes: edited.content.len() as u64,
        version: Version::of(&edited.content),
        notices: remarks.into_notices(),
        diff: request.want_diff.then_some(edited.diff),
        not_durable: None,
    };
    (report, edited.content)
}

/// What a pass over the old content learned.
struct Old {
    version: Version,
    content: Result<Vec<u8>, NotText>,
}

impl Old {
    fn read(disk: &Disk, open: &OpenFile, abort: &AbortSignal) -> Result<Old> {
        let size = usize::try_from(open.facts.size).unwrap_or(usize::MAX);
        let mut content = Vec::new();
        // A size is only a number until the bytes are there: a file with a hole may claim more than any memory has.
        content.try_reserve_exact(size).map_err(|_| fs_error(&open.path, READING, Errno::NOMEM))?;
        let mut hasher = VersionHasher::new();
        let mut scanner = Ok(TextScanner::new());
        let mut pieces = Pieces::whole(disk, open);
        while let Some(piece) = pieces.next(disk, open, abort)? {
            hasher.update(piece);
            scanner = scanner.and_then(|mut scanner| scanner.feed(piece).map(|()| scanner));
            match &scanner {
                Ok(_) => content.extend_from_slice(piece),
                Err(_) => content = Vec::new(),
            }
        }
        let content = scanner.and_then(TextScanner::finish).map(|_| content);
        Ok(Old { version: judged(disk, open, hasher.finish()), content })
    }
}
