//! A file that keeps a session between calls: which server, and the secret id. It is for its owner only.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the file says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptSession {
    /// The server, as it was named.
    pub(crate) server: String,
    /// The secret.
    pub(crate) session_id: String,
    /// The public name.
    pub(crate) name: String,
}

/// The secret does not belong in a log.
impl std::fmt::Debug for KeptSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptSession")
            .field("server", &self.server)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Why a session file cannot be used.
#[derive(Debug, Error)]
pub(crate) enum SessionFileError {
    /// The system refused.
    #[error("cannot use the session file `{}`: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Others could have written it, and would get the calls that were meant for a server of the caller's choice.
    #[error("the session file `{}` is not for its owner alone: remove it, and a fresh one is made", .0.display())]
    NotPrivate(PathBuf),
    /// It is something else.
    #[error("`{}` is no session file: name another one with --session-file", .0.display())]
    NoSessionFile(PathBuf),
    /// A session would take the link's place, or be written where nobody looks.
    #[error("`{}` is a link that leads nowhere: name another file with --session-file", .0.display())]
    DanglingLink(PathBuf),
}

/// More than any session file holds.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// What is in a session file; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<KeptSession>, SessionFileError> {
    let failed = |source| SessionFileError::Io { path: path.to_owned(), source };
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if path.is_symlink() {
                Err(SessionFileError::DanglingLink(path.to_owned()))
            } else {
                Ok(None)
            };
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(SessionFileError::NoSessionFile(path.to_owned()));
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut text).map_err(failed)?;
    // Before the advice to remove it: that is given of a file of ours alone.
    let kept = serde_json::from_slice(&text).map_err(|_| SessionFileError::NoSessionFile(path.to_owned()))?;
    if metadata.mode() & 0o077 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(SessionFileError::NotPrivate(path.to_owned()));
    }
    Ok(Some(kept))
}

/// Writes a session file that was not there. It is whole when it appears. `false` when somebody else was faster.
pub(crate) fn create(path: &Path, session: &KeptSession) -> Result<bool, SessionFileError> {
    match staged(path, session)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(SessionFileError::Io { path: path.to_owned(), source: error.error }),
    }
}

/// Writes a session file in place of one that may be there.
pub(crate) fn replace(path: &Path, session: &KeptSession) -> Result<(), SessionFileError> {
    let failed = |source| SessionFileError::Io { path: path.to_owned(), source };
    staged(path, session)?.persist(path).map(drop).map_err(|error| failed(error.error))
}

/// Removes a session file. That it is gone already is fine.
#[expect(clippy::disallowed_methods, reason = "the command's own session file")]
pub(crate) fn remove(path: &Path) -> Result<(), SessionFileError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SessionFileError::Io { path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "the command's own session file")]
fn open(path: &Path) -> io::Result<File> {
    // A FIFO of that name would hold up the open.
    let flags = rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::CLOEXEC).bits();
    OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)
}

/// A private file beside the place, whole.
fn staged(path: &Path, session: &KeptSession) -> Result<tempfile::NamedTempFile, SessionFileError> {
    let failed = |source| SessionFileError::Io { path: path.to_owned(), source };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let text = serde_json::to_string(session).expect("texts always serialize");
    let mut file = tempfile::Builder::new().prefix(".toolfs-session").tempfile_in(parent).map_err(failed)?;
    writeln!(file, "{text}").map_err(failed)?;
    Ok(file)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files itself")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn session(id: &str) -> KeptSession {
        KeptSession { server: "127.0.0.1:1".into(), session_id: id.into(), name: "ses-1".into() }
    }

    #[test]
    fn what_is_kept_is_found_again_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        assert_eq!(read(&path).unwrap(), None);
        assert!(create(&path, &session("one")).unwrap());
        assert!(!create(&path, &session("two")).unwrap(), "the first one stays");
        assert_eq!(read(&path).unwrap(), Some(session("one")));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        replace(&path, &session("two")).unwrap();
        assert_eq!(read(&path).unwrap(), Some(session("two")));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_others_can_reach_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        create(&path, &session("one")).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o602] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(read(&path), Err(SessionFileError::NotPrivate(_))), "{mode:o}");
        }
    }

    #[test]
    fn another_file_is_none_and_says_nothing_of_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        for content in [&b"a secret of another kind"[..], b"", b"\xff\xfe secret", b"{}"] {
            std::fs::write(&path, content).unwrap();
            for mode in [0o600, 0o644] {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
                let error = read(&path).unwrap_err();
                assert!(matches!(error, SessionFileError::NoSessionFile(_)), "{mode:o} {error}");
                assert!(!error.to_string().contains("secret") && !error.to_string().contains("remove"));
            }
        }
        assert!(matches!(read(directory.path()), Err(SessionFileError::NoSessionFile(_))));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_refused_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (link, target) = (directory.path().join("link"), directory.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(matches!(read(&link), Err(SessionFileError::DanglingLink(_))));
        assert!(link.is_symlink() && !target.exists());
        create(&target, &session("one")).unwrap();
        assert_eq!(read(&link).unwrap(), Some(session("one")), "a link to a session file is one");
    }

    #[test]
    fn the_secret_is_in_no_debug_form() {
        assert!(!format!("{:?}", session("very-secret")).contains("very-secret"));
    }
}
