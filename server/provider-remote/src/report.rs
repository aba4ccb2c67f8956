//! What a mutation did or would do, read from the peer's messages.

use toolfs_contract::v1;
use toolfs_core::diff::{
    ChangedRange, ChangedRanges, Diff, DiffLeftOut, DiffLine, DiffLineKind, DiffResult, Hunk,
};
use toolfs_core::edit::{MatchRange, Matches};
use toolfs_core::error::{FsError, Published};
use toolfs_core::notice::{Notice, NoticeKind};
use toolfs_core::outcome::WriteOperation;
use toolfs_provider::report::{EditReport, WriteReport};
use toolfs_provider::request::{EditTextRequest, WriteTextRequest};
use toolfs_remote::{Broken, Peer, count, fs_error, line, required, version};

type Result<T> = std::result::Result<T, Broken>;

/// The report of a write that was asked for so.
pub(crate) fn write(
    report: Option<v1::WriteReport>,
    not_durable: Option<v1::FsError>,
    asked: &WriteTextRequest,
) -> Result<WriteReport> {
    let report = required("report", report)?;
    let operation = match report.operation() {
        v1::WriteOperation::Unspecified => {
            return Err(Broken::new("report.operation", "is missing or not known"));
        }
        v1::WriteOperation::Create => WriteOperation::Create,
        v1::WriteOperation::Update => WriteOperation::Update,
    };
    let size_bytes = count("report.size", report.size)?;
    let size_agrees = size_bytes == asked.content.len() as u64;
    Broken::unless(size_agrees, "report.size", "is not the size of the content that was sent")?;
    let previous_size_bytes =
        report.previous_size.map(|size| count("report.previous_size", Some(size))).transpose()?;
    let agrees = previous_size_bytes.is_some() == (operation == WriteOperation::Update);
    Broken::unless(agrees, "report.previous_size", "contradicts the operation")?;
    Ok(WriteReport {
        operation,
        size_bytes,
        previous_size_bytes,
        version: version("report.version", &report.version)?,
        notices: report.notices.into_iter().map(notice).collect(),
        diff: wanted_diff(report.diff, asked.want_diff)?,
        not_durable: not_durable.map(published),
    })
}

/// The report of an edit that was asked for so.
pub(crate) fn edit(
    report: Option<v1::EditReport>,
    not_durable: Option<v1::FsError>,
    asked: &EditTextRequest,
) -> Result<EditReport> {
    let report = required("report", report)?;
    let matches = matches(required("report.matches", report.matches)?)?;
    let replacements = count("report.replacements", report.replacements)?;
    Broken::unless(replacements == matches.total, "report.replacements", "contradicts the matches")?;
    let as_asked = if asked.edit.replace_all() { replacements >= 1 } else { replacements == 1 };
    Broken::unless(as_asked, "report.replacements", "is not what was asked for")?;
    Ok(EditReport {
        matches,
        changed: changed(required("report.changed_ranges", report.changed_ranges)?)?,
        size_bytes: count("report.size", report.size)?,
        version: version("report.version", &report.version)?,
        notices: report.notices.into_iter().map(notice).collect(),
        diff: wanted_diff(report.diff, asked.want_diff)?,
        not_durable: not_durable.map(published),
    })
}

/// The failure after a publication: whatever it says of itself, the effect is there.
fn published(error: v1::FsError) -> FsError {
    fs_error(Peer::Provider, error, Published::Yes).with_published(Published::Yes)
}

/// A kind that this build does not know keeps its text.
fn notice(notice: v1::Notice) -> Notice {
    let kind = match notice.kind() {
        v1::NoticeKind::Unspecified => NoticeKind::Other,
        v1::NoticeKind::LineEndingsChanged => NoticeKind::LineEndingsChanged,
        v1::NoticeKind::BomChanged => NoticeKind::BomChanged,
        v1::NoticeKind::FinalNewlineChanged => NoticeKind::FinalNewlineChanged,
        v1::NoticeKind::HardLinksKeepOldContent => NoticeKind::HardLinksKeepOldContent,
        v1::NoticeKind::OwnershipNotKept => NoticeKind::OwnershipNotKept,
        v1::NoticeKind::PrivilegeBitsDropped => NoticeKind::PrivilegeBitsDropped,
        v1::NoticeKind::AttributesNotKept => NoticeKind::AttributesNotKept,
        v1::NoticeKind::NotAtomic => NoticeKind::NotAtomic,
        v1::NoticeKind::ObservationNotRecorded => NoticeKind::ObservationNotRecorded,
        v1::NoticeKind::DiffLeftOut => NoticeKind::DiffLeftOut,
    };
    Notice::new(kind, line(&notice.text))
}

