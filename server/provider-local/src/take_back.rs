//! The way back from an exchange: what was displaced goes into its place again, or is kept.
//!
//! Others may move the same names at the same time, so each step looks at what came out of it. Nothing that is not
//! surely ours is ever removed here. Deliberately absent: waiting until nobody moves any more; the steps are bounded.

use std::os::fd::AsFd;

use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use toolfs_core::error::{FsError, Published, Result};
use toolfs_core::target::display_form;
use toolfs_core::version::Version;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;

use crate::disk::MAX_ATTEMPTS;
use crate::exchange::{Exchange, Left, Refused, VERIFYING, open_for_writing, open_regular};
use crate::facts::facts_at;
use crate::fcntl::{Lease, Writers};
use crate::io_error::fs_error;
use crate::leftover::ContentDigits;
use crate::publish::Setback;
use crate::read;
use crate::step::Step;

/// How taking back ended.
#[derive(Debug)]
pub(crate) enum TakenBack {
    /// Everything is as it was.
    Whole,
    /// A foreign content could not be put back.
    Kept {
        /// The name under which it is, unless somebody took it away, or it could not be looked at.
        name: Option<Vec<u8>>,
        /// Whether that is the hidden name still.
        is_hidden: bool,
        /// The step that failed, if it was one.
        cause: Option<Errno>,
    },
}

impl Exchange<'_> {
    /// Takes the exchange back, and tells what became of it.
    pub(crate) fn undo(&self, setback: Setback) -> Refused {
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
            let theirs = match facts_at(self.directory, &self.hidden.name()) {
                Ok(facts) => facts.inode,
                Err(cause) => {
                    // What cannot be looked at stays, and is put in order by its content later.
                    let is_hidden = cause != Errno::NOENT;
                    return TakenBack::Kept { name: None, is_hidden, cause: Some(cause) };
                }
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
        facts_at(self.directory, &self.hidden.name()).ok().map(|facts| facts.inode)
    }

    /// Whether what came out is our file with our content, which nobody has open for writing.
    fn is_ours_untouched(&self) -> bool {
        let Ok(facts) = facts_at(self.directory, &self.hidden.name()) else { return false };
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
        match facts_at(self.directory, self.target) {
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
        match renamed {
            Ok(()) => {
                let rescue_path = self.beside(&rescue);
                tracing::warn!(rescue_path, "a foreign content could not be put back and is kept");
                TakenBack::Kept { name: Some(rescue), is_hidden: false, cause }
            }
            Err(Errno::NOENT) => TakenBack::Kept { name: None, is_hidden: false, cause },
            Err(failed) => {
                // Whoever gives many files names like ours is not to fill the log.
                tracing::debug!(cause = %failed, "a foreign content stays under its hidden name");
                TakenBack::Kept { name: Some(hidden), is_hidden: true, cause }
            }
        }
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
            (Setback::Overtaken | Setback::Elsewhere, Some(cause)) if cause != Errno::NOENT => {
                let error = fs_error(self.path, "putting a foreign content back", cause);
                Setback::Failed(with_path(error.with_published(Published::Maybe)))
            }
            // Somebody writes to ours already, so it had to stay; or what was displaced was taken away.
            (Setback::Overtaken | Setback::Elsewhere | Setback::Rescued { .. }, _) if is_ours => {
                let error = if name.is_some() {
                    open_for_writing(self.path)
                } else {
                    refusal::keeps_changing(self.path)
                };
                Setback::Failed(with_path(error.with_published(Published::Maybe)))
            }
            (Setback::Overtaken | Setback::Elsewhere | Setback::Rescued { .. }, _) => match name {
                Some(name) => {
                    Setback::Rescued { actual: self.version_in_place(), rescue_path: self.beside(name) }
                }
                None => Setback::Overtaken,
            },
        }
    }

    /// The version of whatever ended up in the place.
    fn version_in_place(&self) -> Option<Version> {
        let open = open_regular(self.directory, self.target, self.path).ok()??;
        read::version(self.disk, &open, &AbortSignal::new()).ok()
    }
}
