//! What the cases stand on: a world with files and a door to the tools, in three set-ups over two places.
//!
//! A case is a function over a [`World`]. [`cases`] makes a test of it for every set-up and place, named after both, so
//! that a difference between "in process" and "over the wire" is a failing test with a name. Groups say what a case
//! needs:
//! - `text`: files that the tools alone can make. Runs everywhere.
//! - `outside`: a hand that changes files behind the server's back, or makes what the tools cannot.
//! - `disk`: what only a disk has.
//! - `wire`: messages. Not for the executor.
//! - `unguarded`: `text`, without a policy gate; `unguarded_outside` likewise.
//!
//! Where a set-up lacks what a case needs, the case is listed as ignored, with the reason.

pub(crate) mod answer;
pub(crate) mod corpus;
pub(crate) mod direct;
pub(crate) mod door;
pub(crate) mod event;
pub(crate) mod place;
pub(crate) mod process;
pub(crate) mod served;
pub(crate) mod wire;

use std::fmt;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use toolfs_client::{Client, ConnectOptions};
use toolfs_core::limit::Limits;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_grpc::ServeOptions;
use toolfs_policy::{MemoryObservationStore, ObservationGate, PolicyGate};
use toolfs_provider::Provider;
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_tools::{Executor, ExecutorParts, MemoryCallStore, MemorySessionStore};

use answer::{Answer, Refusal, version_of};
use direct::{Direct, TestClock, TestRandom};
use door::{Ask, Door, Open, edit_all_call, edit_call, json_call, read_call, write_call};
use place::{Disk, Hand, Memory};
use process::Server;
use wire::Wire;

/// The path under which agents see the root, in every set-up.
pub(crate) const ROOT: &str = "/workspace";

/// For how long calls are remembered.
const REQUEST_ID_WINDOW: Duration = Duration::from_secs(3_600);

/// Says something to whoever runs the tests, also where output is captured.
pub(crate) fn say(text: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr().lock(), "{test}: {text}");
}

/// How the tools are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setup {
    /// The executor, called as a function.
    Executor,
    /// The Rust client over an in-memory transport.
    Client,
    /// The Rust client and the real binary, over a Unix socket.
    Binary,
}

/// Where the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    Disk,
}

/// What decides about guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Observation,
    None,
}

/// Makes a test of each case for every set-up and place. See the module.
macro_rules! cases {
    ($($cases:tt)*) => {
        mod executor_over_memory { $crate::support::set_up! { Executor Memory $($cases)* } }
        mod executor_over_disk { $crate::support::set_up! { Executor Disk $($cases)* } }
        mod client_over_memory { $crate::support::set_up! { Client Memory $($cases)* } }
        mod client_over_disk { $crate::support::set_up! { Client Disk $($cases)* } }
        mod binary_over_memory { $crate::support::set_up! { Binary Memory $($cases)* } }
        mod binary_over_disk { $crate::support::set_up! { Binary Disk $($cases)* } }
    };
}
pub(crate) use cases;

macro_rules! set_up {
    ($setup:ident $place:ident $($group:ident: [$($case:ident),* $(,)?]);* $(;)?) => {
        $($($crate::support::case! { $setup $place $group $case })*)*
    };
}
pub(crate) use set_up;

macro_rules! case {
    (Binary Memory outside $case:ident) => {
        $crate::support::not_applicable! { $case "not applicable: the tools alone cannot make its files" }
    };
    (Binary Memory unguarded_outside $case:ident) => {
        $crate::support::not_applicable! { $case "not applicable: the tools alone cannot make its files" }
    };
    ($setup:ident Memory disk $case:ident) => {
        $crate::support::not_applicable! { $case "not applicable: memory has no such thing" }
    };
    (Executor $place:ident wire $case:ident) => {
        $crate::support::not_applicable! { $case "not applicable: the executor takes no messages" }
    };
    ($setup:ident $place:ident unguarded $case:ident) => {
        $crate::support::test! { $setup $place None $case }
    };
    ($setup:ident $place:ident unguarded_outside $case:ident) => {
        $crate::support::test! { $setup $place None $case }
    };
    ($setup:ident $place:ident $group:ident $case:ident) => {
        $crate::support::test! { $setup $place Observation $case }
    };
}
pub(crate) use case;

