//! Tool definitions: name, description, JSON Schemas, prompt section and hints.
//!
//! A schema tells a model the shape of a call; it does not decide. What it cannot express (an empty `old_string`, a
//! path with NUL) is judged by [`crate::argument`] alone.

mod argument;
mod flat;
mod prose;
#[cfg(test)]
mod tests;

use self::flat::{FlatSchema, Form};
use crate::argument::ToolName;
use crate::limit::Limits;

/// What a tool's callers may rely on (the annotations of MCP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may replace existing content.
    pub destructive: bool,
    /// Repeating it with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Calls may run at the same time, in one session too, and the result does not depend on their order.
    pub concurrency_safe: bool,
}

/// Everything that a model or its host needs to know of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDefinition {
    /// Which tool.
    pub name: ToolName,
    /// What it does, for the tool list.
    pub description: String,
    /// JSON Schema of its arguments, as text: optional ones may be left out.
    pub input_schema_json: String,
    /// The strict form: all required, optional ones nullable.
    pub strict_input_schema_json: String,
    /// A section for the system prompt, in Markdown; ends with a newline.
    pub prompt_section: String,
    /// Hints for hosts.
    pub hints: Hints,
}

/// The definitions of all tools, in listing order. They name the limits in force.
///
/// The same limits give the same bytes: keys keep a fixed order.
pub fn definitions(limits: &Limits) -> Vec<ToolDefinition> {
    ToolName::ALL.map(|name| definition(name, limits)).into()
}

fn definition(name: ToolName, limits: &Limits) -> ToolDefinition {
    // Descriptions are wrapped where they are written; a model gets them in one line.
    let describe = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        prose::with_limits(&words.join(" "), limits)
    };
    let schema = match name {
        ToolName::Read => FlatSchema::derive::<argument::Read>(name, describe),
        ToolName::Write => FlatSchema::derive::<argument::Write>(name, describe),
        ToolName::Edit => FlatSchema::derive::<argument::Edit>(name, describe),
    };
    ToolDefinition {
        name,
        description: prose::with_limits(prose::description(name), limits),
        input_schema_json: schema.to_json(Form::Loose),
        strict_input_schema_json: schema.to_json(Form::Strict),
        prompt_section: prose::with_limits(prose::prompt_section(name), limits),
        hints: hints(name),
    }
}

/// - A read records what the session saw; files stay as they are, so it is read-only.
/// - A write of the same content again leaves the same file, so it is idempotent. Two writes of one file are safe at
///   the same time in that each lands whole, but which one is last is open: hosts had better send them in turn.
/// - A repeated edit finds another text, or none. Edits at the same time are what a session may do: all of them land.
fn hints(name: ToolName) -> Hints {
    match name {
        ToolName::Read => {
            Hints { read_only: true, destructive: false, idempotent: true, concurrency_safe: true }
        }
        ToolName::Write => {
            Hints { read_only: false, destructive: true, idempotent: true, concurrency_safe: false }
        }
        ToolName::Edit => {
            Hints { read_only: false, destructive: true, idempotent: false, concurrency_safe: true }
        }
    }
}
