//! The file that a new content is written to before it is published, and directories made for it.
//!
//! Both go again when they are dropped before they were kept. A file has no name until it is whole, where the file
//! system can do that, so that a crash leaves nothing behind.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, RenameFlags, fsync, linkat, mkdirat, renameat_with, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};
use toolfs_core::error::Result;
use toolfs_core::planted::Fault;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Durability;

use crate::disk::Disk;
use crate::io_error::{CREATING, fs_error};
use crate::place::{Found, Place};
use crate::root::{self, create_nameless, create_new, open_child};
use crate::step::Step;

/// How much is written between two looks at the abort signal.
const WRITE_BYTES: usize = 1 << 20;

/// How many names are tried before the directory counts as hostile.
const MAX_NAMES: usize = 64;

/// A file that nobody sees yet.
#[derive(Debug)]
pub(crate) struct Temporary<'a> {
    disk: &'a Disk,
    directory: BorrowedFd<'a>,
    pub(crate) file: OwnedFd,
    /// Its name, once it has one: removed when this is dropped.
    name: Option<Vec<u8>>,
}

impl<'a> Temporary<'a> {
    /// Makes a file in `directory`. The kernel takes the umask, or the directory's default access list, from
    /// `mode`.
    pub(crate) fn create(
        disk: &'a Disk,
        directory: BorrowedFd<'a>,
        mode: Mode,
        path: &str,
    ) -> Result<Temporary<'a>> {
        let failed = |cause| fs_error(path, CREATING, cause);
        disk.before(Step::Create).map_err(failed)?;
        if !disk.named_temporaries {
            match create_nameless(directory, mode) {
                Ok(file) => return Ok(Temporary { disk, directory, file, name: None }),
                // A file system or a kernel without nameless files says one of these.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
        for _ in 0..MAX_NAMES {
            let name = disk.temporary_name();
            match create_new(directory, &name, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    let made = Temporary { disk, directory, file, name: Some(name) };
                    let mode = mode.difference(disk.umask);
                    rustix::fs::fchmod(&made.file, mode).map_err(failed)?;
                    return Ok(made);
                }
                Err(Errno::EXIST) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
        Err(failed(Errno::EXIST))
    }

    /// A file that is in its place already: for a planted fault.
    pub(crate) fn torn(disk: &'a Disk, directory: BorrowedFd<'a>, file: OwnedFd) -> Temporary<'a> {
        Temporary { disk, directory, file, name: None }
    }

    /// Writes the whole content.
    pub(crate) fn write(&self, content: &[u8], abort: &AbortSignal, path: &str) -> Result<()> {
        let failed = |cause| fs_error(path, "writing it", cause);
        for piece in content.chunks(WRITE_BYTES) {
            abort.check().map_err(|error| error.with_path(path))?;
            self.disk.before(Step::Write).map_err(failed)?;
            let mut rest = piece;
            while !rest.is_empty() {
                match retry_on_intr(|| write(&self.file, rest)).map_err(failed)? {
                    0 => return Err(failed(Errno::IO)),
                    count => rest = &rest[count..],
                }
            }
        }
        Ok(())
    }

    /// Makes content, mode and owner durable, as far as the server was told to.
    pub(crate) fn sync(&self, path: &str) -> Result<()> {
        let failed = |cause| fs_error(path, "making it durable", cause);
        self.disk.before(Step::Sync).map_err(failed)?;
        match self.disk.durability {
            // A failed sync is not tried again: the kernel has thrown the pages away, and would report success.
            Durability::Full | Durability::Data => match retry_on_intr(|| fsync(&self.file)) {
                Err(_) if Fault::PublishIgnoresSyncError.is_planted() => Ok(()),
                synced => synced.map_err(failed),
            },
            Durability::None => Ok(()),
        }
    }

    /// Gives it a temporary name, if it has none, and tells it.
    pub(crate) fn name(&mut self) -> Result<Vec<u8>, Errno> {
        self.disk.before(Step::Name)?;
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        for _ in 0..MAX_NAMES {
            let name = self.disk.temporary_name();
            match link_nameless(self.file.as_fd(), self.directory, &name) {
                Ok(()) => {
                    self.name = Some(name.clone());
                    return Ok(name);
                }
                Err(Errno::EXIST) => {}
                Err(cause) => return Err(cause),
            }
        }
        Err(Errno::EXIST)
    }

    /// Gives it the name `name`, unless something has it: `EEXIST` then.
    pub(crate) fn publish_new(&mut self, name: &[u8]) -> Result<(), Errno> {
        match &self.name {
            None => link_nameless(self.file.as_fd(), self.directory, name),
            Some(own) => {
                let own = own.as_slice();
                let moved = renameat_with(self.directory, own, self.directory, name, RenameFlags::NOREPLACE);
                match moved {
                    Ok(()) => self.name = None,
                    // Without such a rename a link never replaces either; the drop removes the other name.
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        linkat(self.directory, own, self.directory, name, AtFlags::empty())?;
                    }
                    Err(cause) => return Err(cause),
                }
                Ok(())
            }
        }
    }

