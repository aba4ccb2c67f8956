//! The typed detail of an error, as far as a peer told it.

use toolfs_contract::v1::{self, FsErrorCode, fs_error::Detail};
use toolfs_core::error::{
    Encoding, ErrorKind, Existing, NearMiss, NearMissReason, SearchStop, UnavailableCause,
};
use toolfs_core::limit::LimitName;
use toolfs_core::name::MAX_SIMILAR_NAMES;
use toolfs_core::target::FileKind;

use crate::field::{Broken, count, line, version};

/// How many lines an ambiguous edit names.
const MAX_AMBIGUOUS_LINES: usize = 20;

/// The kind of an error: its code with the facts of its detail.
///
/// `None` when the peer did not tell a fact without which the kind cannot be said.
///
/// # Errors
/// [`Broken`] for a fact that is told and is none.
pub(crate) fn kind(code: FsErrorCode, detail: Option<Detail>) -> Result<Option<ErrorKind>, Broken> {
    Ok(Some(match (code, detail) {
        (FsErrorCode::FsUnspecified, _) => return Ok(None),
        (FsErrorCode::FsNotFound, detail) => not_found(detail),
        (FsErrorCode::FsNotDirectory, _) => ErrorKind::NotDirectory,
        (FsErrorCode::FsNotRegularFile, detail) => not_regular_file(detail),
        (FsErrorCode::FsNotText, Some(Detail::NotText(detail))) => ErrorKind::NotText {
            encoding: encoding(detail.encoding()),
            byte_offset: count("error.not_text.byte_offset", detail.byte_offset)?,
        },
        (FsErrorCode::FsTooLarge, Some(Detail::TooLarge(detail))) => return too_large(&detail),
        (FsErrorCode::FsOutOfRange, Some(Detail::OutOfRange(detail))) => ErrorKind::OutOfRange {
            total_lines: count("error.out_of_range.total_lines", detail.total_lines)?,
        },
        (FsErrorCode::FsNotText | FsErrorCode::FsTooLarge | FsErrorCode::FsOutOfRange, _) => return Ok(None),
        (FsErrorCode::FsPermissionDenied, _) => ErrorKind::PermissionDenied,
        (FsErrorCode::FsSandboxDenied, detail) => sandbox_denied(detail),
        (FsErrorCode::FsNoSpace, _) => ErrorKind::NoSpace,
        (FsErrorCode::FsIoError, _) => ErrorKind::IoError,
        (FsErrorCode::FsStaleVersion, detail) => stale_version(detail)?,
        (FsErrorCode::FsNotObserved, detail) => not_observed(detail)?,
        (FsErrorCode::FsAmbiguousEdit, detail) => ambiguous_edit(detail)?,
        (FsErrorCode::FsEditNotFound, detail) => edit_not_found(detail)?,
        (FsErrorCode::FsInvalidArgument, Some(Detail::InvalidArgument(detail))) => {
            ErrorKind::InvalidArgument {
                field: line(&detail.field),
                actual: line(&detail.actual),
                expected: line(&detail.expected),
            }
        }
        (FsErrorCode::FsInvalidArgument, _) => return Ok(None),
        (FsErrorCode::FsUnsupported, _) => ErrorKind::Unsupported,
        (FsErrorCode::FsUnavailable, detail) => unavailable(detail),
        // Its caller is this process, which did not give up: to those who wait here, the peer went away.
        (FsErrorCode::FsAborted, _) => {
            ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable }
        }
    }))
}

fn not_found(detail: Option<Detail>) -> ErrorKind {
    let names = if let Some(Detail::NotFound(detail)) = detail { detail.similar_names } else { Vec::new() };
    ErrorKind::NotFound {
        similar_names: names.iter().take(MAX_SIMILAR_NAMES).map(|name| line(name)).collect(),
    }
}

fn not_regular_file(detail: Option<Detail>) -> ErrorKind {
    let kind = if let Some(Detail::NotRegularFile(detail)) = detail { file_kind(detail.kind) } else { None };
    ErrorKind::NotRegularFile { kind }
}

