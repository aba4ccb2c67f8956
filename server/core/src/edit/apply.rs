//! An edit of a content that is in memory as a whole.

use super::digest::Unnamed;
use super::matcher::Needle;
use super::{
    EditRefusal, EditRequest, Edited, Finding, Found, Patience, Rewrite, Survey, Surveyed, near_miss,
    within_limit,
};
use crate::error::Result;
use crate::limit::Limits;

/// Applies an edit to a whole content: a [`Survey`] and a [`Rewrite`] with nothing between them.
///
/// The diff is made around the changed lines only, so it costs what changed and not what the file holds. Of an edit
/// `max_diff_bytes` bounds these lines, whole and on both sides, together with their context.
///
/// # Errors
/// [`EditRefusal`]; the content is untouched then. A result that memory has no room for is
/// [`EditRefusal::TooLarge`] like one above `max_file_bytes`.
pub fn apply(
    content: &[u8],
    edit: &EditRequest,
    limits: &Limits,
    patience: &dyn Patience,
) -> Result<Edited, EditRefusal> {
    let needle = Needle::new(edit.old_string());
    let max_diff_bytes = Some(limits.max_diff_bytes);
    let mut survey = Survey::<Unnamed>::with_digest(edit, &needle, max_diff_bytes);
    survey.feed(content);
    let Surveyed { version: (), text } = survey.finish();
    let Found { before, finding } = text.map_err(EditRefusal::NotText)?;

    let (changed, edited) = match finding {
        Finding::Nothing => {
            let search =
                near_miss::search(content, true, edit.old_string(), limits.near_miss_bytes, patience);
            return Err(EditRefusal::NotFound {
                near_misses: search.near_misses,
                search_stopped: search.stopped,
            });
        }
        Finding::Ambiguous { match_count, lines } => {
            return Err(EditRefusal::Ambiguous { match_count, lines });
        }
        Finding::One(mut planned) => {
            let mut edited = allocate(planned.size_bytes, limits.max_file_bytes)?;
            match planned.changed.take() {
                Some(changed) => {
                    edited.extend_from_slice(&content[..index(planned.patch.kept_until)]);
                    edited.extend_from_slice(&planned.patch.insert);
                    edited.extend_from_slice(&content[index(planned.patch.resume_at)..]);
                    (changed, edited)
                }
                None => rewrite(content, Rewrite::of_plan(&planned, &before, max_diff_bytes), edited),
            }
        }
        Finding::All { size_bytes, .. } => {
            let edited = allocate(size_bytes, limits.max_file_bytes)?;
            rewrite(content, Rewrite::of_all(edit, &needle, &before, max_diff_bytes), edited)
        }
    };
    let diff = changed.diff.expect("a diff was wanted");
    Ok(Edited { content: edited, before, matches: changed.matches, changed: changed.changed, diff })
}

fn rewrite(
    content: &[u8],
    mut rewrite: Rewrite<'_, Unnamed>,
    mut edited: Vec<u8>,
) -> (super::Changed<()>, Vec<u8>) {
    let mut write = |bytes: &[u8]| edited.extend_from_slice(bytes);
    rewrite.feed(content, &mut write);
    let changed = rewrite.finish(&mut write);
    (changed, edited)
}

/// An empty buffer with room for the result.
fn allocate(size_bytes: u64, max_file_bytes: Option<u64>) -> Result<Vec<u8>, EditRefusal> {
    within_limit(size_bytes, max_file_bytes)?;
    // The largest buffer that can be there at all is the limit to name when memory ends before any configured one.
    let no_room = || EditRefusal::TooLarge { limit_bytes: isize::MAX.unsigned_abs() as u64, size_bytes };
    let mut buffer = Vec::new();
    let size = usize::try_from(size_bytes).map_err(|_| no_room())?;
    buffer.try_reserve_exact(size).map_err(|_| no_room())?;
    Ok(buffer)
}

/// An offset into a content that is in memory.
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset into memory fits into a usize")
}
