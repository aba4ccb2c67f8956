//! `toolfs call`: one tool call to a running server, printed as the model would see it.

use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use prost::Message as _;
use tokio::runtime::Runtime;
use toolfs_client::v1::{self, content_block::Block, execute_request::Call};
use toolfs_client::{Client, ConnectOptions, Error};
use uuid::Uuid;

use crate::cli::{CallArgs, Output};
use crate::env::Environment;
use crate::output::OutputError;
use crate::session::{self, Place, SessionError};
use crate::setting::chosen::{did_you_mean, similar};
use crate::{env, exit, output, protobuf_json};

/// Below this no server's limit of a message is, so that none has to be asked.
const SURELY_TAKEN_BYTES: usize = 1 << 20;

/// Runs the command.
pub fn main(args: &CallArgs, environment: &Environment) -> ExitCode {
    let code = prepare(args, environment).and_then(|call| {
        let runtime = runtime()?;
        runtime.block_on(run(args, call)).map_err(|error| error.complain())
    });
    ExitCode::from(code.unwrap_or_else(|code| code))
}

/// What is known before anybody is asked.
struct Prepared {
    place: Place,
    /// Tool and arguments; without them a session is only opened or closed.
    call: Option<(String, String)>,
    request_id: Uuid,
}

fn prepare(args: &CallArgs, environment: &Environment) -> Result<Prepared, u8> {
    let usage = |text: String| {
        output::complain(&text);
        exit::USAGE
    };
    refuse_unknown_variables(environment)?;
    let place = Place::find(&args.server, &args.key, args.open_session, environment)
        .and_then(|place| place.checked(args))
        .map_err(|error| error.complain())?;
    let request_id = match &args.request_id {
        None => Uuid::new_v4(),
        Some(text) => Uuid::try_parse(text)
            .map_err(|_| usage("--request-id is no UUID: give one such as `uuidgen` prints".to_owned()))?,
    };
    let call = match (&args.tool, &args.arguments) {
        (Some(tool), Some(arguments)) => {
            let arguments = read_arguments(arguments)
                .map_err(|error| usage(format!("cannot read the arguments from standard input: {error}")))?;
            Some((tool.clone(), arguments))
        }
        (Some(_) | None, None) | (None, Some(_)) => None,
    };
    Ok(Prepared { place, call, request_id })
}

async fn run(args: &CallArgs, prepared: Prepared) -> Result<u8, SessionError> {
    let Prepared { place, call, request_id } = prepared;
    let client = connect(place.server(), args.timeout.map(Duration::from_secs)).await?;
    let session = place.session(&client, args).await?;
    let mut code = exit::SUCCESS;
    if let Some((tool, arguments)) = call {
        let request = v1::ExecuteRequest {
            session_id: session.clone().unwrap_or_default(),
            request_id: request_id.to_string(),
            dry_run: args.dry_run,
            call: Some(Call::Json(v1::JsonCall { name: Some(tool), arguments_json: Some(arguments) })),
            ..v1::ExecuteRequest::default()
        };
        if request.encoded_len() > SURELY_TAKEN_BYTES {
            let capabilities =
                client.capabilities().await.map_err(|error| SessionError::Server(explain(&error)))?;
            check_size(request.encoded_len(), &capabilities.limits)?;
        }
        let response = client.execute(request, None).await.map_err(|error| place.explained(error))?;
        print(&response, args.output)?;
        if response.error.is_some() {
            code = exit::REFUSED;
        }
    }
    if let Some(id) = session.filter(|_| args.close_session) {
        place.close(&client, id).await?;
    }
    Ok(code)
}

/// Refuses what the transport would cut off with no word of the limit.
fn check_size(size: usize, limits: &[v1::Limit]) -> Result<(), SessionError> {
    let announced =
        limits.iter().find(|limit| limit.name == "max_message_bytes").and_then(|limit| limit.value);
    match announced.map(u64::try_from) {
        Some(Ok(limit)) if size as u64 > limit => Err(SessionError::Usage(format!(
            "the call has {size} bytes, and the server takes at most {limit} (max_message_bytes): make the arguments \
             smaller"
        ))),
        Some(Ok(_) | Err(_)) | None => Ok(()),
    }
}

fn print(response: &v1::ExecuteResponse, format: Output) -> Result<(), OutputError> {
    match format {
        Output::Json => output::line(&protobuf_json::text("toolfs.v1.ExecuteResponse", response)),
        Output::Text => {
            let texts = response.content.iter().filter_map(|block| match &block.block {
                Some(Block::Text(text)) => Some(text.as_str()),
                Some(Block::Image(_)) | None => None,
            });
            output::line(&texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

fn read_arguments(typed: &str) -> std::io::Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

/// A misspelt variable would be a call elsewhere, or in no session.
pub(crate) fn refuse_unknown_variables(environment: &Environment) -> Result<(), u8> {
    let unknown = environment.unknown();
    for name in &unknown {
        let similar = similar(name, env::known().into_iter().map(|(name, _)| name));
        output::complain(&format!("{name}: there is no such setting{}", did_you_mean(&similar)));
    }
    if unknown.is_empty() { Ok(()) } else { Err(exit::USAGE) }
}

/// A runtime for a few calls.
pub(crate) fn runtime() -> Result<Runtime, u8> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        output::complain(&format!("cannot start: {error}"));
        exit::CANNOT_START
    })
}

/// A client whose calls take at most so long.
pub(crate) async fn connect(server: &str, timeout: Option<Duration>) -> Result<Client, SessionError> {
    let mut options = ConnectOptions::DEFAULT;
    if let Some(timeout) = timeout {
        options.default_deadline = timeout;
        options.connect_timeout = options.connect_timeout.min(timeout);
    }
    Client::connect_with(server, options)
        .await
        .map_err(|error| session::SessionError::Server(explain(&error)))
}

/// An error with the causes below it, and what to do about the usual one.
pub(crate) fn explain(error: &Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_above_the_announced_limit_is_refused_with_both_sizes() {
        let limit = |name: &str, value| v1::Limit { name: name.to_owned(), value, ..v1::Limit::default() };
        let limits = [limit("max_content_bytes", Some(5)), limit("max_message_bytes", Some(4_000_000))];
        assert!(check_size(4_000_000, &limits).is_ok());
        let told = check_size(4_000_001, &limits).unwrap_err().to_string();
        assert!(told.contains("4000001") && told.contains("4000000"), "{told}");
        assert!(check_size(usize::MAX, &[limit("max_message_bytes", None)]).is_ok());
        assert!(check_size(usize::MAX, &[]).is_ok());
    }
}
