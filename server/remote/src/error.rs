//! A peer's `FsError`, as a value.

use toolfs_contract::v1::{self, FsErrorCode};
use toolfs_core::error::{ErrorKind, FsError, Published};

use crate::detail;
use crate::field::line;
use crate::peer::Peer;

/// The error that a peer told. `untold` is what became of the effect when the peer does not say.
///
/// - a remedy is dropped: what to do next is said by whoever knows the tool
/// - texts are made safe to show on one line
/// - what this build has no word for (a newer code, a limit that it does not know, a fact that is not told) is
///   `FS_IO_ERROR` with the peer's own code and message, so that nothing is made up
/// - `FS_ABORTED` is `FS_UNAVAILABLE` here: this process did not give up, so its peer did
pub fn fs_error(peer: Peer, error: v1::FsError, untold: Published) -> FsError {
    let published = match error.published() {
        v1::Published::Unspecified => untold,
        v1::Published::No => Published::No,
        v1::Published::Yes => Published::Yes,
        v1::Published::Maybe => Published::Maybe,
    };
    let reason = match FsErrorCode::parse(&error.reason) {
        Some(_) => error.reason.clone(),
        None if error.reason.is_empty() => error.code().as_str().to_owned(),
        None => line(&error.reason),
    };
    let code = FsErrorCode::parse(&reason).unwrap_or(FsErrorCode::FsUnspecified);
    let told = line(&error.message);
    let v1::FsError { path, rescue_path, detail, .. } = error;
    let mut converted = match detail::kind(code, detail) {
        Ok(Some(kind)) if told.is_empty() => {
            FsError::new(kind, format!("the {} refused with `{reason}`", peer.noun()))
        }
        Ok(Some(kind)) => FsError::new(kind, told),
        Ok(None) => {
            FsError::new(ErrorKind::IoError, format!("the {} refused with `{reason}`: {told}", peer.noun()))
        }
        Err(broken) => peer.breaks_contract(&broken),
    };
    if !path.is_empty() {
        converted = converted.with_path(line(&path));
    }
    if !rescue_path.is_empty() {
        converted = converted.with_rescue_path(line(&rescue_path));
    }
    converted.with_published(published)
}