fn matches(matches: v1::MatchedRanges) -> Result<Matches> {
    let total = count("report.matches.total", matches.total)?;
    let told = matches.ranges.len() as u64;
    let complete = told == total.min(Matches::MAX_RANGES as u64);
    Broken::unless(complete, "report.matches.ranges", "contradicts the total")?;
    let ranges = matches.ranges.into_iter().map(|range| {
        let start_line = count("report.matches.start_line", range.start_line)?;
        let end_line = count("report.matches.end_line", range.end_line)?;
        let in_order = 1 <= start_line && start_line <= end_line;
        Broken::unless(in_order, "report.matches.end_line", "is before the first line")?;
        Ok(MatchRange { start_line, end_line })
    });
    Ok(Matches { ranges: ranges.collect::<Result<_>>()?, total })
}

fn changed(changed: v1::ChangedRanges) -> Result<ChangedRanges> {
    let total = count("report.changed_ranges.total", changed.total)?;
    let told = changed.ranges.len() as u64;
    let complete = told == total.min(ChangedRanges::MAX_RANGES as u64);
    Broken::unless(complete, "report.changed_ranges.ranges", "contradicts the total")?;
    let ranges = changed.ranges.into_iter().map(|range| {
        Ok(ChangedRange {
            old_start: count("report.changed_ranges.old_start", range.old_start)?,
            old_count: count("report.changed_ranges.old_count", range.old_count)?,
            new_start: count("report.changed_ranges.new_start", range.new_start)?,
            new_count: count("report.changed_ranges.new_count", range.new_count)?,
        })
    });
    Ok(ChangedRanges { ranges: ranges.collect::<Result<_>>()?, total })
}

/// The diff where one was asked for. A peer that made none is no reason to doubt what it did.
fn wanted_diff(diff: Option<v1::Diff>, is_wanted: bool) -> Result<Option<DiffResult>> {
    let Some(diff) = diff.filter(|_| is_wanted) else { return Ok(None) };
    if required("report.diff.omitted", diff.omitted)? {
        let reason = if diff.omission_reason.is_empty() {
            "the provider does not say why".to_owned()
        } else {
            line(&diff.omission_reason)
        };
        return Ok(Some(DiffResult::LeftOut(DiffLeftOut::Told { reason })));
    }
    let hunks = diff.hunks.into_iter().map(hunk).collect::<Result<_>>()?;
    Ok(Some(DiffResult::Computed(Diff { hunks })))
}

fn hunk(hunk: v1::DiffHunk) -> Result<Hunk> {
    let hunk = Hunk {
        old_start: count("report.diff.hunks.old_start", hunk.old_start)?,
        old_count: count("report.diff.hunks.old_count", hunk.old_count)?,
        new_start: count("report.diff.hunks.new_start", hunk.new_start)?,
        new_count: count("report.diff.hunks.new_count", hunk.new_count)?,
        lines: hunk.lines.into_iter().map(diff_line).collect::<Result<_>>()?,
    };
    let count_but = |kind| hunk.lines.iter().filter(|line| line.kind != kind).count() as u64;
    let agrees = count_but(DiffLineKind::Added) == hunk.old_count
        && count_but(DiffLineKind::Removed) == hunk.new_count;
    Broken::unless(agrees, "report.diff.hunks", "has other lines than it counts")?;
    Ok(hunk)
}

fn diff_line(line: v1::DiffLine) -> Result<DiffLine> {
    let kind = match line.kind() {
        v1::DiffLineKind::Unspecified => {
            return Err(Broken::new("report.diff.hunks.lines.kind", "is missing or not known"));
        }
        v1::DiffLineKind::Context => DiffLineKind::Context,
        v1::DiffLineKind::Removed => DiffLineKind::Removed,
        v1::DiffLineKind::Added => DiffLineKind::Added,
    };
    Broken::unless(!line.text.contains('\n'), "report.diff.hunks.lines.text", "has a line end")?;
    let missing = required("report.diff.hunks.lines.newline_missing", line.newline_missing)?;
    Ok(DiffLine { kind, text: line.text, has_newline: !missing })
}
