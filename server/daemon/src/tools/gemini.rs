//! `tools` of Google's Gemini API, whose schemas are a subset of OpenAPI's: types are words of an enum in capitals, what
//! may be null says so by a keyword, and nothing closes an object.

use serde::{Serialize, Serializer};
use serde_json::Number;

use super::definition::Definition;
use super::pretty;
use super::schema::{Property, Scalar, Schema};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Parameters<'a>,
}

#[derive(Serialize)]
struct Parameters<'a> {
    r#type: &'static str,
    properties: Properties<'a>,
    required: &'a [String],
}

struct Properties<'a>(&'a [(String, Property)]);

#[derive(Serialize)]
struct Parameter<'a> {
    r#type: &'static str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nullable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<&'a Number>,
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, property)| (name, parameter(property))))
    }
}

/// An array of one tool that declares all functions.
pub(super) fn render(tools: &[Definition], strict: bool) -> String {
    let function_declarations = tools
        .iter()
        .map(|tool| FunctionDeclaration {
            name: &tool.name,
            description: &tool.description,
            parameters: parameters(tool.schema(strict)),
        })
        .collect();
    pretty(&[Tool { function_declarations }])
}

fn parameters(schema: &Schema) -> Parameters<'_> {
    Parameters { r#type: "OBJECT", properties: Properties(&schema.properties.0), required: &schema.required }
}

fn parameter(property: &Property) -> Parameter<'_> {
    let r#type = match property.types.scalar() {
        Scalar::String => "STRING",
        Scalar::Integer => "INTEGER",
        Scalar::Number => "NUMBER",
        Scalar::Boolean => "BOOLEAN",
    };
    Parameter {
        r#type,
        description: &property.description,
        nullable: property.types.is_nullable().then_some(true),
        minimum: property.minimum.as_ref(),
    }
}
