//! Directories that are made for one new file, and go again when it does not come.
//!
//! Deliberately absent: a record of them for after a crash. One that is left empty then is harmless, and nobody can
//! tell whose it is.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use toolfs_core::error::Result;

use crate::disk::Disk;
use crate::io_error::{CREATING, fs_error};
use crate::place::{Found, Place};
use crate::root::{self, open_child};
use crate::step::Step;

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
                Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Elsewhere),
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
        self.made.iter().rev().try_for_each(|made| root::sync_directory(&made.within))
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
