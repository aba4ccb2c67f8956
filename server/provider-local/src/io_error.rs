//! From what the operating system says to what a caller can do: the one function that knows both.
//!
//! Deliberately absent: the system's own text and any host path. They stay in the source of the error, for the log.

use std::io;

use rustix::io::Errno;
use toolfs_core::error::{ErrorKind, FsError, UnavailableCause};
use toolfs_core::target::FileKind;
use toolfs_provider::refusal;

/// Maps a failed step on `path` (in its display form) to the error that its caller gets.
///
/// `doing` names the step as a gerund with its object, as in "opening it". What is not listed is a failure of the
/// storage: permanent, and loud.
pub(crate) fn fs_error(path: &str, doing: &'static str, cause: impl Into<io::Error>) -> FsError {
    let cause = cause.into();
    let failed = |kind, message: String| FsError::new(kind, message).with_path(path);
    let error = match cause.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => refusal::not_found(path, Vec::new()),
        Some(Errno::NOTDIR) => refusal::not_directory(path),
        Some(Errno::ISDIR) => refusal::not_regular(path, FileKind::Directory),
        Some(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => refusal::not_regular(path, FileKind::Other),
        Some(Errno::ACCESS | Errno::PERM) => {
            failed(ErrorKind::PermissionDenied, format!("the server may not do this to `{path}`: {doing}"))
        }
        Some(Errno::ROFS) => failed(
            ErrorKind::PermissionDenied,
            format!("`{path}` is on a file system that is mounted read-only"),
        ),
        Some(Errno::XDEV) => refusal::sandbox_escape(path),
        Some(Errno::NOSPC) => failed(ErrorKind::NoSpace, format!("no space is left for `{path}`")),
        Some(Errno::DQUOT) => {
            failed(ErrorKind::NoSpace, format!("the disk quota leaves no space for `{path}`"))
        }
        Some(Errno::FBIG) => {
            failed(ErrorKind::NoSpace, format!("`{path}` would be larger than the server may make a file"))
        }
        Some(Errno::NAMETOOLONG) => {
            let expected =
                format!("names of at most {} bytes, and few enough of them", refusal::MAX_NAME_BYTES);
            FsError::invalid_argument("path", "a path that is too long for its file system", expected)
                .with_path(path)
        }
        Some(Errno::LOOP) => refusal::too_many_links(path),
        Some(Errno::INVAL | Errno::ILSEQ) if doing == OPENING || doing == CREATING => {
            let actual = "a path with a name that its file system refuses";
            FsError::invalid_argument("path", actual, "names that the file system accepts").with_path(path)
        }
        Some(Errno::AGAIN) => refusal::keeps_changing(path),
        Some(Errno::BUSY | Errno::TXTBSY) => {
            let kind = ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging };
            failed(kind, format!("`{path}` is in use by the system, which now forbids {doing}"))
        }
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
            let kind = ErrorKind::Unavailable { cause: UnavailableCause::Overloaded };
            failed(kind, "the server has too many files open or no memory left".to_owned())
        }
        Some(_) | None => failed(ErrorKind::IoError, format!("the storage failed at {doing}: `{path}`")),
    };
    error.with_source(cause)
}

/// Maps a failed step on the record of an operation on `path` to the error that its caller gets.
///
/// The record is the server's own affair: its errno says nothing about `path`.
pub(crate) fn record_error(path: &str, cause: impl Into<io::Error>) -> FsError {
    let cause = cause.into();
    let kind = match cause.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::NOSPC | Errno::DQUOT) => {
            ErrorKind::Unavailable { cause: UnavailableCause::Overloaded }
        }
        Some(_) | None => ErrorKind::IoError,
    };
    let message = format!("the server cannot record operations, so it did not begin the one on `{path}`");
    FsError::new(kind, message).with_path(path).with_source(cause)
}

