//! The refusals that every provider words the same way.
//!
//! `path` is always the display form of the path that the error is about: as asked for while a path is resolved, the
//! target's display path afterwards. Nothing here says what to do next in the model's terms, which is the tool
//! layer's part, and nothing echoes content or tells where a refused path would have led.

use toolfs_core::error::{ErrorKind, Existing, FsError, Published, UnavailableCause};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;

/// The rule that is named when a path leaves the roots.
pub const ROOTS_RULE: &str = "roots";

/// The rule that is named when nothing may be changed at all.
pub const READ_ONLY_RULE: &str = "read-only";

/// The longest name of one path component, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// How many symbolic links one path may lead through.
pub const MAX_LINKS: usize = 40;

/// `FS_NOT_FOUND`: nothing is at the path.
pub fn not_found(path: impl Into<String>, similar_names: Vec<String>) -> FsError {
    let path = path.into();
    let message = format!("nothing is at `{path}`");
    FsError::new(ErrorKind::NotFound { similar_names }, message).with_path(path)
}

/// `FS_NOT_DIRECTORY`: a parent of the path, or what has a trailing slash, is no directory.
pub fn not_directory(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}` treats something as a directory that is none");
    FsError::new(ErrorKind::NotDirectory, message).with_path(path)
}

/// `FS_NOT_REGULAR_FILE`: what is there has no content.
pub fn not_regular(path: impl Into<String>, kind: FileKind) -> FsError {
    let path = path.into();
    let message = format!("`{path}` is {}, only regular files have content", kind.noun());
    FsError::new(ErrorKind::NotRegularFile { kind: Some(kind) }, message).with_path(path)
}

/// `FS_NOT_REGULAR_FILE`: nothing is there, and the path ends in a slash, so that only a directory could be made.
pub fn asks_for_directory(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}/` asks for a directory, only regular files have content");
    FsError::new(ErrorKind::NotRegularFile { kind: None }, message).with_path(path)
}

/// `FS_SANDBOX_DENIED`: the path leaves the roots.
pub fn sandbox_escape(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}` leads out of the roots, only paths beneath a root are served");
    FsError::new(ErrorKind::SandboxDenied { rule: ROOTS_RULE.to_owned() }, message).with_path(path)
}

/// `FS_SANDBOX_DENIED`: a protected pattern forbids the change.
pub fn protected(path: impl Into<String>, rule: &str) -> FsError {
    let path = path.into();
    let message = format!("`{path}` is protected by the rule `{rule}`, it can be read and not changed");
    FsError::new(ErrorKind::SandboxDenied { rule: rule.to_owned() }, message).with_path(path)
}

/// `FS_PERMISSION_DENIED`: the file has no write bit, or the provider may not write it.
pub fn not_writable(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}` is not writable");
    FsError::new(ErrorKind::PermissionDenied, message).with_path(path)
}

