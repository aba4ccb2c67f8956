//! Publication: a content that is whole appears under its name in one atomic step, and what it displaced is
//! verified.
//!
//! A creation never replaces. A replacement exchanges names and then hashes what it displaced: when that is not what
//! was judged, `exchange` puts it back, or keeps it under a rescue name when somebody moved once more. Where a name
//! cannot be given another file, `rewrite` has the file rewritten in place. What a crash in between leaves is
//! `recover`'s. Deliberately absent: waiting for writers who keep the file open for longer than the moment that `fcntl`
//! grants them; their caller may try again.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{Code, FsError, Published, Result};
use toolfs_core::notice::{Notice, NoticeKind};
use toolfs_core::planted::Fault;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::refusal;

use crate::attribute::{Snapshot, foreseen, take_over};
use crate::content::{Form, NewContent};
use crate::disk::{Disk, OpenFile};
use crate::exchange::{Displaced, Exchange, Left, Ours, Refused, open_for_writing};
use crate::facts::{Facts, facts_at};
use crate::fcntl::{Lease, Writers};
use crate::io_error::fs_error;
use crate::leftover::{ContentDigits, Label};
use crate::lock::Turn;
use crate::parents::Parents;
use crate::place::{Found, Manner, Place};
use crate::read;
use crate::remark::Remarks;
use crate::rewrite;
use crate::root;
use crate::step::Step;
use crate::temporary::Temporary;

pub(crate) const PUBLISHING: &str = "putting the new content in its place";

/// What a publication has to tell when it is there.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) notices: Vec<Notice>,
    pub(crate) not_durable: Option<FsError>,
}

impl Effect {
    /// What a report that had `notices` before the publication is to tell after it: all notices, and why it may not
    /// be durable.
    pub(crate) fn amend(self, mut notices: Vec<Notice>) -> (Vec<Notice>, Option<FsError>) {
        if self.notices.iter().any(|notice| notice.kind == NoticeKind::NotAtomic) {
            // It had been foreseen for an exchange, which turned out not to be possible.
            notices.retain(|notice| notice.kind != NoticeKind::HardLinksKeepOldContent);
        }
        let mut remarks = Remarks::from(notices);
        remarks.extend(self.notices);
        (remarks.into_notices(), self.not_durable)
    }
}

/// Why a publication did not happen.
#[derive(Debug)]
pub(crate) enum Setback {
    /// Somebody else was there before: what was judged is not there any more, and nothing of ours happened.
    Overtaken,
    /// Somebody else was there before, and one more while that was put back, so that a content had to be kept aside.
    Rescued {
        /// What is there now; absent when nothing is, or nothing that has a version.
        actual: Option<Version>,
        /// Where the content is kept that could not be put back.
        rescue_path: String,
    },
    /// The path leads elsewhere by now.
    Elsewhere,
    /// It failed.
    Failed(FsError),
}

impl From<FsError> for Setback {
    fn from(error: FsError) -> Setback {
        Setback::Failed(error)
    }
}

/// Creates a file, with the directories that are missing on the way to it.
///
/// Dropped in mid-way by a panic, it leaves nothing.
pub(crate) fn create(
    disk: &Disk,
    place: &Place,
    content: &NewContent<'_>,
    abort: &AbortSignal,
) -> Result<Effect, Setback> {
    let failed = |cause| fs_error(&place.path, PUBLISHING, cause);
    let parents = match Parents::make(disk, place)? {
        Found::Here(parents) => parents,
        Found::Elsewhere => return Err(Setback::Elsewhere),
    };
    let directory = parents.innermost(place);
    // Nobody can open a file without a name, so it may have its final mode from the start; then it is the kernel
    // that applies the umask or the directory's default access list.
    let mode = Mode::from_raw_mode(0o666);
    let mut temporary = match Temporary::create(disk, directory, mode, place) {
        Ok(temporary) => temporary,
        // The directory went meanwhile: its absence is no answer to a call that makes directories.
        Err(error) => {
            return Err(match place.check_still(disk, directory) {
                Err(Setback::Elsewhere) => Setback::Elsewhere,
                Ok(()) | Err(Setback::Overtaken | Setback::Rescued { .. } | Setback::Failed(_)) => {
                    error.into()
                }
            });
        }
    };
    temporary.fill(content, abort, &place.path)?;
    temporary.give_new_mode().map_err(|cause| fs_error(&place.path, "giving it its mode", cause))?;
    temporary.sync(&place.path)?;
    disk.before(Step::Publish).map_err(failed)?;
    abort.check().map_err(|error| error.with_path(&place.path))?;
    place.check_still(disk, directory)?;
    let made = root::facts(&temporary.file).map_err(failed)?.inode;
    disk.before(Step::Link).map_err(failed)?;
    match temporary.publish_new(&place.name) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(Setback::Overtaken),
        Err(Errno::NOENT) => return Err(Setback::Elsewhere),
        Err(cause) => return Err(failed(cause).into()),
    }
    if let Err(setback) = place.check_still(disk, directory) {
        withdraw(disk, made, place, directory)?;
        return Err(setback);
    }
    drop(temporary);
    let not_durable = settle(disk, place, directory, Some(&parents));
    parents.keep();
    Ok(Effect { notices: Vec::new(), not_durable })
}

