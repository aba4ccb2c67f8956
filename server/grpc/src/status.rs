//! The one mapping of errors to gRPC statuses.
//!
//! Every status of ours carries `google.rpc.ErrorInfo` with a reason of `proto/code.rs` and the dynamic words of its
//! message as metadata; an [`FsError`] travels whole among the details, cut to fit the trailers. The first cause of an
//! error stays inside as the status's source, for the log at the edge; it never leaves.
//!
//! Deliberately absent: statuses of the transport itself (an unknown method, a message that is too large or is no
//! Protobuf), which are bare.

mod fit;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use prost_types::Any;
use tonic::{Code, Status};
use tonic_types::pb;
use toolfs_contract::code::{CallReason, ERROR_DOMAIN};
use toolfs_contract::v1;
use toolfs_core::error::{AbortCause, ErrorKind, FsError, Published};
use toolfs_tools::CallError;

use crate::convert;

/// After how long an overloaded server may be asked again.
const RETRY_OVERLOADED_AFTER: Duration = Duration::from_secs(1);

/// Dynamic words of a message by name.
type Words = HashMap<String, String>;

/// A refusal without dynamic words.
pub(crate) fn refused(reason: CallReason, message: &str) -> Status {
    refused_with(reason, message, Words::new())
}

/// A refusal whose message has dynamic words.
pub(crate) fn refused_with(reason: CallReason, message: &str, words: Words) -> Status {
    build(reason.grpc_code(), reason.as_str(), message, words, retry_info(reason).into_iter().collect(), None)
}

/// The status of an [`FsError`] that is no tool's result, but of a session's operation.
pub(crate) fn from_fs_error(error: &FsError) -> Status {
    fs_error_status(error, convert::error::fs_error(error))
}

/// The status of an [`FsError`] on the seam and at the gate: what to do next is told by the tools alone.
pub(crate) fn between_processes(error: &FsError) -> Status {
    fs_error_status(error, v1::FsError { remedy: String::new(), ..convert::error::fs_error(error) })
}

fn fs_error_status(error: &FsError, wire: v1::FsError) -> Status {
    let code = wire.grpc_code();
    let mut status =
        build(code, error.code().as_str(), &error.to_string(), words(error), Vec::new(), Some(wire));
    status.set_source(Arc::new(error.clone()));
    status
}

/// The status of a mistake of the caller, or of a state of the server.
pub(crate) fn from_call_error(error: &CallError) -> Status {
    match error {
        CallError::SessionNotFound => refused(CallReason::SessionNotFound, &error.to_string()),
        CallError::CallMissing => refused(CallReason::CallMissing, &error.to_string()),
        CallError::TooManySessions { limit } => {
            let words = Words::from([("limit".to_owned(), limit.to_string())]);
            refused_with(CallReason::SessionLimit, &error.to_string(), words)
        }
        CallError::PageTokenInvalid => refused(CallReason::PageTokenInvalid, &error.to_string()),
        CallError::RequestIdReused => refused(CallReason::RequestIdReused, &error.to_string()),
        CallError::ResumeTokenInvalid => refused(CallReason::ResumeTokenInvalid, &error.to_string()),
        CallError::Fs(error) => from_fs_error(error),
        CallError::Aborted(error) => aborted(error),
    }
}

/// The status of a call that was given up: its reason tells why, its detail what became of the effect.
pub(crate) fn aborted(error: &FsError) -> Status {
    let ErrorKind::Aborted { cause } = error.kind() else { return from_fs_error(error) };
    let reason = abort_reason(*cause);
    let wire = convert::error::fs_error(error);
    let mut status =
        build(reason.grpc_code(), reason.as_str(), error.message(), words(error), Vec::new(), Some(wire));
    status.set_source(Arc::new(error.clone()));
    status
}

/// Why a call was given up, as a status has it.
pub(crate) fn abort_reason(cause: AbortCause) -> CallReason {
    match cause {
        AbortCause::Cancelled => CallReason::Cancelled,
        AbortCause::DeadlineExceeded => CallReason::DeadlineExceeded,
        AbortCause::Draining => CallReason::ShuttingDown,
    }
}

/// The reason that the status of a failed call carries.
pub(crate) fn reason_of(error: &CallError) -> &'static str {
    match error {
        CallError::SessionNotFound => CallReason::SessionNotFound.as_str(),
        CallError::CallMissing => CallReason::CallMissing.as_str(),
        CallError::TooManySessions { .. } => CallReason::SessionLimit.as_str(),
        CallError::PageTokenInvalid => CallReason::PageTokenInvalid.as_str(),
        CallError::RequestIdReused => CallReason::RequestIdReused.as_str(),
        CallError::ResumeTokenInvalid => CallReason::ResumeTokenInvalid.as_str(),
        CallError::Fs(error) => error.code().as_str(),
        CallError::Aborted(error) => match error.kind() {
            ErrorKind::Aborted { cause } => abort_reason(*cause).as_str(),
            kind => kind.code().as_str(),
        },
    }
}

/// The error of a call whose work has not ended when the caller must be answered.
pub(crate) fn out_of_time(published: Published) -> FsError {
    let message = match published {
        Published::No => "the call ran out of time, nothing changed",
        Published::Yes => "the call ran out of time, its change is in place",
        Published::Maybe => "the call ran out of time, and its change may still land: read to see it",
    };
    let kind = ErrorKind::Aborted { cause: AbortCause::DeadlineExceeded };
    FsError::new(kind, message).with_published(published)
}

