//! The executor, called as a function.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use toolfs_core::clock::{Clock, Timestamp};
use toolfs_core::diff::DiffResult;
use toolfs_core::error::{ErrorKind, FsError, SearchStop};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::id::{RequestId, SessionId};
use toolfs_core::notice::Notice;
use toolfs_core::outcome::{EditOutcome, Outcome, ReadOutcome, ToolResult, WriteOutcome};
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{
    CallError, Caller, CloseSession, ExecuteRequest, Executor, ForgetObservations, ForgetPaths, OpenSession,
    Random, SessionMode,
};

use super::answer::{Answer, Facts, Refusal};
use super::door::{Ask, Door, Open, Opened};
use super::event::Events;

/// Wall-clock time.
#[derive(Debug)]
pub(crate) struct TestClock;

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
    }
}

/// Bytes that nobody guesses.
#[derive(Debug)]
pub(crate) struct TestRandom;

impl Random for TestRandom {
    fn bytes(&self) -> [u8; 16] {
        uuid::Uuid::new_v4().into_bytes()
    }
}

#[derive(Debug)]
pub(crate) struct Direct(pub(crate) Arc<Executor>);

#[async_trait]
impl Door for Direct {
    async fn open(&self, open: Open) -> Result<Opened, Refusal> {
        let mode = if open.read_only { SessionMode::ReadOnly } else { SessionMode::WorkspaceWrite };
        let request = OpenSession { cwd: open.cwd, roots: open.roots, mode, ..OpenSession::default() };
        let opened = self
            .0
            .open_session(&AbortSignal::new(), Caller::Local, request)
            .await
            .map_err(|error| refusal(&error))?;
        Ok(Opened {
            id: opened.id.reveal().to_owned(),
            name: opened.info.name.as_str().to_owned(),
            cwd: opened.info.cwd,
            roots: opened.info.roots,
        })
    }

    async fn close(&self, session: &str) -> Result<(), Refusal> {
        let session = SessionId::from_caller(session);
        let request = CloseSession { caller: Caller::Local, session };
        self.0.close_session(request).await.map_err(|error| refusal(&error))
    }

    async fn forget(&self, session: &str, paths: Option<&[&str]>) -> Result<(), Refusal> {
        let scope = match paths {
            Some(paths) => ForgetPaths::Paths(paths.iter().map(|path| (*path).to_owned()).collect()),
            None => ForgetPaths::All,
        };
        let session = SessionId::from_caller(session);
        let request = ForgetObservations { caller: Caller::Local, session, scope };
        self.0.forget_observations(&AbortSignal::new(), request).await.map_err(|error| refusal(&error))
    }

    async fn watch(&self, session: &str, resume_token: &str) -> Result<Box<dyn Events>, Refusal> {
        let session = SessionId::from_caller(session);
        let watch = self.0.watch(&Caller::Local, &session, resume_token).await;
        Ok(Box::new(watch.map_err(|error| refusal(&error))?))
    }

    async fn execute(&self, session: Option<&str>, ask: Ask) -> Result<Answer, Refusal> {
        let full = ask.full || ask.dry_run;
        let request = ExecuteRequest {
            caller: Caller::Local,
            session: session.map(SessionId::from_caller),
            request_id: ask.request_id.and_then(|id| RequestId::parse(&id.to_string())),
            tool_call_id: String::new(),
            dry_run: ask.dry_run,
            want_diff: full,
            call: ask.call,
        };
        let response = self.0.execute(&AbortSignal::new(), request).await.map_err(|error| refusal(&error))?;
        let (outcome, error) = match response.result {
            ToolResult::Done(outcome) => (Some(outcome), None),
            ToolResult::Refused(error) => (None, Some(error)),
            ToolResult::PublishedNotDurable(outcome, error) => (Some(outcome), Some(error)),
        };
        Ok(Answer {
            text: response.text,
            dry_run: response.dry_run,
            error: error.as_ref().map(error_facts),
            outcome: outcome.map(|outcome| match outcome {
                Outcome::Read(outcome) => read_facts(&outcome, full),
                Outcome::Write(outcome) => write_facts(&outcome, full, ask.dry_run),
                Outcome::Edit(outcome) => edit_facts(&outcome, full, ask.dry_run),
            }),
        })
    }
}

