//! After a crash: hidden files that a provider left behind are removed, put back or kept.
//!
//! They are found in two ways: by the journals of providers that are gone, at start, and by one look into each directory
//! before its first mutation. `leftover` decides by contents; here it is carried out, under the same locks that a
//! mutation takes. A file of a provider that lives, or of which nothing is known, is left alone, and so is one that
//! somebody has open for writing. Deliberately absent: walking a root, judging by age, and anything while reading.
//!
//! A crash can come at any moment, here too. Each hidden name holds one of: our content before the exchange or after it
//! was taken back, or the expected content, which are removed; or a foreign content, which one step puts back, or
//! renames. A directory that was made for a new file and is empty stays: nobody can tell whose it is. So does, under a
//! rescue name, what a power cut made of a content that was not made durable: it is neither of the two.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, PoisonError};

use rustix::fs::{AtFlags, Dir, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{Code, FsError, Result};
use toolfs_core::planted::Fault;
use toolfs_core::target::display_form;
use toolfs_provider::abort::AbortSignal;

use crate::disk::{Disk, OpenFile};
use crate::exchange::{Exchange, Ours, look_beneath};
use crate::facts::file_system;
use crate::fcntl::{Lease, Writers};
use crate::host::{HostLock, Spot};
use crate::io_error::{READING, fs_error};
use crate::journal::{Abandoned, Entry};
use crate::leftover::{Beneath, Decision, Hidden, TargetDigits, decide};
use crate::location::{join, strip_path};
use crate::place::Place;
use crate::root::{self, Root};
use crate::take_back::TakenBack;

/// ext2 to ext4, xfs, btrfs, tmpfs, f2fs, overlay, zfs, bcachefs: what only one system can have mounted at a time, so
/// that what another boot left there is nobody's.
const ONE_SYSTEM_FILE_SYSTEMS: [u64; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630, 0x2fc1_2fc1, 0xca45_1a4e];

/// Looks into the directory of a mutation, unless that was done before and this provider left nothing there since.
/// Whoever comes meanwhile waits.
///
/// # Errors
/// `FS_ABORTED`. What cannot be put in order stays, and goes to the log.
pub(crate) fn look_once(disk: &Disk, place: &Place, abort: &AbortSignal) -> Result<()> {
    if Fault::RecoverNothing.is_planted() {
        return Ok(());
    }
    let look = disk.looked.at(place.inode);
    let _turn = look.turn.lock().unwrap_or_else(PoisonError::into_inner);
    if look.is_done() {
        return Ok(());
    }
    look.set_done(true);
    let parent = place.path.rfind('/').map_or("", |at| &place.path[..at]);
    let scene = Scene { disk, directory: place.directory(), inode: place.inode, path: parent };
    match scene.look(abort) {
        Ok(true) => {}
        Ok(false) => look.set_done(false),
        Err(error) => {
            look.set_done(false);
            if error.code() == Code::Aborted {
                return Err(error);
            }
            tracing::warn!(?error, "what a crash may have left in a directory was not looked for");
        }
    }
    Ok(())
}

/// Puts in order what the journals of providers tell that are gone.
pub(crate) fn at_start(disk: &Disk) {
    if Fault::RecoverNothing.is_planted() {
        return;
    }
    match disk.journal.as_ref().map_or(Ok(Vec::new()), |journal| journal.abandoned()) {
        Ok(abandoned) => abandoned.into_iter().for_each(|journal| follow(disk, journal)),
        Err(cause) => tracing::warn!(%cause, "the journals of publications could not be looked at"),
    }
    if let Some(Err(cause)) = disk.host.as_ref().map(|host| host.forget_other_boots()) {
        tracing::warn!(%cause, "the instances of other boots could not be looked at");
    }
}

/// What following one entry of a journal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Followed {
    /// Nothing of it is left.
    Settled,
    /// The directory is not there any more, or is another one: it may have been moved, with what is in it.
    Lost,
    /// Something is left, or its root is not served here: another start may do better.
    Left,
}

