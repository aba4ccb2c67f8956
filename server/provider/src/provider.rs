//! The trait of the seam.

use std::fmt;

use async_trait::async_trait;
use toolfs_core::error::Result;
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::window::LineWindow;

use crate::abort::AbortSignal;
use crate::capability::Capabilities;
use crate::content::{ContentStream, EntryStream};
use crate::report::{EditReport, LinesReport, Stat, WriteReport};
use crate::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};

/// A place that keeps files: a disk, memory, an object store, another process.
///
/// For every operation:
/// - `abort` is looked at before each step that takes long, and last before publication. A mutation that it stops
///   ends in `FS_ABORTED` with nothing published; after publication it is ignored.
/// - dropping the future has the same effect as aborting only where the implementation says so: callers run
///   mutations to their end.
/// - errors name the target's display path, carry no remedy, and echo no content.
/// - only regular files have content. Anything else is `FS_NOT_REGULAR_FILE`, decided without blocking.
#[async_trait]
pub trait Provider: Send + Sync + fmt::Debug {
    /// What this provider can do, and what it serves.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE` when it lives elsewhere and cannot be reached.
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities>;

    /// Finds where a path leads: existing or not, through links, beneath the roots.
    ///
    /// A path whose last components are missing resolves to the nearest existing directory and the missing rest.
    ///
    /// # Errors
    /// `FS_SANDBOX_DENIED` (leaves the roots; names the path as asked, never where it led), `FS_NOT_DIRECTORY` (a
    /// parent is a file, or a file has a trailing slash), `FS_NOT_FOUND` (`missing/../x`), `FS_INVALID_ARGUMENT` (a
    /// name that is too long, too many links), `FS_PERMISSION_DENIED`.
    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target>;

    /// Whether `target` is `ancestor` or lies beneath it, judged by keys alone.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a key that this provider never made.
    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool>;

    /// What is at a target, with its version when wanted (which reads the whole file).
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `FS_NOT_REGULAR_FILE` when a version of something else is wanted.
    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat>;

    /// What is at a path, a link itself if it is one. It has no version.
    ///
    /// # Errors
    /// Those of [`Provider::resolve`], and `FS_NOT_FOUND`.
    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat>;

    /// Reads a window of lines, and what a whole pass knows about the file, from one open file.
    ///
    /// A window that starts past the end has no lines and is no error here.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` with similar names, `FS_NOT_REGULAR_FILE`, `FS_NOT_TEXT`, `FS_PERMISSION_DENIED`.
    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport>;

    /// Reads a whole text, in pieces that end on character boundaries. The stream ends in an error when the file
    /// turns out not to be text.
    ///
    /// # Errors
    /// As [`Provider::read_lines`].
    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream>;

    /// Reads bytes of any file. The stream ends with a version only when the whole file was sent.
    ///
    /// # Errors
    /// `FS_TOO_LARGE` when the range holds more than `max_read_bytes`; `FS_OUT_OF_RANGE` is not used: a range past
    /// the end is empty.
    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream>;

    /// Lists a directory in batches, in no order. `.` and `..` are not in it.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_PERMISSION_DENIED`.
    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream>;

    /// Creates or fully replaces a file under a guard, creating missing parent directories.
    ///
    /// Lands whole or not at all. What is there is looked at in this order: its kind, protection and permission, the
    /// guard.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` (`content` is not UTF-8), `FS_NOT_REGULAR_FILE`, `FS_NOT_DIRECTORY` (a parent became a
    /// file), `FS_SANDBOX_DENIED` (protected), `FS_PERMISSION_DENIED`, `FS_NOT_OBSERVED` (something
    /// is there, create-if-absent), `FS_STALE_VERSION`, `FS_NO_SPACE`, `FS_IO_ERROR`, `FS_UNAVAILABLE`,
    /// `FS_ABORTED`. With `published` maybe, reading tells whether it is there.
    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport>;

    /// Replaces text under a guard: version check, match, replace and publication in one critical section.
    ///
    /// # Errors
    /// Those of [`Provider::write_text`], and in this order: `FS_STALE_VERSION` before `FS_NOT_TEXT` before
    /// `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT`, `FS_TOO_LARGE`. A missing target is `FS_STALE_VERSION`.
    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport>;

    /// Decides and reports as [`Provider::write_text`] would, and publishes nothing.
    ///
    /// # Errors
    /// Those of [`Provider::write_text`] that can be known without writing.
    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport>;

    /// Decides and reports as [`Provider::edit_text`] would, and publishes nothing.
    ///
    /// # Errors
    /// Those of [`Provider::edit_text`] that can be known without writing.
    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport>;
}
