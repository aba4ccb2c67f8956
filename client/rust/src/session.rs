//! A session: what an agent calls tools in.

use std::fmt;

use toolfs_contract::v1::{self, execute_request::Call, execute_response::Outcome};

use crate::call::{
    CallOptions, Edit, Read, Write, edit_call, execute_request, json_call, read_call, write_call,
};
use crate::client::Client;
use crate::error::Error;
use crate::reply::{ModelReply, Reply, decode};
use crate::watch::Watch;

/// An open session. Clones share it; calls may run at the same time.
///
/// Dropping it leaves the session open on the server: another process that holds the id may go on with it. End it
/// with [`Session::close`]. Its `Debug` form hides the id.
#[derive(Clone)]
pub struct Session {
    client: Client,
    id: String,
    info: v1::Session,
}

impl Session {
    pub(crate) fn new(client: Client, id: String, info: v1::Session) -> Session {
        Session { client, id, info }
    }

    /// The secret handle. Whoever knows it may call in this session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was public about the session when it was opened: name, cwd, roots, mode.
    pub fn info(&self) -> &v1::Session {
        &self.info
    }

    /// Reads a window of a file. Success lets this session write and edit the file as it is now.
    ///
    /// # Errors
    /// [`Error::Tool`] with `FS_NOT_FOUND`, `FS_NOT_REGULAR_FILE`, `FS_NOT_TEXT`, `FS_OUT_OF_RANGE` and others.
    pub async fn read(&self, read: Read) -> Result<Reply<v1::ReadOutcome>, Error> {
        let response = self.execute(read_call(&read), read.options).await?;
        decode(response, |outcome| match outcome {
            Outcome::Read(read) => Some(read),
            Outcome::Write(_) | Outcome::Edit(_) => None,
        })
    }

    /// Creates a file or replaces its content.
    ///
    /// # Errors
    /// [`Error::Tool`] with `FS_NOT_OBSERVED`, `FS_STALE_VERSION` and others; nothing changed unless
    /// [`crate::ToolError::published`] says otherwise.
    pub async fn write(&self, write: Write) -> Result<Reply<v1::WriteOutcome>, Error> {
        let (call, options) = write_call(write);
        let response = self.execute(call, options).await?;
        decode(response, |outcome| match outcome {
            Outcome::Write(write) => Some(write),
            Outcome::Read(_) | Outcome::Edit(_) => None,
        })
    }

    /// Replaces text in a file.
    ///
    /// # Errors
    /// [`Error::Tool`] with `FS_NOT_OBSERVED`, `FS_STALE_VERSION`, `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT` and
    /// others; nothing changed unless [`crate::ToolError::published`] says otherwise.
    pub async fn edit(&self, edit: Edit) -> Result<Reply<v1::EditOutcome>, Error> {
        let (call, options) = edit_call(edit);
        let response = self.execute(call, options).await?;
        decode(response, |outcome| match outcome {
            Outcome::Edit(edit) => Some(edit),
            Outcome::Read(_) | Outcome::Write(_) => None,
        })
    }

    /// Runs a call exactly as a model produced it. What the tool refuses is content for the model, not an `Err`.
    ///
    /// # Errors
    /// [`Error::Call`] when the call did not reach a tool.
    pub async fn call(
        &self,
        name: impl Into<String>,
        arguments_json: impl Into<String>,
        options: CallOptions,
    ) -> Result<ModelReply, Error> {
        Ok(ModelReply::decode(self.execute(json_call(name, arguments_json), options).await?))
    }

    /// Makes the session forget what it saw of these paths: it must read them again before it changes them.
    ///
    /// # Errors
    /// [`Error::Call`]
    pub async fn forget(&self, paths: impl IntoIterator<Item = impl Into<String>>) -> Result<(), Error> {
        let paths = v1::PathList { paths: paths.into_iter().map(Into::into).collect() };
        self.forget_scope(v1::forget_observations_request::Scope::Paths(paths)).await
    }

    /// Makes the session forget everything it saw.
    ///
    /// # Errors
    /// [`Error::Call`]
    pub async fn forget_all(&self) -> Result<(), Error> {
        self.forget_scope(v1::forget_observations_request::Scope::All(v1::AllPaths {})).await
    }

    /// Follows what the calls of this session do, whoever makes them: from now on with an empty `resume_token`, else
    /// after the event that the token came with. It is no use of the session, which expires all the same.
    ///
    /// # Errors
    /// [`Error::Call`] when the session has ended, or for a token that is not of this session.
    pub async fn watch(&self, resume_token: impl Into<String>) -> Result<Watch, Error> {
        let scope = v1::watch_request::Scope::SessionId(self.id.clone());
        self.client.watch(v1::WatchRequest { scope: Some(scope), resume_token: resume_token.into() }).await
    }

    /// Closes the session for good.
    ///
    /// # Errors
    /// [`Error::Call`], also when it was closed before.
    pub async fn close(self) -> Result<(), Error> {
        let key = v1::close_session_request::Key::SessionId(self.id);
        self.client.close_session(v1::CloseSessionRequest { key: Some(key) }).await
    }

    async fn forget_scope(&self, scope: v1::forget_observations_request::Scope) -> Result<(), Error> {
        let key = v1::forget_observations_request::Key::SessionId(self.id.clone());
        let request = v1::ForgetObservationsRequest { key: Some(key), scope: Some(scope) };
        self.client.forget_observations(request).await
    }

    async fn execute(&self, call: Call, options: CallOptions) -> Result<v1::ExecuteResponse, Error> {
        let deadline = options.deadline;
        self.client.execute(execute_request(&self.id, call, options), deadline).await
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.info.name).finish_non_exhaustive()
    }
}
