//! The executor: everything a front end calls.

use std::sync::Arc;
use std::time::Duration;

use toolfs_core::argument::ToolCall;
use toolfs_core::clock::Clock;
use toolfs_core::error::FsError;
use toolfs_core::id::{SessionId, SessionName};
use toolfs_core::limit::Limits;
use toolfs_core::outcome::Outcome;
use toolfs_core::schema::{self, ToolDefinition};
use toolfs_policy::{ForgetScope, GateCapabilities, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Capabilities;

use crate::answer::Answer;
use crate::call::{CallError, ExecuteRequest, ExecuteResponse};
use crate::lock::Turns;
use crate::order::OrderSource;
use crate::registry::{Entered, Registry};
use crate::remedy::{self, Attempt};
use crate::scope::Scope;
use crate::session::{
    Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession, OpenedSession, Random, Session,
    SessionInfo, SessionPage, Usage,
};
use crate::{edit, open, read, span, write};

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
    /// How long an unused session lives; `None`: for ever.
    pub session_idle: Option<Duration>,
}

/// Runs tool calls and keeps sessions. Shared by all front ends of a server.
///
/// It records `toolfs.tool`, `toolfs.session` (the public name), `toolfs.guard`, `toolfs.bytes` and `toolfs.code` (the
/// error of a result) on the current span, where the span has these fields; never content, and never the secret of a
/// session. What a [`CallError`] is called is its front end's to record.
#[derive(Debug)]
pub struct Executor {
    parts: ExecutorParts,
    definitions: Vec<ToolDefinition>,
    orders: OrderSource,
    turns: Turns,
    registry: Registry,
}

impl Executor {
    /// An executor without sessions.
    pub fn new(parts: ExecutorParts) -> Executor {
        Executor {
            definitions: schema::definitions(&parts.limits),
            orders: OrderSource::new(Arc::clone(&parts.clock)),
            turns: Turns::default(),
            registry: Registry::new(Arc::clone(&parts.clock), parts.session_idle, parts.limits.max_sessions),
            parts,
        }
    }

    /// The definitions of all tools, in listing order.
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// What this server can do.
    ///
    /// # Errors
    /// [`CallError::Fs`] when provider or gate live elsewhere and cannot be reached.
    pub async fn capabilities(&self) -> Result<ServerCapabilities, CallError> {
        let provider = self.parts.provider.capabilities(&AbortSignal::new()).await?;
        let gate = match &self.parts.gate {
            Some(gate) => Some(gate.capabilities().await?),
            None => None,
        };
        Ok(ServerCapabilities {
            provider,
            gate,
            limits: self.parts.limits.clone(),
            session_idle: self.parts.session_idle,
        })
    }

    /// Runs one tool call. A mutation must be driven to its end: fire `abort` instead of dropping the future.
    ///
    /// A call that was cancelled or ran out of time ends in [`CallError::Aborted`] if nothing changed. If something
    /// may have changed, or the server is shutting down, that is for the model to know: it is a refusal in a response.
    ///
    /// # Errors
    /// [`CallError`] for a mistake of the caller; a refusal of the tool is a response.
    pub async fn execute(
        &self,
        abort: &AbortSignal,
        request: ExecuteRequest,
    ) -> Result<ExecuteResponse, CallError> {
        if let Some(tool) = request.tool() {
            span::tool(tool);
        }
        let raw_call = request.call.ok_or(CallError::CallMissing)?;
        let session = match &request.session {
            Some(id) => Some(self.enter(&request.caller, id)?),
            None => None,
        };
        let scope = Scope {
            provider: &*self.parts.provider,
            gate: self.parts.gate.as_deref(),
            orders: &self.orders,
            turns: &self.turns,
            limits: &self.parts.limits,
            abort,
            session: session.as_deref(),
            dry_run: request.dry_run,
            want_diff: request.want_diff,
        };
        let call = match ToolCall::parse(raw_call, scope.limits) {
            Ok(call) => call,
            Err(error) => return Answer::to_nothing(&scope).refused(error),
        };
        let answer = Answer::to(&scope, &call);
        match run(&scope, call).await {
            Ok((outcome, not_durable)) => Ok(answer.done(outcome, not_durable)),
            Err(error) => answer.refused(error),
        }
    }

    /// Opens a session. Its directories are looked at now. Relative `roots` start at the first root of the server, a
    /// relative `cwd` at the first root of the session.
    ///
    /// # Errors
    /// [`CallError::TooManySessions`]; [`CallError::Fs`] for a `cwd` or root that is no directory beneath the roots.
    pub async fn open_session(
        &self,
        caller: Caller,
        request: OpenSession,
    ) -> Result<OpenedSession, CallError> {
        self.end_sessions().await;
        self.registry.has_room()?;
        let standing = open::stand(&*self.parts.provider, &self.parts.limits, &request)
            .await
            .map_err(|error| remedy::add(error, Attempt { tool: None, in_session: false }))?;
        let id = SessionId::from_random(self.parts.random.bytes());
        let now = self.parts.clock.now();
        let mut session = Session {
            key: id.key(),
            name: self.draw_name(),
            owner: caller,
            cwd: standing.cwd,
            roots: standing.roots,
            shown_roots: standing.shown_roots,
            labels: request.labels,
            mode: request.mode,
            created: now,
            usage: Usage::since(now),
        };
        loop {
            match self.registry.insert(session)? {
                Ok(opened) => {
                    span::session(&opened.name);
                    return Ok(OpenedSession { id, info: opened.info(self.parts.session_idle) });
                }
                Err(name_taken) => session = Session { name: self.draw_name(), ..name_taken },
            }
        }
    }

