//! Two names that change places, the look at what came out, and the way back.
//!
//! After an exchange the hidden name holds what was displaced. Only the expected content, which nobody has open for
//! writing, is given up; everything else goes back into its place, and what cannot go back is kept under a rescue
//! name. Deliberately absent: any decision about who may write, which was made before.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, RenameFlags, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use toolfs_core::error::{ErrorKind, FsError, Published, Result, UnavailableCause};
use toolfs_core::planted::Fault;
use toolfs_core::target::{FileKind, display_form};
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;

use crate::disk::{Disk, MAX_ATTEMPTS, OpenFile};
use crate::facts::Facts;
use crate::fcntl::{Lease, Writers};
use crate::io_error::fs_error;
use crate::leftover::{Beneath, ContentDigits, Hidden};
use crate::publish::{PUBLISHING, Setback};
use crate::read;
use crate::root::{self, Root};
use crate::step::Step;

const VERIFYING: &str = "verifying what was replaced";

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

/// How taking back ended.
#[derive(Debug)]
pub(crate) enum TakenBack {
    /// Everything is as it was.
    Whole,
    /// A foreign content could not be put back.
    Kept {
        /// The name under which it is, unless somebody took it away.
        name: Option<Vec<u8>>,
        /// Whether that is the hidden name still.
        is_hidden: bool,
        /// The step that failed, if it was one.
        cause: Option<Errno>,
    },
}

