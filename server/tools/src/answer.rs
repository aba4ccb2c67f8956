//! The answer to a tool call: the result for programs, and the text that the model sees.
//!
//! The text itself is `toolfs_core::render`'s. Here an error gets the path as it was asked for and its remedy, and it
//! is decided which failures are no result at all.

use toolfs_core::argument::{FilePath, ToolCall};
use toolfs_core::error::{AbortCause, ErrorKind, FsError, Published};
use toolfs_core::limit::Limits;
use toolfs_core::outcome::{Outcome, ToolResult};
use toolfs_core::render;
use toolfs_core::target::display_form;

use crate::call::{CallError, ExecuteResponse};
use crate::remedy::{self, Attempt};
use crate::repeat::{Claim, Stop};
use crate::scope::Scope;
use crate::span;

/// What an answer needs to know of its call.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    limits: &'a Limits,
    attempt: Attempt,
    /// The path as it was asked for, made safe to show.
    asked: Option<String>,
    claim: Option<&'a Claim<'a>>,
    dry_run: bool,
}

impl<'a> Answer<'a> {
    /// The answer to a call that is in order.
    pub(crate) fn to(scope: &Scope<'a>, call: &ToolCall) -> Answer<'a> {
        let asked = display_form(path_of(call).as_str().as_bytes());
        let attempt = Attempt { tool: Some(call.name()), in_session: scope.session.is_some() };
        Answer {
            limits: scope.limits,
            attempt,
            asked: Some(asked),
            claim: scope.claim,
            dry_run: scope.dry_run,
        }
    }

    /// The answer to a call that is not.
    pub(crate) fn to_nothing(scope: &Scope<'a>) -> Answer<'a> {
        let attempt = Attempt { tool: None, in_session: scope.session.is_some() };
        Answer { limits: scope.limits, attempt, asked: None, claim: scope.claim, dry_run: scope.dry_run }
    }

    /// The tool did its work.
    pub(crate) fn done(self, outcome: Outcome, not_durable: Option<FsError>) -> ExecuteResponse {
        let text = match &outcome {
            Outcome::Read(outcome) => render::read(outcome, self.limits),
            Outcome::Write(outcome) => render::write(outcome, self.dry_run),
            Outcome::Edit(outcome) => render::edit(outcome, self.dry_run),
        };
        span::bytes(bytes_of(&outcome));
        let Some(error) = not_durable else {
            return ExecuteResponse { text, result: ToolResult::Done(outcome), dry_run: self.dry_run };
        };
        // Said here once more, so that no provider can make an effect that is there look undone.
        let error = self.explain(error.with_published(Published::Yes));
        span::code(error.code());
        let text = format!("{text}\n\n{}", render::error(&error));
        ExecuteResponse {
            text,
            result: ToolResult::PublishedNotDurable(outcome, error),
            dry_run: self.dry_run,
        }
    }

    /// The call did not run, or not to its end.
    pub(crate) fn stopped(self, stop: Stop) -> Result<ExecuteResponse, CallError> {
        match stop {
            Stop::Refused(error) => self.refused(error),
            Stop::Known(ended) => {
                let ended = *ended;
                if let Ok(response) = &ended {
                    span::result(&response.result);
                }
                ended
            }
        }
    }

    /// The tool refused or failed.
    ///
    /// A caller who went away, or whose time is over, gets a status and no result, unless something may have changed:
    /// that must be told. A server that is shutting down tells the model so.
    pub(crate) fn refused(self, error: FsError) -> Result<ExecuteResponse, CallError> {
        let error = match self.claim {
            Some(claim) => claim.in_doubt(error),
            None => error,
        };
        let error = self.explain(error);
        if let ErrorKind::Aborted { cause: AbortCause::Cancelled | AbortCause::DeadlineExceeded } =
            error.kind()
            && error.published() == Published::No
        {
            return Err(CallError::Aborted(error));
        }
        span::code(error.code());
        Ok(ExecuteResponse {
            text: render::error(&error),
            result: ToolResult::Refused(error),
            dry_run: self.dry_run,
        })
    }

    fn explain(&self, error: FsError) -> FsError {
        let error = match &self.asked {
            Some(asked) => error.with_path(asked.as_str()),
            None => error,
        };
        remedy::add(error, self.attempt)
    }
}

fn path_of(call: &ToolCall) -> &FilePath {
    match call {
        ToolCall::Read(arguments) => &arguments.file_path,
        ToolCall::Write(arguments) => &arguments.file_path,
        ToolCall::Edit(arguments) => &arguments.file_path,
    }
}

/// The bytes that a call moved: the text of a window, the size of what is there now.
pub(crate) fn bytes_of(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Read(outcome) => u64::try_from(outcome.block.text_bytes()).unwrap_or(u64::MAX),
        Outcome::Write(outcome) => outcome.size_bytes,
        Outcome::Edit(outcome) => outcome.size_bytes,
    }
}