/// `FS_PERMISSION_DENIED`: the file, or a directory on the way, may not be read.
pub fn not_readable(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}` is not readable");
    FsError::new(ErrorKind::PermissionDenied, message).with_path(path)
}

/// `FS_NOT_OBSERVED`: something stands where only a creation was allowed.
pub fn not_observed(path: impl Into<String>, existing: Existing) -> FsError {
    let path = path.into();
    let message = format!("`{path}` is there already, and it was not seen before");
    FsError::new(ErrorKind::NotObserved { existing: Some(existing) }, message).with_path(path)
}

/// `FS_STALE_VERSION`: not `expected` (any content, when absent) is there but `actual` (nothing, when absent).
pub fn stale(path: impl Into<String>, expected: Option<Version>, actual: Option<Version>) -> FsError {
    let path = path.into();
    let message = match (&expected, &actual) {
        (Some(_), Some(_)) => format!("`{path}` is not what was seen last, its content changed"),
        (Some(_), None) => format!("`{path}` is not what was seen last, it is gone"),
        (None, Some(_)) => format!("`{path}` changed while it was edited"),
        (None, None) => format!("`{path}` is not there, only an existing file can be edited"),
    };
    FsError::new(ErrorKind::StaleVersion { expected, actual }, message).with_path(path)
}

/// `FS_TOO_LARGE`: `size_bytes` exceed a limit.
pub fn too_large(
    path: impl Into<String>,
    limit_name: LimitName,
    limit_bytes: u64,
    size_bytes: u64,
) -> FsError {
    let path = path.into();
    let message = format!(
        "{size_bytes} bytes of `{path}` exceed the limit `{}` of {limit_bytes} bytes",
        limit_name.as_str()
    );
    FsError::new(ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes }, message).with_path(path)
}

/// `FS_INVALID_ARGUMENT`: the path is empty.
pub fn empty_path() -> FsError {
    FsError::invalid_argument("path", "empty", "a path of at least 1 byte")
}

/// `FS_INVALID_ARGUMENT`: the path has a NUL byte.
pub fn nul_in_path(path: impl Into<String>) -> FsError {
    FsError::invalid_argument("path", "text with a NUL byte", "a path without one").with_path(path)
}

/// `FS_INVALID_ARGUMENT`: the path has more than `limit_bytes` bytes.
pub fn path_too_long(path: impl Into<String>, length_bytes: usize, limit_bytes: u64) -> FsError {
    let expected = format!("at most {limit_bytes} bytes");
    FsError::invalid_argument("path", format!("a path of {length_bytes} bytes"), expected).with_path(path)
}

/// `FS_INVALID_ARGUMENT`: a name in the path has more than [`MAX_NAME_BYTES`] bytes.
pub fn name_too_long(path: impl Into<String>, length_bytes: usize) -> FsError {
    let actual = format!("a path with a name of {length_bytes} bytes");
    let expected = format!("a path of names of at most {MAX_NAME_BYTES} bytes");
    FsError::invalid_argument("path", actual, expected).with_path(path)
}

/// `FS_INVALID_ARGUMENT`: the path leads through more than [`MAX_LINKS`] symbolic links, or in circles.
pub fn too_many_links(path: impl Into<String>) -> FsError {
    let expected = format!("a path that leads through at most {MAX_LINKS} of them");
    FsError::invalid_argument("path", "a path through too many symbolic links", expected).with_path(path)
}

/// `FS_INVALID_ARGUMENT`: the working directory is relative.
pub fn cwd_not_absolute(cwd: impl Into<String>) -> FsError {
    FsError::invalid_argument("cwd", "a relative path", "an absolute path under a root").with_path(cwd)
}

/// `FS_INVALID_ARGUMENT`: the key is none that this provider made.
pub fn foreign_key() -> FsError {
    FsError::invalid_argument("target_key", "bytes that are no key", "a key that this provider made")
}

/// `FS_INVALID_ARGUMENT`: the content of a write is not UTF-8, so that no read could show it.
pub fn content_not_utf8(path: impl Into<String>) -> FsError {
    FsError::invalid_argument("content", "bytes that are not UTF-8", "UTF-8 text").with_path(path)
}

/// `FS_UNSUPPORTED`: operation ids are not recorded here.
pub fn no_operation_ids(path: impl Into<String>) -> FsError {
    FsError::new(ErrorKind::Unsupported, "this provider records no operation ids").with_path(path)
}

/// `FS_INVALID_ARGUMENT`: the id of this operation was given to another request before.
pub fn operation_id_reused(path: impl Into<String>) -> FsError {
    let expected = "an id of its own for each operation";
    FsError::invalid_argument("operation_id", "the id of another request", expected).with_path(path)
}

/// `FS_STALE_VERSION`, published maybe: an operation was begun before, and neither what it was to replace (`replaced`,
/// nothing when absent) nor what it was to put there is in the place. Whether it had happened cannot be known.
pub fn operation_in_doubt(
    path: impl Into<String>,
    replaced: Option<Version>,
    actual: Option<Version>,
) -> FsError {
    let path = path.into();
    let message = format!(
        "whether this operation changed `{path}` before cannot be known, its content was changed by somebody else since"
    );
    FsError::new(ErrorKind::StaleVersion { expected: replaced, actual }, message)
        .with_path(path)
        .with_published(Published::Maybe)
}

/// `FS_UNAVAILABLE`: somebody else kept changing the path while the call tried.
pub fn keeps_changing(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}` kept changing while the call tried");
    FsError::new(ErrorKind::Unavailable { cause: UnavailableCause::KeepsChanging }, message).with_path(path)
}

/// `FS_SANDBOX_DENIED`: the session, or the whole provider, only reads.
pub fn read_only(path: impl Into<String>) -> FsError {
    let path = path.into();
    let message = format!("`{path}` cannot be changed here, only reading is allowed");
    FsError::new(ErrorKind::SandboxDenied { rule: READ_ONLY_RULE.to_owned() }, message).with_path(path)
}