fn sandbox_denied(detail: Option<Detail>) -> ErrorKind {
    let rule = if let Some(Detail::Sandbox(detail)) = detail { line(&detail.rule) } else { String::new() };
    ErrorKind::SandboxDenied { rule }
}

/// A limit that this build does not know has no name here: the message tells it.
fn too_large(detail: &v1::TooLargeDetail) -> Result<Option<ErrorKind>, Broken> {
    let limit_bytes = count("error.too_large.limit_bytes", detail.limit_bytes)?;
    let size_bytes = count("error.too_large.size_bytes", detail.size_bytes)?;
    let limit_name = LimitName::ALL.into_iter().find(|name| name.as_str() == detail.limit_name);
    Ok(limit_name.map(|limit_name| ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes }))
}

fn stale_version(detail: Option<Detail>) -> Result<ErrorKind, Broken> {
    let detail = if let Some(Detail::StaleVersion(detail)) = detail { detail } else { Default::default() };
    let expected = (!detail.expected_version.is_empty()).then_some(detail.expected_version.as_str());
    Ok(ErrorKind::StaleVersion {
        expected: expected.map(|text| version("error.stale_version.expected_version", text)).transpose()?,
        actual: detail
            .actual_version
            .map(|text| version("error.stale_version.actual_version", &text))
            .transpose()?,
    })
}

fn not_observed(detail: Option<Detail>) -> Result<ErrorKind, Broken> {
    let Some(Detail::NotObserved(detail)) = detail else {
        return Ok(ErrorKind::NotObserved { existing: None });
    };
    let (Some(kind), Some(size)) = (file_kind(detail.kind), detail.size_bytes) else {
        return Ok(ErrorKind::NotObserved { existing: None });
    };
    let size = count("error.not_observed.size_bytes", Some(size))?;
    Ok(ErrorKind::NotObserved { existing: Some(Existing { kind, size, text: detail.text }) })
}

/// Without its detail it is known to match twice at least, which is what the code means.
fn ambiguous_edit(detail: Option<Detail>) -> Result<ErrorKind, Broken> {
    let Some(Detail::AmbiguousEdit(detail)) = detail else {
        return Ok(ErrorKind::AmbiguousEdit { match_count: 2, lines: Vec::new() });
    };
    let match_count = count("error.ambiguous_edit.match_count", detail.match_count)?;
    Broken::unless(match_count >= 2, "error.ambiguous_edit.match_count", "is below 2")?;
    let lines = detail.lines.into_iter().take(MAX_AMBIGUOUS_LINES);
    let lines =
        lines.map(|line| line_number("error.ambiguous_edit.lines", Some(line))).collect::<Result<_, _>>()?;
    Ok(ErrorKind::AmbiguousEdit { match_count, lines })
}

fn edit_not_found(detail: Option<Detail>) -> Result<ErrorKind, Broken> {
    let Some(Detail::EditNotFound(detail)) = detail else {
        return Ok(ErrorKind::EditNotFound { near_misses: Vec::new(), search_stopped: None });
    };
    let search_stopped = match detail.search_stop_reason() {
        v1::SearchStopReason::ByteBudget => Some(SearchStop::Bytes),
        v1::SearchStopReason::TimeBudget => Some(SearchStop::Time),
        // A reason that this build does not know is most like the budget that a peer sets by itself.
        v1::SearchStopReason::Unspecified => {
            (detail.search_stopped_early == Some(true)).then_some(SearchStop::Time)
        }
    };
    let near_misses = detail.near_misses.into_iter().take(NearMiss::MAX_COUNT);
    Ok(ErrorKind::EditNotFound {
        near_misses: near_misses.map(near_miss).collect::<Result<_, _>>()?,
        search_stopped,
    })
}

fn near_miss(near_miss: v1::NearMiss) -> Result<NearMiss, Broken> {
    let start_line = line_number("error.edit_not_found.near_misses.start_line", near_miss.start_line)?;
    let end_line = line_number("error.edit_not_found.near_misses.end_line", near_miss.end_line)?;
    let in_order = start_line <= end_line;
    Broken::unless(in_order, "error.edit_not_found.near_misses.end_line", "is before the first line")?;
    let mut reasons: Vec<NearMissReason> = near_miss.reasons().filter_map(near_miss_reason).collect();
    if reasons.is_empty() {
        reasons.push(NearMissReason::SomeLinesDiffer);
    }
    let lines = near_miss.lines.iter().take(NearMiss::MAX_LINES);
    Ok(NearMiss { start_line, end_line, lines: lines.map(|text| near_miss_line(text)).collect(), reasons })
}

