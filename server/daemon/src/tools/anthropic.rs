//! `tools` of Anthropic's Messages API.

use serde::Serialize;

use super::definition::Definition;
use super::pretty;
use super::schema::Schema;

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Schema,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// An array. `strict` is absent where it is not asked for: older models refuse the mark.
pub(super) fn render(tools: &[Definition], strict: bool) -> String {
    let tools = tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: tool.schema(strict),
        strict: strict.then_some(true),
    });
    pretty(&tools.collect::<Vec<_>>())
}
