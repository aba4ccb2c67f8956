//! What is at a place, without its content.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, OFlags, statat};
use rustix::io::Errno;
use toolfs_core::error::Result;
use toolfs_core::target::{FileKind, TargetKey};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::refusal;
use toolfs_provider::report::Stat;

use crate::disk::{Disk, MAX_ATTEMPTS};
use crate::facts::Facts;
use crate::io_error::{OPENING, fs_error};
use crate::list;
use crate::location::{Location, join};
use crate::read;
use crate::resolve::{Asked, resolve};
use crate::root;

/// What is at a target; with its version, the whole file is read.
pub(crate) fn stat(disk: &Disk, key: &TargetKey, want_version: bool, abort: &AbortSignal) -> Result<Stat> {
    if want_version {
        let open = disk.open_file(key)?;
        let version = read::version(disk, &open, abort)?;
        return Ok(Stat { version: Some(version), ..report(&open.facts) });
    }
    let (handle, location) = disk.open_any(key, OFlags::PATH)?;
    let facts = root::facts(&handle).map_err(|cause| fs_error(&location.display(), OPENING, cause))?;
    if location.wants_directory && facts.kind != FileKind::Directory {
        return Err(refusal::not_directory(location.display()));
    }
    Ok(report(&facts))
}

/// What is at a path, its last name not followed.
pub(crate) fn lstat(disk: &Disk, asked: Asked) -> Result<Stat> {
    let shown = asked.shown().to_owned();
    let (parent, last) = asked.split_last();
    let mut location = resolve(&disk.roots, &parent)?;
    let Some(last) = last else {
        return stat(disk, &location.key(), false, &AbortSignal::new());
    };
    let Some(directory) = open_directory(disk, &mut location, &shown)? else {
        return Err(refusal::not_found(shown, Vec::new()));
    };
    match statat(&directory, last.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(report(&Facts::from(&stat))),
        Err(Errno::NOENT) => {
            location.relative = join(&location.relative, &last);
            Err(refusal::not_found(shown, list::similar_names(&location)))
        }
        Err(cause) => Err(fs_error(&shown, OPENING, cause)),
    }
}

/// Opens a directory that was found, and finds it anew when a part of its path became a link; `None` when it is gone.
fn open_directory(disk: &Disk, location: &mut Location, shown: &str) -> Result<Option<OwnedFd>> {
    for _ in 0..MAX_ATTEMPTS {
        match location.root.open_exact(&location.relative, OFlags::PATH | OFlags::DIRECTORY) {
            Ok(directory) => return Ok(Some(directory)),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => *location = disk.relocated(location, shown)?,
            Err(cause) => return Err(fs_error(shown, OPENING, cause)),
        }
    }
    Err(refusal::keeps_changing(shown))
}

fn report(facts: &Facts) -> Stat {
    Stat {
        kind: facts.kind,
        size_bytes: facts.size,
        mode: Some(facts.mode),
        modified: Some(facts.modified.to_timestamp()),
        version: None,
    }
}
