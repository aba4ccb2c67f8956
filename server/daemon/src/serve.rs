//! `toolfs serve`: the order in which a server comes up and goes down.

use std::convert::Infallible;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use thiserror::Error;
use tokio::runtime::Runtime;
use toolfs_core::error::{Code, FsError};
use toolfs_grpc::{Drain, Listener, ServeError, Server};
use toolfs_state_embedded::StateError;
use toolfs_tools::Executor;

use crate::address::{Address, AddressError, Bound, SocketFile};
use crate::cli::ServeArgs;
use crate::config::ServeConfig;
use crate::env::Environment;
use crate::placement::PlacementError;
use crate::ready::{Listening, Ready};
use crate::telemetry::Telemetry;
use crate::wiring::{WireError, Wired};
use crate::{exit, output, signal, wiring};

/// How often sessions that expired are looked for.
const SESSION_SWEEP: Duration = Duration::from_secs(60);

/// How long work that blocks a thread may go on when everything else has ended. Calls that still run then were told to
/// stop before, and a mutation that is cut leaves what a crash leaves: the old content or the new.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Why a server did not come up, or fell.
#[derive(Debug, Error)]
pub enum RunError {
    /// Something of the configuration cannot be opened.
    #[error("{}", describe(.0))]
    Open(FsError),
    /// The provider in another process does not say what it is.
    #[error("the provider at `{address}`: {}", describe(.error))]
    Peer {
        /// Where it was looked for.
        address: String,
        /// What came of it.
        error: FsError,
    },
    /// The state cannot be opened.
    #[error("{}", with_causes(.0))]
    State(StateError),
    /// A file of the server lies inside a root.
    #[error(transparent)]
    Placement(PlacementError),
    /// An address cannot be listened on.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Serving failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl RunError {
    fn exit_code(&self) -> u8 {
        match self {
            RunError::Open(error) if error.code() == Code::InvalidArgument => exit::USAGE,
            RunError::Placement(_) => exit::USAGE,
            RunError::Open(_) | RunError::Peer { .. } | RunError::State(_) | RunError::Address(_) => {
                exit::CANNOT_START
            }
            RunError::Serve(_) => exit::FAILURE,
        }
    }
}

impl From<WireError> for RunError {
    fn from(error: WireError) -> RunError {
        match error {
            WireError::Open(error) => RunError::Open(error),
            WireError::Peer { address, error } => RunError::Peer { address, error },
            WireError::State(error) => RunError::State(error),
            WireError::Placement(error) => RunError::Placement(error),
        }
    }
}

/// Runs the command.
pub fn main(args: &ServeArgs, environment: &Environment) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!("cannot start: {error}"));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    let code = run_on(&runtime, args, environment);
    leave(runtime);
    ExitCode::from(code)
}

/// Configuration before logging, logging before binding, binding before ready.
fn run_on(runtime: &Runtime, args: &ServeArgs, environment: &Environment) -> u8 {
    let _inside = runtime.enter();
    let config = match ServeConfig::resolve(args, environment) {
        Ok(config) => config,
        Err(errors) => {
            for error in errors {
                output::complain(&error.to_string());
            }
            return exit::USAGE;
        }
    };
    let telemetry = match Telemetry::start(&config.log, environment) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            output::complain(&error.to_string());
            return exit::USAGE;
        }
    };
    #[cfg(feature = "planted-faults")]
    if let Err(error) = plant(environment) {
        output::complain(&error);
        return exit::USAGE;
    }
    let code = runtime.block_on(async {
        let stdin_closes = config.until_stdin_closes;
        let or_else = async move {
            if stdin_closes { signal::stdin_closed().await } else { std::future::pending().await }
        };
        let shutdown = match signal::survive_file_size_limit().and_then(|()| signal::shutdown(or_else)) {
            Ok(shutdown) => shutdown,
            Err(error) => {
                output::complain(&format!("cannot listen for signals: {error}"));
                return exit::CANNOT_START;
            }
        };
        match run(config, shutdown, tell).await {
            Ok(Drain::Complete) => exit::SUCCESS,
            // Only connections were left, of clients that did not hear the good-bye: nothing was lost.
            Ok(Drain::LimitReached { calls_cut: 0 }) => exit::SUCCESS,
            Ok(Drain::LimitReached { calls_cut }) => {
                tracing::warn!(calls_cut, "the drain limit was over before these calls ended");
                exit::DRAIN_LIMIT
            }
            Err(error) => {
                output::complain(&error.to_string());
                error.exit_code()
            }
        }
    });
    telemetry.stop();
    code
}

