//! One error type, whose codes survive a server that is newer than this client.

use std::fmt;

use prost::Message as _;
use thiserror::Error;
use tonic::{Status, TimeoutExpired};
use tonic_types::StatusExt as _;
use toolfs_contract::code::{CallReason, ERROR_DOMAIN};
use toolfs_contract::v1::{self, FsErrorCode, execute_response::Outcome, fs_error::Detail};

/// Why a call did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The tool refused or failed: what a model would have read as `is_error`.
    #[error(transparent)]
    Tool(Box<ToolError>),
    /// The server refused the call itself, or the transport failed on the way.
    #[error(transparent)]
    Call(Box<CallFailure>),
    /// The server could not be reached.
    #[error("cannot connect to `{server}`")]
    Connect {
        /// The address as given.
        server: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered something that the contract does not allow.
    #[error("the answer breaks the contract: {0}")]
    Protocol(String),
}

impl Error {
    /// The tool's error, if it is one.
    pub fn tool(&self) -> Option<&ToolError> {
        match self {
            Error::Tool(error) => Some(error),
            Error::Call(_) | Error::Connect { .. } | Error::Protocol(_) => None,
        }
    }

    /// The code of the tool's error, if it is one.
    pub fn code(&self) -> Option<ErrorCode> {
        self.tool().map(ToolError::code)
    }

    /// Whether the same call, with nothing done in between, may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Tool(error) => error.is_retryable(),
            Error::Call(failure) => failure.is_retryable(),
            Error::Connect { .. } => true,
            Error::Protocol(_) => false,
        }
    }

    pub(crate) fn from_status(status: Status) -> Error {
        Error::Call(Box::new(CallFailure::of(status)))
    }

    pub(crate) fn connect(server: &str, source: tonic::transport::Error) -> Error {
        Error::Connect { server: server.to_owned(), source: source.into() }
    }
}

/// Whether our own timer ended the call: the transport calls that cancelled, which it is not.
fn is_local_timeout(status: &Status) -> bool {
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        if error.is::<TimeoutExpired>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The code of an `FsError`. It keeps the spelling of codes that this client does not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A code of the contract that this client was built with.
    Known(FsErrorCode),
    /// A code of a newer server, as the server spells it.
    Unknown(String),
}

impl ErrorCode {
    fn of(error: &v1::FsError) -> ErrorCode {
        match FsErrorCode::parse(&error.reason) {
            Some(code) => ErrorCode::Known(code),
            None => ErrorCode::Unknown(error.reason.clone()),
        }
    }

