//! A client: it calls as an agent would, most often on what it saw before, and gives some calls up.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use toolfs_client::v1::fs_error::Detail;
use toolfs_client::{CallFailure, CallOptions, Edit, Error, Read, Session, ToolError, Write, v1};

use super::FILES;
use super::record::{Answer, Ask, Content, END, Entry, Log, NEVER, version_of};
use crate::giving_up::End;
use crate::line::Line;

/// What the clients of a case do beside calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Habits {
    /// They give calls up, and cut connections.
    pub(super) gives_up: bool,
    /// They take the answers of dry runs for those of changes.
    pub(super) tells_without_doing: bool,
}

/// When a call is given up at the latest: about as long as one takes among all those of the others.
const LONGEST: Duration = Duration::from_millis(10);

/// One of the clients.
#[derive(Debug)]
pub(super) struct Actor {
    log: Arc<Log>,
    line: Line,
    /// The numbers of its session and its server.
    numbers: (usize, usize),
    session: Session,
    paths: [String; FILES.len()],
    habits: Habits,
    rng: Rng,
    /// What it saw last in each file.
    seen: [Option<Content>; FILES.len()],
}

/// A call that is about to be made.
#[derive(Debug)]
struct Plan {
    file: usize,
    ask: Ask,
    end: Option<End>,
    dry_run: bool,
}

impl Actor {
    pub(super) fn new(
        log: Arc<Log>,
        line: Line,
        numbers: (usize, usize),
        session: Session,
        paths: [String; FILES.len()],
        habits: Habits,
        seed: u64,
    ) -> Actor {
        let (rng, seen) = (Rng::with_seed(seed), Default::default());
        Actor { log, line, numbers, session, paths, habits, rng, seen }
    }

    /// Makes its calls.
    pub(super) async fn play(mut self) {
        let mut left = self.rng.usize(6..=10);
        while left > 0 {
            let asks = self.draw(left);
            left -= asks.len();
            let plans: Vec<Plan> = asks.into_iter().map(|(file, ask)| self.plan(file, ask)).collect();
            let answers = join_all(plans.iter().map(|plan| self.call(plan))).await;
            for (plan, answer) in plans.iter().zip(answers) {
                self.learn(plan, answer);
            }
        }
    }

    /// What it asks next: one thing, or several edits at once.
    fn draw(&mut self, at_most: usize) -> Vec<(usize, Ask)> {
        let file = if self.rng.bool() { 0 } else { self.rng.usize(..FILES.len()) };
        let kind = self.rng.u32(..100);
        let ask = match (kind, self.seen[file].clone()) {
            (75..90, _) => Ask::Write(self.log.content(&mut self.rng)),
            // What an edit needs is only known of what was seen.
            (0..25, _) | (25..75, None) => Ask::Read,
            (25..50, Some(seen)) => self.replace_a_line(&seen),
            (50..75, Some(_)) => self.add_a_line(),
            (_, _) => {
                let count = self.rng.usize(2..=4).min(at_most);
                return (0..count).map(|_| (file, self.add_a_line())).collect();
            }
        };
        vec![(file, ask)]
    }

    fn add_a_line(&self) -> Ask {
        Ask::Edit { old: END.to_owned(), new: format!("{}{END}", self.log.token()) }
    }

    fn replace_a_line(&mut self, seen: &str) -> Ask {
        let lines: Vec<&str> = seen.split_inclusive('\n').filter(|line| *line != END).collect();
        match lines.get(self.rng.usize(..lines.len().max(1))) {
            Some(line) => Ask::Edit { old: (*line).to_owned(), new: self.log.token() },
            None => self.add_a_line(),
        }
    }

    fn plan(&mut self, file: usize, ask: Ask) -> Plan {
        let gives_up = self.habits.gives_up && self.rng.u32(..3) == 0;
        let end = gives_up.then(|| {
            let time = match self.rng.bool() {
                true => End::soon(&mut self.rng, LONGEST),
                // Most calls are under way then.
                false => LONGEST.mul_f64(self.rng.f64()),
            };
            End::draw(&mut self.rng, time)
        });
        let dry_run = self.habits.tells_without_doing && ask != Ask::Read && self.rng.u32(..20) == 0;
        Plan { file, ask, end, dry_run }
    }

    /// Makes a call and writes it down.
    async fn call(&self, plan: &Plan) -> Answer {
        let began = self.log.now();
        let sent = self.send(plan);
        let answer = match plan.end {
            None => sent.await,
            Some(end) => end.bring(&self.line, sent).await.unwrap_or(Answer::Unknown),
        };
        let ended = if answer == Answer::Unknown { NEVER } else { self.log.now() };
        let ((session, server), file, ask) = (self.numbers, plan.file, plan.ask.clone());
        self.log.add(Entry { session, server, file, ask, answer: answer.clone(), began, ended });
        answer
    }

