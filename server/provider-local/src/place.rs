//! The place of a mutation: an open directory, a name in it, and what is there now.
//!
//! Everything that a mutation does afterwards goes from this one directory handle and follows no link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Access, AtFlags, OFlags, StatxAttributes, StatxFlags, accessat, statat, statx};
use rustix::io::Errno;
use toolfs_core::error::Result;
use toolfs_core::planted::Fault;
use toolfs_core::target::FileKind;
use toolfs_provider::refusal;

use crate::disk::{Disk, OpenFile};
use crate::facts::Facts;
use crate::io_error::{OPENING, fs_error};
use crate::leftover::Hidden;
use crate::location::Location;
use crate::publish::Setback;
use crate::rewrite;
use crate::root::{self, open_child};
use crate::step::Step;

/// A directory, a name in it, and the directories that are missing in between.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) location: Location,
    /// The display path of the target as it was asked for.
    pub(crate) path: String,
    /// The nearest existing directory.
    pub(crate) directory: OwnedFd,
    /// Its device and inode number.
    pub(crate) inode: (u64, u64),
    /// Directories to be made in it, one in the other.
    pub(crate) missing: Vec<Vec<u8>>,
    /// The target's name in the last of them.
    pub(crate) name: Vec<u8>,
}

/// How an existing file can be given new content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Its name gets another file, in one step.
    Exchange,
    /// It is rewritten where it stands.
    InPlace,
}

/// What was found, or that a part of the path is a link by now and has to be resolved anew.
#[derive(Debug)]
pub(crate) enum Found<T> {
    /// What was found.
    Here(T),
    /// The path leads elsewhere by now.
    Elsewhere,
}

impl Place {
    /// Finds the directory of a location.
    ///
    /// # Errors
    /// `FS_NOT_REGULAR_FILE` for a root or a path that asks for a directory, `FS_NOT_DIRECTORY`,
    /// `FS_PERMISSION_DENIED`.
    pub(crate) fn find(location: Location, path: &str) -> Result<Found<Place>> {
        let Some((parent, name)) = location.split() else {
            return Err(refusal::not_regular(path, FileKind::Directory));
        };
        let name = name.to_vec();
        let mut missing = Vec::new();
        let mut parent = parent;
        let directory = loop {
            match location.root.open_exact(parent, root::directory()) {
                Ok(directory) => break directory,
                Err(Errno::LOOP) => return Ok(Found::Elsewhere),
                Err(Errno::NOENT) if !parent.is_empty() => {
                    let at = parent.iter().rposition(|&byte| byte == b'/');
                    missing.push(parent[at.map_or(0, |at| at + 1)..].to_vec());
                    parent = &parent[..at.unwrap_or(0)];
                }
                Err(cause) => return Err(fs_error(path, OPENING, cause)),
            }
        };
        missing.reverse();
        let inode = root::facts(&directory).map_err(|cause| fs_error(path, OPENING, cause))?.inode;
        Ok(Found::Here(Place { location, path: path.to_owned(), directory, inode, missing, name }))
    }

    /// The directory handle, borrowed.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens what is at the place for reading; `None` when nothing is.
    ///
    /// # Errors
    /// `FS_NOT_REGULAR_FILE`, without opening what is none; `FS_PERMISSION_DENIED`.
    pub(crate) fn look(&self) -> Result<Found<Option<OpenFile>>> {
        if !self.missing.is_empty() {
            return self.absent();
        }
        let stat = match statat(self.directory(), self.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.absent(),
            Err(cause) => return Err(fs_error(&self.path, OPENING, cause)),
        };
        match Facts::from(&stat).kind {
            FileKind::Regular => {}
            FileKind::Symlink => return Ok(Found::Elsewhere),
            kind => return Err(refusal::not_regular(&self.path, kind)),
        }
        if self.location.wants_directory {
            return Err(refusal::not_directory(&self.path));
        }
        let file = match open_child(self.directory(), &self.name, root::reading()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return self.absent(),
            Err(Errno::LOOP) => return Ok(Found::Elsewhere),
            Err(cause @ Errno::ACCESS) => {
                return Err(refusal::not_readable(&self.path).with_source(std::io::Error::from(cause)));
            }
            Err(cause) => return Err(fs_error(&self.path, OPENING, cause)),
        };
        let facts = root::facts(&file).map_err(|cause| fs_error(&self.path, OPENING, cause))?;
        if facts.kind != FileKind::Regular {
            return Err(refusal::not_regular(&self.path, facts.kind));
        }
        Ok(Found::Here(Some(OpenFile { file, facts, path: self.path.clone() })))
    }

    fn absent(&self) -> Result<Found<Option<OpenFile>>> {
        if self.location.wants_directory {
            return Err(refusal::asks_for_directory(&self.path));
        }
        Ok(Found::Here(None))
    }

