//! A peer that answers what it is told to, at a connection that can be cut.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use hyper_util::rt::TokioIo;
use tokio::io::{DuplexStream, copy_bidirectional, duplex};
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use toolfs_contract::v1::file_system_service_server::{FileSystemService, FileSystemServiceServer};
use toolfs_contract::v1::{self, read_bytes_response, read_text_response};
use toolfs_core::edit::EditRequest;
use toolfs_core::error::Result;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::TargetKey;
use toolfs_core::window::LineWindow;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::request::{ByteRange, EditTextRequest, OperationId, ResolveRequest, WriteTextRequest};
use toolfs_provider::{Provider, ProviderExt as _};
use toolfs_provider_remote::{RemoteOptions, RemoteProvider};

/// The content that the peer has, and the only one that is ever written to it.
pub(crate) const CONTENT: &str = "one\ntwo\n";

const PIPE_BYTES: usize = 64 << 10;

/// What a call of the peer comes to, once it has all of the request.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// It is answered.
    Answer,
    /// It ends in a status.
    Refuse(Status),
    /// It is never answered.
    Never,
    /// The connection is cut instead of the answer.
    Cut,
}

/// The answers, each as the contract has it until a test breaks it.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) capabilities: v1::GetProviderCapabilitiesResponse,
    pub(crate) resolve: v1::ResolveResponse,
    pub(crate) contains: v1::ContainsResponse,
    pub(crate) stat: v1::StatResponse,
    pub(crate) lines: v1::ReadLinesResponse,
    pub(crate) text: Vec<v1::ReadTextResponse>,
    pub(crate) bytes: Vec<v1::ReadBytesResponse>,
    pub(crate) list: Vec<v1::ListDirResponse>,
    pub(crate) write: v1::WriteTextResponse,
    pub(crate) edit: v1::EditTextResponse,
}

impl Answers {
    pub(crate) fn target(&mut self) -> &mut v1::Target {
        self.resolve.target.as_mut().unwrap()
    }

    pub(crate) fn file(&mut self) -> &mut v1::FileStat {
        self.stat.stat.as_mut().unwrap()
    }

    pub(crate) fn written(&mut self) -> &mut v1::WriteReport {
        self.write.report.as_mut().unwrap()
    }

    pub(crate) fn edited(&mut self) -> &mut v1::EditReport {
        self.edit.report.as_mut().unwrap()
    }
}

impl Default for Answers {
    fn default() -> Answers {
        let header = v1::ContentHeader { kind: v1::FileKind::Regular.into(), size: Some(8) };
        let trailer = v1::ContentTrailer { version: "v1".into() };
        let chunks = [Bytes::from_static(b"one\n"), Bytes::from_static(b"two\n")];
        Answers {
            capabilities: v1::GetProviderCapabilitiesResponse {
                provider: Some(v1::ProviderCapabilities {
                    name: "scripted".into(),
                    verified_replacement: Some(false),
                    operation_ids: Some(true),
                }),
                durability: v1::Durability::Data.into(),
                roots: vec![v1::Root {
                    name: "/w".into(),
                    display_path: "/w".into(),
                    raw_path: Bytes::from_static(b"/w"),
                }],
                protected_patterns: vec![".git".into()],
                limits: Vec::new(),
            },
            resolve: v1::ResolveResponse {
                target: Some(v1::Target {
                    target_key: Bytes::from_static(b"key"),
                    raw_path: Bytes::from_static(b"/w/f"),
                    display_path: "/w/f".into(),
                    ..v1::Target::default()
                }),
            },
            contains: v1::ContainsResponse { contained: Some(true) },
            stat: v1::StatResponse {
                stat: Some(v1::FileStat {
                    kind: v1::FileKind::Regular.into(),
                    size: Some(8),
                    mode: Some(0o644),
                    modified: Some(prost_types::Timestamp { seconds: 5, nanos: 7_000_000 }),
                    version: "v1".into(),
                }),
            },
            lines: v1::ReadLinesResponse {
                lines: ["one", "two"].map(line).to_vec(),
                first_line: Some(1),
                total_lines: Some(2),
                size: Some(8),
                version: "v1".into(),
                line_endings: v1::LineEndings::Lf.into(),
                ends_with_newline: Some(true),
                bom: Some(false),
                stop_reason: v1::ReadStopReason::EndOfFile.into(),
            },
            text: {
                use read_text_response::Part;
                let chunks = chunks.clone().map(Part::Chunk);
                let parts = [Part::Header(header)].into_iter().chain(chunks);
                let parts = parts.chain([Part::Trailer(trailer.clone())]);
                parts.map(|part| v1::ReadTextResponse { part: Some(part) }).collect()
            },
            bytes: {
                use read_bytes_response::Part;
                let parts = [Part::Header(header)].into_iter().chain(chunks.map(Part::Chunk));
                let parts = parts.chain([Part::Trailer(trailer)]);
                parts.map(|part| v1::ReadBytesResponse { part: Some(part) }).collect()
            },
            list: vec![v1::ListDirResponse {
                entries: vec![v1::DirectoryEntry {
                    raw_name: Bytes::from_static(b"f"),
                    display_name: "f".into(),
                    kind: v1::FileKind::Regular.into(),
                }],
            }],
            write: v1::WriteTextResponse {
                report: Some(v1::WriteReport {
                    operation: v1::WriteOperation::Update.into(),
                    size: Some(8),
                    previous_size: Some(0),
                    version: "v2".into(),
                    notices: Vec::new(),
                    diff: Some(diff()),
                }),
                not_durable: None,
            },
            edit: v1::EditTextResponse {
                report: Some(v1::EditReport {
                    replacements: Some(1),
                    matches: Some(v1::MatchedRanges {
                        ranges: vec![v1::LineRange { start_line: Some(1), end_line: Some(1) }],
                        total: Some(1),
                    }),
                    changed_ranges: Some(v1::ChangedRanges {
                        ranges: vec![v1::ChangedRange {
                            old_start: Some(1),
                            old_count: Some(1),
                            new_start: Some(1),
                            new_count: Some(1),
                        }],
                        total: Some(1),
                    }),
                    size: Some(6),
                    version: "v2".into(),
                    notices: Vec::new(),
                    diff: Some(diff()),
                }),
                not_durable: None,
            },
        }
    }
}

