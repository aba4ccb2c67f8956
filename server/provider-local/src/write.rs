//! Writing a whole file: look, judge, publish.
//!
//! All of it happens while the caller holds the target's turn. The old content is read piece by piece; only where a
//! diff is wanted and can be made is it kept.

use std::os::fd::AsFd;

use toolfs_core::diff::{Diff, DiffLeftOut, DiffResult};
use toolfs_core::error::{Existing, Result};
use toolfs_core::guard::WriteGuard;
use toolfs_core::notice::line_end_changes;
use toolfs_core::outcome::WriteOperation;
use toolfs_core::planted::Fault;
use toolfs_core::text::{TextScanner, TextSummary, summarize};
use toolfs_core::version::{Version, VersionHasher};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;
use toolfs_provider::report::WriteReport;
use toolfs_provider::request::WriteTextRequest;

use crate::attribute::foreseen;
use crate::content::NewContent;
use crate::disk::{Disk, MAX_ATTEMPTS, OpenFile};
use crate::location::Location;
use crate::lock::Turn;
use crate::operation::{self, Ticket};
use crate::place::{Found, Manner, Place};
use crate::publish::{self, Basis, Effect, Setback};
use crate::read::{Pieces, judged};
use crate::remark::Remarks;

/// How much of a file is looked at to tell whether it is text, when a creation is refused because it is there.
const MAX_JUDGED_BYTES: u64 = 16 << 20;

/// Decides about a write, and publishes it when `turn` is there.
pub(crate) fn write(
    disk: &Disk,
    location: &Location,
    request: &WriteTextRequest,
    turn: Option<&Turn>,
    abort: &AbortSignal,
) -> Result<Found<WriteReport>> {
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
    request: &WriteTextRequest,
    turn: Option<&Turn>,
    mut ticket: Option<&mut Ticket<'_>>,
    abort: &AbortSignal,
) -> Result<Found<WriteReport>> {
    let path = location.display();
    let Ok(content) = std::str::from_utf8(&request.content) else {
        return Err(refusal::content_not_utf8(path));
    };
    for _ in 0..MAX_ATTEMPTS {
        abort.check().map_err(|error| error.with_path(&path))?;
        let Found::Here(place) = Place::find(location.clone(), &path)? else { return Ok(Found::Elsewhere) };
        let held = if turn.is_some() { disk.enter(&place, abort)? } else { None };
        let Found::Here(existing) = place.look()? else { return Ok(Found::Elsewhere) };
        let manner = place.check_changeable(disk, existing.as_ref())?;
        let (report, published) = match &existing {
            None => {
                if let WriteGuard::ReplaceIfVersion(expected) = &request.guard {
                    return Err(refusal::stale(&path, Some(expected.clone()), None));
                }
                let report = creation(disk, request, content);
                if let Some(ticket) = &mut ticket {
                    ticket.record(None, &report)?;
                }
                let new = NewContent::whole(&request.content, &report.version);
                let published = turn.map(|_| publish::create(disk, &place, &new, abort));
                (report, published)
            }
            Some(open) => {
                let old = match &request.guard {
                    WriteGuard::CreateIfAbsent => {
                        return Err(refusal::not_observed(&path, existing_facts(disk, open, abort)?));
                    }
                    WriteGuard::Unconditional | WriteGuard::ReplaceIfVersion(_) => {
                        Old::read(disk, open, request, abort)?
                    }
                };
                if let WriteGuard::ReplaceIfVersion(expected) = &request.guard
                    && *expected != old.version
                {
                    disk.cache.forget(&open.facts);
                    return Err(refusal::stale(&path, Some(expected.clone()), Some(old.version)));
                }
                let report = replacement(disk, request, content, (open, manner), &old);
                if let Some(ticket) = &mut ticket {
                    ticket.record(Some(&old.version), &report)?;
                }
                let _held = held.filter(|_| !Fault::PublishReleasesLock.is_planted());
                let basis = Basis { old: open, version: &old.version, manner };
                let new = NewContent::whole(&request.content, &report.version);
                let published = turn.map(|turn| publish::replace(disk, &place, turn, &basis, &new, abort));
                (report, published)
            }
        };
        match published {
            None => return Ok(Found::Here(report)),
            Some(Ok(effect)) => return Ok(Found::Here(with_effect(report, effect))),
            Some(Err(Setback::Elsewhere)) => return Ok(Found::Elsewhere),
            Some(Err(Setback::Failed(error))) => return Err(error),
            Some(Err(Setback::Rescued { actual, rescue_path })) => {
                let expected = match &request.guard {
                    WriteGuard::ReplaceIfVersion(expected) => Some(expected.clone()),
                    WriteGuard::CreateIfAbsent | WriteGuard::Unconditional => None,
                };
                return Err(publish::stale(&path, expected, actual, rescue_path));
            }
            // Nothing happened: what is there now is looked at and judged anew, so that the refusal is true of it.
            Some(Err(Setback::Overtaken)) => {}
        }
    }
    Err(refusal::keeps_changing(path))
}