/// The status of a mistake of the server, whose cause only the log tells.
pub(crate) fn internal(cause: impl Error + Send + Sync + 'static) -> Status {
    let message = "the server made a mistake: its log tells more";
    let mut status = refused(CallReason::Internal, message);
    status.set_source(Arc::new(cause));
    status
}

/// Puts a status together within the size that trailers may have.
fn build(
    code: Code,
    reason: &str,
    message: &str,
    words: Words,
    mut details: Vec<Any>,
    error: Option<v1::FsError>,
) -> Status {
    let message = fit::message(message);
    let info = pb::ErrorInfo {
        reason: reason.to_owned(),
        domain: ERROR_DOMAIN.to_owned(),
        metadata: words.into_iter().map(|(name, word)| (name, fit::word(&word))).collect(),
    };
    details.insert(0, any("google.rpc.ErrorInfo", &info));
    let mut status = pb::Status { code: code.into(), message: message.clone(), details };
    if let Some(error) = error {
        let error = fit::fs_error(error, fit::MAX_DETAILS_BYTES.saturating_sub(status.encoded_len()));
        status.details.push(any("toolfs.v1.FsError", &error));
    }
    Status::with_details(code, message, status.encode_to_vec().into())
}

fn retry_info(reason: CallReason) -> Option<Any> {
    let delay = match reason {
        CallReason::Overloaded => RETRY_OVERLOADED_AFTER,
        CallReason::CallMissing
        | CallReason::GuardMissing
        | CallReason::KeyMissing
        | CallReason::ScopeMissing
        | CallReason::RequestIdInvalid
        | CallReason::RequestIdReused
        | CallReason::PageSizeInvalid
        | CallReason::PageTokenInvalid
        | CallReason::ResumeTokenInvalid
        | CallReason::SessionNotFound
        | CallReason::SessionLimit
        | CallReason::Unauthenticated
        | CallReason::Forbidden
        | CallReason::OperatorOnly
        | CallReason::QuotaExceeded
        | CallReason::ShuttingDown
        | CallReason::DeadlineExceeded
        | CallReason::Cancelled
        | CallReason::Internal => return None,
    };
    let retry_delay = Some(convert::duration(delay));
    Some(any("google.rpc.RetryInfo", &pb::RetryInfo { retry_delay }))
}

fn any(name: &str, message: &impl Message) -> Any {
    Any { type_url: format!("type.googleapis.com/{name}"), value: message.encode_to_vec() }
}

/// The facts of an error that its message may tell, by the names of the typed detail.
fn words(error: &FsError) -> Words {
    let mut words = Words::new();
    let mut tell = |name: &str, word: String| {
        words.insert(name.to_owned(), word);
    };
    if let Some(path) = error.path() {
        tell("path", path.to_owned());
    }
    if let Some(path) = error.rescue_path() {
        tell("rescue_path", path.to_owned());
    }
    match error.kind() {
        ErrorKind::NotFound { similar_names } => {
            if !similar_names.is_empty() {
                tell("similar_names", similar_names.join(", "));
            }
        }
        ErrorKind::NotRegularFile { kind } => {
            if let Some(kind) = kind {
                tell("kind", kind.noun().to_owned());
            }
        }
        ErrorKind::NotText { byte_offset, encoding } => {
            tell("byte_offset", byte_offset.to_string());
            if let Some(encoding) = encoding {
                tell("encoding", encoding.name().to_owned());
            }
        }
        ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes } => {
            tell("limit_name", limit_name.as_str().to_owned());
            tell("limit_bytes", limit_bytes.to_string());
            tell("size_bytes", size_bytes.to_string());
        }
        ErrorKind::OutOfRange { total_lines } => tell("total_lines", total_lines.to_string()),
        ErrorKind::SandboxDenied { rule } => tell("rule", rule.clone()),
        ErrorKind::StaleVersion { expected, actual } => {
            if let Some(version) = expected {
                tell("expected_version", version.to_string());
            }
            if let Some(version) = actual {
                tell("actual_version", version.to_string());
            }
        }
        ErrorKind::NotObserved { existing } => {
            if let Some(existing) = existing {
                tell("kind", existing.kind.noun().to_owned());
                tell("size_bytes", existing.size.to_string());
            }
        }
        ErrorKind::AmbiguousEdit { match_count, lines } => {
            tell("match_count", match_count.to_string());
            tell("lines", lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
        }
        ErrorKind::EditNotFound { near_misses, search_stopped: _ } => {
            tell("near_miss_count", near_misses.len().to_string());
        }
        ErrorKind::InvalidArgument { field, actual, expected } => {
            tell("field", field.clone());
            tell("actual", actual.clone());
            tell("expected", expected.clone());
        }
        ErrorKind::Unavailable { cause } => {
            tell("cause", convert::error::unavailable_text(*cause).to_owned());
        }
        ErrorKind::NotDirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::NoSpace
        | ErrorKind::IoError
        | ErrorKind::Unsupported
        | ErrorKind::Aborted { .. } => {}
    }
    words
}