fn refusal(error: &CallError) -> Refusal {
    let reason = match error {
        CallError::SessionNotFound => "SESSION_NOT_FOUND",
        CallError::CallMissing => "CALL_MISSING",
        CallError::TooManySessions { .. } => "SESSION_LIMIT",
        CallError::PageTokenInvalid => "PAGE_TOKEN_INVALID",
        CallError::RequestIdReused => "REQUEST_ID_REUSED",
        CallError::ResumeTokenInvalid => "RESUME_TOKEN_INVALID",
        CallError::Fs(error) | CallError::Aborted(error) => error.code().as_str(),
    };
    Refusal { reason: reason.to_owned(), message: error.to_string() }
}

fn read_facts(outcome: &ReadOutcome, full: bool) -> Facts {
    let mut facts = Facts::default();
    facts.add("path", &outcome.path);
    facts.add("offset", outcome.block.first_line());
    facts.add("line_count", outcome.block.line_count());
    facts.add("total_lines", outcome.total_lines);
    facts.add_some("next_offset", outcome.next_offset());
    facts.add("partial_view", outcome.is_partial_view());
    facts.add("stop_reason", format!("{:?}", outcome.stop));
    facts.add("size", outcome.size_bytes);
    facts.add("version", &outcome.version);
    facts.add("line_endings", format!("{:?}", outcome.line_endings));
    facts.add("ends_with_newline", outcome.ends_with_newline);
    facts.add("bom", outcome.bom);
    facts.add_list("notices", outcome.notices.iter().map(notice));
    if full {
        let lines = outcome.block.lines().map(|line| {
            let length = line.full_chars.unwrap_or(line.text.chars().count() as u64);
            format!("{} {:?} {} {length}\n", line.number, line.text, line.full_chars.is_some())
        });
        facts.add("lines", lines.collect::<String>());
    }
    facts
}

fn write_facts(outcome: &WriteOutcome, full: bool, dry_run: bool) -> Facts {
    let mut facts = Facts::default();
    facts.add("path", &outcome.path);
    facts.add("operation", format!("{:?}", outcome.operation));
    facts.add("size", outcome.size_bytes);
    facts.add_some("previous_size", outcome.previous_size_bytes);
    facts.add("version", &outcome.version);
    facts.add_list("notices", outcome.notices.iter().map(notice));
    if full {
        facts.add("diff", diff(&outcome.diff));
    }
    if dry_run {
        facts.add(
            "guard",
            match &outcome.guard {
                WriteGuard::Unconditional => "unconditional".to_owned(),
                WriteGuard::CreateIfAbsent => "create_if_absent".to_owned(),
                WriteGuard::ReplaceIfVersion(version) => format!("replace_if_version {version}"),
            },
        );
    }
    facts
}

fn edit_facts(outcome: &EditOutcome, full: bool, dry_run: bool) -> Facts {
    let mut facts = Facts::default();
    facts.add("path", &outcome.path);
    facts.add("replacements", outcome.replacements);
    facts.add("replace_all", outcome.replace_all);
    let changed = outcome.changed.ranges.iter();
    facts.add_list(
        "changed",
        changed.map(|range| {
            format!("{}+{} to {}+{}", range.old_start, range.old_count, range.new_start, range.new_count)
        }),
    );
    facts.add("changes", outcome.changed.total);
    facts.add("version", &outcome.version);
    facts.add_list("notices", outcome.notices.iter().map(notice));
    if full {
        facts.add("diff", diff(&outcome.diff));
    }
    if dry_run {
        facts.add(
            "guard",
            match &outcome.guard {
                EditGuard::Unconditional => "unconditional".to_owned(),
                EditGuard::ReplaceIfVersion(version) => format!("replace_if_version {version}"),
            },
        );
        let matches = outcome.matches.ranges.iter();
        facts.add_list("matches", matches.map(|range| format!("{}-{}", range.start_line, range.end_line)));
        facts.add("match_total", outcome.matches.total);
    }
    facts
}