macro_rules! test {
    ($setup:ident $place:ident $policy:ident $case:ident) => {
        #[test]
        fn $case() {
            use $crate::support::{Place, Policy, Setup, run};
            run(Setup::$setup, Place::$place, Policy::$policy, |world| Box::pin(super::$case(world)));
        }
    };
}
pub(crate) use test;

/// Runs a case in a world of its own. The case comes boxed, so that a runtime that blocks on it is compiled once and
/// not for every case and set-up.
pub(crate) fn run(
    setup: Setup,
    place: Place,
    policy: Policy,
    case: fn(World) -> Pin<Box<dyn Future<Output = ()>>>,
) {
    // The client's connection lives on the worker, so that it hears the server's good-bye while the test waits.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async { case(World::new(setup, place, policy).await).await });
}

macro_rules! not_applicable {
    ($case:ident $why:literal) => {
        #[test]
        #[ignore = $why]
        fn $case() {
            panic!($why);
        }
    };
}
pub(crate) use not_applicable;

/// Files and a door to the tools, made for one case.
#[derive(Debug)]
pub(crate) struct World {
    // The order is the one in which they go: the client, the server, the files.
    door: Box<dyn Door>,
    client: Option<Client>,
    hand: Option<Box<dyn Hand>>,
    /// Stands in for the hand where there is none.
    helper: OnceCell<String>,
    _server: Option<Server>,
    directory: TempDir,
}

impl World {
    pub(crate) async fn new(setup: Setup, place: Place, policy: Policy) -> World {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let disk = || Box::new(Disk(root.clone())) as Box<dyn Hand>;
        if setup == Setup::Binary {
            let server = binary(&directory, place, policy);
            let client = Client::connect(&server.address()).await.unwrap();
            let hand = (place == Place::Disk).then(disk);
            return World {
                door: Box::new(Wire::new(client.clone())),
                client: Some(client),
                hand,
                helper: OnceCell::new(),
                _server: Some(server),
                directory,
            };
        }
        // What a search for near misses finds must not depend on how busy the machine is.
        let limits = Limits { near_miss_ms: 60_000, ..Limits::DEFAULT };
        let (provider, hand): (Arc<dyn Provider>, Box<dyn Hand>) = match place {
            Place::Memory => {
                let config = MemoryConfig {
                    limits: limits.clone(),
                    clock: Some(Arc::new(TestClock)),
                    ..MemoryConfig::with_root(ROOT)
                };
                let provider = Arc::new(MemoryProvider::new(config).unwrap());
                (Arc::clone(&provider) as Arc<dyn Provider>, Box::new(Memory(provider)))
            }
            Place::Disk => {
                let options = LocalOptions {
                    limits: limits.clone(),
                    protected: ProtectedPatterns::default(),
                    ..LocalOptions::new(Arc::new(TestClock))
                };
                let roots = [RootSpec::named(&root, ROOT).unwrap()];
                (Arc::new(LocalProvider::open(&roots, options).unwrap()), disk())
            }
        };
        let executor = Arc::new(executor(provider, policy, limits));
        let client = match setup {
            Setup::Client => Some(over_duplex(Arc::clone(&executor), DRAIN_LIMIT, std::future::pending())),
            Setup::Executor | Setup::Binary => None,
        };
        let door: Box<dyn Door> = match &client {
            Some(client) => Box::new(Wire::new(client.clone())),
            None => Box::new(Direct(executor)),
        };
        World { door, client, hand: Some(hand), helper: OnceCell::new(), _server: None, directory }
    }

