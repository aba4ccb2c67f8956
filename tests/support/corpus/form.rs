//! What the form of a case asks of any JSON: members in their order, none twice, constants.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The members of an object in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

impl<T> Named<T> {
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(candidate, _)| candidate == name).map(|(_, value)| value)
    }
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: DeserializeOwned> Visitor<'de> for Members<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of paths")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value: Value = map.next_value()?;
                    let value = serde_json::from_value(value)
                        .map_err(|error| de::Error::custom(format!("`{name}`: {error}")))?;
                    members.push((name, value));
                }
                Ok(Named(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// The constant `true`, which is all that some members can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct True;

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<True, D::Error> {
        if bool::deserialize(deserializer)? {
            return Ok(True);
        }
        Err(de::Error::custom("it can only be true"))
    }
}

/// `{}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// JSON in which no object has a member twice: a case that says something twice hides one of the two.
pub(crate) struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unrepeated, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Unrepeated;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unrepeated, A::Error> {
                let mut names = BTreeSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    map.next_value::<Unrepeated>()?;
                    if let Some(name) = names.replace(name) {
                        return Err(de::Error::custom(format!("`{name}` is there twice")));
                    }
                }
                Ok(Unrepeated)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Unrepeated, A::Error> {
                while elements.next_element::<Unrepeated>()?.is_some() {}
                Ok(Unrepeated)
            }

            fn visit_str<E: de::Error>(self, _: &str) -> Result<Unrepeated, E> {
                Ok(Unrepeated)
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Unrepeated, E> {
                Ok(Unrepeated)
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Unrepeated, E> {
                Ok(Unrepeated)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Unrepeated, E> {
                Ok(Unrepeated)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Unrepeated, E> {
                Ok(Unrepeated)
            }

            fn visit_unit<E: de::Error>(self) -> Result<Unrepeated, E> {
                Ok(Unrepeated)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
