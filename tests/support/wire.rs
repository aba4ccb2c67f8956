//! The Rust client, over whatever transport.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use tonic_types::StatusExt as _;
use toolfs_client::v1::{self, execute_response::Outcome, fs_error::Detail};
use toolfs_client::{CallOptions, Client, Edit, Error, OpenSession, Read, Reply, Session, ToolError, Write};
use toolfs_core::argument::RawCall;

use super::answer::{Answer, Facts, Refusal};
use super::door::{Ask, Door, Open, Opened};
use super::event::Events;

#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) client: Client,
    sessions: Mutex<HashMap<String, Session>>,
}

impl Wire {
    pub(crate) fn new(client: Client) -> Wire {
        Wire { client, sessions: Mutex::default() }
    }

    fn session(&self, id: &str) -> Option<Session> {
        self.sessions.lock().unwrap().get(id).cloned()
    }

    /// A complete call goes through the typed methods, one with missing arguments as the message that it is.
    async fn in_session(&self, session: &Session, ask: Ask) -> Result<Answer, Error> {
        let options = CallOptions {
            dry_run: ask.dry_run,
            full_view: ask.full,
            request_id: ask.request_id,
            ..CallOptions::default()
        };
        match ask.call {
            Some(RawCall::Read { file_path: Some(file_path), offset, limit }) => answer(
                session.read(Read { file_path, offset, limit, options }).await,
                ask.dry_run,
                read_facts,
            ),
            Some(RawCall::Write { file_path: Some(file_path), content: Some(content) }) => {
                answer(session.write(Write { file_path, content, options }).await, ask.dry_run, write_facts)
            }
            Some(RawCall::Edit {
                file_path: Some(file_path),
                old_string: Some(old_string),
                new_string: Some(new_string),
                replace_all,
            }) => {
                let replace_all = replace_all.unwrap_or(false);
                let edit = Edit { file_path, old_string, new_string, replace_all, options };
                answer(session.edit(edit).await, ask.dry_run, edit_facts)
            }
            Some(RawCall::Json { name, arguments_json }) => {
                let reply = session.call(name, arguments_json, options).await?;
                Ok(Answer {
                    text: reply.text(),
                    dry_run: reply.dry_run,
                    error: reply.error.as_ref().map(|error| error_facts(error.as_message())),
                    outcome: reply.outcome.as_ref().map(outcome_facts),
                })
            }
            _ => self.as_message(Some(session.id()), ask).await,
        }
    }

    async fn as_message(&self, session: Option<&str>, ask: Ask) -> Result<Answer, Error> {
        let response = self.client.execute(execute_request(session, ask), None).await?;
        assert_eq!(response.is_error, Some(response.error.is_some()), "is_error and error disagree");
        Ok(Answer {
            text: text_of(&response.content),
            dry_run: response.dry_run.expect("dry_run is always set"),
            error: response.error.as_ref().map(error_facts),
            outcome: response.outcome.as_ref().map(outcome_facts),
        })
    }
}

/// The message of a call.
pub(crate) fn execute_request(session: Option<&str>, ask: Ask) -> v1::ExecuteRequest {
    use v1::execute_request::Call;
    let call = ask.call.map(|call| match call {
        RawCall::Read { file_path, offset, limit } => Call::Read(v1::ReadCall { file_path, offset, limit }),
        RawCall::Write { file_path, content } => Call::Write(v1::WriteCall { file_path, content }),
        RawCall::Edit { file_path, old_string, new_string, replace_all } => {
            Call::Edit(v1::EditCall { file_path, old_string, new_string, replace_all })
        }
        RawCall::Json { name, arguments_json } => {
            Call::Json(v1::JsonCall { name: Some(name), arguments_json: Some(arguments_json) })
        }
    });
    v1::ExecuteRequest {
        session_id: session.unwrap_or_default().to_owned(),
        request_id: ask.request_id.map(|id| id.to_string()).unwrap_or_default(),
        dry_run: ask.dry_run,
        view: if ask.full { v1::ResultView::Full } else { v1::ResultView::Unspecified }.into(),
        call,
        ..v1::ExecuteRequest::default()
    }
}

#[async_trait]
impl Door for Wire {
    async fn open(&self, open: Open) -> Result<Opened, Refusal> {
        let request = OpenSession {
            cwd: open.cwd.unwrap_or_default(),
            roots: open.roots,
            read_only: open.read_only,
            ..OpenSession::default()
        };
        let session = self.client.open_session(request).await.map_err(refusal)?;
        let info = session.info();
        let opened = Opened {
            id: session.id().to_owned(),
            name: info.name.clone(),
            cwd: info.cwd.clone(),
            roots: info.roots.clone(),
        };
        self.sessions.lock().unwrap().insert(opened.id.clone(), session);
        Ok(opened)
    }

    async fn close(&self, session: &str) -> Result<(), Refusal> {
        match self.session(session) {
            Some(session) => session.close().await.map_err(refusal),
            None => panic!("the session was opened here"),
        }
    }

