//! One tool call, as it comes in and goes out.

use thiserror::Error;
use toolfs_core::argument::{RawCall, ToolName};
use toolfs_core::error::{Code, FsError};
use toolfs_core::id::{RequestId, SessionId};
use toolfs_core::outcome::{Outcome, ToolResult};

use crate::answer::bytes_of;
use crate::session::Caller;

/// A tool call.
#[derive(Clone, Debug)]
pub struct ExecuteRequest {
    /// Who calls.
    pub caller: Caller,
    /// In which session; without one the call has seen nothing.
    pub session: Option<SessionId>,
    /// The name of the logical call, for repeats.
    pub request_id: Option<RequestId>,
    /// The model's own id of the call, for whoever watches; may be empty.
    pub tool_call_id: String,
    /// Decide and report, change nothing.
    pub dry_run: bool,
    /// Whether the diff is wanted; a dry run always has it.
    pub want_diff: bool,
    /// The call; `None` when none was given.
    pub call: Option<RawCall>,
}

impl ExecuteRequest {
    /// The tool that is called, if there is such a one; whether its arguments are in order is another question.
    pub fn tool(&self) -> Option<ToolName> {
        ToolName::parse(self.call.as_ref()?.tool_as_called()).ok()
    }
}

/// What a tool call ended in.
#[derive(Clone, Debug)]
pub struct ExecuteResponse {
    /// The text for the model.
    pub text: String,
    /// The result for programs.
    pub result: ToolResult,
    /// Whether it was a dry run.
    pub dry_run: bool,
}

impl ExecuteResponse {
    /// The bytes of content that the call read into its answer or published.
    pub fn content_bytes(&self) -> u64 {
        match &self.result {
            ToolResult::Done(Outcome::Write(_) | Outcome::Edit(_)) if self.dry_run => 0,
            ToolResult::Done(outcome) | ToolResult::PublishedNotDurable(outcome, _) => bytes_of(outcome),
            ToolResult::Refused(_) => 0,
        }
    }
}

/// A mistake of the caller, or a state of the server, that is no result of a tool. Each has one reason on the wire.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    /// There is no such session for this caller (unknown, closed, expired, or another's).
    #[error("there is no such session: open one with OpenSession")]
    SessionNotFound,
    /// The request holds no call.
    #[error("the request holds no call: set one of read, write, edit, json")]
    CallMissing,
    /// Too many sessions are open.
    #[error("{limit} sessions are open, the most that this server keeps: close one first")]
    TooManySessions {
        /// The limit.
        limit: u64,
    },
    /// A page token that this server did not give out.
    #[error("the page token is not one that was given out for this list")]
    PageTokenInvalid,
    /// A request id that names another call of its session already.
    #[error("the request_id names another call of this session: use a fresh one for each call")]
    RequestIdReused,
    /// A resume token that no server gave out for this session.
    #[error("the resume token is not one of this session: send one of its events, or none")]
    ResumeTokenInvalid,
    /// A session operation ended in a file system error, for instance because its `cwd` does not exist.
    #[error(transparent)]
    Fs(FsError),
    /// The call ran out of time or was cancelled; its FsError says so.
    #[error("{0}")]
    Aborted(FsError),
}

impl From<FsError> for CallError {
    /// The end of a session operation.
    fn from(error: FsError) -> CallError {
        if error.code() == Code::Aborted { CallError::Aborted(error) } else { CallError::Fs(error) }
    }
}
