//! The executor: everything a front end calls.

use std::sync::Arc;
use std::time::Duration;

use toolfs_core::argument::{RawCall, ToolCall};
use toolfs_core::clock::Clock;
use toolfs_core::error::FsError;
use toolfs_core::id::{SessionId, SessionKey, SessionName};
use toolfs_core::limit::Limits;
use toolfs_core::outcome::Outcome;
use toolfs_core::schema::{self, ToolDefinition};
use toolfs_policy::{ForgetScope, GateCapabilities, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::capability::Capabilities;

use crate::answer::Answer;
use crate::call::{CallError, ExecuteRequest, ExecuteResponse};
use crate::event::{CallEvents, EventHub, Watch};
use crate::lock::{TargetInSession, Turns};
use crate::order::OrderSource;
use crate::registry::{Entered, Registry};
use crate::remedy::{self, Attempt};
use crate::repeat::{Repeatable, Repeats, Stop};
use crate::scope::Scope;
use crate::session::{
    Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession, OpenedSession, Random, SessionInfo,
    SessionPage,
};
use crate::store::{CallStore, SessionRecord, SessionStore};
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
    /// Where sessions are kept.
    pub sessions: Arc<dyn SessionStore>,
    /// Where the results of calls that may be repeated are remembered.
    pub calls: Arc<dyn CallStore>,
    /// For how long that store remembers them, to be announced.
    pub request_id_window: Duration,
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
    /// Whether sessions, and what they observed, survive a restart.
    pub sessions_persistent: bool,
    /// For how long the result of a mutation is remembered under its request id.
    pub request_id_window: Duration,
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
    turns: Turns<TargetInSession>,
    registry: Registry,
    repeats: Repeats,
    events: Arc<EventHub>,
}

impl Executor {
    /// An executor over the sessions and calls that its stores keep.
    pub fn new(parts: ExecutorParts) -> Executor {
        Executor {
            definitions: schema::definitions(&parts.limits),
            orders: OrderSource::new(Arc::clone(&parts.sessions), Arc::clone(&parts.clock)),
            turns: Turns::default(),
            events: Arc::new(EventHub::new(Arc::clone(&parts.clock))),
            registry: Registry::new(
                Arc::clone(&parts.sessions),
                Arc::clone(&parts.clock),
                parts.session_idle,
                parts.limits.max_sessions,
            ),
            repeats: Repeats::new(
                Arc::clone(&parts.calls),
                Arc::clone(&parts.provider),
                Arc::clone(&parts.clock),
            ),
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
        // Without a gate nothing is observed, so that nothing of it can be lost.
        let gate_persists = gate.as_ref().is_none_or(|gate| gate.persistent);
        Ok(ServerCapabilities {
            provider,
            gate,
            limits: self.parts.limits.clone(),
            session_idle: self.parts.session_idle,
            sessions_persistent: gate_persists && self.registry.is_persistent(),
            request_id_window: self.parts.request_id_window,
        })
    }

    /// Runs one tool call. A mutation must be driven to its end: fire `abort` instead of dropping the future.
    ///
    /// A call that was cancelled or ran out of time ends in [`CallError::Aborted`] if nothing changed. If something
    /// may have changed, or the server is shutting down, that is for the model to know: it is a refusal in a response.
    ///
    /// A mutation with a session and a request id takes effect once, however often it is repeated within the window that
    /// is announced: a repeat is answered as the first was.
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
        if request.call.is_none() {
            return Err(CallError::CallMissing);
        }
        let session = match &request.session {
            Some(id) => Some(self.enter(&request.caller, id).await?),
            None => None,
        };
        let record = session.as_deref().map(|session| &session.record);
        let events = CallEvents::begin(&self.events, record.map(|record| &record.key), &request);
        let end = self.call(abort, request, record, &events).await;
        events.end(&end);
        end
    }

