//! Publication: a content that is whole appears under its name in one atomic step, and what it displaced is
//! verified.
//!
//! A creation never replaces. A replacement exchanges names and then hashes what it displaced: when that is not what
//! was judged, it is put back, or kept under a rescue name when somebody moved once more. Where a name cannot be given
//! another file, `rewrite` has the file rewritten in place. Deliberately absent so far: recovery after a crash between
//! the two, and other servers' locks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fsync, renameat, renameat_with, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{Code, FsError, Published, Result};
use toolfs_core::notice::{Notice, NoticeKind};
use toolfs_core::planted::Fault;
use toolfs_core::target::{FileKind, display_form};
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;
use toolfs_provider::refusal;

use crate::attribute::{foreseen, take_over};
use crate::disk::{Disk, MAX_ATTEMPTS, OpenFile};
use crate::facts::Facts;
use crate::io_error::fs_error;
use crate::lock::Turn;
use crate::place::{Found, Manner, Place};
use crate::read;
use crate::remark::Remarks;
use crate::rewrite;
use crate::root;
use crate::step::Step;
use crate::temporary::{Parents, Temporary};

const PUBLISHING: &str = "putting the new content in its place";

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
    content: &[u8],
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
    let mut temporary = match Temporary::create(disk, directory, mode, &place.path) {
        Ok(temporary) => temporary,
        // The directory went meanwhile: its absence is no answer to a call that makes directories.
        Err(_) if !place.is_still(directory) => return Err(Setback::Elsewhere),
        Err(error) => return Err(error.into()),
    };
    temporary.write(content, abort, &place.path)?;
    temporary.sync(&place.path)?;
    disk.before(Step::Publish).map_err(failed)?;
    abort.check().map_err(|error| error.with_path(&place.path))?;
    if !place.is_still(directory) {
        return Err(Setback::Elsewhere);
    }
    match temporary.publish_new(&place.name) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(Setback::Overtaken),
        Err(Errno::NOENT) => return Err(Setback::Elsewhere),
        Err(cause) => return Err(failed(cause).into()),
    }
    drop(temporary);
    let not_durable = settle(disk, place, directory, Some(&parents));
    parents.keep();
    Ok(Effect { notices: Vec::new(), not_durable })
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
    content: &[u8],
    abort: &AbortSignal,
) -> Result<Effect, Setback> {
    let failed = |cause| fs_error(&place.path, PUBLISHING, cause);
    if Fault::PublishTearsInPlace.is_planted() {
        return tear(disk, place, content).map_err(|cause| failed(cause).into());
    }
    let in_place = || rewrite::replace(disk, place, turn, basis, content, abort);
    if basis.manner == Manner::InPlace {
        return in_place();
    }
    let directory = place.directory();
    let mut remarks = Remarks::default();
    foreseen(basis.old.file.as_fd(), &basis.old.facts, basis.manner, &mut remarks);
    let mut temporary = match Temporary::create(disk, directory, Mode::RUSR | Mode::WUSR, &place.path) {
        Ok(temporary) => temporary,
        Err(error) if error.code() == Code::PermissionDenied && disk.copies.is_some() => return in_place(),
        Err(error) => return Err(error.into()),
    };
    temporary.write(content, abort, &place.path)?;
    disk.before(Step::Attributes).map_err(failed)?;
    let given = &basis.old.facts;
    take_over(basis.old.file.as_fd(), given, temporary.file.as_fd(), &mut remarks)
        .map_err(|cause| fs_error(&place.path, "keeping its mode", cause))?;
    temporary.sync(&place.path)?;
    let name = temporary.name().map_err(failed)?;
    disk.before(Step::Publish).map_err(failed)?;
    abort.check().map_err(|error| error.with_path(&place.path))?;
    if !place.is_still(directory) {
        return Err(Setback::Elsewhere);
    }
    recheck(disk, place, basis, abort)?;
    let ours = root::facts(&temporary.file).map_err(failed)?;
    let exchange = Exchange { disk, place, directory, name: &name, ours };
    // From here on the name may hold somebody else's content, which a drop must not remove.
    temporary.disown();
    let displaced = turn.until_verdict(|| exchange.run(basis.version));
    match displaced {
        Ok(Displaced::Expected(old)) => {
            if (old.facts.mode, old.facts.uid, old.facts.gid) != (given.mode, given.uid, given.gid) {
                // Somebody changed the mode while the new content was written: that is theirs to keep.
                let taken = take_over(old.file.as_fd(), &old.facts, temporary.file.as_fd(), &mut remarks);
                if let Err(cause) = taken {
                    tracing::warn!(%cause, "a mode that changed during a publication was not taken over");
                }
            }
            exchange.remove_displaced();
        }
        Ok(Displaced::NotKept) => {}
        Ok(Displaced::Nothing(cause)) => {
            temporary.own(name.clone());
            drop(temporary);
            return if disk.copies.is_some() { in_place() } else { Err(failed(cause).into()) };
        }
        Err(Refused { setback, is_name_ours }) => {
            if is_name_ours {
                temporary.own(name.clone());
            }
            return Err(setback);
        }
    }
    let not_durable = settle(disk, place, directory, None);
    Ok(Effect { notices: remarks.into_notices(), not_durable })
}

