//! The server: services on connections, from the first one to the end of the drain.
//!
//! Health turns to serving last at the start, and to not serving first at the end. Then new calls are refused, calls in
//! flight go on until the drain limit, and what remains then is told to stop and cut.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, try_join_all};
use futures_util::stream::{self, Stream, StreamExt as _};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic::transport::server::Connected;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use toolfs_contract::v1::event_service_server::EventServiceServer;
use toolfs_contract::v1::file_system_service_server::FileSystemServiceServer;
use toolfs_contract::v1::policy_service_server::PolicyServiceServer;
use toolfs_contract::v1::session_service_server::SessionServiceServer;
use toolfs_contract::v1::tool_service_server::ToolServiceServer;
use toolfs_core::limit::Limits;
use toolfs_policy::PolicyGate;
use toolfs_provider::Provider;
use toolfs_tools::Executor;
use tower::util::MapRequestLayer;

use crate::connection::{Connection, Phases};
use crate::convert::capability::Transport;
use crate::convert::filesystem::Bounds;
use crate::deadline::{self, InTimeLayer};
use crate::event_service::EventService;
use crate::filesystem_service::FileSystemService;
use crate::layers::drain::DrainLayer;
use crate::layers::metrics::Metrics;
use crate::layers::trace::TraceLayer;
use crate::listener::{self, Listener};
use crate::policy_service::PolicyService;
use crate::reflection::{self, name_of};
use crate::session_service::SessionService;
use crate::task::Calls;
use crate::tool_service::ToolService;

/// After how long without a sign of life a client is asked for one.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// How long the client then has to answer.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long calls that are told to stop have for it, and connections that are cut have to end.
const STOP_GRACE: Duration = Duration::from_millis(250);
/// How long connections may stay that have no call and take nothing any more, when the server drains.
const CONNECTION_GRACE: Duration = Duration::from_secs(2);
/// How many calls one connection may have in flight. More wait at the client.
const MAX_STREAMS_PER_CONNECTION: u32 = 256;

/// Puts a service within the limit of messages, and compresses what its clients compress.
macro_rules! transported {
    ($service:expr, $limit:expr) => {
        $service
            .max_decoding_message_size($limit)
            .max_encoding_message_size($limit)
            .accept_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Zstd)
            .send_compressed(CompressionEncoding::Gzip)
            .send_compressed(CompressionEncoding::Zstd)
    };
}

/// How a server serves.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The size of one message, in both directions. A larger one is refused by the transport with a bare status.
    pub max_message_bytes: usize,
    /// The server's version, as `GetCapabilities` tells it.
    pub server_version: String,
    /// How long calls in flight may go on after the shutdown began.
    pub drain_limit: Duration,
    /// How long a client may take to send the preface of HTTP/2 (its first 24 bytes).
    pub handshake_timeout: Duration,
    /// The limits in force, as the seam announces them.
    pub limits: Limits,
    /// Bytes of the content of one write on the seam, which are held in memory until all have come. The seam announces
    /// it as its `max_content_bytes`: content streams there, so that it may be above the limit of messages.
    pub max_stream_bytes: u64,
    /// How long a client of the seam may neither take the next part of an answer nor send the next one of its content.
    pub stream_patience: Duration,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Every call ended by itself.
    Complete,
    /// The limit was over first.
    LimitReached {
        /// How many calls were still in flight then. They were told to stop; 0 means that only connections were left.
        calls_cut: usize,
    },
}