/// One line of text, as long as such a line may be. Tabs and what else stands in it stay: they may be the difference.
fn near_miss_line(text: &str) -> String {
    let line = text.split('\n').next().unwrap_or_default();
    line.chars().take(NearMiss::MAX_LINE_CHARS).collect()
}

fn near_miss_reason(reason: v1::NearMissReason) -> Option<NearMissReason> {
    match reason {
        v1::NearMissReason::Unspecified => None,
        v1::NearMissReason::WhiteSpace => Some(NearMissReason::WhiteSpace),
        v1::NearMissReason::Indentation => Some(NearMissReason::Indentation),
        v1::NearMissReason::TabsOrSpaces => Some(NearMissReason::TabsOrSpaces),
        v1::NearMissReason::TrailingBlanks => Some(NearMissReason::TrailingBlanks),
        v1::NearMissReason::LookAlikes => Some(NearMissReason::LookAlikes),
        v1::NearMissReason::NormalForm => Some(NearMissReason::NormalForm),
        v1::NearMissReason::LineNumberPrefix => Some(NearMissReason::LineNumberPrefix),
        v1::NearMissReason::DoubledEscapes => Some(NearMissReason::DoubledEscapes),
        v1::NearMissReason::LetterCase => Some(NearMissReason::LetterCase),
        v1::NearMissReason::SomeLinesDiffer => Some(NearMissReason::SomeLinesDiffer),
    }
}

fn unavailable(detail: Option<Detail>) -> ErrorKind {
    let cause = if let Some(Detail::Unavailable(detail)) = detail {
        detail.cause()
    } else {
        v1::UnavailableCause::Unspecified
    };
    let cause = match cause {
        v1::UnavailableCause::OpenForWriting => UnavailableCause::OpenForWriting,
        v1::UnavailableCause::KeepsChanging => UnavailableCause::KeepsChanging,
        v1::UnavailableCause::Overloaded => UnavailableCause::Overloaded,
        v1::UnavailableCause::ProviderUnreachable | v1::UnavailableCause::Unspecified => {
            UnavailableCause::ProviderUnreachable
        }
    };
    ErrorKind::Unavailable { cause }
}

fn line_number(field: &'static str, value: Option<i64>) -> Result<u64, Broken> {
    let number = count(field, value)?;
    Broken::unless(number >= 1, field, "is no line number from 1")?;
    Ok(number)
}

fn encoding(encoding: v1::TextEncoding) -> Option<Encoding> {
    match encoding {
        v1::TextEncoding::Unspecified => None,
        v1::TextEncoding::Utf16Le => Some(Encoding::Utf16Le),
        v1::TextEncoding::Utf16Be => Some(Encoding::Utf16Be),
        v1::TextEncoding::Utf32Le => Some(Encoding::Utf32Le),
        v1::TextEncoding::Utf32Be => Some(Encoding::Utf32Be),
    }
}

/// What is at the end of a path; `None` when it is not told. A kind that this build does not know is something else
/// than those that it knows.
pub fn file_kind(kind: i32) -> Option<FileKind> {
    match v1::FileKind::try_from(kind) {
        Ok(v1::FileKind::Unspecified) => None,
        Ok(v1::FileKind::Regular) => Some(FileKind::Regular),
        Ok(v1::FileKind::Directory) => Some(FileKind::Directory),
        Ok(v1::FileKind::Symlink) => Some(FileKind::Symlink),
        Ok(v1::FileKind::Fifo) => Some(FileKind::Fifo),
        Ok(v1::FileKind::Socket) => Some(FileKind::Socket),
        Ok(v1::FileKind::BlockDevice) => Some(FileKind::BlockDevice),
        Ok(v1::FileKind::CharDevice) => Some(FileKind::CharDevice),
        Ok(v1::FileKind::Other) | Err(_) => Some(FileKind::Other),
    }
}
