//! An agent's loop in small: read, change, and recover from a refusal.
//!
//! Usage: `cargo run -p toolfs-client --example recover -- SERVER FILE OLD NEW`

use std::process::ExitCode;

use toolfs_client::v1::FsErrorCode;
use toolfs_client::{Client, Edit, Error, ErrorCode, OpenSession, Read};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, file, old, new] = arguments.as_slice() else {
        report("usage: recover SERVER FILE OLD NEW");
        return ExitCode::from(2);
    };
    match replace(server, file, old, new).await {
        Ok(text) => {
            report(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

async fn replace(server: &str, file: &str, old: &str, new: &str) -> Result<String, Error> {
    let client = Client::connect(server).await?;
    let session = client.open_session(OpenSession::default()).await?;

    let edit = Edit::new(file, old, new);
    let reply = match session.edit(edit.clone()).await {
        // Not seen yet, or changed since: reading again is the remedy for both.
        Err(error) if needs_a_read(&error) => {
            report(&format!("refused: {error}"));
            session.read(Read::new(file)).await?;
            session.edit(edit).await?
        }
        other => other?,
    };
    let text = reply.text();
    session.close().await?;
    Ok(text)
}

fn needs_a_read(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::Known(FsErrorCode::FsNotObserved | FsErrorCode::FsStaleVersion)))
}

#[expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]
fn report(text: &str) {
    println!("{text}");
}
