//! A server on connections in memory, a client of it, and a provider that can be made to wait.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use toolfs_contract::v1;
use toolfs_contract::v1::execute_request::Call;
use toolfs_contract::v1::file_system_service_client::FileSystemServiceClient;
use toolfs_contract::v1::session_service_client::SessionServiceClient;
use toolfs_contract::v1::tool_service_client::ToolServiceClient;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::error::{AbortCause, ErrorKind, FsError, Result};
use toolfs_core::limit::Limits;
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::window::LineWindow;
use toolfs_grpc::{Drain, ServeError, ServeOptions, Server};
use toolfs_policy::{MemoryObservationStore, ObservationGate, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::abort::{AbortSignal, aborted};
use toolfs_provider::capability::Capabilities;
use toolfs_provider::content::{ContentPart, ContentStream, EntryStream};
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider::report::{EditReport, LinesReport, Stat, WriteReport};
use toolfs_provider::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};
use toolfs_tools::{Executor, ExecutorParts, MemoryCallStore, MemorySessionStore, Random};

use crate::trace;

/// The limit of the content of one write in tests of the seam.
pub(crate) const MAX_STREAM_BYTES: u64 = 48 << 20;

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
    pub(crate) stream_patience: Duration,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            gate: true,
            drain_limit: Duration::from_secs(20),
            handshake_timeout: Duration::from_secs(60),
            session_idle: None,
            stream_patience: Duration::from_secs(60),
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
    let server = Server::new(Arc::new(executor), options(setup));
    (server, provider)
}

/// A server of the seam that does not serve yet, and its files.
pub(crate) fn seam_server(setup: Setup) -> (Server, Arc<Scripted>) {
    trace::collect();
    let files = MemoryProvider::new(MemoryConfig::with_root("/w")).unwrap();
    let provider = Arc::new(Scripted::over(files));
    (Server::of_seam(provider.clone(), options(setup)), provider)
}

/// A server of the gate that does not serve yet.
pub(crate) fn gate_server(gate: Arc<dyn PolicyGate>, setup: Setup) -> Server {
    trace::collect();
    Server::of_gate(gate, options(setup))
}

fn options(setup: Setup) -> ServeOptions {
    ServeOptions {
        max_message_bytes: MAX_MESSAGE_BYTES,
        server_version: "1.2.3".into(),
        drain_limit: setup.drain_limit,
        handshake_timeout: setup.handshake_timeout,
        limits: Limits::DEFAULT,
        max_stream_bytes: MAX_STREAM_BYTES,
        stream_patience: setup.stream_patience,
    }
}

/// A server that runs until it is shut down.
pub(crate) struct Running {
    pub(crate) channel: Channel,
    connections: mpsc::UnboundedSender<io::Result<DuplexStream>>,
    shutdown: Option<oneshot::Sender<()>>,
    server: JoinHandle<std::result::Result<Drain, ServeError>>,
}

impl Running {
    pub(crate) fn start(server: Server) -> Running {
        let (connections, accepted) = mpsc::unbounded_channel();
        let (shutdown, told) = oneshot::channel::<()>();
        #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
        let server =
            tokio::spawn(server.serve_connections(UnboundedReceiverStream::new(accepted), async move {
                let _ = told.await;
            }));
        Running { channel: channel(connections.clone()), connections, shutdown: Some(shutdown), server }
    }

    /// The client's end of a connection on which nothing was said yet.
    pub(crate) fn connect(&self) -> DuplexStream {
        connect(&self.connections).unwrap()
    }

    pub(crate) fn begin_shutdown(&mut self) {
        self.shutdown.take().expect("the server is shut down once").send(()).unwrap();
    }

    pub(crate) async fn ended(self) -> Drain {
        drop(self.channel);
        self.server.await.unwrap().unwrap()
    }
}

/// A server of the tools.
pub(crate) struct Host {
    pub(crate) channel: Channel,
    pub(crate) provider: Arc<Scripted>,
    running: Running,
}

