//! The result of `tools/list` of the Model Context Protocol.

use serde::Serialize;

use super::definition::Definition;
use super::pretty;
use super::schema::Schema;

#[derive(Serialize)]
struct ListToolsResult<'a> {
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Schema,
    annotations: Annotations,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

/// An object. The roots are the tools' whole world, so it is a closed one.
pub(super) fn render(tools: &[Definition], strict: bool) -> String {
    let tools = tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: tool.schema(strict),
        annotations: Annotations {
            read_only_hint: tool.hints.read_only,
            destructive_hint: tool.hints.destructive,
            idempotent_hint: tool.hints.idempotent,
            open_world_hint: false,
        },
    });
    pretty(&ListToolsResult { tools: tools.collect() })
}
