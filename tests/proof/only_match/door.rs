//! Two ways to the tool: the executor in this process, and the messages of a server in a process of its own.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Runtime;
use toolfs_client::v1::{self, fs_error::Detail};
use toolfs_client::{CallOptions, Edit as EditArguments, Error, Read, Session};
use toolfs_core::argument::RawCall;
use toolfs_core::error::{Code, ErrorKind, FsError};
use toolfs_core::id::SessionId;
use toolfs_core::outcome::{EditOutcome, Outcome, ToolResult};
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{Caller, ExecuteRequest, Executor};

use super::oracle::Edit;

/// How an edit is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The path beneath the root.
    pub(super) path: String,
    pub(super) edit: Edit,
    /// As a model would write it, instead of argument by argument.
    pub(super) as_json: bool,
    pub(super) dry_run: bool,
    /// Under a gate, which wants the file to be read before.
    pub(super) guarded: bool,
}

/// What an edit was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Refused(Refusal),
    Done(Done),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: String,
    /// Of a file that is no text.
    pub(super) offset: Option<u64>,
    /// How many matches there are, and on which lines.
    pub(super) matches: Option<(u64, Vec<u64>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) replacements: u64,
    pub(super) version: String,
    /// What was remarked, by its kind.
    pub(super) notices: BTreeSet<String>,
    /// The lines of the first matches, and the size, which messages tell in dry runs alone, or not at all.
    pub(super) lines: Option<Vec<(u64, u64)>>,
    pub(super) size: Option<u64>,
}

/// What is called.
#[derive(Debug)]
pub(super) enum Door {
    Executor { runtime: Runtime, guarded: Arc<Executor>, unguarded: Arc<Executor>, session: SessionId },
    Server { runtime: Runtime, session: Box<Session> },
}

impl Door {
    /// Reads the first line of a file, so that the session has seen it. The code of a refusal.
    ///
    /// # Errors
    /// What went wrong on the way.
    pub(super) fn read(&self, path: &str) -> Result<Option<String>, String> {
        match self {
            Door::Executor { runtime, guarded, session, .. } => {
                let (file_path, limit) = (Some(path.to_owned()), Some(1));
                let call = RawCall::Read { file_path, offset: None, limit };
                match runtime.block_on(execute(guarded, Some(session), call, false))? {
                    ToolResult::Done(_) => Ok(None),
                    ToolResult::Refused(error) | ToolResult::PublishedNotDurable(_, error) => {
                        Ok(Some(error.code().to_string()))
                    }
                }
            }
            Door::Server { runtime, session } => {
                match runtime.block_on(session.read(Read::new(path).limit(1))) {
                    Ok(_) => Ok(None),
                    Err(Error::Tool(error)) => Ok(Some(error.code().to_string())),
                    Err(error) => Err(format!("it reached no tool: {error}")),
                }
            }
        }
    }

    /// # Errors
    /// What went wrong on the way.
    pub(super) fn edit(&self, asked: &Asked) -> Result<Answer, String> {
        match self {
            Door::Executor { runtime, guarded, unguarded, session } => {
                let (executor, session) =
                    if asked.guarded { (guarded, Some(session)) } else { (unguarded, None) };
                match runtime.block_on(execute(executor, session, raw(asked), asked.dry_run))? {
                    ToolResult::Done(Outcome::Edit(outcome)) => Ok(Answer::Done(done(&outcome))),
                    ToolResult::Refused(error) => Ok(Answer::Refused(refused(&error))),
                    other => Err(format!("it was answered {other:?}")),
                }
            }
            Door::Server { runtime, session } => runtime.block_on(over_messages(session, asked)),
        }
    }
}

async fn execute(
    executor: &Executor,
    session: Option<&SessionId>,
    call: RawCall,
    dry_run: bool,
) -> Result<ToolResult, String> {
    let request = ExecuteRequest {
        caller: Caller::Local,
        session: session.cloned(),
        request_id: None,
        tool_call_id: String::new(),
        dry_run,
        want_diff: false,
        call: Some(call),
    };
    let answer = executor.execute(&AbortSignal::new(), request).await;
    answer.map(|answer| answer.result).map_err(|error| format!("it reached no tool: {error}"))
}