    async fn forget(&self, session: &str, paths: Option<&[&str]>) -> Result<(), Refusal> {
        let session = self.session(session).expect("the session was opened here");
        match paths {
            Some(paths) => session.forget(paths.iter().copied()).await.map_err(refusal),
            None => session.forget_all().await.map_err(refusal),
        }
    }

    async fn execute(&self, session: Option<&str>, ask: Ask) -> Result<Answer, Refusal> {
        let answered = match session.and_then(|id| self.session(id)) {
            Some(session) => self.in_session(&session, ask).await,
            None => self.as_message(session, ask).await,
        };
        answered.map_err(refusal)
    }

    async fn watch(&self, session: &str, resume_token: &str) -> Result<Box<dyn Events>, Refusal> {
        let session = self.session(session).expect("the session was opened here");
        Ok(Box::new(session.watch(resume_token).await.map_err(refusal)?))
    }
}

pub(crate) fn refusal(error: Error) -> Refusal {
    match &error {
        Error::Call(failure) => {
            let info = failure.status().get_details_error_info();
            let reason = info.map_or_else(|| format!("{:?}", failure.status().code()), |info| info.reason);
            Refusal { reason, message: failure.status().message().to_owned() }
        }
        _ => panic!("no answer: {error:?}"),
    }
}

fn answer<T>(
    reply: Result<Reply<T>, Error>,
    dry_run: bool,
    facts: impl FnOnce(&T) -> Facts,
) -> Result<Answer, Error> {
    match reply {
        Ok(reply) => Ok(Answer {
            text: reply.text(),
            dry_run: reply.dry_run,
            error: None,
            outcome: Some(facts(&reply.outcome)),
        }),
        // The client's error does not tell whether the refused call was a dry run: it was, if the call was.
        Err(Error::Tool(error)) => Ok(Answer { dry_run, ..refused(&error) }),
        Err(other) => Err(other),
    }
}

fn refused(error: &ToolError) -> Answer {
    Answer {
        text: error.text().to_owned(),
        dry_run: false,
        error: Some(error_facts(error.as_message())),
        outcome: error.outcome().map(outcome_facts),
    }
}

