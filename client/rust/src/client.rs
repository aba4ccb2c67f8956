//! The connection, and what needs no session.

use std::collections::HashMap;
use std::time::Duration;

use tonic::Request;
use tonic::transport::Channel;
use toolfs_contract::v1;
use toolfs_contract::v1::event_service_client::EventServiceClient;
use toolfs_contract::v1::session_service_client::SessionServiceClient;
use toolfs_contract::v1::tool_service_client::ToolServiceClient;

use crate::call::{CallOptions, execute_request, json_call};
use crate::channel::endpoint;
use crate::error::Error;
use crate::reply::ModelReply;
use crate::session::Session;
use crate::watch::Watch;

/// How to connect and what holds for every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOptions {
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a call may take that names no deadline of its own.
    pub default_deadline: Duration,
    /// The largest message in either direction, in bytes. The server announces its own as `max_message_bytes`.
    pub max_message_bytes: usize,
}

impl ConnectOptions {
    /// 5 s to connect, 60 s a call, messages of 64 MiB.
    pub const DEFAULT: ConnectOptions = ConnectOptions {
        connect_timeout: Duration::from_secs(5),
        default_deadline: Duration::from_secs(60),
        max_message_bytes: 64 << 20,
    };
}

/// What a new session asks for. `OpenSession::default()` starts at the server's first root and may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenSession {
    /// Where relative paths start; the first root when empty.
    pub cwd: String,
    /// Directories to which the session is narrowed; all of the server's roots when empty.
    pub roots: Vec<String>,
    /// Labels for operators.
    pub labels: HashMap<String, String>,
    /// Refuse every mutation.
    pub read_only: bool,
}

/// A client of one server. Clones share its connection; make one per process.
#[derive(Clone, Debug)]
pub struct Client {
    tools: ToolServiceClient<Channel>,
    sessions: SessionServiceClient<Channel>,
    events: EventServiceClient<Channel>,
    default_deadline: Duration,
}

impl Client {
    /// Connects to `HOST:PORT`, `unix:PATH` or `http://HOST:PORT`.
    ///
    /// # Errors
    /// [`Error::Connect`]
    pub async fn connect(server: &str) -> Result<Client, Error> {
        Client::connect_with(server, ConnectOptions::DEFAULT).await
    }

    /// Connects with options of your own.
    ///
    /// # Errors
    /// [`Error::Connect`]
    pub async fn connect_with(server: &str, options: ConnectOptions) -> Result<Client, Error> {
        let connected = endpoint(server, options.connect_timeout)?.connect().await;
        let channel = connected.map_err(|error| Error::connect(server, error))?;
        Ok(Client::from_channel(channel, &options))
    }

    /// Uses a channel that is there already, over whatever transport.
    pub fn from_channel(channel: Channel, options: &ConnectOptions) -> Client {
        let limit = options.max_message_bytes;
        Client {
            tools: ToolServiceClient::new(channel.clone())
                .max_decoding_message_size(limit)
                .max_encoding_message_size(limit),
            sessions: SessionServiceClient::new(channel.clone())
                .max_decoding_message_size(limit)
                .max_encoding_message_size(limit),
            events: EventServiceClient::new(channel)
                .max_decoding_message_size(limit)
                .max_encoding_message_size(limit),
            default_deadline: options.default_deadline,
        }
    }

    /// The tools, with their schemas.
    ///
    /// # Errors
    /// [`Error::Call`]
    pub async fn tools(&self) -> Result<Vec<v1::ToolDefinition>, Error> {
        let request = self.request(v1::ListToolsRequest {}, None);
        let response = self.tools.clone().list_tools(request).await.map_err(Error::from_status)?;
        Ok(response.into_inner().tools)
    }