impl Exchange<'_> {
    /// Publishes ours, and verifies that it displaced `expected`, and that the directory `is_still` where the path
    /// leads. Where names cannot be exchanged, there is nothing to verify any more.
    pub(crate) fn run(
        &self,
        root: &Root,
        expected: &Version,
        is_still: &dyn Fn() -> bool,
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
        self.verify(expected, is_still)
    }

    /// Looks at what was displaced, and takes the exchange back when it is not what was expected.
    fn verify(&self, expected: &Version, is_still: &dyn Fn() -> bool) -> Result<Displaced, Refused> {
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
            Ok(()) if !is_still() => Some(self.undo(Setback::Elsewhere)),
            Ok(()) => None,
            Err(setback) => Some(self.undo(setback)),
        };
        // The lease is kept until here, so that whoever waits finds the file in its place.
        drop(writers);
        refused.map_or(Ok(Displaced::Expected(open)), Err)
    }

    fn swap(&self) -> Result<(), Errno> {
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

    /// Takes the exchange back, and tells what became of it.
    fn undo(&self, setback: Setback) -> Refused {
        match self.take_back() {
            TakenBack::Whole => Refused { setback, left: Left::Ours },
            TakenBack::Kept { name, is_hidden, cause } => {
                let setback = self.kept(setback, name.as_deref(), cause);
                Refused { setback, left: if is_hidden { Left::Foreign } else { Left::Nothing } }
            }
        }
    }

    /// Puts back what was displaced.
    ///
    /// Each step puts the newest foreign content that is known into the place, and looks at what comes out: when it is
    /// what was last put there, nobody moved in between.
    pub(crate) fn take_back(&self) -> TakenBack {
        let mut put: Option<(u64, u64)> = None;
        for _ in 0..MAX_ATTEMPTS {
            let Some(theirs) = self.hidden_inode() else {
                return TakenBack::Kept { name: None, is_hidden: false, cause: Some(Errno::NOENT) };
            };
            if let Err(cause) = self.disk.before(Step::TakeBack).and_then(|()| self.swap()) {
                return self.rescue(Some(cause));
            }
            match put {
                None if self.is_ours_untouched() => return TakenBack::Whole,
                Some(before) if self.hidden_inode() == Some(before) => return self.rescue(None),
                // A third party replaced or changed what was in the place. Theirs is newer, so it goes back.
                None | Some(_) => put = Some(theirs),
            }
        }
        self.rescue(None)
    }

    fn hidden_inode(&self) -> Option<(u64, u64)> {
        self.facts_at(&self.hidden.name()).ok().map(|facts| facts.inode)
    }

    fn facts_at(&self, name: &[u8]) -> Result<Facts, Errno> {
        statat(self.directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Facts::from(&stat))
    }

    /// Whether what came out is our file with our content, which nobody has open for writing.
    fn is_ours_untouched(&self) -> bool {
        let Ok(facts) = self.facts_at(&self.hidden.name()) else { return false };
        if self.ours.facts.is_some_and(|ours| ours.inode != facts.inode) {
            return false;
        }
        match self.is_ours_by_content() {
            Ok(is_ours) => is_ours,
            // It cannot be read now; the time stamp is the next best witness.
            Err(_) => self.ours.facts.is_some_and(|ours| {
                (ours.inode, ours.size, ours.modified) == (facts.inode, facts.size, facts.modified)
            }),
        }
    }

    fn is_ours_by_content(&self) -> Result<bool> {
        let failed = |cause| fs_error(self.path, VERIFYING, cause);
        let opened = open_regular(self.directory, &self.hidden.name(), self.path).map_err(failed)?;
        let Some(open) = opened else { return Ok(false) };
        let writers = if self.ours.is_sealed { Lease::take(open.file.as_fd()) } else { Writers::Unknown };
        let version = read::version(self.disk, &open, &AbortSignal::new())?;
        let is_quiet = match writers {
            Writers::None(lease) => !lease.is_contested(),
            Writers::Some => false,
            Writers::Unknown => true,
        };
        Ok(is_quiet && ContentDigits::of(&version) == self.ours.digits)
    }

    /// Whether our file may be in the place.
    fn may_be_in_place(&self) -> bool {
        match self.facts_at(self.target) {
            Ok(facts) => self.ours.facts.is_none_or(|ours| ours.inode == facts.inode),
            Err(cause) => cause != Errno::NOENT,
        }
    }

    /// Keeps what the hidden name holds under a name that says what it is.
    pub(crate) fn rescue(&self, cause: Option<Errno>) -> TakenBack {
        let (hidden, rescue) = (self.hidden.name(), self.hidden.rescue_name());
        let renamed = renameat_with(
            self.directory,
            hidden.as_slice(),
            self.directory,
            rescue.as_slice(),
            RenameFlags::NOREPLACE,
        );
        let is_hidden = renamed.is_err();
        let name = if is_hidden { hidden } else { rescue };
        if renamed == Err(Errno::NOENT) {
            return TakenBack::Kept { name: None, is_hidden: false, cause };
        }
        let rescue_path = self.beside(&name);
        tracing::warn!(rescue_path, "a foreign content could not be put back and is kept");
        TakenBack::Kept { name: Some(name), is_hidden, cause }
    }

    fn beside(&self, name: &[u8]) -> String {
        let parent = self.path.rfind('/').map_or("", |at| &self.path[..at]);
        format!("{parent}/{}", display_form(name))
    }

    /// The setback when a foreign content had to be kept elsewhere.
    fn kept(&self, setback: Setback, name: Option<&[u8]>, cause: Option<Errno>) -> Setback {
        let with_path = |error: FsError| match name {
            Some(name) => error.with_rescue_path(self.beside(name)),
            None => error,
        };
        let is_ours = self.may_be_in_place();
        match (setback, cause) {
            (Setback::Failed(error), cause) => {
                let error = with_path(error);
                // Ours may still be in the place where a step failed: only reading tells.
                let is_unknown = is_ours || cause.is_some_and(|cause| cause != Errno::NOENT);
                Setback::Failed(if is_unknown { error.with_published(Published::Maybe) } else { error })
            }
            (Setback::Overtaken, Some(cause)) if cause != Errno::NOENT => {
                let error = fs_error(self.path, "putting a foreign content back", cause);
                Setback::Failed(with_path(error.with_published(Published::Maybe)))
            }
            // Somebody writes to ours already, so it had to stay; or what was displaced was taken away.
            (Setback::Overtaken | Setback::Rescued { .. }, _) if is_ours => {
                let error = if name.is_some() {
                    open_for_writing(self.path)
                } else {
                    refusal::keeps_changing(self.path)
                };
                Setback::Failed(with_path(error.with_published(Published::Maybe)))
            }
            (Setback::Overtaken | Setback::Rescued { .. }, _) => match name {
                Some(name) => {
                    Setback::Rescued { actual: self.version_in_place(), rescue_path: self.beside(name) }
                }
                None => Setback::Overtaken,
            },
            (Setback::Elsewhere, _) => Setback::Elsewhere,
        }
    }

    /// The version of whatever ended up in the place.
    fn version_in_place(&self) -> Option<Version> {
        let open = open_regular(self.directory, self.target, self.path).ok()??;
        read::version(self.disk, &open, &AbortSignal::new()).ok()
    }

    /// Removes what was displaced; `false` when it is still there.
    pub(crate) fn remove_displaced(&self) -> bool {
        let removed = self.disk.before(Step::Remove);
        let name = self.hidden.name();
        match removed.and_then(|()| unlinkat(self.directory, name.as_slice(), AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => true,
            Err(cause) => {
                tracing::warn!(%cause, "a displaced file could not be removed");
                false
            }
        }
    }
}

/// Opens an entry of a directory for reading, without following or blocking; `None` when it is no regular file.
fn open_regular(directory: BorrowedFd<'_>, name: &[u8], path: &str) -> Result<Option<OpenFile>, Errno> {
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