fn follow(disk: &Disk, journal: Abandoned<'_>) {
    let entries = match journal.entries() {
        Ok(entries) => entries,
        Err(cause) => {
            tracing::warn!(%cause, "a journal of publications could not be read");
            return;
        }
    };
    let instance = journal.instance;
    let lies_apart =
        journal.device().is_ok_and(|device| disk.roots.iter().all(|root| root.facts.inode.0 != device));
    // A journal tells of its own instance. What it says of another one is damage, and that one may live.
    let own = entries.iter().filter(|entry| entry.hidden.instance == instance);
    let followed = own.map(|entry| follow_entry(disk, entry)).max().unwrap_or(Followed::Settled);
    match followed {
        Followed::Left => {}
        Followed::Lost => journal.remove(),
        Followed::Settled => {
            journal.remove();
            // Only now is it certain that no hidden file has this name. A journal that lies on the volume of a root may
            // have lost what it told when that failed and came back: then the next boot takes the instance off.
            if let Some(host) = &disk.host
                && lies_apart
            {
                host.forget(instance);
            }
        }
    }
}

fn follow_entry(disk: &Disk, entry: &Entry) -> Followed {
    let Some((root, relative)) = served(&disk.roots, &entry.directory) else { return Followed::Left };
    let path = display_form(&join(&root.name, relative));
    let opened = root.open_exact(relative, root::directory()).and_then(|directory| {
        let inode = root::facts(&directory)?.inode;
        Ok((directory, inode))
    });
    let (directory, inode): (OwnedFd, _) = match opened {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Followed::Lost,
        Err(cause) => {
            tracing::warn!(%cause, "a directory with an unfinished publication could not be opened");
            return Followed::Left;
        }
    };
    let scene = Scene { disk, directory: directory.as_fd(), inode, path: &path };
    let abort = AbortSignal::new();
    let target = Some(entry.target.as_slice());
    let settled = scene
        .settle(entry.hidden.partial(), None, &abort)
        .and_then(|partial| Ok(partial & scene.settle(entry.hidden, target, &abort)?));
    match settled {
        Ok(true) if inode == entry.inode => Followed::Settled,
        Ok(true) => Followed::Lost,
        Ok(false) => Followed::Left,
        Err(error) => {
            tracing::warn!(?error, "an unfinished publication could not be put in order");
            Followed::Left
        }
    }
}

/// The innermost root that a real path lies in, and the rest of the path.
fn served<'a>(roots: &'a [Arc<Root>], real: &'a [u8]) -> Option<(&'a Root, &'a [u8])> {
    let within = |root: &'a Arc<Root>| Some((&**root, strip_path(&root.real, real)?));
    roots.iter().filter_map(within).max_by_key(|(root, _)| root.real.len())
}

/// A directory in which a crash may have left something.
struct Scene<'a> {
    disk: &'a Disk,
    directory: BorrowedFd<'a>,
    inode: (u64, u64),
    /// The display path of the directory.
    path: &'a str,
}