/// Prints the ready line. A server that nobody reads is of use all the same.
fn tell(ready: Ready) {
    if let Err(error) = output::line(&ready.text()) {
        tracing::warn!(%error, "the ready line is lost");
    }
}

/// Plants the fault that the environment names, and says so where nobody can miss it.
#[cfg(feature = "planted-faults")]
fn plant(environment: &Environment) -> Result<(), String> {
    use toolfs_core::planted::Fault;

    let Some(name) = environment.get(crate::env::PLANTED_FAULT) else { return Ok(()) };
    let Some(fault) = Fault::parse(name) else {
        let names = Fault::ALL.map(|fault| format!("`{}`", fault.as_str())).join(", ");
        return Err(format!("{}: `{name}` is not one of {names}", crate::env::PLANTED_FAULT));
    };
    fault.plant();
    output::complain(&format!(
        "WARNING: THE FAULT `{name}` IS PLANTED. This server breaks its promises on purpose; it is for proofs only."
    ));
    Ok(())
}

/// Lets go of the runtime. Dropping it would wait for calls that hang in the kernel, on a dead disk for instance, and
/// the drain limit would be none.
fn leave(runtime: Runtime) {
    runtime.shutdown_timeout(LAST_WORK);
}

/// Serves as configured until `shutdown` resolves. `on_ready` hears when callers can call.
///
/// # Errors
/// [`RunError`] when it cannot come up; nothing is left behind then.
pub async fn run(
    config: ServeConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
    on_ready: impl FnOnce(Ready),
) -> Result<Drain, RunError> {
    // First of all, so that of two servers for one address the second touches nothing else.
    let mut listeners = Listeners::default();
    for address in &config.listen {
        let (address, listener) = listeners.bind(address).await?;
        listeners.listening.tools.push(address);
        listeners.tools.push(listener);
    }
    if let Some(address) = &config.seam {
        let (address, listener) = listeners.bind(address).await?;
        listeners.listening.seam = Some(address);
        listeners.seam.push(listener);
    }
    if let Some(address) = &config.gate {
        let (address, listener) = listeners.bind(address).await?;
        listeners.listening.gate = Some(address);
        listeners.gate.push(listener);
    }
    let wired = wiring::wire(&config)?;
    let ready = wiring::ready(&wired, &config, listeners.listening).await?;
    tracing::info!(
        roots = ?ready.roots, provider = %ready.provider, policy = %ready.policy, state = %ready.state, "serving"
    );

    let options = wiring::serve_options(&config);
    let shutdown = shutdown.shared();
    let tools =
        Server::new(Arc::clone(&wired.executor), options.clone()).serve(listeners.tools, shutdown.clone());
    let seam = Server::of_seam(Arc::clone(&wired.provider), options.clone());
    let seam = serve_if_any(seam, listeners.seam, shutdown.clone());
    let gate = async {
        match &wired.gate {
            Some(gate) => {
                serve_if_any(Server::of_gate(Arc::clone(gate), options), listeners.gate, shutdown).await
            }
            None => Ok(Drain::Complete),
        }
    };
    on_ready(ready);
    let (tools, seam, gate) = tokio::select! {
        drains = async { tokio::try_join!(tools, seam, gate) } => drains?,
        never = end_idle_sessions(&wired.executor) => match never {},
    };
    let Wired { executor, provider, gate: policy, stores } = wired;
    drop((executor, provider, policy));
    stores.close().await;
    drop(listeners.sockets);
    let drain = [tools, seam, gate].into_iter().fold(Drain::Complete, worse);
    tracing::info!(?drain, "no longer serving");
    Ok(drain)
}

