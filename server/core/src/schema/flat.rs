//! Flat schemas: from what schemars derives to what every model vendor takes.
//!
//! Only what is listed in [`Property`] is carried over, so that no other keyword can reach a model, whatever
//! schemars derives. Properties keep the order in which a tool declares its arguments: models tend to answer in it.
//!
//! The strict form has no `minimum`: constrained decoders differ in whether they take bounds of numbers (some refuse
//! the whole schema), the description says "at least 1", and the call is checked anyway. It has no `default`, since
//! nothing may be left out there; `null` stands for the default.

use schemars::{JsonSchema, SchemaGenerator};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::argument::ToolName;

/// Which rules a schema keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Optional arguments may be left out.
    Loose,
    /// Every argument is required, optional ones may be `null`.
    Strict,
}

/// The schema of one tool's arguments.
pub(super) struct FlatSchema(Vec<Property>);

struct Property {
    name: &'static str,
    kind: String,
    description: String,
    minimum: Option<Value>,
    default: Option<Value>,
    is_required: bool,
}

impl FlatSchema {
    /// Derives the schema of `T`, the arguments of `tool`; `describe` finishes each description.
    pub(super) fn derive<T: JsonSchema>(tool: ToolName, describe: impl Fn(&str) -> String) -> FlatSchema {
        let root = SchemaGenerator::default().into_root_schema_for::<T>();
        let derived = root.get("properties").and_then(Value::as_object);
        let required = root.get("required").and_then(Value::as_array);
        let properties = tool.argument_names().map(|name| {
            let keywords = derived.and_then(|derived| derived.get(name)).and_then(Value::as_object);
            let keywords = keywords.expect("every argument is a documented field of the tool's type");
            Property {
                name,
                kind: kind(keywords),
                description: describe(
                    keywords.get("description").and_then(Value::as_str).unwrap_or_default(),
                ),
                minimum: keywords.get("minimum").cloned(),
                default: keywords.get("default").cloned(),
                is_required: required
                    .is_some_and(|required| required.iter().any(|required| required == name)),
            }
        });
        FlatSchema(properties.collect())
    }

    /// The schema as JSON text, with its keys in a fixed order.
    pub(super) fn to_json(&self, form: Form) -> String {
        serde_json::to_string(&Formed { schema: self, form })
            .expect("text, numbers and booleans always serialize")
    }
}

/// The scalar type of a property; derived optional ones are a list with `null`.
fn kind(keywords: &Map<String, Value>) -> String {
    let kind = match keywords.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        other => other.and_then(Value::as_str),
    };
    kind.expect("every argument is a scalar").to_owned()
}

/// A schema in one of its forms.
struct Formed<'a> {
    schema: &'a FlatSchema,
    form: Form,
}

impl Serialize for Formed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FlatSchema(properties) = self.schema;
        let is_required = |property: &&Property| property.is_required || self.form == Form::Strict;
        let required: Vec<&str> =
            properties.iter().filter(is_required).map(|property| property.name).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties { properties, form: self.form })?;
        map.serialize_entry("required", &required)?;
        map.serialize_entry("additionalProperties", &false)?;
        map.end()
    }
}

struct Properties<'a> {
    properties: &'a [Property],
    form: Form,
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = self.form;
        serializer
            .collect_map(self.properties.iter().map(|property| (property.name, Keywords { property, form })))
    }
}

struct Keywords<'a> {
    property: &'a Property,
    form: Form,
}

impl Serialize for Keywords<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Property { kind, description, minimum, default, is_required, .. } = self.property;
        let mut map = serializer.serialize_map(None)?;
        match self.form {
            Form::Strict if !is_required => map.serialize_entry("type", &[kind.as_str(), "null"])?,
            Form::Strict | Form::Loose => map.serialize_entry("type", kind)?,
        }
        map.serialize_entry("description", description)?;
        if self.form == Form::Loose {
            if let Some(minimum) = minimum {
                map.serialize_entry("minimum", minimum)?;
            }
            if let Some(default) = default {
                map.serialize_entry("default", default)?;
            }
        }
        map.end()
    }
}