impl Scene<'_> {
    /// Puts in order what providers left here that are gone, and what this one left; `false` when some of that which is
    /// this provider's own stays, so that another look may do better.
    fn look(&self, abort: &AbortSignal) -> Result<bool> {
        let mut left = Vec::new();
        self.each_name(|name| left.extend(Hidden::parse(name)))?;
        left.retain(|hidden| self.is_nobodys(hidden));
        let targets = self.names_of_targets(&left)?;
        let mut is_done = true;
        for hidden in left {
            let is_own = hidden.instance == self.disk.instance;
            abort.check().map_err(|error| error.with_path(self.path))?;
            let target = hidden.label.and_then(|label| targets.get(&label.target));
            match self.settle(hidden, target.map(Vec::as_slice), abort) {
                Ok(true) if is_own => self.disk.looked.settled(hidden.serial),
                Ok(is_settled) => is_done &= is_settled || !is_own,
                Err(error) if error.code() == Code::Aborted => return Err(error),
                Err(error) => {
                    is_done &= !is_own;
                    tracing::warn!(?error, "an unfinished publication could not be put in order");
                }
            }
        }
        Ok(is_done)
    }

    fn each_name(&self, mut take: impl FnMut(&[u8])) -> Result<()> {
        let failed = |cause| fs_error(self.path, READING, cause);
        for entry in Dir::read_from(self.directory).map_err(failed)? {
            take(entry.map_err(failed)?.file_name().to_bytes());
        }
        Ok(())
    }

    /// The names of what hidden files replace, as far as they are there: one pass for all, since somebody may have made
    /// many names that look like ours.
    fn names_of_targets(&self, left: &[Hidden]) -> Result<HashMap<TargetDigits, Vec<u8>>> {
        let wanted: HashSet<_> = left.iter().filter_map(|hidden| Some(hidden.label?.target)).collect();
        let mut targets = HashMap::new();
        if !wanted.is_empty() {
            self.each_name(|name| {
                let digits = TargetDigits::of_name(name);
                if wanted.contains(&digits) {
                    targets.insert(digits, name.to_vec());
                }
            })?;
        }
        Ok(targets)
    }

    /// Whether no provider works with a hidden file, as far as can be known here.
    fn is_nobodys(&self, hidden: &Hidden) -> bool {
        let instance = hidden.instance;
        if instance == self.disk.instance {
            return self.disk.looked.is_left(hidden.serial);
        }
        if self.disk.host.as_ref().is_some_and(|host| host.is_dead(instance)) {
            return true;
        }
        instance.is_of_another_boot(self.disk.instance)
            && file_system(self.directory).is_ok_and(|magic| ONE_SYSTEM_FILE_SYSTEMS.contains(&magic))
    }

    /// Puts one hidden file in order; `false` when it stays as it is. Two servers that come here at once take turns.
    fn settle(&self, hidden: Hidden, target: Option<&[u8]>, abort: &AbortSignal) -> Result<bool> {
        let name = hidden.name();
        // Nobody takes these the other way round, so that waiting ends.
        let _hidden = self.lock(&name, abort)?;
        let _target = target.map(|target| self.lock(target, abort)).transpose()?;
        let (beneath, open) = look_beneath(self.disk, self.directory, &name, self.path, abort)?;
        let at_target = || match target {
            Some(target) => {
                look_beneath(self.disk, self.directory, target, self.path, abort).map(|(beneath, _)| beneath)
            }
            None => Ok(Beneath::Nothing),
        };
        match decide(hidden.label.as_ref(), beneath, at_target)? {
            Decision::Nothing => Ok(true),
            Decision::Remove => self.remove(&name, open.as_ref()),
            Decision::PutBack => Ok(self.keep(&hidden, target, |exchange| exchange.take_back())),
            Decision::Rescue => Ok(self.keep(&hidden, target, |exchange| exchange.rescue(None))),
        }
    }

    fn lock(&self, name: &[u8], abort: &AbortSignal) -> Result<Option<HostLock<'_>>> {
        let spot = Spot { directory: self.inode, name };
        self.disk.host.as_ref().map(|host| host.lock(&spot, self.path, abort)).transpose()
    }

    fn remove(&self, name: &[u8], open: Option<&OpenFile>) -> Result<bool> {
        if open.is_some_and(|open| matches!(Lease::take(open.file.as_fd()), Writers::Some)) {
            return Ok(false);
        }
        match retry_on_intr(|| unlinkat(self.directory, name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(cause) => Err(failed_to_remove(self.path, cause)),
        }
    }

    /// Lets a foreign content be put back or kept. Whether its hidden name is gone.
    fn keep(
        &self,
        hidden: &Hidden,
        target: Option<&[u8]>,
        act: impl FnOnce(&Exchange<'_>) -> TakenBack,
    ) -> bool {
        let Some(label) = hidden.label else { return false };
        let target = target.unwrap_or_default();
        let path = format!("{}/{}", self.path, display_form(target));
        let ours = Ours { digits: label.ours, facts: None, is_sealed: true };
        let exchange = Exchange {
            disk: self.disk,
            path: &path,
            directory: self.directory,
            hidden: *hidden,
            target,
            ours,
        };
        match act(&exchange) {
            TakenBack::Whole => exchange.remove_displaced(),
            TakenBack::Kept { is_hidden, .. } => !is_hidden,
        }
    }
}

fn failed_to_remove(path: &str, cause: Errno) -> FsError {
    fs_error(path, "removing what a crash left in it", cause)
}