    /// The client of a set-up that has one.
    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().expect("cases that send messages are in the group `wire`")
    }

    pub(crate) fn door(&self) -> &dyn Door {
        &*self.door
    }

    /// The directory that holds the root `root`, for what must stay out of reach.
    pub(crate) fn around(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// The hand of a set-up that has one.
    pub(crate) fn find_hand(&self) -> Option<&dyn Hand> {
        self.hand.as_deref()
    }

    pub(crate) fn hand(&self) -> &dyn Hand {
        self.find_hand().expect("cases that need a hand are in the group `outside`")
    }

    /// An agent in a new session.
    pub(crate) async fn agent(&self) -> Agent<'_> {
        self.agent_with(Open::default()).await
    }

    pub(crate) async fn agent_with(&self, open: Open) -> Agent<'_> {
        let opened = self.door.open(open).await.unwrap();
        Agent { door: &*self.door, session: Some(opened.id) }
    }

    /// An agent without a session.
    pub(crate) fn stranger(&self) -> Agent<'_> {
        Agent { door: &*self.door, session: None }
    }

    /// Puts a file there from outside: by hand, or by another session where there is none.
    pub(crate) async fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        if let Some(hand) = &self.hand {
            return hand.put(path.as_bytes(), content.as_ref());
        }
        let content = std::str::from_utf8(content.as_ref()).expect("such files are in the group `outside`");
        let helper = self.helper().await;
        // It may have changed since the helper last saw it.
        helper.read(path).await;
        helper.write(path, content).await.ok();
    }

    /// Compares a file with what it must hold, byte by byte.
    #[track_caller]
    pub(crate) fn expect(&self, path: &str, content: impl AsRef<[u8]>) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        let content = content.as_ref().to_vec();
        async move {
            if let Some(hand) = &self.hand {
                let found = hand.get(path.as_bytes());
                let found = found.unwrap_or_else(|| panic!("{caller}: no file is at `{path}`"));
                let (found, content) = (found.escape_ascii().to_string(), content.escape_ascii().to_string());
                assert_eq!(found, content, "{caller}: the bytes of `{path}`");
                return;
            }
            let seen = self.helper().await.read(&format!("./{path}")).await;
            let seen = seen.ok();
            assert_eq!(seen.get("size"), content.len().to_string(), "{caller}: the size of `{path}`");
            assert_eq!(seen.get("version"), version_of(content), "{caller}: the content of `{path}`");
        }
    }

    /// Nothing may be at a path.
    pub(crate) async fn expect_nothing(&self, path: &str) {
        match &self.hand {
            Some(hand) => assert_eq!(hand.get(path.as_bytes()), None, "something is at `{path}`"),
            None => {
                self.helper().await.read(&format!("./{path}")).await.refused("FS_NOT_FOUND");
            }
        }
    }

    async fn helper(&self) -> Agent<'_> {
        let open = async || self.door.open(Open::default()).await.unwrap().id;
        let session = self.helper.get_or_init(open).await.clone();
        Agent { door: &*self.door, session: Some(session) }
    }
}

/// Somebody who calls tools.
#[derive(Debug)]
pub(crate) struct Agent<'a> {
    door: &'a dyn Door,
    session: Option<String>,
}

impl Agent<'_> {
    pub(crate) fn session(&self) -> &str {
        self.session.as_deref().expect("this agent has a session")
    }

    /// A call that must reach a tool.
    pub(crate) async fn ask(&self, ask: Ask) -> Answer {
        self.try_ask(ask).await.unwrap()
    }

    pub(crate) async fn try_ask(&self, ask: Ask) -> Result<Answer, Refusal> {
        self.door.execute(self.session.as_deref(), ask).await
    }

    pub(crate) async fn read(&self, path: &str) -> Answer {
        self.ask(Ask::of(read_call(path, None, None))).await
    }

    pub(crate) async fn read_window(
        &self,
        path: &str,
        offset: impl Into<Option<i64>>,
        limit: impl Into<Option<i64>>,
    ) -> Answer {
        self.ask(Ask::of(read_call(path, offset, limit))).await
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> Answer {
        self.ask(Ask::of(write_call(path, content))).await
    }

    pub(crate) async fn edit(&self, path: &str, old: &str, new: &str) -> Answer {
        self.ask(Ask::of(edit_call(path, old, new))).await
    }

    pub(crate) async fn edit_all(&self, path: &str, old: &str, new: &str) -> Answer {
        self.ask(Ask::of(edit_all_call(path, old, new))).await
    }

    /// A call as a model made it.
    pub(crate) async fn json(&self, name: &str, arguments_json: &str) -> Answer {
        self.ask(Ask::of(json_call(name, arguments_json))).await
    }

    pub(crate) async fn forget(&self, paths: Option<&[&str]>) -> Result<(), Refusal> {
        self.door.forget(self.session(), paths).await
    }

    pub(crate) async fn close(&self) -> Result<(), Refusal> {
        self.door.close(self.session()).await
    }
}