    /// What the server can do, and its limits.
    ///
    /// # Errors
    /// [`Error::Call`]
    pub async fn capabilities(&self) -> Result<v1::GetCapabilitiesResponse, Error> {
        let request = self.request(v1::GetCapabilitiesRequest {}, None);
        let response = self.tools.clone().get_capabilities(request).await.map_err(Error::from_status)?;
        Ok(response.into_inner())
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`Error::Call`], with [`crate::Reason::Fs`] for a `cwd` or root that is no directory beneath the roots.
    pub async fn open_session(&self, open: OpenSession) -> Result<Session, Error> {
        let mode = if open.read_only { v1::SessionMode::ReadOnly } else { v1::SessionMode::WorkspaceWrite };
        let message = v1::OpenSessionRequest {
            cwd: open.cwd,
            roots: open.roots,
            labels: open.labels,
            mode: mode.into(),
        };
        let request = self.request(message, None);
        let response = self.sessions.clone().open_session(request).await.map_err(Error::from_status)?;
        let v1::OpenSessionResponse { session_id, session } = response.into_inner();
        let info =
            session.ok_or_else(|| Error::Protocol("an opened session without its description".into()))?;
        Ok(Session::new(self.clone(), session_id, info))
    }

    /// Goes on with a session that was opened before, perhaps by another process.
    ///
    /// # Errors
    /// [`Error::Call`] when there is no such session (any more).
    pub async fn resume_session(&self, session_id: impl Into<String>) -> Result<Session, Error> {
        let id = session_id.into();
        let key = v1::get_session_request::Key::SessionId(id.clone());
        let request = self.request(v1::GetSessionRequest { key: Some(key) }, None);
        let response = self.sessions.clone().get_session(request).await.map_err(Error::from_status)?;
        let info = response
            .into_inner()
            .session
            .ok_or_else(|| Error::Protocol("a session without its description".into()))?;
        Ok(Session::new(self.clone(), id, info))
    }

    /// One page of the caller's open sessions.
    ///
    /// # Errors
    /// [`Error::Call`]
    pub async fn list_sessions(
        &self,
        request: v1::ListSessionsRequest,
    ) -> Result<v1::ListSessionsResponse, Error> {
        let request = self.request(request, None);
        let response = self.sessions.clone().list_sessions(request).await.map_err(Error::from_status)?;
        Ok(response.into_inner())
    }

    /// Runs a call outside any session, exactly as a model produced it: under the observation policy it may read and
    /// create.
    ///
    /// # Errors
    /// [`Error::Call`] when the call did not reach a tool.
    pub async fn call(
        &self,
        name: impl Into<String>,
        arguments_json: impl Into<String>,
        options: CallOptions,
    ) -> Result<ModelReply, Error> {
        let deadline = options.deadline;
        let request = execute_request("", json_call(name, arguments_json), options);
        Ok(ModelReply::decode(self.execute(request, deadline).await?))
    }

    /// Sends a message of the contract as it is.
    ///
    /// # Errors
    /// [`Error::Call`]
    pub async fn execute(
        &self,
        request: v1::ExecuteRequest,
        deadline: Option<Duration>,
    ) -> Result<v1::ExecuteResponse, Error> {
        let request = self.request(request, deadline);
        Ok(self.tools.clone().execute(request).await.map_err(Error::from_status)?.into_inner())
    }

    pub(crate) async fn close_session(&self, request: v1::CloseSessionRequest) -> Result<(), Error> {
        let request = self.request(request, None);
        self.sessions.clone().close_session(request).await.map_err(Error::from_status)?;
        Ok(())
    }

    pub(crate) async fn forget_observations(
        &self,
        request: v1::ForgetObservationsRequest,
    ) -> Result<(), Error> {
        let request = self.request(request, None);
        self.sessions.clone().forget_observations(request).await.map_err(Error::from_status)?;
        Ok(())
    }

    /// Without a deadline: a watch lasts as long as somebody wants it.
    pub(crate) async fn watch(&self, request: v1::WatchRequest) -> Result<Watch, Error> {
        let response = self.events.clone().watch(request).await.map_err(Error::from_status)?;
        Ok(Watch::new(response.into_inner()))
    }

    fn request<T>(&self, message: T, deadline: Option<Duration>) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(deadline.unwrap_or(self.default_deadline));
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_is_not_there_is_named() {
        let error = Client::connect("unix:/nowhere/toolfs.sock").await.unwrap_err();
        assert_eq!(error.to_string(), "cannot connect to `unix:/nowhere/toolfs.sock`");
        assert!(error.is_retryable());
    }
}