fn creation(disk: &Disk, request: &WriteTextRequest, content: &str) -> WriteReport {
    WriteReport {
        operation: WriteOperation::Create,
        size_bytes: request.content.len() as u64,
        previous_size_bytes: None,
        version: Version::of(&request.content),
        notices: Vec::new(),
        diff: request.want_diff.then(|| Diff::between(None, content, disk.limits.max_diff_bytes)),
        not_durable: None,
    }
}

fn replacement(
    disk: &Disk,
    request: &WriteTextRequest,
    content: &str,
    (open, manner): (&OpenFile, Manner),
    old: &Old,
) -> WriteReport {
    let mut remarks = Remarks::default();
    if let (Some(before), Ok(after)) = (&old.summary, summarize(&request.content)) {
        remarks.extend(line_end_changes(before, &after));
    }
    foreseen(open.file.as_fd(), &open.facts, manner, &mut remarks);
    let diff = request.want_diff.then(|| match &old.content {
        Some(before) => Diff::between(Some(before), content, disk.limits.max_diff_bytes),
        // It was too large to be kept, which is all that there is to tell.
        None => DiffResult::LeftOut(DiffLeftOut::TooLarge {
            limit_bytes: disk.limits.max_diff_bytes,
            size_bytes: old.size_bytes + request.content.len() as u64,
        }),
    });
    WriteReport {
        operation: WriteOperation::Update,
        size_bytes: request.content.len() as u64,
        previous_size_bytes: Some(old.size_bytes),
        version: Version::of(&request.content),
        notices: remarks.into_notices(),
        diff,
        not_durable: None,
    }
}

fn with_effect(mut report: WriteReport, effect: Effect) -> WriteReport {
    (report.notices, report.not_durable) = effect.amend(report.notices);
    report
}

/// What a pass over the old content learned.
struct Old {
    size_bytes: u64,
    version: Version,
    /// Absent when it is no text.
    summary: Option<TextSummary>,
    /// The content itself, where a diff is wanted and not too large.
    content: Option<Vec<u8>>,
}

impl Old {
    fn read(disk: &Disk, open: &OpenFile, request: &WriteTextRequest, abort: &AbortSignal) -> Result<Old> {
        let room = disk.limits.max_diff_bytes.saturating_sub(request.content.len() as u64);
        let mut content = (request.want_diff && open.facts.size <= room).then(Vec::new);
        let mut hasher = VersionHasher::new();
        let mut scanner = Some(TextScanner::new());
        let mut pieces = Pieces::whole(disk, open);
        while let Some(piece) = pieces.next(disk, open, abort)? {
            hasher.update(piece);
            scanner = scanner.and_then(|mut scanner| scanner.feed(piece).ok().map(|()| scanner));
            if let Some(content) = &mut content {
                content.extend_from_slice(piece);
            }
        }
        let summary = scanner.and_then(|scanner| scanner.finish().ok());
        Ok(Old { size_bytes: pieces.taken, version: judged(disk, open, hasher.finish()), summary, content })
    }
}

fn existing_facts(disk: &Disk, open: &OpenFile, abort: &AbortSignal) -> Result<Existing> {
    let mut pieces = Pieces::whole(disk, open);
    let mut scanner = TextScanner::new();
    let mut text = None;
    while let Some(piece) = pieces.next(disk, open, abort)? {
        if scanner.feed(piece).is_err() {
            text = Some(false);
            break;
        }
        if pieces.taken >= MAX_JUDGED_BYTES {
            break;
        }
    }
    if text.is_none() && pieces.taken < MAX_JUDGED_BYTES {
        text = Some(scanner.finish().is_ok());
    }
    Ok(Existing { kind: open.facts.kind, size: open.facts.size, text })
}