/// Maps a failed step of taking turns with other servers to the error of a call on `path`.
///
/// The locks are the servers' own affair: their errno says nothing about `path`.
pub(crate) fn turn_error(path: &str, cause: impl Into<io::Error>) -> FsError {
    let cause = cause.into();
    let kind = match cause.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::NOLCK) => {
            ErrorKind::Unavailable { cause: UnavailableCause::Overloaded }
        }
        Some(Errno::NOSPC | Errno::DQUOT) => ErrorKind::NoSpace,
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => ErrorKind::PermissionDenied,
        Some(_) | None => ErrorKind::IoError,
    };
    let message = format!("the server cannot take turns with others of its host, so it left `{path}` alone");
    FsError::new(kind, message).with_path(path).with_source(cause)
}

/// Maps a failed step on the durable copy of `path` to the error that its caller gets.
///
/// The copy is the server's own affair, and its errno says nothing about `path`, which was not touched.
pub(crate) fn copy_error(path: &str, cause: impl Into<io::Error>) -> FsError {
    let cause = cause.into();
    let kind = match cause.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => ErrorKind::NoSpace,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::AGAIN) => {
            ErrorKind::Unavailable { cause: UnavailableCause::Overloaded }
        }
        Some(_) | None => ErrorKind::IoError,
    };
    let message = format!("`{path}` can only be rewritten in place, and the server cannot keep a copy of it");
    FsError::new(kind, message).with_path(path).with_source(cause)
}

/// Opening something that is there.
pub(crate) const OPENING: &str = "opening it";
/// Reading what is open.
pub(crate) const READING: &str = "reading it";
/// Making a file or a directory.
pub(crate) const CREATING: &str = "creating it";

#[cfg(test)]
mod tests {
    use toolfs_core::error::{Code, Published};

    use super::*;

    #[test]
    fn every_cause_has_the_code_that_tells_what_to_do() {
        let cases = [
            (Errno::NOENT, Code::NotFound),
            (Errno::NOTDIR, Code::NotDirectory),
            (Errno::ISDIR, Code::NotRegularFile),
            (Errno::NXIO, Code::NotRegularFile),
            (Errno::ACCESS, Code::PermissionDenied),
            (Errno::PERM, Code::PermissionDenied),
            (Errno::ROFS, Code::PermissionDenied),
            (Errno::XDEV, Code::SandboxDenied),
            (Errno::NOSPC, Code::NoSpace),
            (Errno::DQUOT, Code::NoSpace),
            (Errno::FBIG, Code::NoSpace),
            (Errno::NAMETOOLONG, Code::InvalidArgument),
            (Errno::LOOP, Code::InvalidArgument),
            (Errno::ILSEQ, Code::InvalidArgument),
            (Errno::AGAIN, Code::Unavailable),
            (Errno::MFILE, Code::Unavailable),
            (Errno::IO, Code::IoError),
            (Errno::STALE, Code::IoError),
        ];
        for (errno, code) in cases {
            let error = fs_error("/w/a", OPENING, errno);
            assert_eq!(error.code(), code, "{errno:?}");
            assert_eq!(error.path(), Some("/w/a"), "{errno:?}");
        }
    }

    #[test]
    fn a_record_that_cannot_be_made_says_nothing_about_the_target() {
        for (errno, code) in [
            (Errno::NOENT, Code::IoError),
            (Errno::ACCESS, Code::IoError),
            (Errno::IO, Code::IoError),
            (Errno::NOSPC, Code::Unavailable),
            (Errno::MFILE, Code::Unavailable),
        ] {
            let error = record_error("/w/a", errno);
            assert_eq!((error.code(), error.published()), (code, Published::No), "{errno:?}");
        }
    }

    #[test]
    fn a_strange_answer_in_mid_work_is_no_argument_of_the_caller() {
        assert_eq!(fs_error("/w/a", READING, Errno::INVAL).code(), Code::IoError);
    }
}
