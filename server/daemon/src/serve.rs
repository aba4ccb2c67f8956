//! `toolfs serve`: the order in which a server comes up and goes down.

use std::convert::Infallible;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::runtime::Runtime;
use toolfs_core::error::{Code, FsError};
use toolfs_grpc::{Drain, ServeError, Server};
use toolfs_tools::Executor;

use crate::address::{AddressError, Bound};
use crate::cli::ServeArgs;
use crate::config::ServeConfig;
use crate::env::Environment;
use crate::telemetry::Telemetry;
use crate::{exit, output, ready, signal, wiring};

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
            RunError::Open(_) | RunError::Address(_) => exit::CANNOT_START,
            RunError::Serve(_) => exit::FAILURE,
        }
    }
}

/// Runs the command.
pub fn main(args: Box<ServeArgs>, environment: &Environment) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!("cannot start: {error}"));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    let code = run_on(&runtime, *args, environment);
    leave(runtime);
    ExitCode::from(code)
}

/// Logging before configuration, configuration before binding, binding before ready.
fn run_on(runtime: &Runtime, args: ServeArgs, environment: &Environment) -> u8 {
    let _inside = runtime.enter();
    let telemetry = match Telemetry::start(&args.log, environment) {
        Ok(telemetry) => telemetry,
        Err(error) => return refuse(&error),
    };
    let config = match ServeConfig::resolve(args, environment) {
        Ok(config) => config,
        Err(error) => return refuse(&error),
    };
    let code = runtime.block_on(async {
        let shutdown = match signal::survive_file_size_limit().and_then(|()| signal::shutdown()) {
            Ok(shutdown) => shutdown,
            Err(error) => {
                output::complain(&format!("cannot listen for signals: {error}"));
                return exit::CANNOT_START;
            }
        };
        match run(config, shutdown, |ready| output::line(&ready.text())).await {
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
    on_ready: impl FnOnce(ready::Ready),
) -> Result<Drain, RunError> {
    // First of all, so that of two servers for one address the second touches nothing else.
    let mut listeners = Vec::new();
    let mut addresses = Vec::new();
    // Dropped last: a socket is there as long as somebody may still be served on it.
    let mut sockets = Vec::new();
    for address in &config.listen {
        let Bound { address, listener, socket } = address.bind().await?;
        listeners.push(listener);
        addresses.push(address);
        sockets.extend(socket);
    }
    let wired = wiring::wire(&config).map_err(RunError::Open)?;
    let ready = wiring::ready(&wired, &config, addresses).await.map_err(RunError::Open)?;
    let server = Server::new(Arc::clone(&wired.executor), wiring::serve_options(&config));
    tracing::info!(roots = ?ready.roots, provider = %ready.provider, policy = %ready.policy, "serving");
    on_ready(ready);
    let drain = tokio::select! {
        drain = server.serve(listeners, shutdown) => drain?,
        never = end_idle_sessions(&wired.executor) => match never {},
    };
    drop(sockets);
    tracing::info!(?drain, "no longer serving");
    Ok(drain)
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

fn refuse(error: &dyn std::error::Error) -> u8 {
    output::complain(&error.to_string());
    exit::USAGE
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
            let args = ServeArgs { roots: vec![root.into()], ..ServeArgs::default() };
            let config = ServeConfig::resolve(args, &Environment::default()).unwrap();
            RunError::Open(wiring::wire(&config).unwrap_err()).exit_code()
        };
        assert_eq!(exit_code_for("=/workspace"), exit::USAGE);
        assert_eq!(exit_code_for("/no/such/directory"), exit::CANNOT_START);
    }
}
