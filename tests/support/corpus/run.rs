//! One case, played: a server, the steps in their order, and the tree at the end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use tempfile::TempDir;
use toolfs_client::{CallOptions, Client, OpenSession, Session};
use uuid::Uuid;

use super::agent::{self, Answer};
use super::case::Case;
use super::matcher::Bindings;
use super::served::Served;
use super::step::{Action, Forget, MAIN, Mode, Open, Step};
use super::{Way, disk, left, verdict};
use crate::support::ROOT;

/// Plays a case. The error tells every difference of the first step that differs, or those of the tree.
pub(crate) async fn play(case: &Case, way: Way) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    for name in ["root", "outside", "home"] {
        std::fs::create_dir(place.path().join(name)).map_err(|error| error.to_string())?;
    }
    disk::make(&place.path().join("root"), &case.files);
    let mut stage = Stage::set(case, way, place).await?;
    for (index, step) in case.steps.iter().enumerate() {
        stage.play(step).await.map_err(|differences| {
            let differences: Vec<String> =
                differences.iter().map(|difference| format!("step {index}: {difference}")).collect();
            differences.join("\n")
        })?;
    }
    let Stage { place, client, sessions, served, .. } = stage;
    drop((client, sessions));
    served.ok_or("the server is gone")?.stop().await?;
    let mut differences = left::compare(&place.path().join("root"), case);
    let outside = disk::paths(&place.path().join("outside"));
    differences.extend(outside.iter().map(|(name, _)| format!("outside: `{name}` is there")));
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

/// What the steps act on.
struct Stage {
    way: Way,
    arguments: Vec<String>,
    served: Option<Served>,
    client: Client,
    sessions: HashMap<String, Session>,
    request_ids: HashMap<String, Uuid>,
    bindings: Bindings,
    place: TempDir,
}

impl Stage {
    async fn set(case: &Case, way: Way, place: TempDir) -> Result<Stage, String> {
        let at = |name: &str| place.path().join(name).display().to_string();
        let state = if case.restarts() { at("state") } else { "memory".to_owned() };
        let mut arguments = vec![
            "--root".to_owned(),
            format!("{}={ROOT}", at("root")),
            "--listen".to_owned(),
            socket(place.path()),
        ];
        arguments.extend(["--state".to_owned(), state]);
        arguments.extend(case.server.iter().cloned());
        let served = Served::start(way, &arguments, &place.path().join("home")).await?;
        let client = connect(place.path()).await?;
        Ok(Stage {
            way,
            arguments,
            served: Some(served),
            client,
            sessions: HashMap::new(),
            request_ids: HashMap::new(),
            bindings: Bindings::default(),
            place,
        })
    }

    async fn play(&mut self, step: &Step) -> Result<(), Vec<String>> {
        match &step.action {
            Action::Restart => self.restart().await.map_err(|fault| vec![fault]),
            Action::Parallel(steps) => self.play_at_once(steps).await,
            _ => {
                let done = self.prepare(step).await.map_err(|fault| vec![fault])?.act(step).await;
                self.judge(step, done)
            }
        }
    }

    /// Compares what came of a step with what is expected, and keeps the session that it opened.
    fn judge(&mut self, step: &Step, done: Result<Done, String>) -> Result<(), Vec<String>> {
        let Done { answer, session } = done.map_err(|fault| vec![fault])?;
        if let (Some(name), Some(session)) = (&step.session, session) {
            self.sessions.insert(name.clone(), session);
        }
        let differences = verdict::differences(&step.expect, &answer, &mut self.bindings);
        if differences.is_empty() { Ok(()) } else { Err(differences) }
    }

    /// The answers are judged in the order of the steps, when all of them are there.
    async fn play_at_once(&mut self, steps: &[Step]) -> Result<(), Vec<String>> {
        let mut hands = Vec::new();
        for step in steps {
            hands.push(self.prepare(step).await.map_err(|fault| vec![fault])?);
        }
        let all_done = join_all(hands.into_iter().zip(steps).map(|(hand, step)| hand.act(step))).await;
        let mut differences = Vec::new();
        for (index, (step, done)) in steps.iter().zip(all_done).enumerate() {
            let told = self.judge(step, done).err().into_iter().flatten();
            differences.extend(told.map(|difference| format!("step {index} of those at once: {difference}")));
        }
        if differences.is_empty() { Ok(()) } else { Err(differences) }
    }

