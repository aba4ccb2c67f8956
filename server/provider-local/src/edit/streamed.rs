//! Deciding about an edit of a file that memory is not to hold.
//!
//! One pass over it tells its version, whether it is text, where it matches, and mostly what comes out. A second one is
//! made where that depends on the whole of the file: where every match is replaced, or where the line ends of the
//! replacement turned out otherwise. It must meet the same bytes. So all is known before the first byte is written.
//! Deliberately absent: what a change between these passes and the writing means, which is seen to where it is written.

use toolfs_core::edit::matcher::Needle;
use toolfs_core::edit::{self, Changed, EditRefusal, Finding, Found, Rewrite, Survey, Surveyed, near_miss};
use toolfs_core::error::{FsError, Result};
use toolfs_core::planted::Fault;
use toolfs_core::text::TextSummary;
use toolfs_core::version::{Version, VersionHasher};
use toolfs_provider::patience::CallPatience;
use toolfs_provider::request::EditTextRequest;

use super::{Call, Decided, Made};
use crate::content::piece_for_growth;
use crate::disk::{Disk, OpenFile};
use crate::publish::Setback;
use crate::read::{Pieces, judged, not_text, start_at};
use crate::watch::Watch;

/// How much a small file may grow in memory when every match in it is replaced.
const MAX_GROWTH_BYTES: u64 = 16 << 20;

/// Bytes of a character that a cut leaves behind at most: the search for near misses cuts between characters.
const MAX_CUT_OFF_BYTES: u64 = 3;

/// Whether memory is not to hold a file while it is edited. What reports no size is bounded when it is read.
pub(super) fn is_due(disk: &Disk, open: &OpenFile, request: &EditTextRequest) -> bool {
    if Fault::EditHoldsTheFile.is_planted() {
        return false;
    }
    let (size, edit) = (open.facts.size, &request.edit);
    let most_matches = size / edit.old_string().len().max(1) as u64;
    let most_growth = most_matches.saturating_mul(edit.new_string().len() as u64);
    size > disk.sizes.in_memory_bytes || (edit.replace_all() && most_growth > MAX_GROWTH_BYTES)
}

/// Passes over the file, judges and plans.
///
/// # Errors
/// The refusals of an edit, staleness before all others; [`Setback::Overtaken`] when a second pass met other bytes.
pub(super) fn decide(call: &Call<'_>, open: &OpenFile, watch: &Watch<'_>) -> Result<Decided, Setback> {
    let Call { disk, path, request, .. } = *call;
    let needle = Needle::new(request.edit.old_string());
    let max_diff_bytes = request.want_diff.then_some(disk.limits.max_diff_bytes);
    let Surveyed { version: hashed, text } = survey(call, open, watch, &needle, max_diff_bytes)?;
    let replaced = judged(disk, open, hashed.clone());
    call.judge(open, &replaced)?;
    let Found { before, finding } = text.map_err(|refused| not_text(refused, path))?;
    let refused = |refusal: EditRefusal| Setback::from(FsError::from(refusal).with_path(path));
    let pass = Pass { call, open, watch, hashed: &hashed, before: &before };
    let (changed, made) = match finding {
        Finding::Nothing => {
            // The search may take its time, and nothing is going to be written.
            watch.end();
            return Err(refused(nearly(call, open, &before)?));
        }
        Finding::Ambiguous { match_count, lines } => {
            return Err(refused(EditRefusal::Ambiguous { match_count, lines }));
        }
        Finding::One(mut planned) => {
            edit::within_limit(planned.size_bytes, disk.limits.max_file_bytes).map_err(refused)?;
            let changed = match planned.changed.take() {
                Some(changed) => changed,
                None => pass.run(Rewrite::planned(&planned, &before, max_diff_bytes), planned.size_bytes)?,
            };
            (changed, Made::Patched(planned.patch))
        }
        Finding::All { size_bytes, .. } => {
            edit::within_limit(size_bytes, disk.limits.max_file_bytes).map_err(refused)?;
            let rewrite = Rewrite::all(&request.edit, &needle, &before, max_diff_bytes);
            (pass.run(rewrite, size_bytes)?, Made::Respliced)
        }
    };
    let Changed { size_bytes, version, matches, changed, diff, after } = changed;
    // What was text is none any more by a NUL alone, and has no lines to tell of then.
    let after = (!request.edit.new_string().contains('\0')).then_some(after);
    Ok(Decided { replaced, before, after, version, size_bytes, matches, changed, diff, made })
}

fn survey(
    call: &Call<'_>,
    open: &OpenFile,
    watch: &Watch<'_>,
    needle: &Needle,
    max_diff_bytes: Option<u64>,
) -> Result<Surveyed> {
    let mut survey = Survey::new(&call.request.edit, needle, max_diff_bytes);
    let mut pieces = Pieces::whole(call.disk, open);
    while let Some(piece) = pieces.next(call.disk, open, call.abort)? {
        survey.feed(piece);
        watch.look();
    }
    Ok(survey.finish())
}

/// A second pass, which writes nothing.
struct Pass<'a> {
    call: &'a Call<'a>,
    open: &'a OpenFile,
    watch: &'a Watch<'a>,
    /// The version that the first pass met.
    hashed: &'a Version,
    before: &'a TextSummary,
}

impl Pass<'_> {
    fn run(&self, mut rewrite: Rewrite<'_>, new_bytes: u64) -> Result<Changed, Setback> {
        let Call { disk, abort, .. } = *self.call;
        start_at(self.open, 0)?;
        let mut pieces = Pieces::part(disk, self.open, self.before.size_bytes);
        let mut hasher = VersionHasher::new();
        let part_bytes = piece_for_growth(self.before.size_bytes, new_bytes);
        while let Some(piece) = pieces.next(disk, self.open, abort)? {
            hasher.update(piece);
            for part in piece.chunks(part_bytes) {
                self.call.check_abort()?;
                rewrite.feed(part, &mut |_| {});
                self.watch.look();
            }
        }
        let changed = rewrite.finish(&mut |_| {});
        if hasher.finish() == *self.hashed { Ok(changed) } else { Err(Setback::Overtaken) }
    }
}

/// The refusal when nothing matches. It looks at the start of the file once more, and at no more of it.
fn nearly(call: &Call<'_>, open: &OpenFile, before: &TextSummary) -> Result<EditRefusal> {
    let Call { disk, abort, request, .. } = *call;
    let max_bytes = disk.limits.near_miss_bytes.min(near_miss::MAX_SEARCHED_BYTES);
    let wanted = before.size_bytes.min(max_bytes.saturating_add(MAX_CUT_OFF_BYTES));
    start_at(open, 0)?;
    let mut start = Vec::new();
    let mut pieces = Pieces::part(disk, open, wanted);
    while let Some(piece) = pieces.next(disk, open, abort)? {
        start.extend_from_slice(piece);
    }
    let is_whole = wanted == before.size_bytes;
    let patience = CallPatience::new(abort, &disk.limits, Some(&*disk.clock));
    let search = near_miss::search(&start, is_whole, request.edit.old_string(), max_bytes, &patience);
    Ok(EditRefusal::NotFound { near_misses: search.near_misses, search_stopped: search.stopped })
}
