//! The seam: what is asked of a provider, and what it answers.
//!
//! A field that is missing, or that no value can be made of, is refused here by its name. What a value means is the
//! provider's to judge.

use std::ops::ControlFlow;

use bytes::Bytes;
use prost::Message as _;
use tonic::Status;
use toolfs_contract::v1;
use toolfs_core::edit::EditRequest;
use toolfs_core::error::FsError;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::limit::{LimitName, Limits};
use toolfs_core::target::{FileKind, Target, TargetKey};
use toolfs_core::version::Version;
use toolfs_core::window::{LineRef, LineWindow};
use toolfs_provider::capability::Capabilities;
use toolfs_provider::report::{EditReport, Entry, LinesReport, Stat, WriteReport};
use toolfs_provider::request::{ByteRange, EditTextRequest, OperationId, ResolveRequest, WriteTextRequest};

use super::{capability, count, error, guard, outcome, timestamp};
use crate::status;

/// Bytes of one piece of content in an answer.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Bytes of directory entries in one message of an answer, but for a single entry that is larger.
const BATCH_BYTES: usize = 64 << 10;

/// Of how many bytes of a message each line of a window takes at most one share, beside its text: its length, its flags
/// and its full length.
const LINE_OVERHEAD_BYTES: u64 = 32;

/// Within what the seam is served.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// The limits in force.
    pub(crate) limits: Limits,
    /// The size of one message.
    pub(crate) max_message_bytes: u64,
    /// The size of the content of one write, which is held in memory until its trailer has come.
    pub(crate) max_stream_bytes: u64,
}

/// What a provider can do, and the limits that hold on the seam.
pub(crate) fn get_provider_capabilities_response(
    capabilities: &Capabilities,
    bounds: &Bounds,
) -> v1::GetProviderCapabilitiesResponse {
    v1::GetProviderCapabilitiesResponse {
        provider: Some(capability::provider_capabilities(capabilities)),
        durability: capability::durability(capabilities.durability).into(),
        roots: capabilities.roots.iter().map(capability::root).collect(),
        protected_patterns: capabilities.protected_patterns.clone(),
        limits: LimitName::ALL.into_iter().filter_map(|name| limit(name, bounds)).collect(),
    }
}

/// A limit as it holds on the seam; `None` for those of the tools, the sessions and the state.
fn limit(name: LimitName, bounds: &Bounds) -> Option<v1::Limit> {
    let value = match name {
        LimitName::MaxContentBytes => Some(bounds.max_stream_bytes),
        LimitName::MaxMessageBytes => Some(bounds.max_message_bytes),
        LimitName::MaxWindowBytes
        | LimitName::MaxLineChars
        | LimitName::MaxFileBytes
        | LimitName::MaxReadBytes
        | LimitName::MaxDiffBytes
        | LimitName::MaxPathBytes
        | LimitName::NearMissBytes
        | LimitName::NearMissMs => bounds.limits.value(name),
        LimitName::DefaultLimitLines
        | LimitName::MaxLimitLines
        | LimitName::MaxSessions
        | LimitName::WriteBehindMs
        | LimitName::MaxRememberedBytes => return None,
    };
    Some(capability::limit(name, value))
}

/// A path that is to be resolved.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` when there is none.
pub(crate) fn resolve_request(request: v1::ResolveRequest) -> Result<ResolveRequest, Status> {
    use v1::resolve_request::{Directory, Location};
    let v1::ResolveRequest { directory, location } = request;
    let cwd = directory.map(|directory| match directory {
        Directory::Cwd(text) => text.into_bytes(),
        Directory::RawCwd(raw) => raw.into(),
    });
    let path = location.map(|location| match location {
        Location::Path(text) => text.into_bytes(),
        Location::RawPath(raw) => raw.into(),
    });
    Ok(ResolveRequest { cwd, path: path.ok_or_else(|| absent("path", "`path` or `raw_path`"))? })
}

