//! A server in a test: an executor over memory, a clock that stands still, and calls in short.

mod recorder;
mod recording_store;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use toolfs_core::argument::RawCall;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::{Code, FsError};
use toolfs_core::id::SessionId;
use toolfs_core::limit::Limits;
use toolfs_core::notice::{Notice, NoticeKind};
use toolfs_core::outcome::{Outcome, ToolResult};
use toolfs_policy::{MemoryObservationStore, ObservationGate, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_tools::{
    CallError, Caller, ExecuteRequest, ExecuteResponse, Executor, ExecutorParts, MemoryCallStore,
    MemorySessionStore, OpenSession, Random,
};

pub(crate) use self::recorder::Script;
use self::recorder::{Operations, RecordingGate, RecordingProvider};
use self::recording_store::{RecordingCalls, RecordingSessions};

/// For how long calls are remembered.
pub(crate) const REQUEST_ID_WINDOW: Duration = Duration::from_secs(3_600);

/// Calls come in none.
pub(crate) const NO_SESSION: Option<&SessionId> = None;

#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// Bytes that differ each time; the first half, which names are made of, comes `repeats` times more.
#[derive(Debug, Default)]
pub(crate) struct CountingRandom {
    drawn: AtomicU64,
    repeats: u64,
}

impl CountingRandom {
    pub(crate) fn with_repeats(repeats: u64) -> CountingRandom {
        CountingRandom { drawn: AtomicU64::new(0), repeats }
    }
}

impl Random for CountingRandom {
    fn bytes(&self) -> [u8; 16] {
        let drawn = self.drawn.fetch_add(1, Ordering::SeqCst);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(drawn / (self.repeats + 1)).to_be_bytes());
        bytes[8..].copy_from_slice(&drawn.to_be_bytes());
        bytes
    }
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) executor: Arc<Executor>,
    pub(crate) script: Arc<Script>,
    pub(crate) clock: Arc<ManualClock>,
    /// The files themselves, for what happens outside.
    pub(crate) files: Arc<MemoryProvider>,
    lasting: Lasting,
}

/// What outlives an executor, and may be shared by several.
#[derive(Debug, Clone)]
struct Lasting {
    gate: Option<Arc<dyn PolicyGate>>,
    sessions: Arc<MemorySessionStore>,
    calls: Arc<MemoryCallStore>,
    limits: Limits,
    idle: Option<Duration>,
    random: Arc<CountingRandom>,
    operations: Option<Arc<Operations>>,
    shares_state: bool,
}

/// How a server differs from the usual one.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) gate: bool,
    pub(crate) limits: Limits,
    pub(crate) idle: Option<Duration>,
    pub(crate) random: CountingRandom,
    /// Whether the provider records operations.
    pub(crate) operation_ids: bool,
    /// Whether other servers may use the state, and a restart leaves it: it is as a database would be then.
    pub(crate) shares_state: bool,
    /// Bytes of results that are remembered.
    pub(crate) remembered_bytes: u64,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            gate: true,
            limits: Limits::DEFAULT,
            idle: None,
            random: CountingRandom::default(),
            operation_ids: false,
            shares_state: false,
            remembered_bytes: 1 << 20,
        }
    }
}

impl World {
    pub(crate) fn new() -> World {
        World::set_up(Setup::default())
    }

    pub(crate) fn without_gate() -> World {
        World::set_up(Setup { gate: false, ..Setup::default() })
    }

    pub(crate) fn set_up(setup: Setup) -> World {
        let clock = Arc::new(ManualClock(AtomicI64::new(1_700_000_000_000)));
        let files = Arc::new(
            MemoryProvider::new(MemoryConfig {
                limits: setup.limits.clone(),
                ..MemoryConfig::with_root("/workspace")
            })
            .unwrap(),
        );
        let gate = setup.gate.then(|| {
            Arc::new(ObservationGate::new(Arc::new(MemoryObservationStore::new()))) as Arc<dyn PolicyGate>
        });
        let lasting = Lasting {
            gate,
            sessions: Arc::new(MemorySessionStore::new()),
            calls: Arc::new(MemoryCallStore::new(clock.clone(), REQUEST_ID_WINDOW, setup.remembered_bytes)),
            limits: setup.limits,
            idle: setup.idle,
            random: Arc::new(setup.random),
            operations: setup.operation_ids.then(Arc::default),
            shares_state: setup.shares_state,
        };
        World::on(clock, files, lasting)
    }

    /// Another server on the same files and the same state, with a script of its own. It is also what comes after this
    /// one when this one is dropped.
    pub(crate) fn another_server(&self) -> World {
        let lasting = Lasting { calls: Arc::new(self.lasting.calls.beside()), ..self.lasting.clone() };
        World::on(Arc::clone(&self.clock), Arc::clone(&self.files), lasting)
    }

