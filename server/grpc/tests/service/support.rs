//! A server on connections in memory, a client of it, and a provider that can be made to wait.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hyper_util::rt::TokioIo;
use prost::Message as _;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use toolfs_contract::v1;
use toolfs_contract::v1::execute_request::Call;
use toolfs_contract::v1::session_service_client::SessionServiceClient;
use toolfs_contract::v1::tool_service_client::ToolServiceClient;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::{AbortCause, Result};
use toolfs_core::limit::Limits;
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::window::LineWindow;
use toolfs_grpc::{Drain, ServeError, ServeOptions, Server};
use toolfs_policy::{MemoryObservationStore, ObservationGate, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::{AbortSignal, aborted};
use toolfs_provider::capability::Capabilities;
use toolfs_provider::content::{ContentStream, EntryStream};
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider::report::{EditReport, LinesReport, Stat, WriteReport};
use toolfs_provider::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};
use toolfs_tools::{Executor, ExecutorParts, MemoryCallStore, MemorySessionStore, Random};

use crate::trace;

/// The limit of messages in most tests: small, so that it can be exceeded.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// For how long calls are remembered.
pub(crate) const REQUEST_ID_WINDOW: Duration = Duration::from_secs(3_600);

const DUPLEX_BYTES: usize = 64 << 10;

/// How a test's server differs from the usual one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) gate: bool,
    pub(crate) drain_limit: Duration,
    pub(crate) handshake_timeout: Duration,
    pub(crate) session_idle: Option<Duration>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            gate: true,
            drain_limit: Duration::from_secs(20),
            handshake_timeout: Duration::from_secs(60),
            session_idle: None,
        }
    }
}

/// A server that does not serve yet, and its files.
pub(crate) fn server(setup: Setup) -> (Server, Arc<Scripted>) {
    trace::collect();
    let files = MemoryProvider::new(MemoryConfig::with_root("/w")).unwrap();
    let provider = Arc::new(Scripted::over(files));
    let gate = setup.gate.then(|| {
        Arc::new(ObservationGate::new(Arc::new(MemoryObservationStore::new()))) as Arc<dyn PolicyGate>
    });
    let clock = Arc::new(Ticks::default());
    let executor = Executor::new(ExecutorParts {
        provider: provider.clone(),
        gate,
        clock: clock.clone(),
        random: Arc::new(Counted::default()),
        limits: Limits::DEFAULT,
        session_idle: setup.session_idle,
        sessions: Arc::new(MemorySessionStore::new()),
        calls: Arc::new(MemoryCallStore::new(clock, REQUEST_ID_WINDOW, 1 << 20)),
        request_id_window: REQUEST_ID_WINDOW,
    });
    let server = Server::new(
        Arc::new(executor),
        ServeOptions {
            max_message_bytes: MAX_MESSAGE_BYTES,
            server_version: "1.2.3".into(),
            drain_limit: setup.drain_limit,
            handshake_timeout: setup.handshake_timeout,
            limits: Limits::DEFAULT,
            max_stream_bytes: 48 << 20,
            stream_patience: Duration::from_secs(60),
        },
    );
    (server, provider)
}

/// A server that runs until it is shut down.
pub(crate) struct Host {
    pub(crate) channel: Channel,
    pub(crate) provider: Arc<Scripted>,
    connections: mpsc::UnboundedSender<io::Result<DuplexStream>>,
    shutdown: Option<oneshot::Sender<()>>,
    server: JoinHandle<std::result::Result<Drain, ServeError>>,
}

impl Host {
    pub(crate) fn start() -> Host {
        Host::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Host {
        let (server, provider) = server(setup);
        let (connections, accepted) = mpsc::unbounded_channel();
        let (shutdown, told) = oneshot::channel::<()>();
        #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
        let server =
            tokio::spawn(server.serve_connections(UnboundedReceiverStream::new(accepted), async move {
                let _ = told.await;
            }));
        Host {
            channel: channel(connections.clone()),
            provider,
            connections,
            shutdown: Some(shutdown),
            server,
        }
    }

    /// The client's end of a connection on which nothing was said yet.
    pub(crate) fn connect(&self) -> DuplexStream {
        connect(&self.connections).unwrap()
    }

    /// A client of its own whose streams have room for so many bytes that were not read yet.
    pub(crate) fn channel_of(&self, window_bytes: u32) -> Channel {
        connector(
            Endpoint::from_static("http://in.memory").initial_stream_window_size(window_bytes),
            self.connections.clone(),
        )
    }

    pub(crate) fn tools(&self) -> ToolServiceClient<Channel> {
        ToolServiceClient::new(self.channel.clone())
    }

    pub(crate) fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.channel.clone())
    }

    pub(crate) async fn open_session(&self) -> String {
        let request = v1::OpenSessionRequest::default();
        self.sessions().open_session(request).await.unwrap().into_inner().session_id
    }

    pub(crate) async fn execute(&self, session: &str, call: Call) -> v1::ExecuteResponse {
        self.tools().execute(request(session, call)).await.unwrap().into_inner()
    }

    pub(crate) fn begin_shutdown(&mut self) {
        self.shutdown.take().expect("the server is shut down once").send(()).unwrap();
    }

    pub(crate) async fn ended(self) -> Drain {
        drop(self.channel);
        self.server.await.unwrap().unwrap()
    }

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        let content = self.provider.files.content(path.as_bytes())?;
        Some(String::from_utf8(content.to_vec()).unwrap())
    }
}

