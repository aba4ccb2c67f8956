//! Editing: read, judge the version, match, replace and publish in one turn.
//!
//! The file is held in memory while it is edited, once as it was and once as it will be. Deliberately absent so far:
//! matching and splicing in a stream, which huge files call for.

use std::os::fd::AsFd;

use toolfs_core::edit::{self, Edited};
use toolfs_core::error::{FsError, Result};
use toolfs_core::guard::EditGuard;
use toolfs_core::notice::line_end_changes;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;
use toolfs_provider::report::EditReport;
use toolfs_provider::request::EditTextRequest;

use crate::attribute::foreseen;
use crate::disk::{Disk, MAX_ATTEMPTS, OpenFile};
use crate::location::Location;
use crate::lock::Turn;
use crate::place::{Found, Place};
use crate::publish::{self, Basis, Setback};
use crate::read::Pieces;
use crate::remark::Remarks;

/// Decides about an edit, and publishes it when `turn` is there.
pub(crate) fn edit(
    disk: &Disk,
    location: &Location,
    request: &EditTextRequest,
    turn: Option<&Turn>,
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
        let Found::Here(existing) = place.look()? else { return Ok(Found::Elsewhere) };
        place.check_changeable(disk, existing.as_ref())?;
        let Some(open) = existing else {
            return Err(refusal::stale(&path, expected.cloned(), None));
        };
        let content = read_all(disk, &open, abort)?;
        let version = Version::of(&content);
        if let Some(expected) = expected
            && *expected != version
        {
            disk.cache.forget(&open.facts);
            return Err(refusal::stale(&path, Some(expected.clone()), Some(version)));
        }
        let edited = edit::apply(&content, &request.edit, &disk.limits, &disk.patience(abort))
            .map_err(|refused| FsError::from(refused).with_path(&path))?;
        drop(content);
        abort.check().map_err(|error| error.with_path(&path))?;
        let basis = Basis { old: &open, version: &version };
        let effect = match turn {
            None => None,
            Some(turn) => match publish::replace(disk, &place, turn, &basis, &edited.content, abort) {
                Ok(effect) => Some(effect),
                Err(Setback::Elsewhere) => return Ok(Found::Elsewhere),
                Err(Setback::Failed(error)) => return Err(error),
                Err(Setback::Overtaken { actual, rescue_path }) => {
                    // Without a version to keep to, the edit matches again on what is there now.
                    if expected.is_none() && rescue_path.is_none() {
                        continue;
                    }
                    return Err(publish::stale(&place, expected.cloned(), actual, rescue_path));
                }
            },
        };
        let mut report = report(&open, request, edited);
        if let Some(effect) = effect {
            let mut remarks = Remarks::from(report.notices);
            remarks.extend(effect.notices);
            report.notices = remarks.into_notices();
            report.not_durable = effect.not_durable;
        }
        return Ok(Found::Here(report));
    }
    Err(refusal::keeps_changing(path))
}

fn report(open: &OpenFile, request: &EditTextRequest, edited: Edited) -> EditReport {
    let mut remarks = Remarks::default();
    if let Ok(after) = toolfs_core::text::summarize(&edited.content) {
        remarks.extend(line_end_changes(&edited.before, &after));
    }
    foreseen(open.file.as_fd(), &open.facts, &mut remarks);
    EditReport {
        matches: edited.matches,
        changed: edited.changed,
        size_bytes: edited.content.len() as u64,
        version: Version::of(&edited.content),
        notices: remarks.into_notices(),
        diff: request.want_diff.then_some(edited.diff),
        not_durable: None,
    }
}

fn read_all(disk: &Disk, open: &OpenFile, abort: &AbortSignal) -> Result<Vec<u8>> {
    let mut content = Vec::with_capacity(usize::try_from(open.facts.size).unwrap_or(0));
    let mut pieces = Pieces::whole(disk, open);
    while let Some(piece) = pieces.next(disk, open, abort)? {
        content.extend_from_slice(piece);
    }
    Ok(content)
}
