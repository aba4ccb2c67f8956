//! The result of a tool call, as it goes out.

use toolfs_contract::v1::{self, content_block::Block, execute_response::Outcome as Wire};
use toolfs_core::diff::{ChangedRanges, Diff, DiffLeftOut, DiffLine, DiffLineKind, DiffResult, Hunk};
use toolfs_core::edit::Matches;
use toolfs_core::notice::{Notice, NoticeKind};
use toolfs_core::outcome::{EditOutcome, Outcome, ReadOutcome, ToolResult, WriteOperation, WriteOutcome};
use toolfs_core::text::LineEndings;
use toolfs_core::window::{LineRef, StopReason};
use toolfs_tools::ExecuteResponse;

use super::call::Echo;
use super::{count, error, guard};

/// The answer to a call.
pub(crate) fn execute_response(response: ExecuteResponse, echo: Echo) -> v1::ExecuteResponse {
    let ExecuteResponse { text, result, .. } = response;
    let (outcome, error) = match result {
        ToolResult::Done(outcome) => (Some(outcome), None),
        ToolResult::Refused(error) => (None, Some(error)),
        ToolResult::PublishedNotDurable(outcome, error) => (Some(outcome), Some(error)),
    };
    v1::ExecuteResponse {
        dry_run: Some(echo.dry_run),
        content: vec![v1::ContentBlock { block: Some(Block::Text(text)) }],
        is_error: Some(error.is_some()),
        error: error.as_ref().map(error::fs_error),
        outcome: outcome.map(|outcome| self::outcome(outcome, &echo)),
        request_id: echo.request_id,
        tool_call_id: echo.tool_call_id,
    }
}

fn outcome(outcome: Outcome, echo: &Echo) -> Wire {
    match outcome {
        Outcome::Read(outcome) => Wire::Read(read_outcome(outcome, echo)),
        Outcome::Write(outcome) => Wire::Write(write_outcome(outcome, echo)),
        Outcome::Edit(outcome) => Wire::Edit(edit_outcome(outcome, echo)),
    }
}

fn read_outcome(outcome: ReadOutcome, echo: &Echo) -> v1::ReadOutcome {
    v1::ReadOutcome {
        offset: Some(count(outcome.block.first_line())),
        line_count: Some(count(outcome.block.line_count() as u64)),
        total_lines: Some(count(outcome.total_lines)),
        next_offset: outcome.next_offset().map(count),
        partial_view: Some(outcome.is_partial_view()),
        stop_reason: stop_reason(outcome.stop).into(),
        size: Some(count(outcome.size_bytes)),
        version: outcome.version.to_string(),
        line_endings: line_endings(outcome.line_endings).into(),
        ends_with_newline: Some(outcome.ends_with_newline),
        bom: Some(outcome.bom),
        lines: if echo.full { outcome.block.lines().map(read_line).collect() } else { Vec::new() },
        notices: outcome.notices.into_iter().map(notice).collect(),
        path: outcome.path,
    }
}

fn write_outcome(outcome: WriteOutcome, echo: &Echo) -> v1::WriteOutcome {
    v1::WriteOutcome {
        path: outcome.path,
        operation: write_operation(outcome.operation).into(),
        size: Some(count(outcome.size_bytes)),
        previous_size: outcome.previous_size_bytes.map(count),
        version: outcome.version.to_string(),
        notices: outcome.notices.into_iter().map(notice).collect(),
        diff: echo.full.then(|| diff(outcome.diff)),
        guard: echo.dry_run.then(|| guard::write_guard(outcome.guard)),
    }
}

fn edit_outcome(outcome: EditOutcome, echo: &Echo) -> v1::EditOutcome {
    v1::EditOutcome {
        path: outcome.path,
        replacements: Some(count(outcome.replacements)),
        replace_all: Some(outcome.replace_all),
        changed_ranges: Some(changed_ranges(&outcome.changed)),
        version: outcome.version.to_string(),
        notices: outcome.notices.into_iter().map(notice).collect(),
        diff: echo.full.then(|| diff(outcome.diff)),
        guard: echo.dry_run.then(|| guard::edit_guard(outcome.guard)),
        matches: echo.dry_run.then(|| matched_ranges(&outcome.matches)),
    }
}

fn read_line(line: LineRef<'_>) -> v1::ReadLine {
    v1::ReadLine {
        number: Some(count(line.number)),
        text: line.text.to_owned(),
        truncated: Some(line.full_chars.is_some()),
        full_length: Some(count(line.full_chars.unwrap_or_else(|| line.text.chars().count() as u64))),
    }
}

/// What ended a window.
pub(crate) fn stop_reason(stop: StopReason) -> v1::ReadStopReason {
    match stop {
        StopReason::EndOfFile => v1::ReadStopReason::EndOfFile,
        StopReason::LineLimit => v1::ReadStopReason::LineLimit,
        StopReason::ByteCap => v1::ReadStopReason::ByteCap,
    }
}

