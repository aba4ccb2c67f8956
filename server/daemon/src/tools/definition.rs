//! A definition, whoever made it.

use thiserror::Error;
use toolfs_client::v1;
use toolfs_core::schema::{Hints, ToolDefinition};

use super::schema::Schema;

/// Everything that there is to know of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Schema,
    pub(crate) strict_input_schema: Schema,
    pub(crate) prompt_section: String,
    pub(crate) hints: Hints,
}

/// A schema that cannot be put into other forms without losing something.
#[derive(Debug, Error)]
#[error("the schema of `{tool}` is not flat, and cannot be put into another form: {source}")]
pub(crate) struct DefinitionError {
    tool: String,
    source: serde_json::Error,
}

impl Definition {
    /// One of this program's own.
    pub(crate) fn of_core(tool: &ToolDefinition) -> Result<Definition, DefinitionError> {
        let name = tool.name.as_str();
        Ok(Definition {
            name: name.to_owned(),
            description: tool.description.clone(),
            input_schema: schema(name, &tool.input_schema_json)?,
            strict_input_schema: schema(name, &tool.strict_input_schema_json)?,
            prompt_section: tool.prompt_section.clone(),
            hints: tool.hints,
        })
    }

    /// One that a server tells.
    pub(crate) fn of_wire(tool: &v1::ToolDefinition) -> Result<Definition, DefinitionError> {
        // What a server does not tell is the most careful answer.
        let hints = tool.hints.unwrap_or_default();
        Ok(Definition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: schema(&tool.name, &tool.input_schema_json)?,
            strict_input_schema: schema(&tool.name, &tool.strict_input_schema_json)?,
            prompt_section: tool.prompt_section.clone(),
            hints: Hints {
                read_only: hints.read_only.unwrap_or(false),
                destructive: hints.destructive.unwrap_or(true),
                idempotent: hints.idempotent.unwrap_or(false),
                concurrency_safe: hints.concurrency_safe.unwrap_or(false),
            },
        })
    }

    /// The schema in one of its two forms.
    pub(crate) fn schema(&self, strict: bool) -> &Schema {
        if strict { &self.strict_input_schema } else { &self.input_schema }
    }
}

fn schema(tool: &str, json: &str) -> Result<Schema, DefinitionError> {
    serde_json::from_str(json).map_err(|source| DefinitionError { tool: tool.to_owned(), source })
}