fn notice(notice: &Notice) -> String {
    format!("{:?} ({})", notice.kind, notice.text)
}

fn diff(diff: &DiffResult) -> String {
    match diff {
        DiffResult::Computed(diff) => diff.to_unified(),
        DiffResult::LeftOut(_) => "left out".to_owned(),
    }
}

fn error_facts(error: &FsError) -> Facts {
    let mut facts = Facts::default();
    facts.add("code", error.code());
    facts.add("message", error.message());
    facts.add_text("path", error.path().unwrap_or_default());
    facts.add_text("remedy", error.remedy().unwrap_or_default());
    facts.add("retryable", error.is_retryable());
    facts.add("published", format!("{:?}", error.published()));
    facts.add_text("rescue_path", error.rescue_path().unwrap_or_default());
    detail_facts(&mut facts, error.kind());
    facts
}

fn detail_facts(facts: &mut Facts, kind: &ErrorKind) {
    match kind {
        ErrorKind::NotFound { similar_names } => facts.add_list("similar_names", similar_names),
        ErrorKind::NotRegularFile { kind } => {
            facts.add_some("kind", kind.map(|kind| format!("{kind:?}")));
        }
        ErrorKind::NotText { byte_offset, encoding } => {
            facts.add("byte_offset", byte_offset);
            facts.add_some("encoding", encoding.map(|encoding| format!("{encoding:?}")));
        }
        ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes } => {
            facts.add("limit_name", limit_name.as_str());
            facts.add("limit_bytes", limit_bytes);
            facts.add("size_bytes", size_bytes);
        }
        ErrorKind::OutOfRange { total_lines } => facts.add("total_lines", total_lines),
        ErrorKind::SandboxDenied { rule } => facts.add("rule", rule),
        ErrorKind::StaleVersion { expected, actual } => {
            facts.add_some("expected_version", expected.as_ref());
            facts.add_some("actual_version", actual.as_ref());
        }
        ErrorKind::NotObserved { existing } => {
            if let Some(existing) = existing {
                facts.add("kind", format!("{:?}", existing.kind));
                facts.add("size_bytes", existing.size);
                facts.add_some("is_text", existing.text);
            }
        }
        ErrorKind::AmbiguousEdit { match_count, lines } => {
            facts.add("match_count", match_count);
            facts.add_list("lines", lines);
        }
        ErrorKind::EditNotFound { near_misses, search_stopped } => {
            for near in near_misses {
                let reasons: Vec<String> = near.reasons.iter().map(|reason| format!("{reason:?}")).collect();
                let place = format!("{}-{}", near.start_line, near.end_line);
                facts.add("near_miss", format!("{place} {:?} {}", near.lines, reasons.join(" ")));
            }
            facts.add_some(
                "search_stopped",
                search_stopped.map(|stop| match stop {
                    SearchStop::Bytes => "ByteBudget",
                    SearchStop::Time => "TimeBudget",
                }),
            );
        }
        ErrorKind::InvalidArgument { field, actual, expected } => {
            facts.add("field", field);
            facts.add("actual", actual);
            facts.add("expected", expected);
        }
        ErrorKind::Unavailable { cause } => facts.add("cause", format!("{cause:?}")),
        ErrorKind::Aborted { cause } => facts.add("cause", format!("{cause:?}")),
        ErrorKind::NotDirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::NoSpace
        | ErrorKind::IoError
        | ErrorKind::Unsupported => {}
    }
}
