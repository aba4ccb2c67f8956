//! Tool definitions: name, description, JSON Schemas, prompt section and hints.

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
    /// Calls may run at the same time, in one session too.
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
    /// A section for the system prompt.
    pub prompt_section: String,
    /// Hints for hosts.
    pub hints: Hints,
}

/// The definitions of all tools, in listing order. They name the limits in force.
pub fn definitions(_limits: &Limits) -> Vec<ToolDefinition> {
    unimplemented!()
}
