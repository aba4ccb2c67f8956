//! `toolfs call`: one tool call to a running server, printed as the model would see it.

use std::io::Read as _;
use std::process::ExitCode;

use toolfs_client::{CallOptions, Client, Error, ModelReply};

use crate::cli::CallArgs;
use crate::config::{DEFAULT_LISTEN, choose};
use crate::env::Environment;
use crate::{exit, output};

/// Runs the command.
pub fn main(args: CallArgs, environment: &Environment) -> ExitCode {
    let server = choose(args.server.clone(), environment, "server", "TOOLFS_SERVER")
        .0
        .unwrap_or_else(|| DEFAULT_LISTEN.to_owned());
    let session = choose(args.session.clone(), environment, "session", "TOOLFS_SESSION").0;
    if session.as_deref() == Some("") {
        output::complain(
            "--session is empty: open a session with toolfs.v1.SessionService/OpenSession and give its id",
        );
        return ExitCode::from(exit::USAGE);
    }
    let arguments = match arguments(&args.arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            output::complain(&format!("cannot read the arguments from standard input: {error}"));
            return ExitCode::from(exit::USAGE);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!("cannot start: {error}"));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    match runtime.block_on(call(&server, session.as_deref(), &args, arguments)) {
        Ok(reply) => {
            output::line(&reply.text());
            ExitCode::from(if reply.is_error { exit::REFUSED } else { exit::SUCCESS })
        }
        Err(error) => {
            output::complain(&explain(&error));
            ExitCode::from(exit::FAILURE)
        }
    }
}

async fn call(
    server: &str,
    session: Option<&str>,
    args: &CallArgs,
    arguments: String,
) -> Result<ModelReply, Error> {
    let client = Client::connect(server).await?;
    let options = CallOptions { dry_run: args.dry_run, ..CallOptions::default() };
    match session {
        Some(id) => client.resume_session(id).await?.call(&args.tool, arguments, options).await,
        None => client.call(&args.tool, arguments, options).await,
    }
}

fn arguments(typed: &str) -> std::io::Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

/// An error with the causes below it, and what to do about the usual one.
fn explain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    if matches!(error, Error::Connect { .. }) {
        text.push_str("; start a server with `toolfs serve --root DIR`, or name one with --server");
    }
    text
}
