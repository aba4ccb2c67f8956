//! Calls of a case: what a session asks for, and what an answer says.

use toolfs_core::argument::RawCall;
use toolfs_core::error::Code;
use toolfs_core::outcome::{Outcome, ReadOutcome, ToolResult};
use toolfs_core::version::Version;

use super::model::{Content, Violation};

/// A change that a session asks for.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) session: usize,
    pub(super) server: usize,
    pub(super) file: usize,
    pub(super) call: RawCall,
    pub(super) dry_run: bool,
    /// What it leaves when it lands.
    pub(super) leaves: Content,
}

/// The call that writes a content.
pub(super) fn write_call(name: &str, content: &Content) -> RawCall {
    let content = String::from_utf8(content.bytes.to_vec()).expect("contents are text");
    RawCall::Write { file_path: Some(name.to_owned()), content: Some(content) }
}

/// The lines of a read are those of the content whose version it told.
pub(super) fn check_lines(content: &Content, outcome: &ReadOutcome) -> Result<(), Violation> {
    let text = String::from_utf8_lossy(&content.bytes);
    let start = usize::try_from(outcome.block.first_line()).unwrap_or(1) - 1;
    let told: Vec<&str> = outcome.block.lines().map(|line| line.text).collect();
    let there: Vec<&str> = text.lines().skip(start).take(told.len()).collect();
    if told == there { Ok(()) } else { Err(format!("a read told {told:?}, not {there:?}").into()) }
}

/// The code of a refusal, and the version that a change left.
pub(super) fn ending(answer: &ToolResult) -> Result<(Option<Code>, Option<&Version>), Violation> {
    match answer {
        ToolResult::Refused(error) => Ok((Some(error.code()), None)),
        ToolResult::Done(Outcome::Write(outcome)) => Ok((None, Some(&outcome.version))),
        ToolResult::Done(Outcome::Edit(outcome)) => Ok((None, Some(&outcome.version))),
        other => Err(format!("a change was answered {other:?}").into()),
    }
}
