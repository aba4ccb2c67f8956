//! The door that agents come through, whatever is behind it.

use std::fmt;

use async_trait::async_trait;
use toolfs_core::argument::RawCall;

use super::answer::{Answer, Refusal};
use super::event::Events;

/// What a new session asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    pub(crate) cwd: Option<String>,
    pub(crate) roots: Vec<String>,
    pub(crate) read_only: bool,
}

/// A session as it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) cwd: String,
    pub(crate) roots: Vec<String>,
}

/// A call and how it is to be answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) call: Option<RawCall>,
    pub(crate) dry_run: bool,
    pub(crate) full: bool,
    /// The name under which the call may be repeated; where there is none the client draws one.
    pub(crate) request_id: Option<uuid::Uuid>,
}

impl Ask {
    pub(crate) fn of(call: RawCall) -> Ask {
        Ask { call: Some(call), ..Ask::default() }
    }

    pub(crate) fn dry(self) -> Ask {
        Ask { dry_run: true, ..self }
    }

    pub(crate) fn full(self) -> Ask {
        Ask { full: true, ..self }
    }

    pub(crate) fn named(self, request_id: uuid::Uuid) -> Ask {
        Ask { request_id: Some(request_id), ..self }
    }
}

/// One way to reach the tools.
#[async_trait]
pub(crate) trait Door: Send + Sync + fmt::Debug {
    async fn open(&self, open: Open) -> Result<Opened, Refusal>;
    async fn close(&self, session: &str) -> Result<(), Refusal>;
    /// Forgets what was seen of these paths, or everything.
    async fn forget(&self, session: &str, paths: Option<&[&str]>) -> Result<(), Refusal>;
    async fn execute(&self, session: Option<&str>, ask: Ask) -> Result<Answer, Refusal>;
    /// Watches a session, from now on with an empty token.
    async fn watch(&self, session: &str, resume_token: &str) -> Result<Box<dyn Events>, Refusal>;
}

pub(crate) fn read_call(
    path: &str,
    offset: impl Into<Option<i64>>,
    limit: impl Into<Option<i64>>,
) -> RawCall {
    RawCall::Read { file_path: Some(path.to_owned()), offset: offset.into(), limit: limit.into() }
}

pub(crate) fn write_call(path: &str, content: &str) -> RawCall {
    RawCall::Write { file_path: Some(path.to_owned()), content: Some(content.to_owned()) }
}

pub(crate) fn edit_call(path: &str, old: &str, new: &str) -> RawCall {
    RawCall::Edit {
        file_path: Some(path.to_owned()),
        old_string: Some(old.to_owned()),
        new_string: Some(new.to_owned()),
        replace_all: None,
    }
}

pub(crate) fn edit_all_call(path: &str, old: &str, new: &str) -> RawCall {
    RawCall::Edit {
        file_path: Some(path.to_owned()),
        old_string: Some(old.to_owned()),
        new_string: Some(new.to_owned()),
        replace_all: Some(true),
    }
}

pub(crate) fn json_call(name: &str, arguments_json: &str) -> RawCall {
    RawCall::Json { name: name.to_owned(), arguments_json: arguments_json.to_owned() }
}
