//! Everything that there is to know of the tools, in names of our own.

use serde::Serialize;

use super::definition::Definition;
use super::pretty;
use super::schema::Schema;

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Schema,
    strict_input_schema: &'a Schema,
    prompt_section: &'a str,
    hints: Hints,
}

#[derive(Serialize)]
struct Hints {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    concurrency_safe: bool,
}

/// An array. It has both forms of each schema.
pub(super) fn render(tools: &[Definition]) -> String {
    let tools = tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
        strict_input_schema: &tool.strict_input_schema,
        prompt_section: &tool.prompt_section,
        hints: Hints {
            read_only: tool.hints.read_only,
            destructive: tool.hints.destructive,
            idempotent: tool.hints.idempotent,
            concurrency_safe: tool.hints.concurrency_safe,
        },
    });
    pretty(&tools.collect::<Vec<_>>())
}
