//! The one place where work that may block leaves the async threads.
//!
//! Work that was begun runs to its end, whether or not somebody still waits for it.

use toolfs_core::error::{AbortCause, ErrorKind, FsError, Published, Result};

/// Runs `work` on a thread that may block. Dropping the future does not stop it.
///
/// # Errors
/// Those of `work`; `FS_ABORTED` when the runtime ends before it began or before it could answer.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => {
                let kind = ErrorKind::Aborted { cause: AbortCause::Draining };
                Err(FsError::new(kind, "the server is shutting down").with_published(Published::Maybe))
            }
        },
    }
}