impl Host {
    pub(crate) fn start() -> Host {
        Host::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Host {
        let (server, provider) = server(setup);
        let running = Running::start(server);
        Host { channel: running.channel.clone(), provider, running }
    }

    pub(crate) fn connect(&self) -> DuplexStream {
        self.running.connect()
    }

    /// A client of its own whose streams have room for so many bytes that were not read yet.
    pub(crate) fn channel_of(&self, window_bytes: u32) -> Channel {
        connector(
            Endpoint::from_static("http://in.memory").initial_stream_window_size(window_bytes),
            self.running.connections.clone(),
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
        self.running.begin_shutdown();
    }

    pub(crate) async fn ended(self) -> Drain {
        drop(self.channel);
        self.running.ended().await
    }

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        self.provider.text(path)
    }
}

/// A server of the seam.
pub(crate) struct SeamHost {
    pub(crate) channel: Channel,
    pub(crate) provider: Arc<Scripted>,
    pub(crate) running: Running,
}

impl SeamHost {
    pub(crate) fn start() -> SeamHost {
        SeamHost::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> SeamHost {
        let (server, provider) = seam_server(setup);
        let running = Running::start(server);
        SeamHost { channel: running.channel.clone(), provider, running }
    }

    pub(crate) fn files(&self) -> FileSystemServiceClient<Channel> {
        FileSystemServiceClient::new(self.channel.clone())
    }

    /// The key of a path.
    pub(crate) async fn key(&self, path: &str) -> Bytes {
        use v1::resolve_request::Location;
        let request = v1::ResolveRequest { directory: None, location: Some(Location::Path(path.into())) };
        self.files().resolve(request).await.unwrap().into_inner().target.unwrap().target_key
    }

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        self.provider.text(path)
    }

    pub(crate) async fn ended(self) -> Drain {
        drop(self.channel);
        self.running.ended().await
    }
}

/// A whole write of a file that is not there, in one chunk.
pub(crate) fn content_parts(key: &Bytes, content: &str) -> impl Stream<Item = v1::WriteTextRequest> + use<> {
    parts(key, content, v1::write_guard::Condition::CreateIfAbsent(v1::CreateIfAbsent {}))
}

/// A whole write, in one chunk.
pub(crate) fn parts(
    key: &Bytes,
    content: &str,
    guard: v1::write_guard::Condition,
) -> impl Stream<Item = v1::WriteTextRequest> + use<> {
    tokio_stream::iter([header(key, content.len(), guard), chunk(content), trailer(content)].map(part))
}

/// The plan of a whole write of a file that is not there, in one chunk.
pub(crate) fn plan_parts(key: &Bytes, content: &str) -> impl Stream<Item = v1::PlanWriteRequest> + use<> {
    use v1::plan_write_request::Part;
    let guard = v1::write_guard::Condition::CreateIfAbsent(v1::CreateIfAbsent {});
    let header = v1::PlanWriteHeader {
        target_key: Some(key.clone()),
        guard: Some(v1::WriteGuard { condition: Some(guard) }),
        size: Some(i64::try_from(content.len()).unwrap()),
        want_diff: None,
    };
    let sha256 = Some(Bytes::copy_from_slice(&Sha256::digest(content.as_bytes())));
    let chunk = Bytes::copy_from_slice(content.as_bytes());
    let parts = [Part::Header(header), Part::Chunk(chunk), Part::Trailer(v1::WriteTrailer { sha256 })];
    tokio_stream::iter(parts.map(|part| v1::PlanWriteRequest { part: Some(part) }))
}

/// The header of a write.
pub(crate) fn header(
    key: &Bytes,
    size: usize,
    guard: v1::write_guard::Condition,
) -> v1::write_text_request::Part {
    v1::write_text_request::Part::Header(v1::WriteTextHeader {
        target_key: Some(key.clone()),
        guard: Some(v1::WriteGuard { condition: Some(guard) }),
        size: Some(i64::try_from(size).unwrap()),
        operation_id: None,
        want_diff: None,
    })
}

/// Some content of a write.
pub(crate) fn chunk(content: &str) -> v1::write_text_request::Part {
    v1::write_text_request::Part::Chunk(Bytes::copy_from_slice(content.as_bytes()))
}

/// The trailer of a write.
pub(crate) fn trailer(content: &str) -> v1::write_text_request::Part {
    let sha256 = Bytes::copy_from_slice(&Sha256::digest(content.as_bytes()));
    v1::write_text_request::Part::Trailer(v1::WriteTrailer { sha256: Some(sha256) })
}

/// A part as it travels.
pub(crate) fn part(part: v1::write_text_request::Part) -> v1::WriteTextRequest {
    v1::WriteTextRequest { part: Some(part) }
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
    /// A stream fails after its first part.
    FailInStream,
    /// A stream ends after its first part, without its end.
    StopInStream,
    /// A stream panics after its first part.
    PanicInStream,
    /// A stream has no part after its first one, and never ends.
    HangInStream,
    /// A stream never ends.
    Endless,
}

/// How a provider's streams are doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streams {
    /// How many are there.
    pub(crate) open: usize,
    /// How many parts they gave.
    pub(crate) parts: usize,
}

/// Counts a stream as open until it is dropped.
struct Open(watch::Sender<Streams>);

impl Open {
    fn new(streams: &watch::Sender<Streams>) -> Open {
        streams.send_modify(|streams| streams.open += 1);
        Open(streams.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|streams| streams.open -= 1);
    }
}