/// What a planted fault does instead of a replacement.
fn tear(disk: &Disk, place: &Place, content: &[u8]) -> Result<Effect, Errno> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK;
    let file = root::open_child(place.directory(), &place.name, flags)?;
    let torn = Temporary::torn(disk, place.directory(), file);
    let written = torn.write(content, &AbortSignal::new(), &place.path);
    written.and_then(|()| torn.sync(&place.path)).map_err(|_| Errno::IO)?;
    Ok(Effect { notices: Vec::new(), not_durable: settle(disk, place, place.directory(), None) })
}

/// Looks once more whether what was judged is still in its place, before anything becomes visible.
fn recheck(disk: &Disk, place: &Place, basis: &Basis<'_>, abort: &AbortSignal) -> Result<(), Setback> {
    let now = match statat(place.directory(), place.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Facts::from(&stat),
        Err(Errno::NOENT) => return Err(Setback::Overtaken),
        Err(cause) => return Err(fs_error(&place.path, PUBLISHING, cause).into()),
    };
    if now == basis.old.facts {
        return Ok(());
    }
    match place.look()? {
        Found::Elsewhere => Err(Setback::Elsewhere),
        Found::Here(None) => Err(Setback::Overtaken),
        Found::Here(Some(open)) => {
            if read::version(disk, &open, abort)? == *basis.version {
                return Ok(());
            }
            disk.cache.forget(&open.facts);
            Err(Setback::Overtaken)
        }
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
            let synced = synced.and_then(|()| retry_on_intr(|| fsync(directory)));
            let synced = synced.and_then(|()| parents.map_or(Ok(()), Parents::sync));
            let cause = synced.err()?;
            let error = fs_error(&place.path, "making the directory entry durable", cause);
            Some(error.with_published(Published::Yes))
        }
    }
}

/// Two names that change places.
struct Exchange<'a> {
    disk: &'a Disk,
    place: &'a Place,
    directory: BorrowedFd<'a>,
    /// The temporary name: before the exchange ours, then what was displaced.
    name: &'a [u8],
    /// What ours was before the exchange.
    ours: Facts,
}

enum Displaced {
    /// What was judged is under the temporary name.
    Expected(OpenFile),
    /// This file system replaces and keeps nothing.
    NotKept,
    /// The name cannot be given another file, for this reason: something is mounted on it, or it is another user's.
    Nothing(Errno),
}

struct Refused {
    setback: Setback,
    /// Whether the temporary name holds our own, unpublished content.
    is_name_ours: bool,
}