/// Takes a creation back whose directory was moved away in the last moment, or cannot be looked at any more: unless the
/// name is somebody else's by now.
///
/// # Errors
/// The new file may still be there.
fn withdraw(disk: &Disk, made: (u64, u64), place: &Place, directory: BorrowedFd<'_>) -> Result<()> {
    let unlink = || unlinkat(directory, place.name.as_slice(), AtFlags::empty());
    let removed = match facts_at(directory, &place.name) {
        Ok(facts) if facts.inode != made => Ok(()),
        Ok(_) => disk.before(Step::Withdraw).and_then(|()| retry_on_intr(unlink)),
        Err(cause) => Err(cause),
    };
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(cause) => {
            let error = fs_error(&place.path, "taking a new file back", cause);
            Err(error.with_published(Published::Maybe))
        }
    }
}

/// What a replacement is based on.
#[derive(Debug)]
pub(crate) struct Basis<'a> {
    /// The file that was judged.
    pub(crate) old: &'a OpenFile,
    /// The version of its content.
    pub(crate) version: &'a Version,
    /// How it can be given new content.
    pub(crate) manner: Manner,
}

/// Replaces a file, or rewrites it in place where its name cannot be given another one.
///
/// Dropped in mid-way by a panic, it leaves at most a hidden file with a content that is not published, or that was
/// displaced.
pub(crate) fn replace(
    disk: &Disk,
    place: &Place,
    turn: &Turn,
    basis: &Basis<'_>,
    content: &NewContent<'_>,
    abort: &AbortSignal,
) -> Result<Effect, Setback> {
    let mut effect = replace_or_rewrite(disk, place, turn, basis, content, abort)?;
    if effect.not_durable.is_none()
        && let Some(copies) = &disk.copies
    {
        let outdated = copies.outdate(disk, basis.old.facts.inode);
        effect.not_durable = outdated.err().map(|cause| rewrite::not_outdated(&place.path, cause));
    }
    Ok(effect)
}

fn replace_or_rewrite(
    disk: &Disk,
    place: &Place,
    turn: &Turn,
    basis: &Basis<'_>,
    content: &NewContent<'_>,
    abort: &AbortSignal,
) -> Result<Effect, Setback> {
    let failed = |cause| fs_error(&place.path, PUBLISHING, cause);
    // What is made out of the file cannot be written over it.
    if Fault::PublishTearsInPlace.is_planted() && matches!(content.form, Form::Whole(_)) {
        return tear(disk, place, content).map_err(|cause| failed(cause).into());
    }
    let in_place = || rewrite::replace(disk, place, turn, basis, content, abort);
    if basis.manner == Manner::InPlace {
        return in_place();
    }
    let directory = place.directory();
    let mut remarks = Remarks::default();
    foreseen(basis.old.file.as_fd(), &basis.old.facts, basis.manner, &mut remarks);
    let mut temporary = match Temporary::create(disk, directory, Mode::RUSR | Mode::WUSR, place) {
        Ok(temporary) => temporary,
        Err(error) if error.code() == Code::PermissionDenied && disk.copies.is_some() => return in_place(),
        Err(error) => return Err(error.into()),
    };
    temporary.fill(content, abort, &place.path)?;
    disk.before(Step::Attributes).map_err(failed)?;
    let old = basis.old.file.as_fd();
    let taken = Snapshot::of(old, &basis.old.facts);
    take_over(old, &basis.old.facts, temporary.file.as_fd(), &mut remarks)
        .map_err(|cause| fs_error(&place.path, "keeping its mode", cause))?;
    temporary.sync(&place.path)?;
    let hidden = temporary.name(Label::new(content.version, basis.version, &place.name)).map_err(failed)?;
    let is_sealed = temporary.seal();
    disk.before(Step::Publish).map_err(failed)?;
    if let Err(error) = abort.check() {
        if Fault::AbortLeavesTemporary.is_planted() {
            std::mem::forget(temporary);
        }
        return Err(error.with_path(&place.path).into());
    }
    place.check_still(disk, directory)?;
    recheck(disk, place, basis, abort)?;
    let facts = Some(root::facts(&temporary.file).map_err(failed)?);
    let ours = Ours { digits: ContentDigits::of(content.version), facts, is_sealed };
    let exchange = Exchange { disk, path: &place.path, directory, hidden, target: &place.name, ours };
    // From here on the name may hold somebody else's content, which a drop must not remove.
    let named = temporary.disown();
    let mut not_durable = None;
    let check_still = || place.check_still(disk, directory);
    match turn.until_verdict(|| exchange.run(&place.location.root, basis.version, &check_still)) {
        Ok(Displaced::Expected(displaced)) => {
            if Snapshot::of(displaced.file.as_fd(), &displaced.facts) != taken {
                not_durable = keep_up(&displaced, &temporary, place, &mut remarks);
            }
            if exchange.remove_displaced() {
                named.gone();
            }
        }
        Ok(Displaced::NotKept) => named.gone(),
        Ok(Displaced::Nothing(cause)) => {
            temporary.own(named);
            drop(temporary);
            return if disk.copies.is_some() { in_place() } else { Err(failed(cause).into()) };
        }
        Err(Refused { setback, left }) => {
            match left {
                Left::Ours => temporary.own(named),
                Left::Nothing => named.gone(),
                Left::Foreign => drop(named),
            }
            return Err(setback);
        }
    }
    let not_durable = settle(disk, place, directory, None).or(not_durable);
    Ok(Effect { notices: remarks.into_notices(), not_durable })
}

