//! The directories that a provider keeps for itself: never inside a root, and made for this user only.
//!
//! Deliberately absent: any change of the mode of a directory that is there already. Who made it decided who may use
//! it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, FlockOperation, Mode, accessat, fchmod, flock, mkdirat};
use rustix::io::{Errno, retry_on_intr};
use toolfs_core::error::{ErrorKind, FsError, Result};
use toolfs_core::target::display_form;

use crate::io_error::{OPENING, fs_error};
use crate::root::{self, Root, open_child};

/// Opens a directory of the provider's own, and makes it, for this user only, if it is not there. `setting` is what
/// names it to whoever configures the server.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` for one that lies inside a root; `FS_PERMISSION_DENIED` where the server may not write, and
/// others where it cannot be made or opened.
pub(crate) fn open(path: &Path, setting: &'static str, roots: &[Arc<Root>]) -> Result<OwnedFd> {
    let shown = display_form(path.as_os_str().as_bytes());
    let failed = |cause: std::io::Error| fs_error(&shown, OPENING, cause);
    let path = std::path::absolute(path).map_err(failed)?;
    // What is there already decides, before anything is made: by inodes, so that no other spelling and no second
    // mount of a root leads into it.
    let existing = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    for ancestor in existing.iter().flat_map(|existing| existing.ancestors()) {
        let inode = root::directory_facts(ancestor).map_err(|cause| failed(cause.into()))?.inode;
        if roots.iter().any(|root| root.facts.inode == inode) {
            let actual = "a directory inside a root";
            let expected = "one that no root contains, for agents must not reach it";
            return Err(FsError::invalid_argument(setting, actual, expected).with_path(shown));
        }
    }
    let directory = root::make_own_directory(&path).map_err(|cause| failed(cause.into()))?;
    let change_entries = Access::WRITE_OK | Access::EXEC_OK;
    accessat(&directory, ".", change_entries, AtFlags::EACCESS).map_err(|cause| {
        let message = format!("the server may not write to `{shown}`, which `{setting}` names");
        FsError::new(ErrorKind::PermissionDenied, message)
            .with_path(&shown)
            .with_source(std::io::Error::from(cause))
    })?;
    Ok(directory)
}

/// Opens a directory in one of the provider's own, and makes it, if it is not there, with `mode`, whatever the umask.
pub(crate) fn subdirectory(within: BorrowedFd<'_>, name: &[u8], mode: Mode) -> Result<OwnedFd, Errno> {
    loop {
        match open_child(within, name, root::directory()) {
            Err(Errno::NOENT) => match mkdirat(within, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(cause) => return Err(cause),
            },
            Ok(directory) => {
                // Also one that is there: whoever made it may have died before it had its mode. Another user's is left
                // to that user, who is about to give it the same.
                let has = root::facts(&directory)?.mode;
                if has == Mode::RWXU.as_raw_mode() && mode != Mode::RWXU {
                    let _ = fchmod(directory.as_fd(), mode);
                }
                return Ok(directory);
            }
            Err(cause) => return Err(cause),
        }
    }
}

/// Locks a file of the provider's own for whoever has it open here; `false` when somebody else has it locked.
pub(crate) fn try_lock(file: &OwnedFd) -> Result<bool, Errno> {
    match retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// The mode of a file in a directory that has `directory` as its own: whoever may make files there may read and write
/// it, and nobody else may even open it, for who can open a lock file can lock it.
pub(crate) fn file_mode(directory: Mode) -> Mode {
    let writers = directory & (Mode::WUSR | Mode::WGRP | Mode::WOTH);
    writers | Mode::from_raw_mode(writers.as_raw_mode() << 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_for_those_who_may_make_files_beside_it() {
        for (directory, file) in
            [(0o700, 0o600), (0o755, 0o600), (0o770, 0o660), (0o2775, 0o660), (0o1777, 0o666), (0o733, 0o666)]
        {
            let mode = file_mode(Mode::from_raw_mode(directory));
            assert_eq!(mode.as_raw_mode(), file, "{directory:o} {mode:?}");
        }
    }
}