    /// The call itself, of somebody who may call.
    async fn call(
        &self,
        abort: &AbortSignal,
        request: ExecuteRequest,
        session: Option<&SessionRecord>,
        events: &CallEvents<'_>,
    ) -> Result<ExecuteResponse, CallError> {
        let repeatable = Repeatable::of(&request);
        let raw_call = request.call.ok_or(CallError::CallMissing)?;
        let scope = Scope {
            provider: &*self.parts.provider,
            gate: self.parts.gate.as_deref(),
            orders: &self.orders,
            turns: &self.turns,
            limits: &self.parts.limits,
            abort,
            events,
            session,
            claim: None,
            dry_run: request.dry_run,
            want_diff: request.want_diff,
        };
        let Some(repeatable) = repeatable else { return answer(&scope, raw_call).await };
        match self.repeats.claim(repeatable, abort).await {
            Ok(claim) => {
                let ended = answer(&Scope { claim: Some(&claim), ..scope }, raw_call).await;
                match claim.settle(&ended, abort).await {
                    Some(stop) => Answer::to_nothing(&scope).stopped(stop),
                    None => ended,
                }
            }
            Err(stop) => Answer::to_nothing(&scope).stopped(stop),
        }
    }

    /// Opens a session. Its directories are looked at now. Relative `roots` start at the first root of the server, a
    /// relative `cwd` at the first root of the session. An abort that comes before the session is kept ends it.
    ///
    /// # Errors
    /// [`CallError::TooManySessions`]; [`CallError::Fs`] for a `cwd` or root that is no directory beneath the roots, and
    /// when provider or store cannot be reached; [`CallError::Aborted`].
    pub async fn open_session(
        &self,
        abort: &AbortSignal,
        caller: Caller,
        request: OpenSession,
    ) -> Result<OpenedSession, CallError> {
        self.end_sessions().await;
        let standing = open::stand(&*self.parts.provider, abort, &self.parts.limits, &request)
            .await
            .map_err(|error| remedy::add(error, Attempt { tool: None, in_session: false }))?;
        let id = SessionId::from_random(self.parts.random.bytes());
        let now = self.parts.clock.now();
        let mut session = SessionRecord {
            key: id.key(),
            name: self.draw_name(),
            owner: caller,
            cwd: standing.cwd,
            roots: standing.roots,
            shown_roots: standing.shown_roots,
            labels: request.labels,
            mode: request.mode,
            created: now,
            last_used: now,
        };
        loop {
            abort.check()?;
            match self.registry.insert(session.clone()).await? {
                Some(info) => {
                    span::session(&info.name);
                    return Ok(OpenedSession { id, info });
                }
                None => session.name = self.draw_name(),
            }
        }
    }

    /// What is public about a session. Asking is no use of it: it expires all the same.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]; [`CallError::Fs`] when the store cannot be reached.
    pub async fn session(&self, caller: &Caller, id: &SessionId) -> Result<SessionInfo, CallError> {
        let info = self.registry.look(caller, id).await?;
        span::session(&info.name);
        Ok(info)
    }

    /// The caller's sessions, oldest first. `page_size` is bounded by the executor to 1..=1000; absent means 100.
    ///
    /// # Errors
    /// [`CallError::PageTokenInvalid`]; [`CallError::Fs`] when the store cannot be reached.
    pub async fn sessions(
        &self,
        caller: &Caller,
        page_size: Option<u32>,
        page_token: Option<&str>,
    ) -> Result<SessionPage, CallError> {
        self.registry.page(caller, page_size, page_token).await
    }

    /// Closes a session for good, once its calls in flight here have ended. New calls do not find it from the first
    /// moment on, at whichever server. Dropping the future may leave it closed; what is left of its end is done by
    /// [`Executor::end_sessions`], also after a restart where sessions survive one.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]; [`CallError::Fs`] when the store cannot be reached: it is not closed then.
    pub async fn close_session(&self, request: CloseSession) -> Result<(), CallError> {
        let session = self.registry.remove(&request.caller, &request.session).await?;
        span::session(&session.record.name);
        session.usage.calls_ended().await;
        // The session is closed, whatever the gate says: what it remembers is out of everybody's reach.
        let _ = self.finish_end(&session.record.key).await;
        Ok(())
    }

    /// Makes a session forget what it saw. All paths are resolved before the first is forgotten; from then on an abort
    /// does not stop it.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`]; [`CallError::Fs`] for a path that cannot be resolved, and when store or gate
    /// cannot be reached; [`CallError::Aborted`].
    pub async fn forget_observations(
        &self,
        abort: &AbortSignal,
        request: ForgetObservations,
    ) -> Result<(), CallError> {
        let session = self.enter(&request.caller, &request.session).await?;
        let scope = match request.scope {
            ForgetPaths::All => ForgetScope::All,
            ForgetPaths::Paths(paths) => {
                let limits = &self.parts.limits;
                let found = open::find_all(&*self.parts.provider, abort, limits, &session, &paths).await;
                let attempt = Attempt { tool: None, in_session: true };
                ForgetScope::Targets(found.map_err(|error| remedy::add(error, attempt))?)
            }
        };
        abort.check()?;
        if let Some(gate) = &self.parts.gate {
            gate.forget(&session.record.key, scope, self.orders.take()).await?;
        }
        Ok(())
    }

