//! What can go wrong: while opening ([`StateError`]), and afterwards (`FS_UNAVAILABLE`).

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use toolfs_core::error::{ErrorKind, FsError, UnavailableCause};

/// Why a state directory cannot be opened. Each message names the file and the ways out; nothing was changed in a
/// database that is refused.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The directory or a file in it cannot be made, opened or written.
    #[error(
        "the state at `{}` cannot be used: make it a directory that this user may write, name another with \
         --state PATH, or start with --state memory",
        path.display()
    )]
    Inaccessible {
        /// What could not be used.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another server has been opening the same state for too long.
    #[error(
        "another server is opening the state in `{}` and does not finish: stop it, or name another directory with \
         --state PATH",
        path.display()
    )]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The file is no SQLite database.
    #[error(
        "`{}` is not a database: move it away if it is not needed, name another directory with --state PATH, or \
         start with --state memory",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The database belongs to another program.
    #[error(
        "`{}` is a database of another program: name another directory with --state PATH, or start with \
         --state memory",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The database was written by a later version of toolfs.
    #[error(
        "`{}` has schema version {found} and this toolfs knows up to {known}: run a newer toolfs, name another \
         directory with --state PATH, or start with --state memory",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i32,
        /// The newest schema version that this build knows.
        known: i32,
    },
    /// The database is damaged.
    #[error(
        "`{}` is damaged ({finding}): move its directory away, and sessions have to be opened and files to be read \
         again; or name another directory with --state PATH, or start with --state memory",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        finding: String,
    },
    /// SQLite could not work with the file for another reason.
    #[error(
        "the database `{}` cannot be opened: see the cause, name another directory with --state PATH, or start with \
         --state memory",
        path.display()
    )]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

impl StateError {
    /// What an I/O error at a path means.
    pub(crate) fn inaccessible(path: &Path) -> impl FnOnce(io::Error) -> StateError {
        let path = path.to_owned();
        move |source| StateError::Inaccessible { path, source }
    }

    /// What an error of SQLite on a file means while opening.
    pub(crate) fn database(path: &Path) -> impl FnOnce(rusqlite::Error) -> StateError {
        let path = path.to_owned();
        move |source| match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StateError::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => StateError::Damaged { path, finding: source.to_string() },
            _ => StateError::Database { path, source },
        }
    }
}

/// Why an operation on an open state failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("a stored record cannot be decoded")]
    Json(#[from] serde_json::Error),
    #[error("a stored {0} is not one that this server knows")]
    Unknown(&'static str),
    #[error("the state was closed")]
    Closed,
}

/// What the caller of a store is told. Why it failed is logged here; what nobody waits for, where it happens.
pub(crate) fn unavailable(cause: Cause) -> FsError {
    tracing::error!(error = &cause as &dyn std::error::Error, "the state database refused an operation");
    let (why, message) = match &cause {
        Cause::Sqlite(error) => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
                UnavailableCause::Overloaded,
                "the state database is busy: other servers keep it locked, retry later",
            ),
            Some(ErrorCode::DiskFull) => (
                UnavailableCause::ProviderUnreachable,
                "the disk of the state database is full: nothing was recorded, retry when there is room",
            ),
            _ => (UnavailableCause::ProviderUnreachable, "the state database cannot be used: retry later"),
        },
        Cause::Json(_) | Cause::Unknown(_) => {
            (UnavailableCause::ProviderUnreachable, "a record in the state database cannot be read")
        }
        Cause::Closed => {
            (UnavailableCause::ProviderUnreachable, "the state was closed: the server is shutting down")
        }
    };
    FsError::new(ErrorKind::Unavailable { cause: why }, message).with_source(cause)
}