    /// What a step needs. The main session is opened when it is first needed.
    async fn prepare(&mut self, step: &Step) -> Result<Hand, String> {
        let needed =
            step.session.as_deref().filter(|_| !matches!(step.action, Action::Open(_) | Action::Outside(_)));
        if needed == Some(MAIN) && !self.sessions.contains_key(MAIN) {
            let opened = self.client.open_session(OpenSession::default()).await;
            let session = opened.map_err(|error| format!("cannot open a session: {error}"))?;
            self.sessions.insert(MAIN.to_owned(), session);
        }
        let find = |name| {
            self.sessions
                .get(name)
                .cloned()
                .ok_or_else(|| format!("the case did not open the session `{name}`"))
        };
        let session = needed.map(find).transpose()?;
        let named = step.options.request_id.as_ref();
        let options = CallOptions {
            dry_run: step.options.dry_run,
            full_view: step.options.full_view,
            tool_call_id: step.options.tool_call_id.clone().unwrap_or_default(),
            request_id: named.map(|name| *self.request_ids.entry(name.clone()).or_insert_with(Uuid::new_v4)),
            deadline: None,
        };
        Ok(Hand { client: self.client.clone(), session, options, place: self.place.path().to_owned() })
    }

    /// Stops the server and starts it again; each session that is open goes on over a new connection.
    async fn restart(&mut self) -> Result<(), String> {
        self.served.take().ok_or("the server is gone")?.stop().await?;
        self.served = Some(Served::start(self.way, &self.arguments, &self.place.path().join("home")).await?);
        self.client = connect(self.place.path()).await?;
        for session in self.sessions.values_mut() {
            // One that was closed keeps its old connection, which is made again when it calls.
            if let Ok(resumed) = self.client.resume_session(session.id()).await {
                *session = resumed;
            }
        }
        Ok(())
    }
}

/// All that one step acts with, so that several can act at once.
struct Hand {
    client: Client,
    session: Option<Session>,
    options: CallOptions,
    place: PathBuf,
}

/// What came of a step, and the session that it opened.
struct Done {
    answer: Answer,
    session: Option<Session>,
}

impl Hand {
    async fn act(self, step: &Step) -> Result<Done, String> {
        let answer = match (&step.action, self.session) {
            (Action::Outside(changes), _) => {
                disk::change(&self.place.join("root"), changes);
                Answer::default()
            }
            (Action::Open(open), _) => return Ok(Done::opened(self.client.open_session(wanted(open)).await)),
            (Action::Resume, Some(session)) => {
                let client = connect(&self.place).await?;
                return Ok(Done::opened(client.resume_session(session.id()).await));
            }
            (Action::Close, Some(session)) => of_nothing(session.close().await),
            (Action::Forget(Forget::Paths(forget)), Some(session)) => {
                of_nothing(session.forget(&forget.paths).await)
            }
            (Action::Forget(Forget::All(_)), Some(session)) => of_nothing(session.forget_all().await),
            (action, session) => agent::call(&self.client, session.as_ref(), action, self.options).await?,
        };
        Ok(Done { answer, session: None })
    }
}

impl Done {
    fn opened(opened: Result<Session, toolfs_client::Error>) -> Done {
        match opened {
            Ok(session) => Done { answer: agent::of_session(&session), session: Some(session) },
            Err(error) => Done { answer: agent::of_error(&error), session: None },
        }
    }
}

fn socket(place: &Path) -> String {
    format!("unix:{}", place.join("s").display())
}

async fn connect(place: &Path) -> Result<Client, String> {
    Client::connect(&socket(place)).await.map_err(|error| error.to_string())
}

fn wanted(open: &Open) -> OpenSession {
    OpenSession {
        cwd: open.cwd.clone(),
        roots: open.roots.clone(),
        labels: open.labels.clone(),
        read_only: open.mode == Mode::ReadOnly,
    }
}

fn of_nothing(answer: Result<(), toolfs_client::Error>) -> Answer {
    match answer {
        Ok(()) => Answer::default(),
        Err(error) => agent::of_error(&error),
    }
}