/// Why a server could not serve.
#[derive(Debug, Error)]
pub enum ServeError {
    /// There is no listener.
    #[error("there is no listener to serve on")]
    NoListener,
    /// The contract cannot be reflected.
    #[error("the descriptors of the contract cannot be served")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The transport failed.
    #[error("the transport failed")]
    Transport(#[from] tonic::transport::Error),
}

/// What one address serves, beside health and reflection in both of its versions. Every other method is
/// `UNIMPLEMENTED`.
#[derive(Clone, Debug)]
enum Face {
    /// ToolService, SessionService and EventService.
    Tools(Arc<Executor>),
    /// FileSystemService.
    Seam(Arc<dyn Provider>),
    /// PolicyService.
    Gate(Arc<dyn PolicyGate>),
}

/// The services of one address.
///
/// A process that has several faces runs a server for each: they share nothing but what they serve.
#[derive(Debug)]
pub struct Server {
    face: Face,
    options: ServeOptions,
    calls: Calls,
    phases: Phases,
    health: HealthReporter,
    metrics: Metrics,
}

impl Server {
    /// A server of the tools and their sessions that does not serve yet.
    pub fn new(executor: Arc<Executor>, options: ServeOptions) -> Server {
        Server::with(Face::Tools(executor), Calls::of_tools(), options)
    }

    /// A server of the seam that does not serve yet. Its clients write past every gate.
    pub fn of_seam(provider: Arc<dyn Provider>, options: ServeOptions) -> Server {
        Server::with(Face::Seam(provider), Calls::of_processes(), options)
    }

    /// A server of the gate that does not serve yet. Its clients can tell of observations that nobody made.
    pub fn of_gate(gate: Arc<dyn PolicyGate>, options: ServeOptions) -> Server {
        Server::with(Face::Gate(gate), Calls::of_processes(), options)
    }

    fn with(face: Face, calls: Calls, options: ServeOptions) -> Server {
        let metrics = Metrics::new();
        if let Face::Tools(executor) = &face {
            metrics.observe(executor);
        }
        Server { face, options, calls, phases: Phases::default(), health: HealthReporter::new(), metrics }
    }

