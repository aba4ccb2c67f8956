//! `toolfs session`, and which session `toolfs call` calls in.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thiserror::Error;
use toolfs_client::{Client, Error as ClientError, OpenSession, Reason, v1};
use toolfs_contract::code::CallReason;

use crate::call::{connect, explain, refuse_unknown_variables, runtime};
use crate::cli::{CallArgs, Output, ServerArgs, SessionArgs, SessionCommand, SessionKeyArgs};
use crate::config::DEFAULT_LISTEN;
use crate::env::Environment;
use crate::output::OutputError;
use crate::session_file::{self, KeptSession, SessionFileError};
use crate::setting::chosen::choose;
use crate::setting::origin::Origin;
use crate::{exit, output, protobuf_json};

/// Why a session cannot be used.
#[derive(Debug, Error)]
pub(crate) enum SessionError {
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The file that keeps it.
    #[error(transparent)]
    File(#[from] SessionFileError),
    /// The server, with what to do.
    #[error("{0}")]
    Server(String),
    /// What was asked for is done, but could not be told.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl SessionError {
    /// Complains on standard error; returns the exit code.
    pub(crate) fn complain(&self) -> u8 {
        match self {
            SessionError::Output(error) => error.complain(),
            SessionError::Usage(_) | SessionError::File(_) | SessionError::Server(_) => {
                output::complain(&self.to_string());
                self.exit_code()
            }
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            SessionError::Usage(_) | SessionError::File(_) => exit::USAGE,
            SessionError::Server(_) | SessionError::Output(_) => exit::FAILURE,
        }
    }
}

/// Which session of which server.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    server: String,
    key: Key,
}

#[derive(Clone)]
enum Key {
    /// None.
    Nothing,
    /// One that is opened for this and kept nowhere.
    Fresh,
    /// This one.
    Id(String),
    /// The one that the file keeps, or shall keep.
    File { path: PathBuf, kept: Option<KeptSession>, is_fresh: bool },
}

/// The secret does not belong in a log.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Key::Nothing => "Nothing",
            Key::Fresh => "Fresh",
            Key::Id(_) => "Id",
            Key::File { .. } => "File",
        })
    }
}

impl Place {
    /// What flags, environment and session file say. `is_fresh` asks for a session that is opened now.
    pub(crate) fn find(
        server: &ServerArgs,
        key: &SessionKeyArgs,
        is_fresh: bool,
        environment: &Environment,
    ) -> Result<Place, SessionError> {
        let variable = |name| environment.get(name);
        let file_of = |path: PathBuf| {
            let kept = session_file::read(&path)?;
            Ok::<_, SessionError>(Key::File { path, kept, is_fresh })
        };
        let key = match (&key.session, &key.session_file) {
            (Some(id), _) if id.is_empty() => {
                return Err(SessionError::Usage(
                    "--session is empty: open a session with `toolfs session open` and give its id"
                        .to_owned(),
                ));
            }
            (Some(id), _) => Key::Id(id.clone()),
            (None, Some(path)) => file_of(path.clone())?,
            (None, None) => match (variable("TOOLFS_SESSION"), variable("TOOLFS_SESSION_FILE")) {
                (Some(_), Some(_)) => {
                    return Err(SessionError::Usage(
                        "TOOLFS_SESSION and TOOLFS_SESSION_FILE name a session each: unset one of them"
                            .to_owned(),
                    ));
                }
                (None, Some(path)) => file_of(path.into())?,
                (Some(_) | None, None) if is_fresh => Key::Fresh,
                (Some(id), None) => Key::Id(id.to_owned()),
                (None, None) => Key::Nothing,
            },
        };
        let kept = match &key {
            Key::File { kept: Some(kept), is_fresh: false, .. } => Some(kept.server.clone()),
            Key::File { .. } | Key::Nothing | Key::Fresh | Key::Id(_) => None,
        };
        let server = named_server(server, kept, environment);
        Ok(Place { server, key })
    }