    /// Leaves the name to the caller: it may be somebody else's content by now.
    pub(crate) fn disown(&mut self) {
        self.name = None;
    }

    /// Takes the name back, after [`Temporary::disown`] turned out not to be needed.
    pub(crate) fn own(&mut self, name: Vec<u8>) {
        self.name = Some(name);
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && let Err(cause) = unlinkat(self.directory, name.as_slice(), AtFlags::empty())
        {
            tracing::warn!(%cause, "a temporary file could not be removed");
        }
    }
}

/// Gives a file without a name one, unless something has it: `EEXIST` then.
pub(crate) fn link_nameless(
    file: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<(), Errno> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, own, directory, name, AtFlags::SYMLINK_FOLLOW) {
        // Without /proc there is another way, which not everybody may go.
        Err(Errno::NOENT) => linkat(file, "", directory, name, AtFlags::EMPTY_PATH),
        other => other,
    }
}

/// Parent directories that were made for one write, from the outside in.
#[derive(Debug, Default)]
pub(crate) struct Parents {
    made: Vec<Made>,
}

#[derive(Debug)]
struct Made {
    /// A second handle of the directory that it was made in.
    within: OwnedFd,
    name: Vec<u8>,
    /// The directory itself.
    directory: OwnedFd,
    /// Whether it was made here: what was there is not removed.
    is_ours: bool,
}

impl Parents {
    /// Makes what is missing on the way to a place. What was made goes again when this is dropped.
    pub(crate) fn make(disk: &Disk, place: &Place) -> Result<Found<Parents>> {
        let failed = |cause| fs_error(&place.path, CREATING, cause);
        let mut parents = Parents::default();
        for name in &place.missing {
            disk.before(Step::MakeParent).map_err(failed)?;
            let within = parents
                .innermost(place)
                .try_clone_to_owned()
                .map_err(|cause| fs_error(&place.path, CREATING, cause))?;
            let is_ours = match mkdirat(&within, name.as_slice(), Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(cause) => return Err(failed(cause)),
            };
            match open_child(within.as_fd(), name, root::directory()) {
                Ok(directory) => parents.made.push(Made { within, name: name.clone(), directory, is_ours }),
                // It was something else's name a moment later; with O_DIRECTORY a link says ENOTDIR.
                Err(Errno::LOOP | Errno::NOENT) => return Ok(Found::Elsewhere),
                Err(Errno::NOTDIR) if !is_ours => return Ok(Found::Elsewhere),
                Err(cause) => {
                    if is_ours {
                        let _ = unlinkat(&within, name.as_slice(), AtFlags::REMOVEDIR);
                    }
                    return Err(failed(cause));
                }
            }
        }
        Ok(Found::Here(parents))
    }

    /// The directory that the file goes into.
    pub(crate) fn innermost<'a>(&'a self, place: &'a Place) -> BorrowedFd<'a> {
        self.made.last().map_or(place.directory(), |made| made.directory.as_fd())
    }

    /// Makes the entries of the made directories durable.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        self.made.iter().rev().try_for_each(|made| retry_on_intr(|| fsync(&made.within)))
    }

    /// Keeps them.
    pub(crate) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for made in self.made.iter().rev().filter(|made| made.is_ours) {
            // Only an empty directory goes: what somebody else put there meanwhile stays.
            let _ = unlinkat(&made.within, made.name.as_slice(), AtFlags::REMOVEDIR);
        }
    }
}