    /// Refuses what must not be changed: protected names, read-only files, and directories in which nothing can be
    /// made. An existing file in such a directory, or one that is mounted, can still be rewritten in place.
    ///
    /// # Errors
    /// `FS_SANDBOX_DENIED`, `FS_PERMISSION_DENIED`
    pub(crate) fn check_changeable(&self, disk: &Disk, existing: Option<&OpenFile>) -> Result<Manner> {
        if let Some(rule) = disk.rule_for(&self.location.relative) {
            return Err(refusal::protected(&self.path, &rule));
        }
        if self.missing.iter().chain([&self.name]).any(|name| Hidden::parse(name).is_some()) {
            return Err(refusal::protected(&self.path, Hidden::RULE));
        }
        if let Some(open) = existing {
            // A file without any write bit is meant to stay, even where the server's rights would reach further.
            if open.facts.mode & 0o222 == 0 {
                return Err(refusal::not_writable(&self.path));
            }
            let may = disk.before(Step::Access);
            self.allowed(may.and_then(|()| may_write(self.directory(), &self.name)))?;
        }
        let change_entries = Access::WRITE_OK | Access::EXEC_OK;
        let may = accessat(self.directory(), ".", change_entries, AtFlags::EACCESS);
        match (may, existing) {
            // A file that may be written on a directory that is mounted read-only is itself a mount.
            (Err(cause @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)), Some(_)) => match disk.copies {
                Some(_) => Ok(Manner::InPlace),
                None => Err(rewrite::without_copies(&self.path).with_source(std::io::Error::from(cause))),
            },
            (Ok(()), Some(open)) if is_mounted(&open.file) => match disk.copies {
                Some(_) => Ok(Manner::InPlace),
                None => Err(rewrite::without_copies(&self.path)),
            },
            (may, _) => self.allowed(may).map(|()| Manner::Exchange),
        }
    }

    /// What an answer to "may this be changed" means.
    fn allowed(&self, answer: Result<(), Errno>) -> Result<()> {
        match answer {
            // It went since it was looked at: the guard tells that, at publication at the latest.
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause @ (Errno::ACCESS | Errno::PERM)) => {
                Err(refusal::not_writable(&self.path).with_source(std::io::Error::from(cause)))
            }
            Err(cause) => Err(fs_error(&self.path, OPENING, cause)),
        }
    }

    /// Device and inode number of the directory that the target is in: this place's own, or one that was made in it.
    pub(crate) fn inode_of(&self, directory: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
        if self.missing.is_empty() { Ok(self.inode) } else { Ok(root::facts(directory)?.inode) }
    }

    /// Sees that `directory`, which the target is in, is still where the location says. It may have been moved since
    /// it was opened, even out of the root.
    ///
    /// A publication asks this before its atomic step and once more after it, and takes the step back when the answer
    /// is no. So what it reports as published was, at a moment after it was published, where the path leads, beneath
    /// the root. Who may move a directory can move it with all that is in it a moment later, as ever; and who moves it
    /// between the two looks sees the new content, or a new file, in it for that moment. Nothing that the directory
    /// had is lost by that, and nothing is read from where it went.
    ///
    /// # Errors
    /// [`Setback::Elsewhere`] when it is not; [`Setback::Failed`] when that cannot be told.
    pub(crate) fn check_still(&self, disk: &Disk, directory: BorrowedFd<'_>) -> Result<(), Setback> {
        if Fault::ResolveTrustsRealpath.is_planted() {
            return Ok(());
        }
        let Some((parent, _)) = self.location.split() else { return Err(Setback::Elsewhere) };
        let now = disk.before(Step::LookAgain);
        let now = now.and_then(|()| self.location.root.open_exact(parent, OFlags::PATH | OFlags::DIRECTORY));
        let now = now.and_then(root::facts).map(|facts| facts.inode);
        match now.and_then(|now| Ok(now == self.inode_of(directory)?)) {
            Ok(true) => Ok(()),
            Ok(false) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::AGAIN | Errno::XDEV) => {
                Err(Setback::Elsewhere)
            }
            Err(cause) => Err(fs_error(&self.path, OPENING, cause).into()),
        }
    }
}

/// Whether the entry `name` of a directory, no link followed, may be written.
fn may_write(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    match accessat(directory, name, Access::WRITE_OK, flags) {
        // Linux before 5.8 cannot ask that of a link: a link is not what was looked at, and is not replaced either.
        Err(Errno::NOSYS) => accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS),
        other => other,
    }
}

/// Whether a file is one that something is mounted on: its name cannot be given another file. Linux before 5.8 does
/// not tell, and refuses the exchange.
fn is_mounted(file: &OwnedFd) -> bool {
    let told = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE);
    told.is_ok_and(|told| told.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