    /// Refuses wishes that would be passed over.
    pub(crate) fn checked(self, args: &CallArgs) -> Result<Place, SessionError> {
        let opens = match &self.key {
            Key::Fresh => true,
            Key::File { kept, is_fresh, .. } => *is_fresh || kept.is_none(),
            Key::Nothing | Key::Id(_) => false,
        };
        if !opens && args.open != SessionArgs::default() {
            return Err(SessionError::Usage(
                "--cwd, --read-only and --label are for a session that is opened: add --open-session"
                    .to_owned(),
            ));
        }
        match &self.key {
            Key::Nothing if args.close_session => Err(SessionError::Usage(
                "there is no session to close: name it with --session or --session-file".to_owned(),
            )),
            Key::File { path, kept: None, is_fresh: false } if args.close_session && args.tool.is_none() => {
                Err(SessionError::Usage(format!(
                    "there is no session to close: there is no file `{}`",
                    path.display()
                )))
            }
            Key::Nothing | Key::Fresh | Key::Id(_) | Key::File { .. } => Ok(self),
        }
    }

    /// The server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The secret id, of a session that is opened now if need be; `None` for a call outside of any.
    pub(crate) async fn session(
        &self,
        client: &Client,
        args: &CallArgs,
    ) -> Result<Option<String>, SessionError> {
        match &self.key {
            Key::Nothing => Ok(None),
            Key::Id(id) => Ok(Some(id.clone())),
            Key::Fresh => {
                let kept = open(client, &self.server, &args.open).await?;
                if !args.close_session {
                    output::note(&format!("session: {}", kept.session_id));
                }
                Ok(Some(kept.session_id))
            }
            Key::File { kept: Some(kept), is_fresh: false, .. } => Ok(Some(kept.session_id.clone())),
            Key::File { path, is_fresh: true, .. } => {
                let kept = open(client, &self.server, &args.open).await?;
                session_file::replace(path, &kept)?;
                Ok(Some(kept.session_id))
            }
            Key::File { path, kept: None, is_fresh: false } => {
                let kept = open(client, &self.server, &args.open).await?;
                if session_file::create(path, &kept)? {
                    return Ok(Some(kept.session_id));
                }
                // Another call opened one meanwhile: that is the one to share.
                close(client, kept.session_id).await?;
                Ok(session_file::read(path)?.map(|kept| kept.session_id))
            }
        }
    }

    /// Closes the session, and lets go of the file. That the server does not know it any more is fine.
    pub(crate) async fn close(&self, client: &Client, id: String) -> Result<(), SessionError> {
        close(client, id).await?;
        match &self.key {
            Key::File { path, .. } => Ok(session_file::remove(path)?),
            Key::Nothing | Key::Fresh | Key::Id(_) => Ok(()),
        }
    }

    /// An error with what to do about a session that is gone.
    pub(crate) fn explained(&self, error: ClientError) -> SessionError {
        let told = explain(&error);
        if !is_unknown_session(&error) {
            return SessionError::Server(told);
        }
        SessionError::Server(match &self.key {
            Key::File { path, .. } => format!(
                "{told}: the one in `{}` was closed, has expired, or is of another server; add --open-session to begin \
                 another one, which has seen nothing yet",
                path.display()
            ),
            Key::Nothing | Key::Fresh | Key::Id(_) => format!(
                "{told}: it was closed, has expired, or is of another server; open another one with `toolfs session \
                 open`"
            ),
        })
    }
}

/// The server that is meant; `kept` is what a session file says.
fn named_server(typed: &ServerArgs, kept: Option<String>, environment: &Environment) -> String {
    let variable = environment.get("TOOLFS_SERVER").map(str::to_owned);
    let (server, _) = choose(
        typed.server.clone().map(|server| (server, Origin::Flag("server"))),
        variable.map(|server| (server, Origin::Variable("TOOLFS_SERVER"))),
        kept.map(|server| (server, Origin::Default)),
        DEFAULT_LISTEN.to_owned(),
    );
    server
}

fn is_unknown_session(error: &ClientError) -> bool {
    match error {
        ClientError::Call(failure) => *failure.reason() == Reason::Call(CallReason::SessionNotFound),
        _ => false,
    }
}

async fn open(client: &Client, server: &str, args: &SessionArgs) -> Result<KeptSession, SessionError> {
    let session = client
        .open_session(OpenSession {
            cwd: args.cwd.clone().unwrap_or_default(),
            roots: Vec::new(),
            labels: args.labels.iter().cloned().collect(),
            read_only: args.read_only,
        })
        .await
        .map_err(|error| SessionError::Server(explain(&error)))?;
    Ok(KeptSession {
        server: server.to_owned(),
        session_id: session.id().to_owned(),
        name: session.info().name.clone(),
    })
}