fn text_of(content: &[v1::ContentBlock]) -> String {
    let texts = content.iter().map(|block| match &block.block {
        Some(v1::content_block::Block::Text(text)) => text.as_str(),
        other => panic!("content that is no text: {other:?}"),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn outcome_facts(outcome: &Outcome) -> Facts {
    match outcome {
        Outcome::Read(outcome) => read_facts(outcome),
        Outcome::Write(outcome) => write_facts(outcome),
        Outcome::Edit(outcome) => edit_facts(outcome),
    }
}

fn set<T>(value: Option<T>) -> T {
    value.expect("a field that is always set is not")
}

fn read_facts(outcome: &v1::ReadOutcome) -> Facts {
    let mut facts = Facts::default();
    facts.add("path", &outcome.path);
    facts.add("offset", set(outcome.offset));
    facts.add("line_count", set(outcome.line_count));
    facts.add("total_lines", set(outcome.total_lines));
    facts.add_some("next_offset", outcome.next_offset);
    facts.add("partial_view", set(outcome.partial_view));
    facts.add("stop_reason", format!("{:?}", outcome.stop_reason()));
    facts.add("size", set(outcome.size));
    facts.add("version", &outcome.version);
    facts.add("line_endings", format!("{:?}", outcome.line_endings()));
    facts.add("ends_with_newline", set(outcome.ends_with_newline));
    facts.add("bom", set(outcome.bom));
    facts.add_list("notices", outcome.notices.iter().map(notice));
    if !outcome.lines.is_empty() {
        let lines = outcome.lines.iter().map(|line| {
            let (number, truncated) = (set(line.number), set(line.truncated));
            format!("{number} {:?} {truncated} {}\n", line.text, set(line.full_length))
        });
        facts.add("lines", lines.collect::<String>());
    }
    facts
}

fn write_facts(outcome: &v1::WriteOutcome) -> Facts {
    use v1::write_guard::Condition;
    let mut facts = Facts::default();
    facts.add("path", &outcome.path);
    facts.add("operation", format!("{:?}", outcome.operation()));
    facts.add("size", set(outcome.size));
    facts.add_some("previous_size", outcome.previous_size);
    facts.add("version", &outcome.version);
    facts.add_list("notices", outcome.notices.iter().map(notice));
    facts.add_some("diff", outcome.diff.as_ref().map(diff));
    facts.add_some(
        "guard",
        outcome.guard.as_ref().map(|guard| match set(guard.condition.as_ref()) {
            Condition::Unconditional(_) => "unconditional".to_owned(),
            Condition::CreateIfAbsent(_) => "create_if_absent".to_owned(),
            Condition::ReplaceIfVersion(version) => format!("replace_if_version {version}"),
        }),
    );
    facts
}

fn edit_facts(outcome: &v1::EditOutcome) -> Facts {
    use v1::edit_guard::Condition;
    let mut facts = Facts::default();
    let changed = set(outcome.changed_ranges.as_ref());
    facts.add("path", &outcome.path);
    facts.add("replacements", set(outcome.replacements));
    facts.add("replace_all", set(outcome.replace_all));
    facts.add_list(
        "changed",
        changed.ranges.iter().map(|range| {
            let (old_start, new_start) = (set(range.old_start), set(range.new_start));
            format!("{old_start}+{} to {new_start}+{}", set(range.old_count), set(range.new_count))
        }),
    );
    facts.add("changes", set(changed.total));
    facts.add("version", &outcome.version);
    facts.add_list("notices", outcome.notices.iter().map(notice));
    facts.add_some("diff", outcome.diff.as_ref().map(diff));
    facts.add_some(
        "guard",
        outcome.guard.as_ref().map(|guard| match set(guard.condition.as_ref()) {
            Condition::Unconditional(_) => "unconditional".to_owned(),
            Condition::ReplaceIfVersion(version) => format!("replace_if_version {version}"),
        }),
    );
    if let Some(matches) = &outcome.matches {
        let lines = |range: &v1::LineRange| format!("{}-{}", set(range.start_line), set(range.end_line));
        facts.add_list("matches", matches.ranges.iter().map(lines));
        facts.add("match_total", set(matches.total));
    }
    facts
}

fn notice(notice: &v1::Notice) -> String {
    format!("{:?} ({})", notice.kind(), notice.text)
}

fn diff(diff: &v1::Diff) -> String {
    match set(diff.omitted) {
        true => "left out".to_owned(),
        false => diff.text.clone(),
    }
}

fn error_facts(error: &v1::FsError) -> Facts {
    assert_eq!(error.code().as_str_name(), error.reason, "code and reason disagree");
    let mut facts = Facts::default();
    facts.add("code", &error.reason);
    facts.add("message", &error.message);
    facts.add_text("path", &error.path);
    facts.add_text("remedy", &error.remedy);
    facts.add("retryable", set(error.retryable));
    facts.add("published", format!("{:?}", error.published()));
    facts.add_text("rescue_path", &error.rescue_path);
    if let Some(detail) = &error.detail {
        detail_facts(&mut facts, detail);
    }
    facts
}

fn detail_facts(facts: &mut Facts, detail: &Detail) {
    match detail {
        Detail::NotFound(detail) => facts.add_list("similar_names", &detail.similar_names),
        Detail::NotRegularFile(detail) => {
            let kind = Some(detail.kind()).filter(|kind| *kind != v1::FileKind::Unspecified);
            facts.add_some("kind", kind.map(|kind| format!("{kind:?}")));
        }
        Detail::NotText(detail) => {
            facts.add("byte_offset", set(detail.byte_offset));
            let encoding =
                Some(detail.encoding()).filter(|encoding| *encoding != v1::TextEncoding::Unspecified);
            facts.add_some("encoding", encoding.map(|encoding| format!("{encoding:?}")));
        }
        Detail::TooLarge(detail) => {
            facts.add("limit_name", &detail.limit_name);
            facts.add("limit_bytes", set(detail.limit_bytes));
            facts.add("size_bytes", set(detail.size_bytes));
        }
        Detail::OutOfRange(detail) => facts.add("total_lines", set(detail.total_lines)),
        Detail::Sandbox(detail) => facts.add("rule", &detail.rule),
        Detail::StaleVersion(detail) => {
            facts.add_text("expected_version", &detail.expected_version);
            facts.add_some("actual_version", detail.actual_version.as_ref());
        }
        Detail::NotObserved(detail) => {
            facts.add("kind", format!("{:?}", detail.kind()));
            facts.add("size_bytes", set(detail.size_bytes));
            facts.add_some("is_text", detail.text);
        }
        Detail::AmbiguousEdit(detail) => {
            facts.add("match_count", set(detail.match_count));
            facts.add_list("lines", &detail.lines);
        }
        Detail::EditNotFound(detail) => {
            for near in &detail.near_misses {
                let reasons: Vec<String> = near.reasons().map(|reason| format!("{reason:?}")).collect();
                let place = format!("{}-{}", set(near.start_line), set(near.end_line));
                facts.add("near_miss", format!("{place} {:?} {}", near.lines, reasons.join(" ")));
            }
            let stopped = set(detail.search_stopped_early).then(|| detail.search_stop_reason());
            facts.add_some("search_stopped", stopped.map(|stop| format!("{stop:?}")));
        }
        Detail::InvalidArgument(detail) => {
            facts.add("field", &detail.field);
            facts.add("actual", &detail.actual);
            facts.add("expected", &detail.expected);
        }
        Detail::Unavailable(detail) => facts.add("cause", format!("{:?}", detail.cause())),
        Detail::Aborted(detail) => facts.add("cause", format!("{:?}", detail.cause())),
    }
}