/// Takes over what somebody changed about the old file, its mode for one, while the new content was written: that is
/// theirs to keep.
fn keep_up(
    displaced: &OpenFile,
    temporary: &Temporary<'_>,
    place: &Place,
    remarks: &mut Remarks,
) -> Option<FsError> {
    let taken = take_over(displaced.file.as_fd(), &displaced.facts, temporary.file.as_fd(), remarks);
    if let Err(cause) = taken {
        tracing::warn!(%cause, "a mode that changed during a publication was not taken over");
    }
    temporary.sync(&place.path).err().map(|error| error.with_published(Published::Yes))
}

/// What a planted fault does instead of a replacement.
fn tear(disk: &Disk, place: &Place, content: &NewContent<'_>) -> Result<Effect, Errno> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK;
    let file = root::open_child(place.directory(), &place.name, flags)?;
    let torn = Temporary::torn(disk, place.directory(), file);
    let written = torn.fill(content, &AbortSignal::new(), &place.path);
    written.map_err(|_| Errno::IO)?;
    torn.sync(&place.path).map_err(|_| Errno::IO)?;
    Ok(Effect { notices: Vec::new(), not_durable: settle(disk, place, place.directory(), None) })
}

/// Looks once more whether what was judged is still in its place, and that nobody has it open for writing, before
/// anything becomes visible.
fn recheck(disk: &Disk, place: &Place, basis: &Basis<'_>, abort: &AbortSignal) -> Result<(), Setback> {
    let now = match statat(place.directory(), place.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Facts::from(&stat),
        Err(Errno::NOENT) => return Err(Setback::Overtaken),
        Err(cause) => return Err(fs_error(&place.path, PUBLISHING, cause).into()),
    };
    if now == basis.old.facts {
        return check_quiet(basis.old);
    }
    match place.look()? {
        Found::Elsewhere => Err(Setback::Elsewhere),
        Found::Here(None) => Err(Setback::Overtaken),
        Found::Here(Some(open)) => {
            if read::version(disk, &open, abort)? == *basis.version {
                return check_quiet(&open);
            }
            disk.cache.forget(&open.facts);
            Err(Setback::Overtaken)
        }
    }
}

/// Refuses a file that somebody may write to at any moment, as far as the kernel tells.
pub(crate) fn check_quiet(open: &OpenFile) -> Result<(), Setback> {
    match Lease::take(open.file.as_fd()) {
        Writers::None(_) | Writers::Unknown => Ok(()),
        Writers::Some => Err(open_for_writing(&open.path).into()),
    }
}

/// Makes the directory entries durable, as far as the server was told to: the last step of every publication.
fn settle(
    disk: &Disk,
    place: &Place,
    directory: BorrowedFd<'_>,
    parents: Option<&Parents>,
) -> Option<FsError> {
    match disk.durability {
        Durability::Data | Durability::None => None,
        Durability::Full if Fault::PublishSkipsDirectorySync.is_planted() => None,
        Durability::Full => {
            let synced = disk.before(Step::SyncDirectory);
            let synced = synced.and_then(|()| root::sync_directory(directory));
            let synced = synced.and_then(|()| parents.map_or(Ok(()), Parents::sync));
            let cause = synced.err()?;
            let error = fs_error(&place.path, "making the directory entry durable", cause);
            Some(error.with_published(Published::Yes))
        }
    }
}

/// The error of a mutation that somebody else overtook, when a third party's content had to be kept elsewhere.
pub(crate) fn stale(
    path: &str,
    expected: Option<Version>,
    actual: Option<Version>,
    rescue_path: String,
) -> FsError {
    refusal::stale(path, expected, actual).with_rescue_path(rescue_path)
}
