//! Deciding about an edit of a file that memory holds: once as it was, and once as it will be.
//!
//! What is no text is only hashed. Deliberately absent: files that report no size and do not end, which reading them
//! refuses.

use rustix::io::Errno;
use toolfs_core::edit::{self, Edited};
use toolfs_core::error::{FsError, Result};
use toolfs_core::planted::Fault;
use toolfs_core::text::{NotText, TextScanner, summarize};
use toolfs_core::version::{Version, VersionHasher};
use toolfs_provider::patience::CallPatience;

use super::{Call, Decided, Made};
use crate::disk::OpenFile;
use crate::io_error::{READING, fs_error};
use crate::read::{Pieces, judged, not_text};

/// Reads, judges and edits.
///
/// # Errors
/// The refusals of an edit, staleness before all others.
pub(super) fn decide(call: &Call<'_>, open: &OpenFile) -> Result<Decided> {
    let Call { disk, path, request, abort, .. } = *call;
    let (replaced, content) = read(call, open)?;
    call.judge(open, &replaced)?;
    let content = content.map_err(|refused| not_text(refused, path))?;
    let patience = CallPatience::new(abort, &disk.limits, Some(&*disk.clock));
    let edited = edit::apply(&content, &request.edit, &disk.limits, &patience);
    let Edited { mut content, before, matches, changed, diff } =
        edited.map_err(|refused| FsError::from(refused).with_path(path))?;
    if Fault::EditUnifiesLineEnds.is_planted() {
        content = String::from_utf8_lossy(&content).replace("\r\n", "\n").into_bytes();
    }
    Ok(Decided {
        replaced,
        before,
        after: summarize(&content).ok(),
        version: Version::of(&content),
        size_bytes: content.len() as u64,
        matches,
        changed,
        diff: request.want_diff.then_some(diff),
        made: Made::Whole(content),
    })
}

/// The version of the old content, and the content itself.
fn read(call: &Call<'_>, open: &OpenFile) -> Result<(Version, Result<Vec<u8>, NotText>)> {
    let size = usize::try_from(open.facts.size).unwrap_or(usize::MAX);
    let mut content = Vec::new();
    content.try_reserve_exact(size).map_err(|_| fs_error(&open.path, READING, Errno::NOMEM))?;
    let mut hasher = VersionHasher::new();
    let mut scanner = Ok(TextScanner::new());
    let mut pieces = Pieces::whole(call.disk, open);
    while let Some(piece) = pieces.next(call.disk, open, call.abort)? {
        hasher.update(piece);
        scanner = scanner.and_then(|mut scanner| scanner.feed(piece).map(|()| scanner));
        match &scanner {
            Ok(_) => content.extend_from_slice(piece),
            Err(_) => content = Vec::new(),
        }
    }
    let content = scanner.and_then(TextScanner::finish).map(|_| content);
    Ok((judged(call.disk, open, hasher.finish()), content))
}
