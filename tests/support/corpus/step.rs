//! The steps of a case, and what is expected of them.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::entry::{Change, Text};
use super::form::{Named, Nothing, True};
use super::message;

/// The session of a step that names none.
pub(crate) const MAIN: &str = "main";

/// One step, and what is expected of it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// The session's name in the case; `None` for a call without a session.
    pub(crate) session: Option<String>,
    pub(crate) options: Options,
    pub(crate) expect: Expectation,
}

/// What goes with any call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) request_id: Option<String>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) full_view: bool,
}

/// What is done.
#[derive(Debug)]
pub(crate) enum Action {
    Open(Open),
    Close,
    Forget(Forget),
    Resume,
    Read(Read),
    Write(Write),
    Edit(Edit),
    Call(Call),
    Outside(Named<Option<Change>>),
    Restart,
    Parallel(Vec<Step>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    #[serde(default)]
    pub(crate) cwd: String,
    #[serde(default)]
    pub(crate) roots: Vec<String>,
    #[serde(default)]
    pub(crate) labels: HashMap<String, String>,
    #[serde(default)]
    pub(crate) mode: Mode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    #[default]
    WorkspaceWrite,
    ReadOnly,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Forget {
    Paths(ForgetPaths),
    All(ForgetAll),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForgetPaths {
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForgetAll {
    #[serde(rename = "all")]
    _all: True,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    pub(crate) file_path: Text,
    pub(crate) offset: Option<i64>,
    pub(crate) limit: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    pub(crate) file_path: Text,
    pub(crate) content: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    pub(crate) file_path: Text,
    pub(crate) old_string: Text,
    pub(crate) new_string: Text,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) name: String,
    arguments: Option<Map<String, Value>>,
    arguments_json: Option<String>,
}

impl Call {
    /// The arguments as JSON, and whether the case says them once.
    pub(crate) fn arguments_json(&self) -> Result<String, String> {
        match (&self.arguments, &self.arguments_json) {
            (Some(arguments), None) => Ok(Value::Object(arguments.clone()).to_string()),
            (None, Some(text)) => Ok(text.clone()),
            (Some(_), Some(_)) | (None, None) => {
                Err("a `call` has either `arguments` or `arguments_json`".to_owned())
            }
        }
    }
}

/// What comes back. The default: the step succeeds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    pub(crate) content: Option<Content>,
    pub(crate) outcome: Option<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) status: Option<Status>,
    pub(crate) session: Option<Value>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) dry_run: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Pieces(Pieces),
    Whole(Text),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pieces {
    pub(crate) contains: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    pub(crate) code: String,
    pub(crate) reason: Option<String>,
    pub(crate) error: Option<Value>,
}

/// A step as it is written: any member may be there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    open: Option<Open>,
    close: Option<Nothing>,
    forget: Option<Forget>,
    resume: Option<Nothing>,
    read: Option<Read>,
    write: Option<Write>,
    edit: Option<Edit>,
    call: Option<Call>,
    outside: Option<Named<Option<Change>>>,
    restart: Option<Nothing>,
    parallel: Option<Vec<Step>>,
    #[serde(default = "main_session")]
    session: Option<String>,
    request_id: Option<String>,
    tool_call_id: Option<String>,
    #[serde(default)]
    dry_run: bool,
    view: Option<View>,
    expect: Option<Expectation>,
}

#[derive(PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum View {
    Basic,
    Full,
}

// `null` is a call without a session, so only absence means the main one.
fn main_session() -> Option<String> {
    Some(MAIN.to_owned())
}

impl TryFrom<Written> for Step {
    type Error = String;

