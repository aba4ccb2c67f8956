//! Which servers of a state run: each holds a lock on a file of its own, which the kernel lets go at any death.
//!
//! Never judged by age or by process number. In the file is a number, by which its server says whether it keeps
//! something that is not written; what follows from that is `company.rs`'s.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::directory::{create_own, open_to_read, remove_own};
use crate::memory::SharedNumbers;

/// This server's own lock, and the way to ask for others'.
#[derive(Debug)]
pub(crate) struct Instance {
    id: String,
    directory: PathBuf,
    /// `None` once this server has ended.
    lock: Mutex<Option<File>>,
    /// 1 while something is kept that is not written, else 0.
    kept: SharedNumbers<1>,
}

impl Instance {
    /// Takes the lock of a name that nobody had before. The caller holds the lock on opening, so that nobody sweeps
    /// meanwhile.
    #[expect(clippy::disallowed_methods, reason = "the file is the state's own")]
    pub(crate) fn begin(directory: &Path, id: String) -> io::Result<Instance> {
        let unlocked = directory.join(format!("{id}.new"));
        let file = create_own(&unlocked)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let kept = SharedNumbers::map(&file)?;
        // Under its name it is seen with its lock only.
        std::fs::rename(&unlocked, directory.join(&id))?;
        Ok(Instance { id, directory: directory.to_owned(), lock: Mutex::new(Some(file)), kept })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the server of that name runs. The file of one that does not is removed.
    pub(crate) fn is_live(&self, id: &str) -> bool {
        if id == self.id {
            return self.lock.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        }
        // Anything else in the database is no name, and no path either.
        is_name(id) && is_locked(&self.directory.join(id))
    }

    /// The names of the other servers that run.
    #[expect(clippy::disallowed_methods, reason = "the directory is the state's own")]
    pub(crate) fn others(&self) -> io::Result<Vec<String>> {
        let mut others = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            // One that is still to get its name has not counted itself yet.
            let Some(name) = name.to_str().filter(|name| is_name(name) && *name != self.id) else { continue };
            if self.is_live(name) {
                others.push(name.to_owned());
            }
        }
        Ok(others)
    }

    /// Says whether something is kept here that is not written.
    pub(crate) fn say_kept(&self, is_kept: bool) {
        self.kept.get()[0].store(i64::from(is_kept), Ordering::SeqCst);
    }

    /// Whether another server runs and says that it keeps something that is not written.
    pub(crate) fn keeps_something(&self, id: &str) -> bool {
        let path = self.directory.join(id);
        let mut said = [0; 8];
        match open_to_read(&path).and_then(|file| file.read_exact_at(&mut said, 0)) {
            Ok(()) => i64::from_ne_bytes(said) != 0 && self.is_live(id),
            // It has just ended, or it is of a version that says nothing.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
                false
            }
            // In doubt it does: who asks waits for no server long.
            Err(_) => self.is_live(id),
        }
    }

    /// Removes the files of servers that do not run. The caller holds the lock on opening.
    #[expect(clippy::disallowed_methods, reason = "the directory is the state's own")]
    pub(crate) fn sweep(directory: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            is_locked(&entry?.path());
        }
        Ok(())
    }

    /// Ends: from here on this server's calls are those of one that does not run.
    pub(crate) fn end(&self) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.take().is_some() {
            // A file that stays is swept by the next server.
            let _ = remove_own(&self.directory.join(&self.id));
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.end();
    }
}

/// Names are hexadecimal.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether somebody holds the lock of a file; if not, the file goes. Asking takes the shared lock, so that two who
/// ask at once do not take each other for the owner. In doubt it is held.
fn is_locked(path: &Path) -> bool {
    let file = match open_to_read(path) {
        Ok(file) => file,
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    loop {
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                let _ = remove_own(path);
                return false;
            }
            Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}