/// How long a drain may take where it does not matter. Far more than it needs.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// An executor over a provider, with a memory of its own.
pub(crate) fn executor(provider: Arc<dyn Provider>, policy: Policy, limits: Limits) -> Executor {
    let gate: Option<Arc<dyn PolicyGate>> = match policy {
        Policy::Observation => {
            Some(Arc::new(ObservationGate::new(Arc::new(MemoryObservationStore::default()))))
        }
        Policy::None => None,
    };
    Executor::new(ExecutorParts {
        provider,
        gate,
        clock: Arc::new(TestClock),
        random: Arc::new(TestRandom),
        limits,
        session_idle: Some(Duration::from_secs(86_400)),
        sessions: Arc::new(MemorySessionStore::new()),
        calls: Arc::new(MemoryCallStore::new(Arc::new(TestClock), REQUEST_ID_WINDOW, 64 << 20)),
        request_id_window: REQUEST_ID_WINDOW,
    })
}

/// A client of a server in this process: no socket, but everything else. The server drains once `shutdown` resolves.
pub(crate) fn over_duplex(
    executor: Arc<Executor>,
    drain_limit: Duration,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Client {
    let server = toolfs_grpc::Server::new(executor, serve_options(drain_limit));
    Client::from_channel(channel_to(server, shutdown), &ConnectOptions::DEFAULT)
}

/// A channel to the seam over a provider, in this process.
pub(crate) fn seam_over_duplex(provider: Arc<dyn Provider>) -> Channel {
    let server = toolfs_grpc::Server::of_seam(provider, serve_options(DRAIN_LIMIT));
    channel_to(server, std::future::pending())
}

fn serve_options(drain_limit: Duration) -> ServeOptions {
    ServeOptions {
        max_message_bytes: 64 << 20,
        server_version: "0.0.0".to_owned(),
        drain_limit,
        handshake_timeout: Duration::from_secs(10),
        limits: Limits::DEFAULT,
        max_stream_bytes: 64 << 20,
        stream_patience: Duration::from_secs(60),
    }
}

fn channel_to(server: toolfs_grpc::Server, shutdown: impl Future<Output = ()> + Send + 'static) -> Channel {
    let (connections, accepted) = tokio::sync::mpsc::unbounded_channel();
    // It ends with the runtime of the test.
    tokio::spawn(server.serve_connections(UnboundedReceiverStream::new(accepted), shutdown));
    let connector = tower::service_fn(move |_| {
        let (ours, theirs) = tokio::io::duplex(256 << 10);
        let sent = connections.send(Ok::<_, std::io::Error>(theirs));
        async move { sent.map(|()| TokioIo::new(ours)).map_err(std::io::Error::other) }
    });
    Endpoint::from_static("http://in.memory").connect_with_connector_lazy(connector)
}

fn binary(directory: &TempDir, place: Place, policy: Policy) -> Server {
    let listen = format!("unix:{}", directory.path().join("s").display());
    let root = match place {
        Place::Memory => ROOT.to_owned(),
        Place::Disk => format!("{}={ROOT}", directory.path().join("root").display()),
    };
    let provider = match place {
        Place::Memory => "memory",
        Place::Disk => "local",
    };
    let policy = match policy {
        Policy::Observation => "observation",
        Policy::None => "none",
    };
    Server::start(&["--root", &root, "--listen", &listen, "--provider", provider, "--policy", policy])
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}