/// A path that is to be looked at.
///
/// # Errors
/// As [`resolve_request`].
pub(crate) fn lstat_request(request: v1::LstatRequest) -> Result<ResolveRequest, Status> {
    use v1::lstat_request::{Directory, Location};
    let v1::LstatRequest { directory, location } = request;
    let cwd = directory.map(|directory| match directory {
        Directory::Cwd(text) => text.into_bytes(),
        Directory::RawCwd(raw) => raw.into(),
    });
    let path = location.map(|location| match location {
        Location::Path(text) => text.into_bytes(),
        Location::RawPath(raw) => raw.into(),
    });
    Ok(ResolveRequest { cwd, path: path.ok_or_else(|| absent("path", "`path` or `raw_path`"))? })
}

/// The target of a request.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names `field` when there is none.
pub(crate) fn target_key(field: &str, key: Bytes) -> Result<TargetKey, Status> {
    if key.is_empty() {
        return Err(absent(field, "the key of a resolved target"));
    }
    Ok(TargetKey::new(Vec::from(key)))
}

/// Which lines are asked for. A window is never wider than one message can carry.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names what is out of range.
pub(crate) fn line_window(request: &v1::ReadLinesRequest, bounds: &Bounds) -> Result<LineWindow, Status> {
    let at_least_one = |field: &str, value: Option<i64>, absent: u64| match value {
        None => Ok(absent),
        Some(value) => positive(field, value),
    };
    let Bounds { limits, max_message_bytes, .. } = bounds;
    let widest_bytes = (max_message_bytes / 4).max(1);
    let most_lines = (max_message_bytes / 2 / LINE_OVERHEAD_BYTES).max(1);
    Ok(LineWindow {
        first_line: at_least_one("first_line", request.first_line, 1)?,
        max_lines: at_least_one("max_lines", request.max_lines, u64::MAX)?.min(most_lines),
        max_bytes: at_least_one("max_bytes", request.max_bytes, limits.max_window_bytes)?.min(widest_bytes),
        max_line_chars: at_least_one("max_line_chars", request.max_line_chars, limits.max_line_chars)?,
    })
}

/// Which bytes are asked for.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names what is negative.
pub(crate) fn byte_range(request: &v1::ReadBytesRequest) -> Result<ByteRange, Status> {
    let offset = request.offset.map_or(Ok(0), |offset| not_negative("offset", offset))?;
    let length = request.length.map(|length| not_negative("length", length)).transpose()?;
    Ok(ByteRange { offset, length })
}

/// A write before its content has come.
#[derive(Clone, Debug)]
pub(crate) struct WriteHeader {
    /// Where.
    pub(crate) target: TargetKey,
    /// Under which condition.
    pub(crate) guard: WriteGuard,
    /// How many bytes the content has.
    pub(crate) size_bytes: u64,
    want_diff: bool,
    operation_id: Option<OperationId>,
}

impl WriteHeader {
    /// The write, once its content has come.
    pub(crate) fn with_content(self, content: Bytes) -> WriteTextRequest {
        let WriteHeader { target, guard, size_bytes: _, want_diff, operation_id } = self;
        WriteTextRequest { target, content, guard, want_diff, operation_id }
    }
}

/// The header of a write.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names the field, `GUARD_MISSING`.
pub(crate) fn write_text_header(header: v1::WriteTextHeader) -> Result<WriteHeader, Status> {
    let v1::WriteTextHeader { target_key, guard, size, operation_id, want_diff } = header;
    Ok(WriteHeader {
        target: self::target_key("target_key", target_key.unwrap_or_default())?,
        guard: guard::asked_write_guard(guard)?,
        size_bytes: content_size(size)?,
        want_diff: want_diff.unwrap_or(false),
        operation_id: operation_id.map(self::operation_id).transpose()?,
    })
}

/// The header of a planned write.
///
/// # Errors
/// As [`write_text_header`].
pub(crate) fn plan_write_header(header: v1::PlanWriteHeader) -> Result<WriteHeader, Status> {
    let v1::PlanWriteHeader { target_key, guard, size, want_diff } = header;
    write_text_header(v1::WriteTextHeader { target_key, guard, size, operation_id: None, want_diff })
}

fn content_size(size: Option<i64>) -> Result<u64, Status> {
    not_negative("size", size.ok_or_else(|| absent("size", "the size of the content in bytes"))?)
}

fn operation_id(text: String) -> Result<OperationId, Status> {
    OperationId::parse(&text).map_err(|error| status::between_processes(&error))
}

