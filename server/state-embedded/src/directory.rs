//! The directory of a state: who may look into it, and one opener at a time.
//!
//! What is in it: `state.db` with SQLite's own `-wal` and `-shm`, `removals` (see `removal.rs`), `common` (see
//! `company.rs`), `instances/` (see `instance.rs`) and `open.lock`. A directory that is made here is for its user only
//! (0700), and so is each file (0600); a directory that was there keeps its mode.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::error::StateError;

/// How often, and after which pauses, another opener is asked whether it is done: half a minute in all.
const LOCK_ATTEMPTS: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Where a state lives.
#[derive(Debug)]
pub(crate) struct StateDirectory {
    path: PathBuf,
}

impl StateDirectory {
    /// Makes the directory unless it is there.
    pub(crate) fn create(path: &Path) -> Result<StateDirectory, StateError> {
        let directory = StateDirectory { path: path.to_owned() };
        make(path).map_err(StateError::inaccessible(path))?;
        let instances = directory.instances();
        make(&instances).map_err(StateError::inaccessible(&instances))?;
        Ok(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("state.db")
    }

    pub(crate) fn removals(&self) -> PathBuf {
        self.path.join("removals")
    }

    pub(crate) fn common(&self) -> PathBuf {
        self.path.join("common")
    }

    pub(crate) fn instances(&self) -> PathBuf {
        self.path.join("instances")
    }

    /// Waits until no other server opens this state; the lock holds until the file is dropped.
    pub(crate) fn lock(&self) -> Result<File, StateError> {
        let path = self.path.join("open.lock");
        let file = open_own(&path).map_err(StateError::inaccessible(&path))?;
        for _ in 0..LOCK_ATTEMPTS {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(error) => return Err(StateError::inaccessible(&path)(error.into())),
            }
        }
        Err(StateError::Busy { path: self.path.clone() })
    }
}

#[expect(clippy::disallowed_methods, reason = "the directory is the state's own")]
fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file of the state to read and write it, and makes it unless it is there. A link is not followed.
#[expect(clippy::disallowed_methods, reason = "the file is the state's own")]
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}

/// Opens a file of the state to read it, without following a link, or waiting for who may write to what is no file.
#[expect(clippy::disallowed_methods, reason = "the file is the state's own")]
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Makes an empty file of the state; it must not be there.
#[expect(clippy::disallowed_methods, reason = "the file is the state's own")]
pub(crate) fn create_own(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Removes a file of the state, if it is there.
#[expect(clippy::disallowed_methods, reason = "the file is the state's own")]
pub(crate) fn remove_own(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files itself")]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_file_of_the_state_is_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let (victim, link) = (directory.path().join("victim"), directory.path().join("removals"));
        std::fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(open_own(&link).is_err() && open_to_read(&link).is_err());
        assert_eq!(std::fs::read(&victim).unwrap(), b"mine");
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_of_the_state_keeps_nobody_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("0123456789abcdef");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        drop(open_to_read(&pipe));
    }
}