    /// Watches what the calls of a session do from now on, or from where a watch was left. Watching is no use of the
    /// session: it expires all the same. The watch ends with the session.
    ///
    /// # Errors
    /// [`CallError::SessionNotFound`], [`CallError::ResumeTokenInvalid`]; [`CallError::Fs`] when the store cannot be
    /// reached.
    pub async fn watch(
        &self,
        caller: &Caller,
        id: &SessionId,
        resume_token: &str,
    ) -> Result<Watch, CallError> {
        let (session, key) = (self.registry.look(caller, id).await?, id.key());
        span::session(&session.name);
        let watch = self.events.watch(&key, &session.name, resume_token)?;
        if let Err(gone) = self.registry.look(caller, id).await {
            // Its end may have been told before anybody watched.
            self.end_watches_of(&key).await;
            return Err(gone);
        }
        Ok(watch)
    }

    /// How many sessions are in use at this server, or were within the last minutes.
    pub fn active_sessions(&self) -> u64 {
        self.registry.in_use()
    }

    /// Ends the sessions that were unused for too long, and finishes what was left of closed ones. Opening a session
    /// does this too; whoever keeps time calls it so that sessions end on a server where none is opened.
    pub async fn end_sessions(&self) {
        self.registry.sweep().await;
        let ending = async {
            self.repeats.tell_all().await?;
            self.registry.expire().await?;
            self.registry.ending().await
        };
        match ending.await {
            Ok(ending) => {
                for session in ending {
                    if self.finish_end(&session).await.is_err() {
                        // Something is away: the others would only wait for it as well.
                        return;
                    }
                }
            }
            Err(failure) => tracing::warn!(code = %failure.code(), "idle sessions were not ended yet"),
        }
        // Those that were closed at another server.
        for session in self.events.watched() {
            self.end_watches_of(&session).await;
        }
    }

    /// Ends the watches of a session if it is gone.
    async fn end_watches_of(&self, session: &SessionKey) {
        if self.registry.is_over(session).await {
            self.events.end(session);
        }
    }

    /// Drops what gate and stores know of a session that nobody can reach any more. If they cannot be told now, it stays
    /// among those that are left to be ended.
    async fn finish_end(&self, session: &SessionKey) -> Result<(), FsError> {
        self.events.end(session);
        let end = async {
            if let Some(gate) = &self.parts.gate {
                gate.end_session(session).await?;
            }
            self.parts.calls.end_session(session).await?;
            self.registry.ended(session).await
        };
        end.await.inspect_err(|failure| {
            tracing::warn!(code = %failure.code(), "what is known of a closed session was not dropped yet");
        })
    }

    async fn enter(&self, caller: &Caller, id: &SessionId) -> Result<Entered, CallError> {
        let session = self.registry.enter(caller, id).await?;
        span::session(&session.record.name);
        Ok(session)
    }

    fn draw_name(&self) -> SessionName {
        let [a, b, c, d, e, f, g, h, ..] = self.parts.random.bytes();
        SessionName::from_random([a, b, c, d, e, f, g, h])
    }
}

/// Runs a call and answers it.
async fn answer(scope: &Scope<'_>, call: RawCall) -> Result<ExecuteResponse, CallError> {
    let call = match ToolCall::parse(call, scope.limits) {
        Ok(call) => call,
        Err(error) => return Answer::to_nothing(scope).refused(error),
    };
    let answer = Answer::to(scope, &call);
    match run(scope, call).await {
        Ok((outcome, not_durable)) => Ok(answer.done(outcome, not_durable)),
        Err(stop) => answer.stopped(stop),
    }
}

/// Runs the tool. The second part is set when the effect is there and could not be made durable.
async fn run(scope: &Scope<'_>, call: ToolCall) -> Result<(Outcome, Option<FsError>), Stop> {
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