    /// The stable spelling: `FS_STALE_VERSION`.
    pub fn as_str(&self) -> &str {
        match self {
            ErrorCode::Known(code) => code.as_str(),
            ErrorCode::Unknown(reason) => reason,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal or failure of a tool.
#[derive(Clone)]
pub struct ToolError {
    error: v1::FsError,
    text: String,
    outcome: Option<Outcome>,
}

impl ToolError {
    pub(crate) fn new(error: v1::FsError, text: String, outcome: Option<Outcome>) -> ToolError {
        ToolError { error, text, outcome }
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::of(&self.error)
    }

    /// What is wrong, for people.
    pub fn message(&self) -> &str {
        &self.error.message
    }

    /// The path as it was asked for; empty when the error is about none.
    pub fn path(&self) -> &str {
        &self.error.path
    }

    /// What to do next.
    pub fn remedy(&self) -> &str {
        &self.error.remedy
    }

    /// Whether the same call, with nothing done in between, may succeed.
    pub fn is_retryable(&self) -> bool {
        self.error.retryable.unwrap_or(false)
    }

    /// Whether the effect is there.
    pub fn published(&self) -> v1::Published {
        self.error.published()
    }

    /// Where displaced content was kept; empty when none had to be.
    pub fn rescue_path(&self) -> &str {
        &self.error.rescue_path
    }

    /// The facts for programs.
    pub fn detail(&self) -> Option<&Detail> {
        self.error.detail.as_ref()
    }

    /// What was published, in the one case that an effect is there and could not be made durable.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The text that a model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole message of the contract.
    pub fn as_message(&self) -> &v1::FsError {
        &self.error
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError").field("error", &self.error).finish_non_exhaustive()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.error.message)?;
        if !self.error.remedy.is_empty() {
            write!(f, " ({})", self.error.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for ToolError {}

/// Why the server refused a call, as far as it told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A mistake of the call.
    Call(CallReason),
    /// A file system error in a place that returns no tool result, such as a `cwd` that does not exist.
    Fs(FsErrorCode),
    /// A reason of a newer server, as the server spells it.
    Unknown(String),
    /// No reason of toolfs: the transport, or something on the way.
    Transport,
}

impl Reason {
    fn of(status: &Status) -> Reason {
        let Some(info) = status.get_details_error_info().filter(|info| info.domain == ERROR_DOMAIN) else {
            return Reason::Transport;
        };
        match (CallReason::parse(&info.reason), FsErrorCode::parse(&info.reason)) {
            (Some(reason), _) => Reason::Call(reason),
            (None, Some(code)) => Reason::Fs(code),
            (None, None) => Reason::Unknown(info.reason),
        }
    }
}

/// A call that ended in a gRPC status instead of a result.
#[derive(Clone, Debug, Error)]
#[error("{}", status.message())]
pub struct CallFailure {
    reason: Reason,
    error: Option<v1::FsError>,
    status: Status,
}

impl CallFailure {
    /// Reads a status, of a stub of the contract for instance.
    pub fn of(status: Status) -> CallFailure {
        if is_local_timeout(&status) {
            let status = Status::deadline_exceeded("the deadline was over before the server answered");
            let reason = Reason::Call(CallReason::DeadlineExceeded);
            return CallFailure { reason, error: None, status };
        }
        CallFailure { reason: Reason::of(&status), error: fs_error(&status), status }
    }

    /// Why, as the server told it.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// The error that travels with the status, its detail perhaps cut to fit: that of a `cwd` that does not exist, or
    /// of a call out of time, which tells whether its effect may be there. `None` where there is none.
    pub fn error(&self) -> Option<&v1::FsError> {
        self.error.as_ref()
    }

    /// Whether the same call, with nothing done in between, may succeed.
    pub fn is_retryable(&self) -> bool {
        match self.error.as_ref().and_then(|error| error.retryable) {
            Some(retryable) => retryable,
            None => self.status.code() == tonic::Code::Unavailable,
        }
    }

    /// The status as it arrived.
    pub fn status(&self) -> &Status {
        &self.status
    }
}

fn fs_error(status: &Status) -> Option<v1::FsError> {
    let details = tonic_types::pb::Status::decode(status.details()).ok()?.details;
    let detail = details.into_iter().find(|detail| detail.type_url.ends_with("/toolfs.v1.FsError"))?;
    v1::FsError::decode(detail.value.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use tonic_types::{ErrorDetails, StatusExt as _};

    use super::*;

    fn reason_of(reason: &str, domain: &str) -> Reason {
        let details = ErrorDetails::with_error_info(reason, domain, std::collections::HashMap::new());
        Reason::of(&Status::with_error_details(tonic::Code::Unknown, "", details))
    }

    #[test]
    fn a_code_of_a_newer_server_keeps_its_spelling() {
        let newer = v1::FsError { code: 99, reason: "FS_NEWER".into(), ..v1::FsError::default() };
        assert_eq!(ErrorCode::of(&newer), ErrorCode::Unknown("FS_NEWER".into()));
        assert_eq!(ErrorCode::of(&newer).as_str(), "FS_NEWER");
    }

    #[test]
    fn every_code_and_reason_of_the_contract_is_recognized() {
        for code in FsErrorCode::ALL {
            let error =
                v1::FsError { code: code.into(), reason: code.as_str().into(), ..v1::FsError::default() };
            assert_eq!(ErrorCode::of(&error), ErrorCode::Known(code));
            assert_eq!(reason_of(code.as_str(), ERROR_DOMAIN), Reason::Fs(code));
        }
        for reason in CallReason::ALL.iter().copied() {
            assert_eq!(reason_of(reason.as_str(), ERROR_DOMAIN), Reason::Call(reason));
        }
    }

    #[test]
    fn a_deadline_that_our_own_timer_ended_is_not_a_cancellation() {
        let error = Error::from_status(Status::from_error(Box::new(TimeoutExpired(()))));
        let Error::Call(failure) = error else { panic!("{error:?}") };
        assert_eq!(failure.status().code(), tonic::Code::DeadlineExceeded);
        assert_eq!(*failure.reason(), Reason::Call(CallReason::DeadlineExceeded));
    }

    #[test]
    fn reasons_of_others_are_not_taken_for_ours() {
        assert_eq!(reason_of("NEWER", ERROR_DOMAIN), Reason::Unknown("NEWER".into()));
        assert_eq!(reason_of("SESSION_NOT_FOUND", "googleapis.com"), Reason::Transport);
        assert_eq!(Reason::of(&Status::unavailable("gone")), Reason::Transport);
    }

    #[test]
    fn a_call_out_of_time_that_changed_nothing_may_be_repeated() {
        let failure = |published: v1::Published, retryable| {
            let error = v1::FsError {
                code: FsErrorCode::FsAborted.into(),
                published: published.into(),
                retryable: Some(retryable),
                ..v1::FsError::default()
            };
            let detail = prost_types::Any {
                type_url: "type.googleapis.com/toolfs.v1.FsError".into(),
                value: error.encode_to_vec(),
            };
            let details = tonic_types::pb::Status { details: vec![detail], ..Default::default() };
            let code = tonic::Code::DeadlineExceeded;
            Error::from_status(Status::with_details(code, "", details.encode_to_vec().into()))
        };
        assert!(failure(v1::Published::No, true).is_retryable());
        let maybe = failure(v1::Published::Maybe, false);
        assert!(!maybe.is_retryable());
        let Error::Call(maybe) = maybe else { panic!("a status is the failure of a call") };
        assert_eq!(maybe.error().unwrap().published(), v1::Published::Maybe);

        assert!(Error::from_status(Status::unavailable("gone")).is_retryable());
        assert!(!Error::from_status(Status::deadline_exceeded("")).is_retryable());
    }
}
