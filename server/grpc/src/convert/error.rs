//! The error of the file tools, as it travels.

use toolfs_contract::v1::{self, fs_error::Detail};
use toolfs_core::error::{
    AbortCause, Code, Encoding, ErrorKind, FsError, NearMiss, NearMissReason, Published, SearchStop,
    UnavailableCause,
};
use toolfs_core::limit::LimitName;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;

use super::{capability, count};

/// A whole error. Its source stays behind.
pub(crate) fn fs_error(error: &FsError) -> v1::FsError {
    v1::FsError {
        code: code(error.code()).into(),
        reason: error.code().as_str().to_owned(),
        message: error.message().to_owned(),
        path: error.path().unwrap_or_default().to_owned(),
        remedy: error.remedy().unwrap_or_default().to_owned(),
        retryable: Some(error.is_retryable()),
        published: published(error.published()).into(),
        rescue_path: error.rescue_path().unwrap_or_default().to_owned(),
        detail_truncated: None,
        detail: detail(error.kind()),
    }
}

/// A code.
pub(crate) fn code(code: Code) -> v1::FsErrorCode {
    match code {
        Code::NotFound => v1::FsErrorCode::FsNotFound,
        Code::NotDirectory => v1::FsErrorCode::FsNotDirectory,
        Code::NotRegularFile => v1::FsErrorCode::FsNotRegularFile,
        Code::NotText => v1::FsErrorCode::FsNotText,
        Code::TooLarge => v1::FsErrorCode::FsTooLarge,
        Code::OutOfRange => v1::FsErrorCode::FsOutOfRange,
        Code::PermissionDenied => v1::FsErrorCode::FsPermissionDenied,
        Code::SandboxDenied => v1::FsErrorCode::FsSandboxDenied,
        Code::NoSpace => v1::FsErrorCode::FsNoSpace,
        Code::IoError => v1::FsErrorCode::FsIoError,
        Code::StaleVersion => v1::FsErrorCode::FsStaleVersion,
        Code::NotObserved => v1::FsErrorCode::FsNotObserved,
        Code::AmbiguousEdit => v1::FsErrorCode::FsAmbiguousEdit,
        Code::EditNotFound => v1::FsErrorCode::FsEditNotFound,
        Code::InvalidArgument => v1::FsErrorCode::FsInvalidArgument,
        Code::Unsupported => v1::FsErrorCode::FsUnsupported,
        Code::Unavailable => v1::FsErrorCode::FsUnavailable,
        Code::Aborted => v1::FsErrorCode::FsAborted,
    }
}

/// Whether an effect is there.
pub(crate) fn published(published: Published) -> v1::Published {
    match published {
        Published::No => v1::Published::No,
        Published::Yes => v1::Published::Yes,
        Published::Maybe => v1::Published::Maybe,
    }
}

fn detail(kind: &ErrorKind) -> Option<Detail> {
    match kind {
        ErrorKind::NotFound { similar_names } => {
            Some(Detail::NotFound(v1::NotFoundDetail { similar_names: similar_names.clone() }))
        }
        ErrorKind::NotRegularFile { kind } => Some(Detail::NotRegularFile(v1::NotRegularFileDetail {
            kind: kind.map_or(v1::FileKind::Unspecified, file_kind).into(),
        })),
        ErrorKind::NotText { byte_offset, encoding: found } => Some(Detail::NotText(v1::NotTextDetail {
            byte_offset: Some(count(*byte_offset)),
            encoding: found.map_or(v1::TextEncoding::Unspecified, encoding).into(),
            encoding_name: found.map(Encoding::name).unwrap_or_default().to_owned(),
        })),
        ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes } => {
            Some(Detail::TooLarge(too_large(*limit_name, *limit_bytes, *size_bytes)))
        }
        ErrorKind::OutOfRange { total_lines } => {
            Some(Detail::OutOfRange(v1::OutOfRangeDetail { total_lines: Some(count(*total_lines)) }))
        }
        ErrorKind::SandboxDenied { rule } => Some(Detail::Sandbox(v1::SandboxDetail { rule: rule.clone() })),
        ErrorKind::StaleVersion { expected, actual } => Some(Detail::StaleVersion(v1::StaleVersionDetail {
            expected_version: expected.as_ref().map(Version::to_string).unwrap_or_default(),
            actual_version: actual.as_ref().map(Version::to_string),
        })),
        ErrorKind::NotObserved { existing } => existing.as_ref().map(|existing| {
            Detail::NotObserved(v1::NotObservedDetail {
                kind: file_kind(existing.kind).into(),
                size_bytes: Some(count(existing.size)),
                text: existing.text,
            })
        }),
        ErrorKind::AmbiguousEdit { match_count, lines } => {
            Some(Detail::AmbiguousEdit(v1::AmbiguousEditDetail {
                match_count: Some(count(*match_count)),
                lines: lines.iter().copied().map(count).collect(),
            }))
        }
        ErrorKind::EditNotFound { near_misses, search_stopped } => {
            Some(Detail::EditNotFound(v1::EditNotFoundDetail {
                near_misses: near_misses.iter().map(near_miss).collect(),
                search_stopped_early: Some(search_stopped.is_some()),
                search_stop_reason: search_stopped
                    .map_or(v1::SearchStopReason::Unspecified, search_stop_reason)
                    .into(),
            }))
        }
        ErrorKind::InvalidArgument { field, actual, expected } => {
            Some(Detail::InvalidArgument(v1::InvalidArgumentDetail {
                field: field.clone(),
                actual: actual.clone(),
                expected: expected.clone(),
            }))
        }
        ErrorKind::Unavailable { cause } => Some(Detail::Unavailable(v1::UnavailableDetail {
            cause: unavailable_cause(*cause).into(),
            text: unavailable_text(*cause).to_owned(),
        })),
        ErrorKind::Aborted { cause } => {
            Some(Detail::Aborted(v1::AbortedDetail { cause: abort_cause(*cause).into() }))
        }
        ErrorKind::NotDirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::NoSpace
        | ErrorKind::IoError
        | ErrorKind::Unsupported => None,
    }
}