    /// What is public about a session. Asking is no use of it: it expires all the same.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]
    pub async fn session(&self, caller: &Caller, id: &SessionId) -> Result<SessionInfo, CallError> {
        let session = self.registry.look(caller, id)?;
        span::session(&session.name);
        Ok(session.info(self.parts.session_idle))
    }

    /// The caller's sessions, oldest first. `page_size` is bounded by the executor to 1..=1000; absent means 100.
    ///
    /// # Errors
    /// [`CallError::PageTokenInvalid`]
    pub async fn sessions(
        &self,
        caller: &Caller,
        page_size: Option<u32>,
        page_token: Option<&str>,
    ) -> Result<SessionPage, CallError> {
        self.registry.page(caller, page_size, page_token)
    }

    /// Closes a session for good, once its calls in flight have ended. New calls do not find it from the first moment
    /// on. Dropping the future leaves it closed; what is left of its end is done by [`Executor::end_sessions`].
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]
    pub async fn close_session(&self, request: CloseSession) -> Result<(), CallError> {
        let session = self.registry.remove(&request.caller, &request.session)?;
        span::session(&session.name);
        session.usage.calls_ended().await;
        // The session is closed, whatever the gate says: what it remembers is out of everybody's reach.
        let _ = self.end_at_gate(&session).await;
        Ok(())
    }

    /// Makes a session forget what it saw. All paths are resolved before the first is forgotten.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]; [`CallError::Fs`] for a path that cannot be resolved, and when the gate cannot
    /// be reached.
    pub async fn forget_observations(&self, request: ForgetObservations) -> Result<(), CallError> {
        let session = self.enter(&request.caller, &request.session)?;
        let scope = match request.scope {
            ForgetPaths::All => ForgetScope::All,
            ForgetPaths::Paths(paths) => {
                let limits = &self.parts.limits;
                let found = open::find_all(&*self.parts.provider, limits, &session, &paths).await;
                let attempt = Attempt { tool: None, in_session: true };
                ForgetScope::Targets(found.map_err(|error| remedy::add(error, attempt))?)
            }
        };
        if let Some(gate) = &self.parts.gate {
            gate.forget(&session.key, scope, self.orders.take()).await?;
        }
        Ok(())
    }

    /// Ends the sessions that were unused for too long, and finishes what was left of closed ones. Opening a session
    /// does this too; whoever keeps time calls it so that sessions end on a server where none is opened.
    pub async fn end_sessions(&self) {
        // A call that is still in a session keeps it for the next time.
        let quiet = self.registry.ending().into_iter().filter(|session| session.usage.is_quiet());
        for session in quiet {
            if self.end_at_gate(&session).await.is_err() {
                // The gate is away: the others would only wait for it as well.
                return;
            }
        }
    }

    /// Drops what the gate knows of a session that nobody can reach any more. If it cannot be told now, the session
    /// stays in the list of those to be ended.
    async fn end_at_gate(&self, session: &Session) -> Result<(), FsError> {
        if let Some(gate) = &self.parts.gate {
            gate.end_session(&session.key).await.inspect_err(|failure| {
                let (session, code) = (&session.name, failure.code());
                tracing::warn!(%session, %code, "a closed session was not ended at the gate yet");
            })?;
        }
        self.registry.ended(&session.key);
        Ok(())
    }

    fn enter(&self, caller: &Caller, id: &SessionId) -> Result<Entered, CallError> {
        let session = self.registry.enter(caller, id)?;
        span::session(&session.name);
        Ok(session)
    }

    fn draw_name(&self) -> SessionName {
        let [a, b, c, d, e, f, g, h, ..] = self.parts.random.bytes();
        SessionName::from_random([a, b, c, d, e, f, g, h])
    }
}

/// Runs the tool. The second part is set when the effect is there and could not be made durable.
async fn run(scope: &Scope<'_>, call: ToolCall) -> Result<(Outcome, Option<FsError>), FsError> {
    match call {
        ToolCall::Read(arguments) => Ok((Outcome::Read(read::run(scope, arguments).await?), None)),
        ToolCall::Write(arguments) => {
            let (outcome, not_durable) = write::run(scope, arguments).await?;
            Ok((Outcome::Write(outcome), not_durable))
        }
        ToolCall::Edit(arguments) => {
            let (outcome, not_durable) = edit::run(scope, arguments).await?;
            Ok((Outcome::Edit(outcome), not_durable))
        }
    }
}