pub(crate) fn line(text: &str) -> v1::RawLine {
    v1::RawLine {
        text: Bytes::copy_from_slice(text.as_bytes()),
        crlf: Some(false),
        truncated: Some(false),
        full_length: None,
    }
}

fn diff() -> v1::Diff {
    let line = |kind: v1::DiffLineKind, text: &str| v1::DiffLine {
        kind: kind.into(),
        text: text.into(),
        newline_missing: Some(false),
    };
    v1::Diff {
        hunks: vec![v1::DiffHunk {
            old_start: Some(1),
            old_count: Some(1),
            new_start: Some(1),
            new_count: Some(1),
            lines: vec![line(v1::DiffLineKind::Removed, "one"), line(v1::DiffLineKind::Added, "1")],
        }],
        text: "@@ -1 +1 @@\n-one\n+1\n".into(),
        omitted: Some(false),
        omission_reason: String::new(),
    }
}

/// The peer. It runs as long as its test.
#[derive(Clone)]
pub(crate) struct Peer {
    answers: Arc<Answers>,
    manners: Arc<Mutex<VecDeque<Manner>>>,
    /// Whether it takes the content of a write, or lets its sender wait.
    takes_content: bool,
    /// Told when a call has begun; and when all of its request has come.
    pub(crate) begun: Arc<Notify>,
    pub(crate) received: Arc<Notify>,
    /// How many mutations it has received whole, and under which operation ids.
    mutations: Arc<AtomicUsize>,
    operation_ids: Arc<Mutex<Vec<Option<String>>>>,
    cut: Arc<Notify>,
}

impl Peer {
    /// A peer that answers each call in the next of these manners, and after the last one answers.
    pub(crate) fn new(answers: Answers, manners: impl IntoIterator<Item = Manner>) -> Peer {
        Peer {
            answers: Arc::new(answers),
            manners: Arc::new(Mutex::new(manners.into_iter().collect())),
            takes_content: true,
            begun: Arc::default(),
            received: Arc::default(),
            mutations: Arc::default(),
            operation_ids: Arc::default(),
            cut: Arc::default(),
        }
    }

    pub(crate) fn that_takes_no_content(mut self) -> Peer {
        self.takes_content = false;
        self
    }

    /// How many mutations it has received whole.
    pub(crate) fn mutations(&self) -> usize {
        self.mutations.load(Ordering::SeqCst)
    }