/// The line ends of a whole file.
pub(crate) fn line_endings(endings: LineEndings) -> v1::LineEndings {
    match endings {
        LineEndings::None => v1::LineEndings::None,
        LineEndings::Lf => v1::LineEndings::Lf,
        LineEndings::Crlf => v1::LineEndings::Crlf,
        LineEndings::Mixed => v1::LineEndings::Mixed,
    }
}

/// What kind of change a write is.
pub(crate) fn write_operation(operation: WriteOperation) -> v1::WriteOperation {
    match operation {
        WriteOperation::Create => v1::WriteOperation::Create,
        WriteOperation::Update => v1::WriteOperation::Update,
    }
}

/// A remark.
pub(crate) fn notice(notice: Notice) -> v1::Notice {
    v1::Notice { kind: notice_kind(notice.kind).into(), text: notice.text }
}

fn notice_kind(kind: NoticeKind) -> v1::NoticeKind {
    match kind {
        NoticeKind::LineEndingsChanged => v1::NoticeKind::LineEndingsChanged,
        NoticeKind::BomChanged => v1::NoticeKind::BomChanged,
        NoticeKind::FinalNewlineChanged => v1::NoticeKind::FinalNewlineChanged,
        NoticeKind::HardLinksKeepOldContent => v1::NoticeKind::HardLinksKeepOldContent,
        NoticeKind::OwnershipNotKept => v1::NoticeKind::OwnershipNotKept,
        NoticeKind::PrivilegeBitsDropped => v1::NoticeKind::PrivilegeBitsDropped,
        NoticeKind::AttributesNotKept => v1::NoticeKind::AttributesNotKept,
        NoticeKind::NotAtomic => v1::NoticeKind::NotAtomic,
        NoticeKind::ObservationNotRecorded => v1::NoticeKind::ObservationNotRecorded,
        NoticeKind::DiffLeftOut => v1::NoticeKind::DiffLeftOut,
        NoticeKind::Other => v1::NoticeKind::Unspecified,
    }
}

/// Which lines a mutation changed.
pub(crate) fn changed_ranges(changed: &ChangedRanges) -> v1::ChangedRanges {
    let ranges = changed.ranges.iter().map(|range| v1::ChangedRange {
        old_start: Some(count(range.old_start)),
        old_count: Some(count(range.old_count)),
        new_start: Some(count(range.new_start)),
        new_count: Some(count(range.new_count)),
    });
    v1::ChangedRanges { ranges: ranges.collect(), total: Some(count(changed.total)) }
}

/// Where an edit matches.
pub(crate) fn matched_ranges(matches: &Matches) -> v1::MatchedRanges {
    let ranges = matches.ranges.iter().map(|range| v1::LineRange {
        start_line: Some(count(range.start_line)),
        end_line: Some(count(range.end_line)),
    });
    v1::MatchedRanges { ranges: ranges.collect(), total: Some(count(matches.total)) }
}

/// What changed.
pub(crate) fn diff(diff: DiffResult) -> v1::Diff {
    match diff {
        DiffResult::Computed(diff) => computed_diff(diff),
        DiffResult::LeftOut(why) => {
            v1::Diff { omitted: Some(true), omission_reason: omission_reason(&why), ..v1::Diff::default() }
        }
    }
}

fn computed_diff(diff: Diff) -> v1::Diff {
    v1::Diff {
        text: diff.to_unified(),
        hunks: diff.hunks.into_iter().map(hunk).collect(),
        omitted: Some(false),
        omission_reason: String::new(),
    }
}

fn omission_reason(why: &DiffLeftOut) -> String {
    match why {
        DiffLeftOut::TooLarge { limit_bytes, size_bytes } => {
            format!("old and new content have {size_bytes} bytes, more than max_diff_bytes ({limit_bytes})")
        }
        DiffLeftOut::TooManyLines { limit_lines, lines } => {
            format!("it would have {lines} lines, more than {limit_lines}")
        }
        DiffLeftOut::OldIsNotText => "the old content is not text".to_owned(),
        DiffLeftOut::Told { reason } => reason.clone(),
    }
}

fn hunk(hunk: Hunk) -> v1::DiffHunk {
    v1::DiffHunk {
        old_start: Some(count(hunk.old_start)),
        old_count: Some(count(hunk.old_count)),
        new_start: Some(count(hunk.new_start)),
        new_count: Some(count(hunk.new_count)),
        lines: hunk.lines.into_iter().map(diff_line).collect(),
    }
}

fn diff_line(line: DiffLine) -> v1::DiffLine {
    let kind = match line.kind {
        DiffLineKind::Context => v1::DiffLineKind::Context,
        DiffLineKind::Removed => v1::DiffLineKind::Removed,
        DiffLineKind::Added => v1::DiffLineKind::Added,
    };
    v1::DiffLine { kind: kind.into(), text: line.text, newline_missing: Some(!line.has_newline) }
}