/// An edit.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names the field, `GUARD_MISSING`.
pub(crate) fn edit_text_request(request: v1::EditTextRequest) -> Result<EditTextRequest, Status> {
    let v1::EditTextRequest {
        target_key,
        guard,
        old_string,
        new_string,
        replace_all,
        operation_id,
        want_diff,
    } = request;
    let target = self::target_key("target_key", target_key.unwrap_or_default())?;
    let guard: EditGuard = guard::asked_edit_guard(guard)?;
    let old_string = old_string.ok_or_else(|| absent("old_string", "the text to replace"))?;
    let new_string = new_string.ok_or_else(|| absent("new_string", "the text to put in its place"))?;
    let edit = EditRequest::new(old_string, new_string, replace_all.unwrap_or(false))
        .map_err(|error| status::between_processes(&error))?;
    let operation_id = operation_id.map(self::operation_id).transpose()?;
    Ok(EditTextRequest { target, edit, guard, want_diff: want_diff.unwrap_or(false), operation_id })
}

/// A planned edit.
///
/// # Errors
/// As [`edit_text_request`].
pub(crate) fn plan_edit_request(request: v1::PlanEditRequest) -> Result<EditTextRequest, Status> {
    let v1::PlanEditRequest { target_key, guard, old_string, new_string, replace_all, want_diff } = request;
    edit_text_request(v1::EditTextRequest {
        target_key,
        guard,
        old_string,
        new_string,
        replace_all,
        operation_id: None,
        want_diff,
    })
}

/// A resolved path.
pub(crate) fn target(target: Target) -> v1::Target {
    v1::Target {
        target_key: Bytes::copy_from_slice(target.key.as_bytes()),
        raw_path: target.raw_path.into(),
        process_path: target.process_path.into(),
        display_path: target.display_path,
        file_url: target.file_url,
        protected_rule: target.protected_rule.unwrap_or_default(),
    }
}

/// What is at a path. A size is told of regular files only: of others it means nothing.
pub(crate) fn file_stat(stat: Stat) -> v1::FileStat {
    v1::FileStat {
        kind: error::file_kind(stat.kind).into(),
        size: (stat.kind == FileKind::Regular).then(|| count(stat.size_bytes)),
        mode: stat.mode.map(|mode| i32::try_from(mode & 0o7777).expect("12 bits fit")),
        modified: stat.modified.map(timestamp),
        version: stat.version.map(|version| version.to_string()).unwrap_or_default(),
    }
}

/// A window of lines and the file around it.
pub(crate) fn read_lines_response(report: &LinesReport) -> v1::ReadLinesResponse {
    let LinesReport { window, summary, version } = report;
    v1::ReadLinesResponse {
        lines: window.block.lines().map(raw_line).collect(),
        first_line: Some(count(window.block.first_line())),
        total_lines: Some(count(summary.total_lines)),
        size: Some(count(summary.size_bytes)),
        version: version.to_string(),
        line_endings: outcome::line_endings(summary.line_endings()).into(),
        ends_with_newline: Some(summary.ends_with_newline),
        bom: Some(summary.bom),
        stop_reason: outcome::stop_reason(window.stop).into(),
    }
}

fn raw_line(line: LineRef<'_>) -> v1::RawLine {
    v1::RawLine {
        text: Bytes::copy_from_slice(line.text.as_bytes()),
        crlf: Some(line.crlf),
        truncated: Some(line.full_chars.is_some()),
        full_length: line.full_chars.map(count),
    }
}

/// The begin of content.
pub(crate) fn content_header(size_bytes: u64) -> v1::ContentHeader {
    v1::ContentHeader { kind: v1::FileKind::Regular.into(), size: Some(count(size_bytes)) }
}

/// The end of content.
pub(crate) fn content_trailer(version: Option<Version>) -> v1::ContentTrailer {
    v1::ContentTrailer { version: version.map(|version| version.to_string()).unwrap_or_default() }
}

/// Cuts the next piece off content: at most [`PIECE_BYTES`], and between two characters where it is text.
pub(crate) fn next_piece(rest: &mut Bytes) -> ControlFlow<(), Bytes> {
    if rest.is_empty() {
        return ControlFlow::Break(());
    }
    let is_continuation = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    let end = if rest.len() <= PIECE_BYTES {
        rest.len()
    } else {
        // A character has at most 4 bytes: where more continuation bytes follow each other there is no text.
        (PIECE_BYTES - 3..=PIECE_BYTES).rev().find(|end| !is_continuation(rest[*end])).unwrap_or(PIECE_BYTES)
    };
    ControlFlow::Continue(rest.split_to(end))
}