    fn try_from(written: Written) -> Result<Step, String> {
        let actions = [
            written.open.map(Action::Open),
            written.close.map(|_| Action::Close),
            written.forget.map(Action::Forget),
            written.resume.map(|_| Action::Resume),
            written.read.map(Action::Read),
            written.write.map(Action::Write),
            written.edit.map(Action::Edit),
            written.call.map(Action::Call),
            written.outside.map(Action::Outside),
            written.restart.map(|_| Action::Restart),
            written.parallel.map(Action::Parallel),
        ];
        let mut actions = actions.into_iter().flatten();
        let (Some(action), None) = (actions.next(), actions.next()) else {
            return Err("a step does exactly one thing".to_owned());
        };
        let options = Options {
            request_id: written.request_id,
            tool_call_id: written.tool_call_id,
            dry_run: written.dry_run,
            full_view: written.view == Some(View::Full),
        };
        let step =
            Step { action, session: written.session, options, expect: written.expect.unwrap_or_default() };
        step.check()?;
        Ok(step)
    }
}

impl Step {
    /// Refuses what would be passed over in silence.
    fn check(&self) -> Result<(), String> {
        let is_typed = matches!(self.action, Action::Read(_) | Action::Write(_) | Action::Edit(_));
        let is_call = is_typed || matches!(self.action, Action::Call(_));
        let tells_session = matches!(self.action, Action::Open(_) | Action::Resume);
        let can_fail = is_call || tells_session || matches!(self.action, Action::Close | Action::Forget(_));
        let Expectation { content, outcome, error, status, session, tool_call_id, dry_run } = &self.expect;
        let faults = [
            (
                self.session.is_none() && !matches!(self.action, Action::Call(_)),
                "only a `call` can be without a session",
            ),
            (
                !is_call && self.options != Options::default(),
                "only calls have `request_id`, `tool_call_id`, `dry_run`, `view`",
            ),
            (
                !is_call && (content.is_some() || outcome.is_some() || error.is_some()),
                "only calls have `content`, `outcome` and `error`",
            ),
            (
                !is_call && (tool_call_id.is_some() || dry_run.is_some()),
                "only calls echo `tool_call_id` and `dry_run`",
            ),
            (!tells_session && session.is_some(), "only `open` and `resume` return a `session`"),
            (!can_fail && status.is_some(), "such a step has no `status`"),
            (
                status.is_some()
                    && (content.is_some() || outcome.is_some() || error.is_some() || session.is_some()),
                "beside a `status` there is nothing else",
            ),
            (
                is_typed
                    && error.is_some()
                    && (content.is_some() || tool_call_id.is_some() || dry_run.is_some()),
                "a typed call that fails has neither content nor echoes: use `call`",
            ),
            (
                matches!(&self.action, Action::Parallel(steps) if steps.len() < 2 || steps.iter().any(Step::is_stage)),
                "`parallel` takes two steps or more, none of them `restart` or `parallel`",
            ),
        ];
        if let Some((_, fault)) = faults.iter().find(|(is_fault, _)| *is_fault) {
            return Err((*fault).to_owned());
        }
        if let Action::Call(call) = &self.action {
            call.arguments_json()?;
        }
        self.expect.check()
    }

    /// Whether it acts on the whole.
    fn is_stage(&self) -> bool {
        matches!(self.action, Action::Restart | Action::Parallel(_))
    }
}

impl Expectation {
    /// Refuses names that the contract does not have: what is never there would be found absent.
    fn check(&self) -> Result<(), String> {
        if let Some(outcome) = &self.outcome {
            let arms = outcome.as_object().filter(|arms| arms.len() == 1);
            if !arms
                .is_some_and(|arms| arms.keys().all(|arm| ["read", "write", "edit"].contains(&arm.as_str())))
            {
                return Err("an `outcome` has one of `read`, `write`, `edit`".to_owned());
            }
            message::check("ExecuteResponse", outcome)?;
        }
        let status_error = self.status.as_ref().and_then(|status| status.error.as_ref());
        for error in self.error.iter().chain(status_error) {
            if error.get("code").is_none() {
                return Err("an `error` has a `code`".to_owned());
            }
            message::check("FsError", error)?;
        }
        self.session.as_ref().map_or(Ok(()), |session| message::check("Session", session))
    }
}