/// What is listened on, by what is served there.
#[derive(Default)]
struct Listeners {
    tools: Vec<Listener>,
    seam: Vec<Listener>,
    gate: Vec<Listener>,
    listening: Listening,
    // Dropped last: a socket is there as long as somebody may still be served on it.
    sockets: Vec<SocketFile>,
}

impl Listeners {
    async fn bind(&mut self, address: &Address) -> Result<(Address, Listener), AddressError> {
        let Bound { address, listener, socket } = address.bind().await?;
        self.sockets.extend(socket);
        Ok((address, listener))
    }
}

/// Serves what the configuration may have left out.
async fn serve_if_any(
    server: Server,
    listeners: Vec<Listener>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Drain, ServeError> {
    if listeners.is_empty() { Ok(Drain::Complete) } else { server.serve(listeners, shutdown).await }
}

/// The end of two servers, as one.
fn worse(one: Drain, other: Drain) -> Drain {
    match (one, other) {
        (Drain::Complete, drain) | (drain, Drain::Complete) => drain,
        (Drain::LimitReached { calls_cut: one }, Drain::LimitReached { calls_cut: other }) => {
            Drain::LimitReached { calls_cut: one + other }
        }
    }
}

/// Ends the sessions that nobody uses any more, also where none is opened that would push them out.
async fn end_idle_sessions(executor: &Executor) -> Infallible {
    let mut interval = tokio::time::interval(SESSION_SWEEP);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        executor.end_sessions().await;
    }
}

/// An error with the causes below it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// A start-up error with its path and its cause: whoever starts a server may see both.
fn describe(error: &FsError) -> String {
    let mut text = error.to_string();
    if let Some(path) = error.path().filter(|path| !text.contains(path)) {
        text = format!("{text} (`{path}`)");
    }
    if let Some(cause) = std::error::Error::source(error) {
        text = format!("{text}: {cause}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_that_hangs_in_the_kernel_does_not_keep_the_process_alive() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (hang, hung) = mpsc::channel::<()>();
        let (began, begun) = mpsc::channel();
        runtime.spawn_blocking(move || {
            began.send(()).unwrap();
            let _ = hung.recv();
        });
        begun.recv().unwrap();
        let (leaving, left) = mpsc::channel();
        std::thread::spawn(move || {
            leave(runtime);
            leaving.send(()).unwrap();
        });
        assert_eq!(left.recv_timeout(LAST_WORK * 20), Ok(()));
        drop(hang);
    }

    #[test]
    fn a_root_that_is_mistyped_is_wrong_usage_and_not_a_failed_start() {
        let exit_code_for = |root: &str| {
            let config = crate::config::of_arguments(&["--root", root, "--state", "memory"]);
            RunError::from(wiring::wire(&config).unwrap_err()).exit_code()
        };
        assert_eq!(exit_code_for("=/workspace"), exit::USAGE);
        assert_eq!(exit_code_for("/no/such/directory"), exit::CANNOT_START);
    }

    /// The kernel takes the connection for a listener that nobody asks.
    #[tokio::test(start_paused = true)]
    async fn a_provider_that_takes_the_connection_and_says_nothing_ends_the_start() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        let provider = format!("grpc://{address}");
        let arguments = [
            "--provider",
            provider.as_str(),
            "--listen",
            "127.0.0.1:0",
            "--state",
            "memory",
            "--policy",
            "none",
        ];
        let config = crate::config::of_arguments(&arguments);
        let end = run(config, std::future::pending(), |ready| panic!("{ready:?}")).await;
        let error = end.unwrap_err();
        assert_eq!(error.exit_code(), exit::CANNOT_START);
        assert!(error.to_string().contains(&address), "{error}");
        assert!(error.to_string().contains("within 10 s"), "{error}");
    }
}
