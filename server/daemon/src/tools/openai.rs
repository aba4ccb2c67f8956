//! `tools` of OpenAI: the Responses API has a function's parts beside its type, the Chat Completions API has them in an
//! object of their own.

use serde::Serialize;

use super::definition::Definition;
use super::pretty;
use super::schema::Schema;

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Schema,
    // Always said: without it the Responses API makes every schema strict in its own way.
    strict: bool,
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    function: Function<'a>,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

fn function(tool: &Definition, strict: bool) -> Function<'_> {
    Function { name: &tool.name, description: &tool.description, parameters: tool.schema(strict), strict }
}

/// An array for the Responses API.
pub(super) fn render_responses(tools: &[Definition], strict: bool) -> String {
    let tools =
        tools.iter().map(|tool| ResponsesTool { r#type: "function", function: function(tool, strict) });
    pretty(&tools.collect::<Vec<_>>())
}

/// An array for the Chat Completions API.
pub(super) fn render_chat(tools: &[Definition], strict: bool) -> String {
    let tools = tools.iter().map(|tool| ChatTool { r#type: "function", function: function(tool, strict) });
    pretty(&tools.collect::<Vec<_>>())
}
