//! Calls of a case through the Rust client, and what came back in the form in which it is compared.

use serde_json::{Value, json};
use toolfs_client::v1::execute_response::Outcome;
use toolfs_client::{CallOptions, Client, Edit, Error, Read, Reason, Reply, Session, Write};

use super::message;
use super::step::{Action, Call};

/// What came back of a step.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) content: Option<String>,
    pub(crate) outcome: Option<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) status: Option<Status>,
    pub(crate) session: Option<Value>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) dry_run: Option<bool>,
}

/// The status of a caller's mistake.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) code: String,
    pub(crate) reason: Option<String>,
    pub(crate) error: Option<Value>,
    pub(crate) message: String,
}

/// Makes a call by the client's own method for it.
pub(crate) async fn call(
    client: &Client,
    session: Option<&Session>,
    action: &Action,
    options: CallOptions,
) -> Result<Answer, String> {
    let answer = match (action, session) {
        (Action::Read(read), Some(session)) => {
            let read =
                Read { file_path: read.file_path.get(), offset: read.offset, limit: read.limit, options };
            of_typed(session.read(read).await.map(|reply| of_reply(reply, Outcome::Read)))
        }
        (Action::Write(write), Some(session)) => {
            let write = Write::new(write.file_path.get(), write.content.get()).options(options);
            of_typed(session.write(write).await.map(|reply| of_reply(reply, Outcome::Write)))
        }
        (Action::Edit(edit), Some(session)) => {
            let edit = Edit {
                file_path: edit.file_path.get(),
                old_string: edit.old_string.get(),
                new_string: edit.new_string.get(),
                replace_all: edit.replace_all,
                options,
            };
            of_typed(session.edit(edit).await.map(|reply| of_reply(reply, Outcome::Edit)))
        }
        (Action::Call(call), session) => of_model(client, session, call, options).await?,
        (other, _) => return Err(format!("{other:?} is no call of a session")),
    };
    Ok(answer)
}

async fn of_model(
    client: &Client,
    session: Option<&Session>,
    call: &Call,
    options: CallOptions,
) -> Result<Answer, String> {
    let arguments = call.arguments_json()?;
    let reply = match session {
        Some(session) => session.call(&call.name, arguments, options).await,
        None => client.call(&call.name, arguments, options).await,
    };
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return Ok(of_error(&error)),
    };
    if reply.is_error != reply.error.is_some() {
        return Err(format!("`is_error` is {}, and so is not whether there is an error", reply.is_error));
    }
    Ok(Answer {
        content: Some(reply.text()),
        outcome: reply.outcome.as_ref().map(outcome_json),
        error: reply.error.map(|error| message::json("FsError", error.as_message())),
        tool_call_id: Some(reply.tool_call_id),
        dry_run: Some(reply.dry_run),
        ..Answer::default()
    })
}

fn of_reply<T>(reply: Reply<T>, arm: impl FnOnce(T) -> Outcome) -> Answer {
    Answer {
        content: Some(reply.text()),
        outcome: Some(outcome_json(&arm(reply.outcome))),
        tool_call_id: Some(reply.tool_call_id),
        dry_run: Some(reply.dry_run),
        ..Answer::default()
    }
}

fn of_typed(answer: Result<Answer, Error>) -> Answer {
    answer.unwrap_or_else(|error| of_error(&error))
}

/// What a failed call or a refused step tells.
pub(crate) fn of_error(error: &Error) -> Answer {
    match error {
        Error::Tool(error) => Answer {
            error: Some(message::json("FsError", error.as_message())),
            outcome: error.outcome().map(outcome_json),
            ..Answer::default()
        },
        Error::Call(failure) => {
            let reason = match failure.reason() {
                Reason::Call(reason) => Some(reason.as_str().to_owned()),
                Reason::Fs(code) => Some(code.as_str().to_owned()),
                Reason::Unknown(reason) => Some(reason.clone()),
                _ => None,
            };
            let status = Status {
                code: code_name(failure.status().code()).to_owned(),
                reason,
                error: failure.error().map(|error| message::json("FsError", error)),
                message: failure.status().message().to_owned(),
            };
            Answer { status: Some(status), ..Answer::default() }
        }
        other => {
            let status =
                Status { code: "NONE".to_owned(), reason: None, error: None, message: other.to_string() };
            Answer { status: Some(status), ..Answer::default() }
        }
    }
}

/// A session as it was told.
pub(crate) fn of_session(session: &Session) -> Answer {
    Answer { session: Some(message::json("Session", session.info())), ..Answer::default() }
}

fn outcome_json(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Read(read) => json!({"read": message::json("ReadOutcome", read)}),
        Outcome::Write(write) => json!({"write": message::json("WriteOutcome", write)}),
        Outcome::Edit(edit) => json!({"edit": message::json("EditOutcome", edit)}),
    }
}

/// A code as the table of codes spells it.
fn code_name(code: tonic::Code) -> &'static str {
    match code {
        tonic::Code::Ok => "OK",
        tonic::Code::Cancelled => "CANCELLED",
        tonic::Code::Unknown => "UNKNOWN",
        tonic::Code::InvalidArgument => "INVALID_ARGUMENT",
        tonic::Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        tonic::Code::NotFound => "NOT_FOUND",
        tonic::Code::AlreadyExists => "ALREADY_EXISTS",
        tonic::Code::PermissionDenied => "PERMISSION_DENIED",
        tonic::Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        tonic::Code::FailedPrecondition => "FAILED_PRECONDITION",
        tonic::Code::Aborted => "ABORTED",
        tonic::Code::OutOfRange => "OUT_OF_RANGE",
        tonic::Code::Unimplemented => "UNIMPLEMENTED",
        tonic::Code::Internal => "INTERNAL",
        tonic::Code::Unavailable => "UNAVAILABLE",
        tonic::Code::DataLoss => "DATA_LOSS",
        tonic::Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
