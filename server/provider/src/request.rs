//! What the executor asks of a provider.

use std::fmt;

use bytes::Bytes;
use toolfs_core::edit::EditRequest;
use toolfs_core::error::Result;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::{TargetKey, display_form};

pub use crate::operation::OperationId;
use crate::refusal;

/// A path to resolve, as raw bytes.
///
/// - a relative `path` starts at `cwd`; without one at the first root
/// - `cwd` is an absolute path under a root
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveRequest {
    /// Where a relative path starts.
    pub cwd: Option<Vec<u8>>,
    /// The path as asked for.
    pub path: Vec<u8>,
}

impl ResolveRequest {
    /// The absolute path that is asked for, as it is spelled; a relative one without `cwd` starts at `first_root`.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for a path that is empty, has a NUL, or is too long as a whole or in one name, and for
    /// a `cwd` that is no absolute path.
    pub fn absolute_path(&self, first_root: &[u8], max_path_bytes: u64) -> Result<Vec<u8>> {
        let ResolveRequest { cwd, path } = self;
        if path.is_empty() {
            return Err(refusal::empty_path());
        }
        if path.contains(&0) {
            return Err(refusal::nul_in_path(display_form(path)));
        }
        if path.len() as u64 > max_path_bytes {
            return Err(refusal::path_too_long(display_form(path), path.len(), max_path_bytes));
        }
        let mut names = path.split(|byte| *byte == b'/');
        if let Some(name) = names.find(|name| name.len() > refusal::MAX_NAME_BYTES) {
            return Err(refusal::name_too_long(display_form(path), name.len()));
        }
        if path.starts_with(b"/") {
            return Ok(path.clone());
        }
        match cwd.as_deref() {
            None => Ok([first_root, b"/", path].concat()),
            Some(cwd) if cwd.starts_with(b"/") && !cwd.contains(&0) => Ok([cwd, b"/", path].concat()),
            Some(cwd) => Err(refusal::cwd_not_absolute(display_form(cwd))),
        }
    }
}

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte, from 0.
    pub offset: u64,
    /// How many at most; `None` to the end.
    pub length: Option<u64>,
}

impl ByteRange {
    /// The whole file.
    pub const WHOLE: ByteRange = ByteRange { offset: 0, length: None };
}

/// A whole-file write. Its `Debug` form shows the content's length only.
#[derive(Clone)]
pub struct WriteTextRequest {
    /// Where.
    pub target: TargetKey,
    /// The exact bytes of the new content.
    pub content: Bytes,
    /// Under which condition.
    pub guard: WriteGuard,
    /// Whether the report is to carry the diff.
    pub want_diff: bool,
    /// The operation's name, where [`crate::capability::Capabilities::operation_ids`] says that they are recorded;
    /// refused with `FS_UNSUPPORTED` elsewhere. A plan takes no notice of it.
    pub operation_id: Option<OperationId>,
}

impl fmt::Debug for WriteTextRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteTextRequest")
            .field("target", &self.target)
            .field("content_bytes", &self.content.len())
            .field("guard", &self.guard)
            .field("want_diff", &self.want_diff)
            .field("operation_id", &self.operation_id)
            .finish()
    }
}

/// A literal replacement.
#[derive(Clone, Debug)]
pub struct EditTextRequest {
    /// Where.
    pub target: TargetKey,
    /// What is replaced by what.
    pub edit: EditRequest,
    /// Under which condition.
    pub guard: EditGuard,
    /// Whether the report is to carry the diff.
    pub want_diff: bool,
    /// As in [`WriteTextRequest::operation_id`].
    pub operation_id: Option<OperationId>,
}