    async fn send(&self, plan: &Plan) -> Answer {
        let deadline = plan.end.and_then(End::deadline);
        // The lines of a read, and of a write what it replaced.
        let full_view = true;
        let options = CallOptions { deadline, dry_run: plan.dry_run, full_view, ..CallOptions::default() };
        let path = &self.paths[plan.file];
        let answered = match &plan.ask {
            Ask::Read => {
                self.session.read(Read::new(path).options(options)).await.map(|reply| seen(&reply.outcome))
            }
            Ask::Write(content) => {
                let write = Write::new(path, content.as_ref()).options(options);
                self.session.write(write).await.map(|reply| written(reply.outcome, content))
            }
            Ask::Edit { old, new } => {
                let edit = Edit::new(path, old, new).options(options);
                self.session.edit(edit).await.map(|reply| edited(reply.outcome))
            }
        };
        match answered {
            Ok(answer) => answer,
            Err(Error::Tool(error)) => refused(&error, plan.end.is_some()),
            // A cut ends whatever is on its way.
            Err(Error::Call(failure)) if plan.end.is_some() || self.line.was_cut() => given_up(&failure),
            Err(error) => Answer::Forbidden(format!("{error:?}")),
        }
    }

    fn learn(&mut self, plan: &Plan, answer: Answer) {
        let seen = &mut self.seen[plan.file];
        match (answer, &plan.ask) {
            (Answer::Seen(content), _) => *seen = Some(content),
            (Answer::Changed { .. }, Ask::Write(content)) => *seen = Some(Arc::clone(content)),
            (Answer::Changed { .. }, Ask::Edit { old, new }) => {
                *seen = seen.as_ref().map(|before| before.replacen(old, new, 1).into());
            }
            // It reads again before it changes the file, as it is told to.
            (Answer::Absent | Answer::Stale { .. } | Answer::NotObserved { .. } | Answer::NoMatch, _) => {
                *seen = None;
            }
            (Answer::Changed { .. }, Ask::Read)
            | (Answer::Nothing | Answer::Unknown | Answer::Forbidden(_), _) => {}
        }
    }
}

fn seen(outcome: &v1::ReadOutcome) -> Answer {
    let content: String = outcome.lines.iter().map(|line| format!("{}\n", line.text)).collect();
    if version_of(&content) == outcome.version {
        Answer::Seen(content.into())
    } else {
        Answer::Forbidden(format!("the version `{}` is not that of the lines {content:?}", outcome.version))
    }
}

fn written(outcome: v1::WriteOutcome, content: &str) -> Answer {
    if outcome.version != version_of(content) {
        return Answer::Forbidden(format!("a write of another version than asked: {}", outcome.version));
    }
    let base = match (outcome.operation(), &outcome.diff) {
        (v1::WriteOperation::Create, _) => None,
        (_, Some(diff)) if !diff.omitted() => Some(undo(content, diff)),
        (_, diff) => return Answer::Forbidden(format!("a write without a diff: {diff:?}")),
    };
    Answer::Changed { version: outcome.version, base }
}

fn edited(outcome: v1::EditOutcome) -> Answer {
    Answer::Changed { version: outcome.version, base: None }
}

/// What a content was before a diff made it so.
fn undo(content: &str, diff: &v1::Diff) -> Content {
    let index = |line: i64| usize::try_from(line).unwrap();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let (mut before, mut next) = (String::new(), 0);
    for hunk in &diff.hunks {
        let (start, count) = (index(hunk.new_start()), index(hunk.new_count()));
        // A hunk without new lines names the one before it.
        let start = if count == 0 { start } else { start - 1 };
        before.extend(lines[next..start].iter().copied());
        next = start + count;
        for line in hunk.lines.iter().filter(|line| line.kind() != v1::DiffLineKind::Added) {
            before.push_str(&line.text);
            before.push('\n');
        }
    }
    before.extend(lines[next..].iter().copied());
    before.into()
}

fn refused(error: &ToolError, is_given_up: bool) -> Answer {
    let code = error.code();
    match (code.as_str(), error.detail(), error.published()) {
        ("FS_ABORTED", _, v1::Published::No) if is_given_up => Answer::Nothing,
        ("FS_ABORTED", _, _) if is_given_up => Answer::Unknown,
        ("FS_STALE_VERSION", Some(Detail::StaleVersion(stale)), v1::Published::No) => {
            Answer::Stale { presented: stale.expected_version.clone(), there: stale.actual_version.clone() }
        }
        ("FS_NOT_OBSERVED", Some(Detail::NotObserved(there)), v1::Published::No) => {
            Answer::NotObserved { size: there.size_bytes.map(|size| u64::try_from(size).unwrap()) }
        }
        ("FS_NOT_OBSERVED", None, v1::Published::No) => Answer::NotObserved { size: None },
        ("FS_NOT_FOUND", _, v1::Published::No) => Answer::Absent,
        ("FS_EDIT_NOT_FOUND", _, v1::Published::No) => Answer::NoMatch,
        _ => Answer::Forbidden(format!("{error:?}")),
    }
}

fn given_up(failure: &CallFailure) -> Answer {
    match failure.error() {
        Some(error) if error.published() == v1::Published::No => Answer::Nothing,
        Some(_) | None => Answer::Unknown,
    }
}