    /// The operation ids of the mutations that it has received whole.
    pub(crate) fn operation_ids(&self) -> Vec<Option<String>> {
        self.operation_ids.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves it, and makes a provider of it.
    pub(crate) fn serve(&self, options: RemoteOptions) -> RemoteProvider {
        let (connections, accepted) = mpsc::unbounded_channel::<std::io::Result<DuplexStream>>();
        let service = FileSystemServiceServer::new(self.clone());
        let serving = Server::builder()
            .add_service(service)
            .serve_with_incoming(UnboundedReceiverStream::new(accepted));
        #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
        tokio::spawn(serving);

        let cut = Arc::clone(&self.cut);
        let connect = move |_| {
            let (client, mut near) = duplex(PIPE_BYTES);
            let (mut far, server) = duplex(PIPE_BYTES);
            let cut = Arc::clone(&cut);
            let pump = async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut near, &mut far) => {}
                    () = cut.notified() => {}
                }
            };
            #[expect(clippy::disallowed_methods, reason = "the connection is a task of the test")]
            tokio::spawn(pump);
            connections.send(Ok(server)).unwrap();
            async move { Ok::<_, std::io::Error>(TokioIo::new(client)) }
        };
        let channel =
            Endpoint::from_static("http://in.memory").connect_with_connector_lazy(tower::service_fn(connect));
        RemoteProvider::from_channel(channel, options)
    }

    async fn answer<T>(&self, answer: T) -> Result<Response<T>, Status> {
        self.begun.notify_one();
        self.come_to(answer).await
    }

    async fn come_to<T>(&self, answer: T) -> Result<Response<T>, Status> {
        let manner = self.manners.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        self.received.notify_one();
        match manner.unwrap_or(Manner::Answer) {
            Manner::Answer => Ok(Response::new(answer)),
            Manner::Refuse(status) => Err(status),
            Manner::Never => std::future::pending().await,
            Manner::Cut => {
                self.cut.notify_waiters();
                std::future::pending().await
            }
        }
    }

    async fn mutate<T>(&self, operation_id: Option<String>, answer: T) -> Result<Response<T>, Status> {
        self.mutations.fetch_add(1, Ordering::SeqCst);
        self.operation_ids.lock().unwrap_or_else(PoisonError::into_inner).push(operation_id);
        self.come_to(answer).await
    }
}

type Parts<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn parts<T: Clone + Send + 'static>(messages: &[T]) -> Parts<T> {
    Box::pin(stream::iter(messages.to_vec()).map(Ok))
}

#[tonic::async_trait]
impl FileSystemService for Peer {
    type ReadTextStream = Parts<v1::ReadTextResponse>;
    type ReadBytesStream = Parts<v1::ReadBytesResponse>;
    type ListDirStream = Parts<v1::ListDirResponse>;

    async fn get_provider_capabilities(
        &self,
        _: Request<v1::GetProviderCapabilitiesRequest>,
    ) -> Result<Response<v1::GetProviderCapabilitiesResponse>, Status> {
        self.answer(self.answers.capabilities.clone()).await
    }

    async fn resolve(&self, _: Request<v1::ResolveRequest>) -> Result<Response<v1::ResolveResponse>, Status> {
        self.answer(self.answers.resolve.clone()).await
    }

    async fn contains(
        &self,
        _: Request<v1::ContainsRequest>,
    ) -> Result<Response<v1::ContainsResponse>, Status> {
        self.answer(self.answers.contains).await
    }

    async fn stat(&self, _: Request<v1::StatRequest>) -> Result<Response<v1::StatResponse>, Status> {
        self.answer(self.answers.stat.clone()).await
    }

    async fn lstat(&self, _: Request<v1::LstatRequest>) -> Result<Response<v1::LstatResponse>, Status> {
        self.answer(v1::LstatResponse { stat: self.answers.stat.stat.clone() }).await
    }

    async fn read_lines(
        &self,
        _: Request<v1::ReadLinesRequest>,
    ) -> Result<Response<v1::ReadLinesResponse>, Status> {
        self.answer(self.answers.lines.clone()).await
    }

    async fn read_text(
        &self,
        _: Request<v1::ReadTextRequest>,
    ) -> Result<Response<Self::ReadTextStream>, Status> {
        self.answer(parts(&self.answers.text)).await
    }

    async fn read_bytes(
        &self,
        _: Request<v1::ReadBytesRequest>,
    ) -> Result<Response<Self::ReadBytesStream>, Status> {
        self.answer(parts(&self.answers.bytes)).await
    }

    async fn list_dir(
        &self,
        _: Request<v1::ListDirRequest>,
    ) -> Result<Response<Self::ListDirStream>, Status> {
        self.answer(parts(&self.answers.list)).await
    }

    async fn write_text(
        &self,
        request: Request<Streaming<v1::WriteTextRequest>>,
    ) -> Result<Response<v1::WriteTextResponse>, Status> {
        use v1::write_text_request::Part;
        self.begun.notify_one();
        let mut messages = request.into_inner();
        if !self.takes_content {
            return std::future::pending().await;
        }
        let (mut operation_id, mut content, mut trailer) = (None, Vec::new(), None);
        while let Some(message) = messages.message().await? {
            match message.part.expect("this side sends what the contract knows") {
                Part::Header(header) => operation_id = header.operation_id,
                Part::Chunk(chunk) => content.extend_from_slice(&chunk),
                Part::Trailer(last) => trailer = last.sha256,
            }
        }
        assert_eq!(content, CONTENT.as_bytes());
        assert_eq!(trailer.expect("a write ends with its digest").len(), 32);
        self.mutate(operation_id, self.answers.write.clone()).await
    }