async fn close(client: &Client, id: String) -> Result<(), SessionError> {
    let closed = match client.resume_session(id).await {
        Ok(session) => session.close().await,
        Err(error) => Err(error),
    };
    match closed {
        Err(error) if !is_unknown_session(&error) => Err(SessionError::Server(explain(&error))),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Runs the command.
pub fn main(command: &SessionCommand, environment: &Environment) -> ExitCode {
    let code = refuse_unknown_variables(environment).and_then(|()| {
        let runtime = runtime()?;
        runtime.block_on(run(command, environment)).map_err(|error| error.complain())
    });
    ExitCode::from(code.err().unwrap_or(exit::SUCCESS))
}

async fn run(command: &SessionCommand, environment: &Environment) -> Result<(), SessionError> {
    match command {
        SessionCommand::Open { server, session_file, open: args } => {
            let server = named_server(server, None, environment);
            let file =
                session_file.clone().or_else(|| environment.get("TOOLFS_SESSION_FILE").map(PathBuf::from));
            open_session(&server, file.as_deref(), args).await
        }
        SessionCommand::List { server, output } => {
            let server = named_server(server, None, environment);
            list(&connect(&server, None).await?, *output).await
        }
        SessionCommand::Show { server, key, output } => {
            let (place, id) = named(server, key, environment)?;
            let client = connect(place.server(), None).await?;
            let session = client.resume_session(id).await.map_err(|error| place.explained(error))?;
            match output {
                Output::Json => output::line(&protobuf_json::text("toolfs.v1.Session", session.info()))?,
                Output::Text => output::line(&described(session.info()))?,
            }
            Ok(())
        }
        SessionCommand::Close { server, key } => {
            let (place, id) = named(server, key, environment)?;
            let client = connect(place.server(), None).await?;
            place.close(&client, id).await
        }
    }
}

/// A session that is there already.
fn named(
    server: &ServerArgs,
    key: &SessionKeyArgs,
    environment: &Environment,
) -> Result<(Place, String), SessionError> {
    let place = Place::find(server, key, false, environment)?;
    let id = match &place.key {
        Key::Id(id) => Some(id.clone()),
        Key::File { kept, .. } => kept.as_ref().map(|kept| kept.session_id.clone()),
        Key::Nothing | Key::Fresh => None,
    };
    match id {
        Some(id) => Ok((place, id)),
        None => Err(SessionError::Usage(
            "no session is named: give --session ID or the --session-file of one that is open".to_owned(),
        )),
    }
}

async fn open_session(server: &str, file: Option<&Path>, args: &SessionArgs) -> Result<(), SessionError> {
    if let Some(path) = file.filter(|path| path.exists()) {
        return Err(kept_already(path));
    }
    let client = connect(server, None).await?;
    let kept = open(&client, server, args).await?;
    match file {
        None => {
            if let Err(error) = output::line(&kept.session_id) {
                // Nobody knows its id, so that nobody could use it.
                close(&client, kept.session_id).await?;
                return Err(error.into());
            }
        }
        Some(path) => {
            if !session_file::create(path, &kept)? {
                close(&client, kept.session_id).await?;
                return Err(kept_already(path));
            }
            output::line(&kept.name)?;
        }
    }
    Ok(())
}

fn kept_already(path: &Path) -> SessionError {
    SessionError::Usage(format!(
        "`{}` is there already: close its session with `toolfs session close`, or name another file",
        path.display()
    ))
}

async fn list(client: &Client, format: Output) -> Result<(), SessionError> {
    let mut all = v1::ListSessionsResponse::default();
    let mut page_token = String::new();
    loop {
        let request = v1::ListSessionsRequest { page_token, ..v1::ListSessionsRequest::default() };
        let page =
            client.list_sessions(request).await.map_err(|error| SessionError::Server(explain(&error)))?;
        all.sessions.extend(page.sessions);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    match format {
        Output::Json => output::line(&protobuf_json::text("toolfs.v1.ListSessionsResponse", &all))?,
        Output::Text if all.sessions.is_empty() => output::line("no session is open")?,
        Output::Text => {
            for session in &all.sessions {
                output::line(&described(session))?;
            }
        }
    }
    Ok(())
}

/// One line.
fn described(session: &v1::Session) -> String {
    let mode = match session.mode() {
        v1::SessionMode::ReadOnly => "read-only",
        v1::SessionMode::WorkspaceWrite => "workspace-write",
        v1::SessionMode::Unspecified => "unknown mode",
    };
    let mut labels: Vec<String> =
        session.labels.iter().map(|(key, value)| format!("  {key}={value}")).collect();
    labels.sort();
    format!("{}  {mode}  {}{}", session.name, session.cwd, labels.concat())
}