    /// Serves until `shutdown` resolves, then drains.
    ///
    /// # Errors
    /// [`ServeError`]. A connection that fails is no error of the server.
    pub async fn serve(
        self,
        listeners: Vec<Listener>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Drain, ServeError> {
        if listeners.is_empty() {
            return Err(ServeError::NoListener);
        }
        let served = self.services()?;
        let on_listeners = listeners.into_iter().map(|listener| match listener {
            Listener::Tcp(listener) => self.on_connections(&served, listener::tcp(listener)),
            Listener::Unix(listener) => self.on_connections(&served, listener::unix(listener)),
        });
        let serving = try_join_all(on_listeners.collect::<Vec<_>>()).map(|ended| ended.map(|_| ()));
        self.drive(&served.names, serving, shutdown).await
    }

    /// Serves on connections that somebody else made, in memory for instance, until `shutdown` resolves, then drains.
    /// The end of `connections` does not end the server.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub async fn serve_connections<IO, S>(
        self,
        connections: S,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Drain, ServeError>
    where
        IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
        S: Stream<Item = io::Result<IO>> + Send + 'static,
    {
        let served = self.services()?;
        let serving = self.on_connections(&served, connections.chain(stream::pending()));
        self.drive(&served.names, serving, shutdown).await
    }

    fn services(&self) -> Result<Served, ServeError> {
        let limit = self.options.max_message_bytes;
        let (routes, names) = match &self.face {
            Face::Tools(executor) => {
                let transport = Transport {
                    server_version: self.options.server_version.clone(),
                    max_message_bytes: limit,
                };
                let tools = ToolService::new(
                    Arc::clone(executor),
                    transport,
                    self.calls.clone(),
                    self.metrics.clone(),
                );
                let tools = transported!(ToolServiceServer::new(tools), limit);
                let sessions = SessionService::new(Arc::clone(executor), self.calls.clone());
                let sessions = transported!(SessionServiceServer::new(sessions), limit);
                let events =
                    EventService::new(Arc::clone(executor), self.calls.clone(), self.metrics.clone());
                let events = transported!(EventServiceServer::new(events), limit);
                let names = vec![name_of(&tools), name_of(&sessions), name_of(&events)];
                (Routes::new(tools).add_service(sessions).add_service(events), names)
            }
            Face::Seam(provider) => {
                let bounds = Bounds {
                    limits: self.options.limits.clone(),
                    max_message_bytes: limit as u64,
                    max_stream_bytes: self.options.max_stream_bytes,
                };
                let (provider, patience) = (Arc::clone(provider), self.options.stream_patience);
                let files = FileSystemService::new(provider, bounds, patience, self.calls.clone());
                let files = transported!(FileSystemServiceServer::new(files), limit);
                let names = vec![name_of(&files)];
                (Routes::new(files), names)
            }
            Face::Gate(gate) => {
                let policy = PolicyService::new(Arc::clone(gate), self.calls.clone());
                let policy = transported!(PolicyServiceServer::new(policy), limit);
                let names = vec![name_of(&policy)];
                (Routes::new(policy), names)
            }
        };
        let health = HealthServer::new(HealthService::from_health_reporter(self.health.clone()));
        let (reflection, reflection_alpha) = reflection::services(&names)?;
        let routes =
            routes.add_service(health).add_service(reflection).add_service(reflection_alpha).prepare();
        Ok(Served { routes, names })
    }

    /// Serves on one source of connections. The future ends when the drain began and every connection has ended.
    fn on_connections<IO, S>(
        &self,
        served: &Served,
        connections: S,
    ) -> BoxFuture<'static, Result<(), tonic::transport::Error>>
    where
        IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
        S: Stream<Item = io::Result<IO>> + Send + 'static,
    {
        let phases = self.phases.clone();
        let drain = self.phases.drain.clone();
        let limit = self.options.handshake_timeout;
        let connections =
            connections.map(move |accepted| accepted.map(|io| Connection::new(io, limit, &phases)));
        tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .max_concurrent_streams(MAX_STREAMS_PER_CONNECTION)
            .layer(MapRequestLayer::new(deadline::note::<tonic::body::Body>))
            .layer(TraceLayer { metrics: self.metrics.clone() })
            .layer(DrainLayer { drain: drain.clone() })
            .layer(InTimeLayer)
            .serve_with_incoming_shutdown(served.routes.clone(), connections, drain.cancelled_owned())
            .boxed()
    }

    async fn drive(
        self,
        names: &[&'static str],
        serving: impl Future<Output = Result<(), tonic::transport::Error>> + Send,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Drain, ServeError> {
        let mut serving = pin!(serving);
        self.tell_health(names, ServingStatus::Serving).await;
        tokio::select! {
            ended = &mut serving => {
                ended?;
                return Ok(Drain::Complete);
            }
            () = shutdown => {}
        }

        self.tell_health(names, ServingStatus::NotServing).await;
        self.calls.refuse_new();
        self.phases.drain.cancel();
        let mut quiet = pin!(async {
            let ended = serving.await;
            self.calls.all_ended().await;
            ended
        });
        let limited = tokio::select! {
            limited = timeout(self.options.drain_limit, &mut quiet) => Some(limited),
            () = self.only_connections_are_left() => None,
        };
        let calls_cut = match limited {
            Some(Ok(ended)) => {
                ended?;
                return Ok(Drain::Complete);
            }
            Some(Err(_)) => self.calls.in_flight(),
            None => 0,
        };
        self.calls.stop_all();
        if limited.is_none() || timeout(STOP_GRACE, &mut quiet).await.is_err() {
            self.phases.cut.cancel();
            // A connection that does not even hear this ends with the runtime.
            let _ = timeout(STOP_GRACE, &mut quiet).await;
        }
        Ok(if limited.is_some() { Drain::LimitReached { calls_cut } } else { Drain::Complete })
    }

    /// Resolves when no call is in flight and for a while no client has taken anything: those that are still connected
    /// do not hear the good-bye, and the limit is for calls and their answers.
    async fn only_connections_are_left(&self) {
        self.calls.all_ended().await;
        loop {
            let taken_bytes = self.phases.taken_bytes();
            tokio::time::sleep(CONNECTION_GRACE).await;
            if self.phases.taken_bytes() == taken_bytes {
                return;
            }
        }
    }

    async fn tell_health(&self, names: &[&'static str], status: ServingStatus) {
        for name in [""].iter().chain(names) {
            self.health.set_service_status(*name, status).await;
        }
    }
}

/// The services, and the names of ours.
struct Served {
    routes: Routes,
    names: Vec<&'static str>,
}
