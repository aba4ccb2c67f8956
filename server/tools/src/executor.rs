//! The executor: everything a front end calls.

use std::sync::Arc;
use std::time::Duration;

use toolfs_core::clock::Clock;
use toolfs_core::id::SessionId;
use toolfs_core::limit::Limits;
use toolfs_core::schema::ToolDefinition;
use toolfs_policy::{GateCapabilities, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Capabilities;

use crate::call::{CallError, ExecuteRequest, ExecuteResponse};
use crate::session::{
    Caller, CloseSession, ForgetObservations, OpenSession, OpenedSession, Random, SessionInfo, SessionPage,
};

/// What an executor is made of.
#[derive(Debug)]
pub struct ExecutorParts {
    /// Where files are.
    pub provider: Arc<dyn Provider>,
    /// What decides about guards; `None`: every mutation is unconditional.
    pub gate: Option<Arc<dyn PolicyGate>>,
    /// Wall-clock time.
    pub clock: Arc<dyn Clock>,
    /// Unguessable bytes.
    pub random: Arc<dyn Random>,
    /// The limits in force.
    pub limits: Limits,
    /// How long an unused session lives; `None`: for ever.
    pub session_idle: Option<Duration>,
}

/// What a server says about itself.
#[derive(Clone, Debug)]
pub struct ServerCapabilities {
    /// The provider's part.
    pub provider: Capabilities,
    /// The gate's part; `None` without a gate.
    pub gate: Option<GateCapabilities>,
    /// The limits in force.
    pub limits: Limits,
}

/// Runs tool calls and keeps sessions. Shared by all front ends of a server.
#[derive(Debug)]
pub struct Executor {
    #[expect(dead_code, reason = "filled in next")]
    parts: ExecutorParts,
}

impl Executor {
    /// An executor without sessions.
    pub fn new(parts: ExecutorParts) -> Executor {
        Executor { parts }
    }

    /// The definitions of all tools, in listing order.
    pub fn definitions(&self) -> &[ToolDefinition] {
        unimplemented!()
    }

    /// What this server can do.
    ///
    /// # Errors
    /// [`CallError::Fs`] when provider or gate live elsewhere and cannot be reached.
    pub async fn capabilities(&self) -> Result<ServerCapabilities, CallError> {
        unimplemented!()
    }

    /// Runs one tool call. A mutation must be driven to its end: fire `abort` instead of dropping the future.
    ///
    /// # Errors
    /// [`CallError`] for a mistake of the caller; a refusal of the tool is a response.
    pub async fn execute(
        &self,
        _abort: &AbortSignal,
        _request: ExecuteRequest,
    ) -> Result<ExecuteResponse, CallError> {
        unimplemented!()
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`CallError::TooManySessions`]; [`CallError::Fs`] for a `cwd` or root that is no directory beneath the roots.
    pub async fn open_session(
        &self,
        _caller: Caller,
        _request: OpenSession,
    ) -> Result<OpenedSession, CallError> {
        unimplemented!()
    }

    /// What is public about a session.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]
    pub async fn session(&self, _caller: &Caller, _id: &SessionId) -> Result<SessionInfo, CallError> {
        unimplemented!()
    }

    /// The caller's sessions, oldest first. `page_size` is bounded by the executor to 1..=1000; absent means 100.
    ///
    /// # Errors
    /// [`CallError::PageTokenInvalid`]
    pub async fn sessions(
        &self,
        _caller: &Caller,
        _page_size: Option<u32>,
        _page_token: Option<&str>,
    ) -> Result<SessionPage, CallError> {
        unimplemented!()
    }

    /// Closes a session for good, once its calls in flight have ended.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]
    pub async fn close_session(&self, _request: CloseSession) -> Result<(), CallError> {
        unimplemented!()
    }

    /// Makes a session forget what it saw.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]; [`CallError::Fs`] for a path that cannot be resolved.
    pub async fn forget_observations(&self, _request: ForgetObservations) -> Result<(), CallError> {
        unimplemented!()
    }
}