/// Entries in messages of bounded size. None is empty.
pub(crate) fn list_dir_responses(entries: Vec<Entry>) -> Vec<v1::ListDirResponse> {
    let mut responses = Vec::new();
    let (mut batch, mut batch_bytes) = (Vec::new(), 0);
    for entry in entries {
        let entry = directory_entry(entry);
        let bytes = entry.encoded_len();
        if !batch.is_empty() && batch_bytes + bytes > BATCH_BYTES {
            responses.push(v1::ListDirResponse { entries: std::mem::take(&mut batch) });
            batch_bytes = 0;
        }
        batch_bytes += bytes;
        batch.push(entry);
    }
    if !batch.is_empty() {
        responses.push(v1::ListDirResponse { entries: batch });
    }
    responses
}

fn directory_entry(entry: Entry) -> v1::DirectoryEntry {
    v1::DirectoryEntry {
        raw_name: entry.raw_name.into(),
        display_name: entry.display_name,
        kind: error::file_kind(entry.kind).into(),
    }
}

/// A published write.
pub(crate) fn write_text_response(report: WriteReport) -> v1::WriteTextResponse {
    let not_durable = report.not_durable.as_ref().map(not_durable);
    v1::WriteTextResponse { report: Some(write_report(report)), not_durable }
}

/// A planned write.
pub(crate) fn plan_write_response(report: WriteReport) -> v1::PlanWriteResponse {
    v1::PlanWriteResponse { report: Some(write_report(report)) }
}

fn write_report(report: WriteReport) -> v1::WriteReport {
    let WriteReport { operation, size_bytes, previous_size_bytes, version, notices, diff, not_durable: _ } =
        report;
    v1::WriteReport {
        operation: outcome::write_operation(operation).into(),
        size: Some(count(size_bytes)),
        previous_size: previous_size_bytes.map(count),
        version: version.to_string(),
        notices: notices.into_iter().map(outcome::notice).collect(),
        diff: diff.map(outcome::diff),
    }
}

/// A published edit.
pub(crate) fn edit_text_response(report: EditReport) -> v1::EditTextResponse {
    let not_durable = report.not_durable.as_ref().map(not_durable);
    v1::EditTextResponse { report: Some(edit_report(report)), not_durable }
}

/// A planned edit.
pub(crate) fn plan_edit_response(report: EditReport) -> v1::PlanEditResponse {
    v1::PlanEditResponse { report: Some(edit_report(report)) }
}

fn edit_report(report: EditReport) -> v1::EditReport {
    let EditReport { matches, changed, size_bytes, version, notices, diff, not_durable: _ } = report;
    v1::EditReport {
        replacements: Some(count(matches.total)),
        matches: Some(outcome::matched_ranges(&matches)),
        changed_ranges: Some(outcome::changed_ranges(&changed)),
        size: Some(count(size_bytes)),
        version: version.to_string(),
        notices: notices.into_iter().map(outcome::notice).collect(),
        diff: diff.map(outcome::diff),
    }
}

/// It travels in a message, whole; what to do next is told by the tools alone.
fn not_durable(error: &FsError) -> v1::FsError {
    v1::FsError { remedy: String::new(), detail_truncated: Some(false), ..error::fs_error(error) }
}

fn positive(field: &str, value: i64) -> Result<u64, Status> {
    u64::try_from(value)
        .ok()
        .filter(|value| *value > 0)
        .ok_or_else(|| invalid(field, value.to_string(), "1 or more"))
}

fn not_negative(field: &str, value: i64) -> Result<u64, Status> {
    u64::try_from(value).map_err(|_| invalid(field, value.to_string(), "0 or more"))
}

/// The refusal of a field that is missing.
pub(crate) fn absent(field: &str, expected: &str) -> Status {
    invalid(field, "absent", expected)
}

/// The refusal of a field.
pub(crate) fn invalid(field: &str, actual: impl Into<String>, expected: impl Into<String>) -> Status {
    status::between_processes(&FsError::invalid_argument(field, actual, expected))
}