fn raw(asked: &Asked) -> RawCall {
    if asked.as_json {
        return RawCall::Json { name: "edit".to_owned(), arguments_json: written(asked) };
    }
    RawCall::Edit {
        file_path: Some(asked.path.clone()),
        old_string: Some(asked.edit.old.clone()),
        new_string: Some(asked.edit.new.clone()),
        replace_all: Some(asked.edit.all),
    }
}

fn written(asked: &Asked) -> String {
    let Edit { old, new, all } = &asked.edit;
    json!({"file_path": asked.path, "old_string": old, "new_string": new, "replace_all": all}).to_string()
}

fn done(outcome: &EditOutcome) -> Done {
    let lines = outcome.matches.ranges.iter().map(|range| (range.start_line, range.end_line)).collect();
    Done {
        replacements: outcome.replacements,
        version: outcome.version.as_str().to_owned(),
        notices: outcome.notices.iter().map(|notice| kind(&notice.kind)).collect(),
        lines: Some(lines),
        size: Some(outcome.size_bytes),
    }
}

fn kind(kind: &impl Debug) -> String {
    format!("{kind:?}")
}

fn refused(error: &FsError) -> Refusal {
    let (mut offset, mut matches) = (None, None);
    if let ErrorKind::NotText { byte_offset, .. } = error.kind() {
        offset = Some(*byte_offset);
    }
    if let ErrorKind::AmbiguousEdit { match_count, lines } = error.kind() {
        matches = Some((*match_count, lines.clone()));
    }
    Refusal { code: error.code().to_string(), offset, matches }
}

async fn over_messages(session: &Session, asked: &Asked) -> Result<Answer, String> {
    let options = CallOptions { dry_run: asked.dry_run, ..CallOptions::default() };
    if asked.as_json {
        let reply = session.call("edit", written(asked), options).await;
        let reply = reply.map_err(|error| format!("it reached no tool: {error}"))?;
        return match (reply.error, reply.outcome) {
            (Some(error), None) => Ok(Answer::Refused(refused_by_message(error.as_message()))),
            (None, Some(v1::execute_response::Outcome::Edit(outcome))) => Ok(Answer::Done(told(&outcome))),
            (error, outcome) => Err(format!("it was answered {error:?} and {outcome:?}")),
        };
    }
    let Edit { old, new, all } = asked.edit.clone();
    let edit = EditArguments {
        file_path: asked.path.clone(),
        old_string: old,
        new_string: new,
        replace_all: all,
        options,
    };
    match session.edit(edit).await {
        Ok(reply) => Ok(Answer::Done(told(&reply.outcome))),
        Err(Error::Tool(error)) => Ok(Answer::Refused(refused_by_message(error.as_message()))),
        Err(error) => Err(format!("it reached no tool: {error}")),
    }
}

fn told(outcome: &v1::EditOutcome) -> Done {
    Done {
        replacements: unsigned(outcome.replacements.unwrap_or(-1)),
        version: outcome.version.clone(),
        notices: outcome.notices.iter().map(|notice| kind(&notice.kind())).collect(),
        lines: None,
        size: None,
    }
}

fn refused_by_message(error: &v1::FsError) -> Refusal {
    let (mut offset, mut matches) = (None, None);
    if let Some(Detail::NotText(detail)) = &error.detail {
        offset = detail.byte_offset.map(unsigned);
    }
    if let Some(Detail::AmbiguousEdit(detail)) = &error.detail {
        let lines = detail.lines.iter().copied().map(unsigned).collect();
        matches = detail.match_count.map(|count| (unsigned(count), lines));
    }
    Refusal { code: error.reason.clone(), offset, matches }
}

/// A count of the wire; one that makes no sense is like no other.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The code that a refusal has.
pub(super) fn code(code: Code) -> String {
    code.to_string()
}