    async fn edit_text(
        &self,
        request: Request<v1::EditTextRequest>,
    ) -> Result<Response<v1::EditTextResponse>, Status> {
        self.begun.notify_one();
        self.mutate(request.into_inner().operation_id, self.answers.edit.clone()).await
    }

    async fn plan_write(
        &self,
        request: Request<Streaming<v1::PlanWriteRequest>>,
    ) -> Result<Response<v1::PlanWriteResponse>, Status> {
        let mut messages = request.into_inner();
        while messages.message().await?.is_some() {}
        self.answer(v1::PlanWriteResponse { report: self.answers.write.report.clone() }).await
    }

    async fn plan_edit(
        &self,
        _: Request<v1::PlanEditRequest>,
    ) -> Result<Response<v1::PlanEditResponse>, Status> {
        self.answer(v1::PlanEditResponse { report: self.answers.edit.report.clone() }).await
    }
}

/// The calls of the seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Capabilities,
    Resolve,
    Contains,
    Stat,
    Lstat,
    Lines,
    Text,
    Bytes,
    List,
    Write,
    Edit,
    PlanWrite,
    PlanEdit,
}

impl Ask {
    pub(crate) const ALL: [Ask; 13] = [
        Ask::Capabilities,
        Ask::Resolve,
        Ask::Contains,
        Ask::Stat,
        Ask::Lstat,
        Ask::Lines,
        Ask::Text,
        Ask::Bytes,
        Ask::List,
        Ask::Write,
        Ask::Edit,
        Ask::PlanWrite,
        Ask::PlanEdit,
    ];

    /// Whether it changes something.
    pub(crate) fn is_mutation(self) -> bool {
        matches!(self, Ask::Write | Ask::Edit)
    }

    /// Makes the call, and reads a stream to its end.
    pub(crate) async fn of(self, provider: &impl Provider, abort: &AbortSignal) -> Result<()> {
        let path = || ResolveRequest { cwd: None, path: b"f".to_vec() };
        match self {
            Ask::Capabilities => drop(provider.capabilities(abort).await?),
            Ask::Resolve => drop(provider.resolve(abort, &path()).await?),
            Ask::Contains => drop(provider.contains(abort, &key(), &key()).await?),
            Ask::Stat => drop(provider.stat(abort, &key(), true).await?),
            Ask::Lstat => drop(provider.lstat(abort, &path()).await?),
            Ask::Lines => drop(provider.read_lines(abort, &key(), WINDOW).await?),
            Ask::Text => {
                let mut parts = provider.read_text(abort, &key()).await?.parts;
                while let Some(part) = parts.next().await {
                    part?;
                }
            }
            Ask::Bytes => {
                let mut parts = provider.read_bytes(abort, &key(), ByteRange::WHOLE).await?.parts;
                while let Some(part) = parts.next().await {
                    part?;
                }
            }
            Ask::List => drop(provider.list_whole(abort, &key()).await?),
            Ask::Write => drop(provider.write_text(abort, write(CONTENT, None)).await?),
            Ask::Edit => drop(provider.edit_text(abort, edit(None)).await?),
            Ask::PlanWrite => drop(provider.plan_write(abort, write(CONTENT, None)).await?),
            Ask::PlanEdit => drop(provider.plan_edit(abort, edit(None)).await?),
        }
        Ok(())
    }
}

const WINDOW: LineWindow = LineWindow { first_line: 1, max_lines: 10, max_bytes: 100, max_line_chars: 20 };

pub(crate) fn key() -> TargetKey {
    TargetKey::new(*b"key")
}

pub(crate) fn write(content: impl Into<Bytes>, operation_id: Option<&str>) -> WriteTextRequest {
    WriteTextRequest {
        target: key(),
        content: content.into(),
        guard: WriteGuard::Unconditional,
        want_diff: true,
        operation_id: operation_id.map(|id| OperationId::parse(id).unwrap()),
    }
}

pub(crate) fn edit(operation_id: Option<&str>) -> EditTextRequest {
    EditTextRequest {
        target: key(),
        edit: EditRequest::new("one".into(), "1".into(), false).unwrap(),
        guard: EditGuard::Unconditional,
        want_diff: true,
        operation_id: operation_id.map(|id| OperationId::parse(id).unwrap()),
    }
}
