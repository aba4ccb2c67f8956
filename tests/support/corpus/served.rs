//! The server of a case: the command as a process of its own, or its parts in this process.

use std::path::Path;

use clap::Parser as _;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use toolfs_grpc::Drain;
use toolfs_server::cli::{Cli, Command};
use toolfs_server::config::ServeConfig;
use toolfs_server::env::Environment;
use toolfs_server::serve::{self, RunError};

use super::Way;
use crate::support::process::Server;

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub(crate) enum Served {
    Process(Server),
    Here { shutdown: oneshot::Sender<()>, end: JoinHandle<Result<Drain, RunError>> },
}

impl Served {
    /// Starts `toolfs serve` with these arguments and waits until it is ready. `home` is a directory for what no flag
    /// places.
    pub(crate) async fn start(way: Way, arguments: &[String], home: &Path) -> Result<Served, String> {
        match way {
            Way::OverTheBinary => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                Ok(Served::Process(Server::start(&arguments)))
            }
            Way::InProcess => start_here(arguments, home).await,
        }
    }

    /// Ends it as SIGTERM does, and waits until it has.
    pub(crate) async fn stop(self) -> Result<(), String> {
        match self {
            Served::Process(server) => match server.stop() {
                (status, _) if status.success() => Ok(()),
                (status, errors) => Err(format!("the server ended with {status}: {errors}")),
            },
            Served::Here { shutdown, end } => {
                let _ = shutdown.send(());
                match end.await {
                    Ok(Ok(Drain::Complete | Drain::LimitReached { calls_cut: 0 })) => Ok(()),
                    Ok(Ok(drain)) => Err(format!("the server ended with {drain:?}")),
                    Ok(Err(error)) => Err(format!("the server fell: {error}")),
                    Err(error) => Err(format!("the server fell: {error}")),
                }
            }
        }
    }
}

/// What `main` does with the flags, but for logging and signals, which a process has once.
async fn start_here(arguments: &[String], home: &Path) -> Result<Served, String> {
    let words = ["toolfs", "serve"].into_iter().chain(arguments.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    let Command::Serve(arguments) = cli.command else { return Err("this is no `serve`".to_owned()) };
    let home = home.to_str().expect("a directory of the tests has a name that is text");
    let environment = Environment::of(&[("XDG_CONFIG_HOME", home), ("XDG_STATE_HOME", home)]);
    let config = ServeConfig::resolve(&arguments, &environment)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let (shutdown, told_to_end) = oneshot::channel();
    let (tell_ready, ready) = oneshot::channel();
    let told_to_end = async {
        let _ = told_to_end.await;
    };
    let end = tokio::spawn(serve::run(config, told_to_end, |_| {
        let _ = tell_ready.send(());
    }));
    match ready.await {
        Ok(()) => Ok(Served::Here { shutdown, end }),
        Err(_) => match end.await {
            Ok(Err(error)) => Err(format!("the server did not come up: {error}")),
            Ok(Ok(drain)) => Err(format!("the server ended with {drain:?}")),
            Err(error) => Err(format!("the server fell: {error}")),
        },
    }
}