fn too_large(limit_name: LimitName, limit_bytes: u64, size_bytes: u64) -> v1::TooLargeDetail {
    v1::TooLargeDetail {
        limit_name: limit_name.as_str().to_owned(),
        limit_bytes: Some(count(limit_bytes)),
        size_bytes: Some(count(size_bytes)),
        limit_kind: capability::limit_kind(limit_name).into(),
    }
}

fn near_miss(near_miss: &NearMiss) -> v1::NearMiss {
    let reasons = &near_miss.reasons;
    v1::NearMiss {
        start_line: Some(count(near_miss.start_line)),
        end_line: Some(count(near_miss.end_line)),
        lines: near_miss.lines.clone(),
        reasons: reasons.iter().map(|reason| near_miss_reason(*reason).into()).collect(),
        reason_text: reasons.iter().map(|reason| reason.text()).collect::<Vec<_>>().join(", "),
    }
}

fn near_miss_reason(reason: NearMissReason) -> v1::NearMissReason {
    match reason {
        NearMissReason::WhiteSpace => v1::NearMissReason::WhiteSpace,
        NearMissReason::Indentation => v1::NearMissReason::Indentation,
        NearMissReason::TabsOrSpaces => v1::NearMissReason::TabsOrSpaces,
        NearMissReason::TrailingBlanks => v1::NearMissReason::TrailingBlanks,
        NearMissReason::LookAlikes => v1::NearMissReason::LookAlikes,
        NearMissReason::NormalForm => v1::NearMissReason::NormalForm,
        NearMissReason::LineNumberPrefix => v1::NearMissReason::LineNumberPrefix,
        NearMissReason::DoubledEscapes => v1::NearMissReason::DoubledEscapes,
        NearMissReason::LetterCase => v1::NearMissReason::LetterCase,
        NearMissReason::SomeLinesDiffer => v1::NearMissReason::SomeLinesDiffer,
    }
}

fn search_stop_reason(stop: SearchStop) -> v1::SearchStopReason {
    match stop {
        SearchStop::Bytes => v1::SearchStopReason::ByteBudget,
        SearchStop::Time => v1::SearchStopReason::TimeBudget,
    }
}

/// What is at the end of a path.
pub(crate) fn file_kind(kind: FileKind) -> v1::FileKind {
    match kind {
        FileKind::Regular => v1::FileKind::Regular,
        FileKind::Directory => v1::FileKind::Directory,
        FileKind::Symlink => v1::FileKind::Symlink,
        FileKind::Fifo => v1::FileKind::Fifo,
        FileKind::Socket => v1::FileKind::Socket,
        FileKind::BlockDevice => v1::FileKind::BlockDevice,
        FileKind::CharDevice => v1::FileKind::CharDevice,
        FileKind::Other => v1::FileKind::Other,
    }
}

fn encoding(encoding: Encoding) -> v1::TextEncoding {
    match encoding {
        Encoding::Utf16Le => v1::TextEncoding::Utf16Le,
        Encoding::Utf16Be => v1::TextEncoding::Utf16Be,
        Encoding::Utf32Le => v1::TextEncoding::Utf32Le,
        Encoding::Utf32Be => v1::TextEncoding::Utf32Be,
    }
}

fn unavailable_cause(cause: UnavailableCause) -> v1::UnavailableCause {
    match cause {
        UnavailableCause::OpenForWriting => v1::UnavailableCause::OpenForWriting,
        UnavailableCause::KeepsChanging => v1::UnavailableCause::KeepsChanging,
        UnavailableCause::ProviderUnreachable => v1::UnavailableCause::ProviderUnreachable,
        UnavailableCause::Overloaded => v1::UnavailableCause::Overloaded,
    }
}

/// Why a call has to wait, as text.
pub(crate) fn unavailable_text(cause: UnavailableCause) -> &'static str {
    match cause {
        UnavailableCause::OpenForWriting => "another process holds the file open for writing",
        UnavailableCause::KeepsChanging => "somebody else keeps changing the path",
        UnavailableCause::ProviderUnreachable => "the provider or the gate cannot be reached",
        UnavailableCause::Overloaded => "too much is going on",
    }
}

fn abort_cause(cause: AbortCause) -> v1::AbortCause {
    match cause {
        AbortCause::Cancelled => v1::AbortCause::Cancelled,
        AbortCause::DeadlineExceeded => v1::AbortCause::DeadlineExceeded,
        AbortCause::Draining => v1::AbortCause::Draining,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_spelled_alike_on_both_sides() {
        let wire: Vec<_> = Code::ALL.into_iter().map(|value| code(value).as_str()).collect();
        assert_eq!(wire, Code::ALL.map(Code::as_str));
        assert_eq!(wire, v1::FsErrorCode::ALL.map(v1::FsErrorCode::as_str));
    }
}
