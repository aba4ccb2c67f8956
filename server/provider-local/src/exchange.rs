//! Two names that change places, and the look at what came out.
//!
//! After an exchange the hidden name holds what was displaced. Only the expected content, which nobody has open for
//! writing, is given up; everything else goes back into its place (`take_back`). Deliberately absent: any decision
//! about who may write, which was made before.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, RenameFlags, renameat, renameat_with, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{ErrorKind, FsError, Result, UnavailableCause};
use toolfs_core::planted::Fault;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;

use crate::disk::{Disk, OpenFile};
use crate::facts::Facts;
use crate::fcntl::{Lease, Writers};
use crate::io_error::fs_error;
use crate::leftover::{Beneath, ContentDigits, Hidden};
use crate::publish::{PUBLISHING, Setback};
use crate::read;
use crate::root::{self, Root};
use crate::step::Step;

pub(crate) const VERIFYING: &str = "verifying what was replaced";

/// Two names that change places.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) disk: &'a Disk,
    /// The display path of the target.
    pub(crate) path: &'a str,
    pub(crate) directory: BorrowedFd<'a>,
    /// The hidden name: before the exchange it holds ours, then what was displaced.
    pub(crate) hidden: Hidden,
    /// The name of the target.
    pub(crate) target: &'a [u8],
    /// What ours is.
    pub(crate) ours: Ours,
}

/// What tells our own file from any other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ours {
    pub(crate) digits: ContentDigits,
    /// What it was before the exchange; absent where that is not known any more.
    pub(crate) facts: Option<Facts>,
    /// Whether nothing of this process has it open for writing, so that whoever does is somebody else.
    pub(crate) is_sealed: bool,
}

/// What a publication displaced.
#[derive(Debug)]
pub(crate) enum Displaced {
    /// What was judged is under the hidden name.
    Expected(OpenFile),
    /// This file system replaces and keeps nothing.
    NotKept,
    /// The name cannot be given another file, for this reason: something is mounted on it, or it is another user's.
    Nothing(Errno),
}

/// Why a publication was taken back, and what that left.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) setback: Setback,
    pub(crate) left: Left,
}

/// What is under the hidden name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Our own content, which is not published.
    Ours,
    /// Nothing.
    Nothing,
    /// A foreign content that could be given no other name.
    Foreign,
}

