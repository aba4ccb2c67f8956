//! What a call tells about itself on the span it runs in.
//!
//! Each fact is recorded once, where it becomes known, so that it is told of calls that fail afterwards too. Spans
//! themselves are a front end's, which declares the fields; one that a span does not have is not recorded.
//! Deliberately absent: content, arguments, and the secret of a session.

use toolfs_core::argument::ToolName;
use toolfs_core::error::Code;
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::id::SessionName;
use toolfs_core::outcome::ToolResult;
use tracing::Span;

/// Which tool is called.
pub(crate) fn tool(name: ToolName) {
    Span::current().record("toolfs.tool", name.as_str());
}

/// The public name of the session.
pub(crate) fn session(name: &SessionName) {
    Span::current().record("toolfs.session", name.as_str());
}

/// What the gate decided about a write.
pub(crate) fn write_guard(guard: &WriteGuard) {
    guard_name(match guard {
        WriteGuard::Unconditional => "unconditional",
        WriteGuard::CreateIfAbsent => "create_if_absent",
        WriteGuard::ReplaceIfVersion(_) => "replace_if_version",
    });
}

/// What the gate decided about an edit.
pub(crate) fn edit_guard(guard: &EditGuard) {
    guard_name(match guard {
        EditGuard::Unconditional => "unconditional",
        EditGuard::ReplaceIfVersion(_) => "replace_if_version",
    });
}

/// How many bytes a call moved.
pub(crate) fn bytes(count: u64) {
    Span::current().record("toolfs.bytes", count);
}

/// The error of a result.
pub(crate) fn code(code: Code) {
    Span::current().record("toolfs.code", code.as_str());
}

/// The result of a call that is answered from memory.
pub(crate) fn result(result: &ToolResult) {
    match result {
        ToolResult::Done(_) => {}
        ToolResult::Refused(error) | ToolResult::PublishedNotDurable(_, error) => code(error.code()),
    }
}

fn guard_name(name: &'static str) {
    Span::current().record("toolfs.guard", name);
}