/// Files that can be made to wait.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) files: MemoryProvider,
    script: Mutex<Script>,
    error: Mutex<Option<FsError>>,
    not_durable: Mutex<Option<FsError>>,
    streams: watch::Sender<Streams>,
    waiting: watch::Sender<usize>,
    released: watch::Sender<bool>,
    aborted: watch::Sender<Option<AbortCause>>,
}

impl Scripted {
    fn over(files: MemoryProvider) -> Scripted {
        Scripted {
            files,
            script: Mutex::new(Script::Obey),
            error: Mutex::new(None),
            not_durable: Mutex::new(None),
            streams: watch::Sender::new(Streams::default()),
            waiting: watch::Sender::new(0),
            released: watch::Sender::new(false),
            aborted: watch::Sender::new(None),
        }
    }

    pub(crate) fn will(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    /// Each operation fails so from now on.
    pub(crate) fn will_fail(&self, error: FsError) {
        *self.error.lock().unwrap() = Some(error);
    }

    /// Each mutation is published and then not made durable, from now on.
    pub(crate) fn will_not_be_durable(&self, error: FsError) {
        *self.not_durable.lock().unwrap() = Some(error);
    }

    /// Waits until the streams are doing as wanted.
    pub(crate) async fn streams_are(&self, wanted: impl FnMut(&Streams) -> bool) -> Streams {
        *self.streams.subscribe().wait_for(wanted).await.unwrap()
    }

    fn text(&self, path: &str) -> Option<String> {
        let content = self.files.content(path.as_bytes())?;
        Some(String::from_utf8(content.to_vec()).unwrap())
    }

    /// A stream that obeys the script.
    fn scripted<T: Send + 'static>(
        &self,
        parts: impl Stream<Item = Result<T>> + Send + 'static,
        again: fn(&T) -> T,
    ) -> Pin<Box<dyn Stream<Item = Result<T>> + Send>> {
        let script = *self.script.lock().unwrap();
        let storage = || Err(FsError::new(ErrorKind::IoError, "the storage failed"));
        let parts: Pin<Box<dyn Stream<Item = Result<T>> + Send>> = match script {
            Script::Obey | Script::WaitUnpublished | Script::WaitPublished | Script::Deaf | Script::Panic => {
                Box::pin(parts)
            }
            Script::FailInStream => Box::pin(parts.take(1).chain(stream::once(async move { storage() }))),
            Script::StopInStream => Box::pin(parts.take(1)),
            Script::PanicInStream => {
                Box::pin(parts.take(1).chain(stream::once(async { panic!("a mistake of the server") })))
            }
            Script::HangInStream => Box::pin(parts.take(1).chain(stream::pending())),
            Script::Endless => {
                let mut parts = Box::pin(parts);
                let first = async move { parts.next().await.unwrap().unwrap() };
                Box::pin(
                    stream::once(first).flat_map(move |first| stream::repeat_with(move || Ok(again(&first)))),
                )
            }
        };
        let (open, streams) = (Open::new(&self.streams), self.streams.clone());
        Box::pin(parts.inspect(move |_| {
            let _held_until_dropped = &open;
            streams.send_modify(|streams| streams.parts += 1);
        }))
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
        if let Some(error) = self.error.lock().unwrap().clone() {
            return Err(error);
        }
        let script = *self.script.lock().unwrap();
        match script {
            Script::Obey
            | Script::WaitPublished
            | Script::FailInStream
            | Script::StopInStream
            | Script::PanicInStream
            | Script::HangInStream
            | Script::Endless => Ok(()),
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
        self.before(abort).await?;
        self.files.stat(abort, target, want_version).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        self.before(abort).await?;
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
        self.before(abort).await?;
        let ContentStream { size_bytes, parts } = self.files.read_text(abort, target).await?;
        Ok(ContentStream { size_bytes, parts: self.scripted(parts, ContentPart::clone) })
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        self.before(abort).await?;
        let ContentStream { size_bytes, parts } = self.files.read_bytes(abort, target, range).await?;
        Ok(ContentStream { size_bytes, parts: self.scripted(parts, ContentPart::clone) })
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        self.before(abort).await?;
        let EntryStream { batches } = self.files.list_dir(abort, target).await?;
        Ok(EntryStream { batches: self.scripted(batches, Vec::clone) })
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.before(abort).await?;
        let mut report = self.files.write_text(abort, request).await;
        if let Ok(report) = &mut report {
            report.not_durable = self.not_durable.lock().unwrap().clone();
        }
        self.after().await;
        report
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.before(abort).await?;
        let mut report = self.files.edit_text(abort, request).await;
        if let Ok(report) = &mut report {
            report.not_durable = self.not_durable.lock().unwrap().clone();
        }
        self.after().await;
        report
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.before(abort).await?;
        self.files.plan_write(abort, request).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.before(abort).await?;
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