fn connect(connections: &mpsc::UnboundedSender<io::Result<DuplexStream>>) -> io::Result<DuplexStream> {
    let (client, server) = tokio::io::duplex(DUPLEX_BYTES);
    connections.send(Ok(server)).map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
    Ok(client)
}

fn channel(connections: mpsc::UnboundedSender<io::Result<DuplexStream>>) -> Channel {
    connector(Endpoint::from_static("http://in.memory"), connections)
}

fn connector(endpoint: Endpoint, connections: mpsc::UnboundedSender<io::Result<DuplexStream>>) -> Channel {
    endpoint.connect_with_connector_lazy(tower::service_fn(move |_| {
        let connected = connect(&connections);
        async move { connected.map(TokioIo::new) }
    }))
}

pub(crate) fn request(session: &str, call: Call) -> v1::ExecuteRequest {
    v1::ExecuteRequest { session_id: session.into(), call: Some(call), ..Default::default() }
}

pub(crate) fn read(path: &str) -> Call {
    Call::Read(v1::ReadCall { file_path: Some(path.into()), ..Default::default() })
}

pub(crate) fn write(path: &str, content: &str) -> Call {
    Call::Write(v1::WriteCall { file_path: Some(path.into()), content: Some(content.into()) })
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Call {
    Call::Edit(v1::EditCall {
        file_path: Some(path.into()),
        old_string: Some(old.into()),
        new_string: Some(new.into()),
        replace_all: None,
    })
}

/// The code and the reason of a status; a bare one has none.
pub(crate) fn code_and_reason(status: &Status) -> (Code, String) {
    (status.code(), status.get_details_error_info().map(|info| info.reason).unwrap_or_default())
}

/// The FsError among the details of a status.
pub(crate) fn fs_error(status: &Status) -> Option<v1::FsError> {
    let details = tonic_types::Status::decode(status.details()).unwrap().details;
    let any = details.iter().find(|any| any.type_url.ends_with("/toolfs.v1.FsError"))?;
    Some(v1::FsError::decode(any.value.as_slice()).unwrap())
}

/// What the next mutation does, or the next read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// What it is asked to.
    Obey,
    /// Waits for its abort signal, and obeys it.
    WaitUnpublished,
    /// Publishes, then waits to be released.
    WaitPublished,
    /// Waits for its abort signal, and does not care.
    Deaf,
    /// Panics.
    Panic,
}

/// Files that can be made to wait.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) files: MemoryProvider,
    script: Mutex<Script>,
    waiting: watch::Sender<usize>,
    released: watch::Sender<bool>,
    aborted: watch::Sender<Option<AbortCause>>,
}

impl Scripted {
    fn over(files: MemoryProvider) -> Scripted {
        Scripted {
            files,
            script: Mutex::new(Script::Obey),
            waiting: watch::Sender::new(0),
            released: watch::Sender::new(false),
            aborted: watch::Sender::new(None),
        }
    }

    pub(crate) fn will(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    /// Waits until an operation waits.
    pub(crate) async fn is_waiting(&self) {
        self.waiting.subscribe().wait_for(|count| *count > 0).await.unwrap();
    }

    pub(crate) fn release(&self) {
        self.released.send_replace(true);
    }

    /// Waits until an operation that waited was aborted.
    pub(crate) async fn was_aborted(&self) -> AbortCause {
        self.aborted.subscribe().wait_for(Option::is_some).await.unwrap().unwrap()
    }

    async fn before(&self, abort: &AbortSignal) -> Result<()> {
        let script = *self.script.lock().unwrap();
        match script {
            Script::Obey | Script::WaitPublished => Ok(()),
            Script::Panic => panic!("a mistake of the server"),
            Script::WaitUnpublished => {
                self.waiting.send_modify(|count| *count += 1);
                let cause = abort.fired().await;
                self.aborted.send_replace(Some(cause));
                Err(aborted(cause))
            }
            Script::Deaf => {
                self.waiting.send_modify(|count| *count += 1);
                self.until_released().await;
                Ok(())
            }
        }
    }

    async fn after(&self) {
        let script = *self.script.lock().unwrap();
        if script == Script::WaitPublished {
            self.waiting.send_modify(|count| *count += 1);
            self.until_released().await;
        }
    }

    async fn until_released(&self) {
        self.released.subscribe().wait_for(|released| *released).await.unwrap();
    }
}

#[async_trait]
impl Provider for Scripted {
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities> {
        self.files.capabilities(abort).await
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        self.files.resolve(abort, request).await
    }

    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        self.files.contains(abort, ancestor, target).await
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        self.files.stat(abort, target, want_version).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        self.files.lstat(abort, request).await
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        self.before(abort).await?;
        self.files.read_lines(abort, target, window).await
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        self.files.read_text(abort, target).await
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        self.files.read_bytes(abort, target, range).await
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        self.files.list_dir(abort, target).await
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.before(abort).await?;
        let report = self.files.write_text(abort, request).await;
        self.after().await;
        report
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.before(abort).await?;
        let report = self.files.edit_text(abort, request).await;
        self.after().await;
        report
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.files.plan_write(abort, request).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.files.plan_edit(abort, request).await
    }
}

/// A clock that is a millisecond later each time it is asked.
#[derive(Debug, Default)]
struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(i64::try_from(self.0.fetch_add(1, Ordering::Relaxed)).unwrap())
    }
}

/// Bytes that never repeat.
#[derive(Default)]
struct Counted(AtomicU64);

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counted")
    }
}

impl Random for Counted {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [7; 16];
        bytes[..8].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        bytes
    }
}