impl Exchange<'_> {
    fn run(&self, expected: &Version) -> Result<Displaced, Refused> {
        let ours_again = |setback| Refused { setback, is_name_ours: true };
        if !self.place.location.root.exchange.load(Ordering::Relaxed) {
            return self.replace_plainly().map_err(ours_again);
        }
        match self.disk.before(Step::Exchange).and_then(|()| self.swap()) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.place.location.root.exchange.store(false, Ordering::Relaxed);
                return self.replace_plainly().map_err(ours_again);
            }
            Err(Errno::NOENT) => return Err(ours_again(Setback::Overtaken)),
            Err(cause @ (Errno::BUSY | Errno::PERM | Errno::ACCESS)) => return Ok(Displaced::Nothing(cause)),
            Err(cause) => return Err(ours_again(fs_error(&self.place.path, PUBLISHING, cause).into())),
        }
        if Fault::PublishSkipsVerification.is_planted() {
            self.remove_displaced();
            return Ok(Displaced::NotKept);
        }
        match self.look_at_displaced() {
            Ok((Some(open), actual)) if actual.as_ref() == Some(expected) => Ok(Displaced::Expected(open)),
            Ok((displaced, _)) => {
                if let Some(open) = displaced {
                    self.disk.cache.forget(&open.facts);
                }
                Err(self.take_back(Setback::Overtaken))
            }
            Err(error) => Err(self.take_back(Setback::Failed(error))),
        }
    }

    fn swap(&self) -> Result<(), Errno> {
        let place = self.place.name.as_slice();
        renameat_with(self.directory, self.name, self.directory, place, RenameFlags::EXCHANGE)
    }

    /// Where names cannot be exchanged, what a foreign writer put there since the last look is lost.
    fn replace_plainly(&self) -> Result<Displaced, Setback> {
        match renameat(self.directory, self.name, self.directory, self.place.name.as_slice()) {
            Ok(()) => Ok(Displaced::NotKept),
            Err(cause @ (Errno::BUSY | Errno::PERM | Errno::ACCESS)) => Ok(Displaced::Nothing(cause)),
            Err(cause) => Err(fs_error(&self.place.path, PUBLISHING, cause).into()),
        }
    }

    /// The displaced file and its version; neither when it is no regular file.
    fn look_at_displaced(&self) -> Result<(Option<OpenFile>, Option<Version>)> {
        let path = &self.place.path;
        let failed = |cause| fs_error(path, "verifying what was replaced", cause);
        self.disk.before(Step::Verify).map_err(failed)?;
        let stat = statat(self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        if Facts::from(&stat).kind != FileKind::Regular {
            return Ok((None, None));
        }
        let file = root::open_child(self.directory, self.name, root::reading()).map_err(failed)?;
        let facts = root::facts(&file).map_err(failed)?;
        if facts.kind != FileKind::Regular {
            return Ok((None, None));
        }
        let open = OpenFile { file, facts, path: path.clone() };
        // Nobody waits for an abort any more: the new content is visible.
        let version = read::version(self.disk, &open, &AbortSignal::new())?;
        Ok((Some(open), Some(version)))
    }

    /// Puts back what was displaced. What cannot be put back is kept under a rescue name.
    fn take_back(&self, setback: Setback) -> Refused {
        for _ in 0..MAX_ATTEMPTS {
            let displaced = self.facts_of(self.name);
            if let Err(cause) = self.disk.before(Step::TakeBack).and_then(|()| self.swap()) {
                return self.rescue(setback, Some(cause));
            }
            let came_out = self.facts_of(self.name);
            if came_out.is_some_and(|facts| self.is_ours(&facts)) {
                return Refused { setback, is_name_ours: true };
            }
            // A third party replaced or changed ours meanwhile. Theirs is the newest, so it goes back in its place;
            // what is then left under our name is what was displaced first, which nobody gave up.
            if let Err(cause) = self.swap() {
                return self.rescue(setback, Some(cause));
            }
            let left = self.facts_of(self.name);
            if left.is_some() && left.map(|facts| facts.inode) == displaced.map(|facts| facts.inode) {
                return self.rescue(setback, None);
            }
        }
        self.rescue(setback, None)
    }

    fn is_ours(&self, facts: &Facts) -> bool {
        (facts.inode, facts.size, facts.modified) == (self.ours.inode, self.ours.size, self.ours.modified)
    }

    fn facts_of(&self, name: &[u8]) -> Option<Facts> {
        statat(self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Facts::from(&stat))
    }

    /// Keeps what the temporary name holds under a name that says what it is.
    fn rescue(&self, setback: Setback, cause: Option<Errno>) -> Refused {
        let rescue_name =
            [b".toolfs-rescue".as_slice(), self.name.strip_prefix(b".toolfs").unwrap_or(self.name)].concat();
        let renamed = renameat_with(
            self.directory,
            self.name,
            self.directory,
            rescue_name.as_slice(),
            RenameFlags::NOREPLACE,
        );
        let kept = if renamed.is_ok() { rescue_name } else { self.name.to_vec() };
        let parent = self.place.path.rfind('/').map_or("", |at| &self.place.path[..at]);
        let rescue_path = format!("{parent}/{}", display_form(&kept));
        tracing::warn!(rescue_path, "a foreign content could not be put back and is kept");
        let setback = match (setback, cause) {
            (Setback::Failed(error), cause) => {
                let error = error.with_rescue_path(rescue_path);
                // Ours may still be in the place where a step failed: only reading tells.
                Setback::Failed(if cause.is_some() { error.with_published(Published::Maybe) } else { error })
            }
            (Setback::Overtaken, Some(cause)) if cause != Errno::NOENT => {
                let error = fs_error(&self.place.path, "putting a foreign content back", cause);
                Setback::Failed(error.with_published(Published::Maybe).with_rescue_path(rescue_path))
            }
            (Setback::Overtaken | Setback::Rescued { .. }, _) => {
                Setback::Rescued { actual: self.version_in_place(), rescue_path }
            }
            (Setback::Elsewhere, _) => Setback::Elsewhere,
        };
        Refused { setback, is_name_ours: false }
    }

    /// The version of whatever ended up in the place.
    fn version_in_place(&self) -> Option<Version> {
        match self.place.look() {
            Ok(Found::Here(Some(open))) => read::version(self.disk, &open, &AbortSignal::new()).ok(),
            Ok(Found::Here(None) | Found::Elsewhere) | Err(_) => None,
        }
    }

    fn remove_displaced(&self) {
        let removed = self.disk.before(Step::Remove);
        let removed = removed.and_then(|()| unlinkat(self.directory, self.name, AtFlags::empty()));
        if let Err(cause) = removed {
            tracing::warn!(%cause, "a displaced file could not be removed");
        }
    }
}

/// The error of a mutation that somebody else overtook, when a third party's content had to be kept elsewhere.
pub(crate) fn stale(
    place: &Place,
    expected: Option<Version>,
    actual: Option<Version>,
    rescue_path: String,
) -> FsError {
    refusal::stale(&place.path, expected, actual).with_rescue_path(rescue_path)
}
