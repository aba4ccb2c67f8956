//! A flat JSON Schema as a value: an object of scalars. Reading one is the check that it is flat: a keyword that some
//! model's side would not take (`$ref`, `anyOf`, `format`, `pattern`, lengths) is refused by name.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

/// The schema of a tool's arguments. Its properties keep their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schema {
    #[serde(rename = "type")]
    pub(crate) kind: ObjectType,
    pub(crate) properties: Properties,
    pub(crate) required: Vec<String>,
    #[serde(rename = "additionalProperties")]
    pub(crate) additional_properties: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ObjectType {
    Object,
}

/// Names and what they stand for, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Properties(pub(crate) Vec<(String, Property)>);

/// One argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Property {
    #[serde(rename = "type")]
    pub(crate) types: Types,
    pub(crate) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) minimum: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Value>,
}

/// A scalar, or a scalar that may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Types {
    One(Scalar),
    Nullable(Scalar, Null),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scalar {
    String,
    Integer,
    Number,
    Boolean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Null {
    Null,
}

impl Types {
    pub(crate) fn scalar(self) -> Scalar {
        match self {
            Types::One(scalar) | Types::Nullable(scalar, Null::Null) => scalar,
        }
    }

    pub(crate) fn is_nullable(self) -> bool {
        match self {
            Types::One(_) => false,
            Types::Nullable(_, Null::Null) => true,
        }
    }
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, property)| (name, property)))
    }
}

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Properties, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Properties;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
        let mut properties = Vec::new();
        while let Some(entry) = map.next_entry()? {
            properties.push(entry);
        }
        Ok(Properties(properties))
    }
}