#[cfg(test)]
mod tests {
    use toolfs_core::clock::Timestamp;

    use super::*;

    fn pieces(content: &[u8]) -> Vec<Bytes> {
        let mut rest = Bytes::copy_from_slice(content);
        let mut pieces = Vec::new();
        while let ControlFlow::Continue(piece) = next_piece(&mut rest) {
            pieces.push(piece);
        }
        pieces
    }

    #[test]
    fn pieces_are_bounded_and_end_between_characters() {
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "\u{1F600}".repeat(PIECE_BYTES));
            let pieces = pieces(text.as_bytes());
            assert!(pieces.len() > 3);
            for piece in &pieces {
                assert!((1..=PIECE_BYTES).contains(&piece.len()));
                assert!(std::str::from_utf8(piece).is_ok());
            }
            assert_eq!(pieces.concat(), text.as_bytes());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_cut_all_the_same() {
        let content = vec![0x80; PIECE_BYTES * 2 + 1];
        let pieces = pieces(&content);
        assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [PIECE_BYTES, PIECE_BYTES, 1]);
        assert!(super::tests::pieces(b"").is_empty());
    }

    #[test]
    fn entries_of_one_batch_are_sent_in_several_messages_when_they_are_many() {
        let entry = |index: usize, length: usize| Entry {
            raw_name: index.to_be_bytes().to_vec(),
            display_name: "n".repeat(length),
            kind: FileKind::Regular,
        };
        let names = |responses: Vec<v1::ListDirResponse>| {
            let entries = responses.into_iter().flat_map(|response| response.entries);
            entries.map(|entry| entry.raw_name).collect::<Vec<_>>()
        };
        let many: Vec<_> = (0..1_000).map(|index| entry(index, 200)).collect();
        let expected: Vec<_> = many.iter().map(|entry| Bytes::from(entry.raw_name.clone())).collect();
        let responses = list_dir_responses(many);
        assert!(responses.len() > 2);
        assert!(responses.iter().all(|response| !response.entries.is_empty()));
        assert!(responses.iter().all(|response| response.encoded_len() <= BATCH_BYTES * 2));
        assert_eq!(names(responses), expected);

        let huge = list_dir_responses(vec![entry(0, BATCH_BYTES * 2), entry(1, 1)]);
        assert_eq!(huge.iter().map(|response| response.entries.len()).collect::<Vec<_>>(), [1, 1]);
        assert!(list_dir_responses(Vec::new()).is_empty());
    }

    #[test]
    fn a_stat_tells_only_what_there_is() {
        let stat = |kind, mode| Stat {
            kind,
            size_bytes: 4_096,
            mode,
            modified: Some(Timestamp(1_500)),
            version: None,
        };
        let file = file_stat(stat(FileKind::Regular, Some(0o104_755)));
        assert_eq!((file.size, file.mode, file.version.as_str()), (Some(4_096), Some(0o4_755), ""));
        assert_eq!(file.modified, Some(prost_types::Timestamp { seconds: 1, nanos: 500_000_000 }));
        let directory = file_stat(stat(FileKind::Directory, None));
        assert_eq!((directory.size, directory.mode), (None, None));
    }

    #[test]
    fn an_absent_bound_of_a_window_is_the_providers_own() {
        let bounds = Bounds { limits: Limits::DEFAULT, max_message_bytes: 64 << 20, max_stream_bytes: 1 };
        let window = line_window(&v1::ReadLinesRequest::default(), &bounds).unwrap();
        let LineWindow { first_line, max_lines, max_bytes, max_line_chars } = window;
        assert_eq!((first_line, max_bytes, max_line_chars), (1, 51_200, 2_000));
        assert_eq!(max_lines, 1 << 20);
        let asked = v1::ReadLinesRequest {
            first_line: Some(i64::MAX),
            max_lines: Some(7),
            max_bytes: Some(8),
            max_line_chars: Some(9),
            ..Default::default()
        };
        let window = line_window(&asked, &bounds).unwrap();
        let expected = LineWindow { first_line: u64::MAX / 2, max_lines: 7, max_bytes: 8, max_line_chars: 9 };
        assert_eq!(window, expected);
    }
}