    fn on(clock: Arc<ManualClock>, files: Arc<MemoryProvider>, lasting: Lasting) -> World {
        let script = Arc::new(Script::default());
        let gate = lasting.gate.clone().map(|inner| {
            Arc::new(RecordingGate { inner, script: Arc::clone(&script) }) as Arc<dyn PolicyGate>
        });
        let inner: Arc<dyn Provider> = files.clone();
        let parts = ExecutorParts {
            provider: Arc::new(RecordingProvider {
                inner,
                script: Arc::clone(&script),
                operations: lasting.operations.clone(),
            }),
            gate,
            clock: clock.clone(),
            random: lasting.random.clone(),
            limits: lasting.limits.clone(),
            session_idle: lasting.idle,
            sessions: Arc::new(RecordingSessions {
                inner: lasting.sessions.clone(),
                script: Arc::clone(&script),
                is_persistent: lasting.shares_state,
            }),
            calls: Arc::new(RecordingCalls { inner: lasting.calls.clone(), script: Arc::clone(&script) }),
            request_id_window: REQUEST_ID_WINDOW,
        };
        World { executor: Arc::new(Executor::new(parts)), script, clock, files, lasting }
    }

    pub(crate) async fn open(&self) -> SessionId {
        self.open_as(OpenSession::default()).await
    }

    pub(crate) async fn open_as(&self, request: OpenSession) -> SessionId {
        self.executor.open_session(&AbortSignal::new(), Caller::Local, request).await.unwrap().id
    }

    pub(crate) async fn execute(&self, request: ExecuteRequest) -> Result<ExecuteResponse, CallError> {
        self.executor.execute(&AbortSignal::new(), request).await
    }

    /// A call that is in order.
    pub(crate) async fn run<'a>(
        &self,
        session: impl Into<Option<&'a SessionId>>,
        call: RawCall,
    ) -> ExecuteResponse {
        self.execute(request(session, call)).await.unwrap()
    }

    /// What a model sees of a call.
    pub(crate) async fn text<'a>(&self, session: impl Into<Option<&'a SessionId>>, call: RawCall) -> String {
        let mut text = self.run(session, call).await.text;
        text.push('\n');
        text
    }

    /// Puts a content in place, as somebody outside would.
    pub(crate) fn put(&self, path: &str, content: &str) {
        self.files.put(&absolute(path), content.to_owned());
    }

    /// Makes a link, as somebody outside would.
    pub(crate) fn link(&self, path: &str, points_to: &str) {
        self.files.make_link(&absolute(path), points_to);
    }

    /// Removes a file, as somebody outside would.
    pub(crate) fn delete(&self, path: &str) {
        assert!(self.files.remove(&absolute(path)), "nothing is at {path}");
    }

    /// What is there now.
    pub(crate) fn content(&self, path: &str) -> String {
        self.find(path).unwrap()
    }

    /// What is there now, if anything is.
    pub(crate) fn find(&self, path: &str) -> Option<String> {
        let content = self.files.content(&absolute(path))?;
        Some(String::from_utf8(content.to_vec()).unwrap())
    }
}

fn absolute(path: &str) -> Vec<u8> {
    if path.starts_with('/') { path.into() } else { format!("/workspace/{path}").into() }
}

pub(crate) fn request<'a>(session: impl Into<Option<&'a SessionId>>, call: RawCall) -> ExecuteRequest {
    ExecuteRequest {
        caller: Caller::Local,
        session: session.into().cloned(),
        request_id: None,
        tool_call_id: String::new(),
        dry_run: false,
        want_diff: false,
        call: Some(call),
    }
}

pub(crate) fn read(path: &str) -> RawCall {
    RawCall::Read { file_path: Some(path.into()), offset: None, limit: None }
}

pub(crate) fn read_at(path: &str, offset: i64) -> RawCall {
    RawCall::Read { file_path: Some(path.into()), offset: Some(offset), limit: None }
}

pub(crate) fn write(path: &str, content: &str) -> RawCall {
    RawCall::Write { file_path: Some(path.into()), content: Some(content.into()) }
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> RawCall {
    RawCall::Edit {
        file_path: Some(path.into()),
        old_string: Some(old.into()),
        new_string: Some(new.into()),
        replace_all: None,
    }
}

#[track_caller]
pub(crate) fn outcome(response: &ExecuteResponse) -> &Outcome {
    match &response.result {
        ToolResult::Done(outcome) => outcome,
        ToolResult::Refused(error) | ToolResult::PublishedNotDurable(_, error) => panic!("{error:?}"),
    }
}

#[track_caller]
pub(crate) fn refusal(response: &ExecuteResponse) -> &FsError {
    match &response.result {
        ToolResult::Refused(error) => error,
        ToolResult::Done(outcome) | ToolResult::PublishedNotDurable(outcome, _) => panic!("{outcome:?}"),
    }
}

/// `None` when it worked.
pub(crate) fn code(response: &ExecuteResponse) -> Option<Code> {
    match &response.result {
        ToolResult::Refused(error) => Some(error.code()),
        ToolResult::Done(_) | ToolResult::PublishedNotDurable(..) => None,
    }
}

pub(crate) fn notices(outcome: &Outcome) -> Vec<NoticeKind> {
    let notices: &[Notice] = match outcome {
        Outcome::Read(outcome) => &outcome.notices,
        Outcome::Write(outcome) => &outcome.notices,
        Outcome::Edit(outcome) => &outcome.notices,
    };
    notices.iter().map(|notice| notice.kind).collect()
}
