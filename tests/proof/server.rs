//! A whole server in a process of its own, which proofs call over a socket.
//!
//! It is what `toolfs serve` runs, from a command line on. In the one world that no setting reaches, where names cannot
//! be exchanged, the same parts are put together here.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use clap::Parser as _;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use toolfs_core::clock::Clock;
use toolfs_core::planted::Fault;
use toolfs_grpc::Server as GrpcServer;
use toolfs_policy::ObservationGate;
use toolfs_provider_local::{LocalOptions, LocalProvider, RootSpec};
use toolfs_server::address::Address;
use toolfs_server::cli::{Cli, Command as Typed};
use toolfs_server::clock::{OsRandom, SystemClock};
use toolfs_server::config::ServeConfig;
use toolfs_server::env::Environment;
use toolfs_server::stores::Stores;
use toolfs_server::{serve, wiring};
use toolfs_tools::{Executor, ExecutorParts};

use crate::Part;

pub(crate) const PART: Part = Part { name: "server", run };

const READY: &str = "ready";

/// How servers serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Whether names can be exchanged.
    pub(crate) exchange: bool,
    /// Whether contents are made durable, which takes time in which others come.
    pub(crate) durable: bool,
}

/// A directory that servers serve, and what they share beside it.
#[derive(Debug)]
pub(crate) struct Ground(TempDir);

impl Ground {
    /// An empty one.
    pub(crate) fn new() -> Ground {
        let ground = Ground(tempfile::tempdir().unwrap());
        std::fs::create_dir(ground.root()).unwrap();
        ground
    }

    /// What is served.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }

    /// The files in which servers lock their turns.
    pub(crate) fn locks(&self) -> PathBuf {
        self.0.path().join("runtime/locks")
    }
}

/// A server. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) socket: PathBuf,
}

impl Server {
    /// Starts a server on a ground, and waits until it serves. Servers of one ground have different names.
    ///
    /// # Errors
    /// What it said instead.
    pub(crate) fn start(
        ground: &Ground,
        name: &str,
        manner: Manner,
        fault: Option<Fault>,
    ) -> Result<Server, String> {
        let socket = ground.0.path().join(name);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(PART.name).arg(if manner.exchange { "exchange" } else { "plain" });
        command.arg(fault.map_or("sound", Fault::as_str));
        command.args(["--durability", if manner.durable { "full" } else { "none" }]);
        command.arg("--listen").arg(format!("unix:{}", socket.display()));
        for (flag, place) in [("--root", "root"), ("--state", "state"), ("--runtime-dir", "runtime")] {
            command.arg(flag).arg(ground.0.path().join(place));
        }
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("{command:?}: {error}"))?;
        let mut said = String::new();
        let read = BufReader::new(child.stdout.take().unwrap()).read_line(&mut said);
        let server = Server { child, socket };
        if read.is_ok() && said.trim_end() == READY {
            Ok(server)
        } else {
            Err(format!("a server did not get ready; it said `{said}`"))
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is to be drained: whoever wanted something of it has been answered.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends: `proof server exchange|plain sound|FAULT FLAGS`, with the flags of `toolfs serve`.
fn run(arguments: &[String]) -> ExitCode {
    let [exchange, fault, flags @ ..] = arguments else {
        return failed("a server needs its world and its fault");
    };
    if let Some(fault) = Fault::parse(fault) {
        fault.plant();
    }
    let config = match config(flags) {
        Ok(config) => config,
        Err(message) => return failed(&message),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let served = runtime.block_on(async {
        // A thread of its own: one that waits for input would keep the runtime from ending.
        let (close, closed) = tokio::sync::oneshot::channel::<()>();
        std::thread::spawn(move || {
            let _ = io::stdin().read_to_end(&mut Vec::new());
            drop(close);
        });
        let shutdown = async { drop(closed.await) };
        match exchange.as_str() {
            "exchange" => {
                let ran = serve::run(config, shutdown, |_| tell(READY)).await;
                ran.map(drop).map_err(|error| error.to_string())
            }
            _ => serve_plainly(&config, shutdown).await,
        }
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => failed(&message),
    }
}

fn config(flags: &[String]) -> Result<ServeConfig, String> {
    let typed = ["toolfs", "serve"].into_iter().chain(flags.iter().map(String::as_str));
    match Cli::try_parse_from(typed).map_err(|error| error.to_string())?.command {
        Typed::Serve(arguments) => ServeConfig::resolve(&arguments, &Environment::default())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        other => Err(format!("{other:?} does not serve")),
    }
}

/// Serves where names cannot be exchanged.
async fn serve_plainly(
    config: &ServeConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let stores = Stores::open(config, &clock).map_err(|error| said(&error))?;
    let options = LocalOptions {
        limits: config.limits.clone(),
        protected: config.protected.clone(),
        durability: config.durability,
        operations: stores.operations.clone(),
        recovery: stores.recovery.clone(),
        runtime: config.runtime.as_ref().map(|runtime| runtime.path.clone()),
        force_plain_rename: true,
        ..LocalOptions::new(Arc::clone(&clock))
    };
    let roots: Vec<RootSpec> = config.roots.iter().map(|root| RootSpec::new(Path::new(root))).collect();
    let provider = LocalProvider::open(&roots, options).map_err(|error| said(&error))?;
    let executor = Executor::new(ExecutorParts {
        provider: Arc::new(provider),
        gate: Some(Arc::new(ObservationGate::new(Arc::clone(&stores.observations)))),
        clock,
        random: Arc::new(OsRandom),
        limits: config.limits.clone(),
        session_idle: config.session_idle,
        sessions: Arc::clone(&stores.sessions),
        calls: Arc::clone(&stores.calls),
        request_id_window: config.request_id_window,
    });
    let mut listeners = Vec::new();
    let mut sockets = Vec::new();
    for address in &config.listen {
        let bound = Address::bind(address).await.map_err(|error| said(&error))?;
        listeners.push(bound.listener);
        sockets.extend(bound.socket);
    }
    tell(READY);
    let server = GrpcServer::new(Arc::new(executor), wiring::serve_options(config));
    server.serve(listeners, shutdown).await.map(drop).map_err(|error| said(&error))
}

fn tell(line: &str) {
    let mut output = io::stdout().lock();
    // Who does not listen any more is told nothing.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn failed(message: &str) -> ExitCode {
    tell(message);
    ExitCode::FAILURE
}