impl Exchange<'_> {
    /// Publishes ours, and verifies that it displaced `expected`, and that the directory is still where the path
    /// leads, as `check_still` tells. Where names cannot be exchanged, there is nothing to verify any more.
    pub(crate) fn run(
        &self,
        root: &Root,
        expected: &Version,
        check_still: &dyn Fn() -> Result<(), Setback>,
    ) -> Result<Displaced, Refused> {
        let ours_again = |setback| Refused { setback, left: Left::Ours };
        if !root.exchange.load(Ordering::Relaxed) {
            return self.replace_plainly().map_err(ours_again);
        }
        match self.disk.before(Step::Exchange).and_then(|()| self.swap()) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                root.exchange.store(false, Ordering::Relaxed);
                return self.replace_plainly().map_err(ours_again);
            }
            Err(Errno::NOENT) => return Err(ours_again(Setback::Overtaken)),
            Err(cause @ (Errno::BUSY | Errno::PERM | Errno::ACCESS)) => return Ok(Displaced::Nothing(cause)),
            Err(cause) => return Err(ours_again(fs_error(self.path, PUBLISHING, cause).into())),
        }
        if Fault::PublishSkipsVerification.is_planted() {
            self.remove_displaced();
            return Ok(Displaced::NotKept);
        }
        self.verify(expected, check_still)
    }

    /// Looks at what was displaced, and takes the exchange back when it is not what was expected.
    fn verify(
        &self,
        expected: &Version,
        check_still: &dyn Fn() -> Result<(), Setback>,
    ) -> Result<Displaced, Refused> {
        let open = match self.open_displaced() {
            Ok(Some(open)) => open,
            Ok(None) => return Err(self.undo(Setback::Overtaken)),
            Err(error) => return Err(self.undo(error.into())),
        };
        let writers = Lease::take(open.file.as_fd());
        let verdict = match &writers {
            Writers::Some => Err(Setback::Failed(open_for_writing(self.path))),
            // Nobody waits for an abort any more: the new content is visible.
            Writers::None(_) | Writers::Unknown => match read::version(self.disk, &open, &AbortSignal::new())
            {
                Ok(version) if version == *expected => Ok(()),
                Ok(_) => {
                    self.disk.cache.forget(&open.facts);
                    Err(Setback::Overtaken)
                }
                Err(error) => Err(error.into()),
            },
        };
        // Whoever waits to open it for writing means the file that has the name.
        let is_contested = matches!(&writers, Writers::None(lease) if lease.is_contested());
        let refused = match verdict {
            Ok(()) if is_contested => Some(self.undo(open_for_writing(self.path).into())),
            Ok(()) => check_still().err().map(|setback| self.undo(setback)),
            Err(setback) => Some(self.undo(setback)),
        };
        // The lease is kept until here, so that whoever waits finds the file in its place.
        drop(writers);
        refused.map_or(Ok(Displaced::Expected(open)), Err)
    }

    pub(crate) fn swap(&self) -> Result<(), Errno> {
        let (hidden, directory) = (self.hidden.name(), self.directory);
        renameat_with(directory, hidden.as_slice(), directory, self.target, RenameFlags::EXCHANGE)
    }

    /// Where names cannot be exchanged, what a foreign writer put there since the last look is lost.
    fn replace_plainly(&self) -> Result<Displaced, Setback> {
        match renameat(self.directory, self.hidden.name().as_slice(), self.directory, self.target) {
            Ok(()) => Ok(Displaced::NotKept),
            Err(cause @ (Errno::BUSY | Errno::PERM | Errno::ACCESS)) => Ok(Displaced::Nothing(cause)),
            Err(cause) => Err(fs_error(self.path, PUBLISHING, cause).into()),
        }
    }

    /// The displaced file; `None` when it is no regular one.
    fn open_displaced(&self) -> Result<Option<OpenFile>> {
        let failed = |cause| fs_error(self.path, VERIFYING, cause);
        self.disk.before(Step::Verify).map_err(failed)?;
        open_regular(self.directory, &self.hidden.name(), self.path).map_err(failed)
    }

    /// Removes what was displaced; `false` when it is still there, for the next look into the directory.
    pub(crate) fn remove_displaced(&self) -> bool {
        let removed = self.disk.before(Step::Remove);
        let name = self.hidden.name();
        let unlink = || unlinkat(self.directory, name.as_slice(), AtFlags::empty());
        match removed.and_then(|()| retry_on_intr(unlink)) {
            Ok(()) | Err(Errno::NOENT) => true,
            Err(cause) => {
                tracing::warn!(%cause, "a displaced file could not be removed");
                false
            }
        }
    }
}

/// Opens an entry of a directory for reading, without following or blocking; `None` when it is no regular file.
pub(crate) fn open_regular(
    directory: BorrowedFd<'_>,
    name: &[u8],
    path: &str,
) -> Result<Option<OpenFile>, Errno> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Facts::from(&stat).kind != FileKind::Regular {
        return Ok(None);
    }
    let file = root::open_child(directory, name, root::reading())?;
    let facts = root::facts(&file)?;
    let is_regular = facts.kind == FileKind::Regular;
    Ok(is_regular.then(|| OpenFile { file, facts, path: path.to_owned() }))
}

/// What is beneath a name, and the file itself if it is a regular one.
pub(crate) fn look_beneath(
    disk: &Disk,
    directory: BorrowedFd<'_>,
    name: &[u8],
    path: &str,
    abort: &AbortSignal,
) -> Result<(Beneath, Option<OpenFile>)> {
    match open_regular(directory, name, path) {
        Err(Errno::NOENT) => Ok((Beneath::Nothing, None)),
        Err(cause) => Err(fs_error(path, VERIFYING, cause)),
        Ok(None) => Ok((Beneath::Other, None)),
        Ok(Some(open)) => {
            let version = read::version(disk, &open, abort)?;
            Ok((Beneath::Content(ContentDigits::of(&version)), Some(open)))
        }
    }
}

/// The refusal of a file that another process may write to at any moment.
pub(crate) fn open_for_writing(path: &str) -> FsError {
    let kind = ErrorKind::Unavailable { cause: UnavailableCause::OpenForWriting };
    FsError::new(kind, format!("another process holds `{path}` open for writing")).with_path(path)
}
