//! A JSON object as a model produced it, taken apart without mending anything.
//!
//! `serde_json::Value` is not used: it keeps the last of two equal keys, turns 1e400 into an error without a name,
//! and rounds numbers. Values stay raw text here until the type that is due is known.
//! What is kept is bounded by the number of arguments, however many keys arrive.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::argument::field::{self, Field, Given};
use crate::argument::number::{self, Whole};
use crate::argument::{ToolName, suggest};
use crate::error::{ErrorKind, FsError, Result};

/// The field that an error about the text as a whole names.
const ARGUMENTS_JSON: Field = Field { name: "arguments_json", expected: "one JSON object" };

/// Characters of an unknown key that are shown.
const MAX_SHOWN_KEY_CHARS: usize = 40;
/// Bytes of a number that are shown.
const MAX_SHOWN_NUMBER_BYTES: usize = 32;

/// The arguments of one call, each still raw.
pub(super) struct Object<'a> {
    values: Vec<(Field, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Takes the text apart.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT`, in this order: text that is not one JSON value (with the position), a value that is
    /// no object, the first unknown or repeated key.
    pub(super) fn parse(tool: ToolName, text: &'a str) -> Result<Object<'a>> {
        // The blanks of JSON, not those of Unicode.
        let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
        if trimmed.is_empty() {
            return Err(ARGUMENTS_JSON.refuse("empty"));
        }
        if !trimmed.starts_with('{') {
            let value: &RawValue = serde_json::from_str(text).map_err(|error| broken(&error))?;
            return Err(ARGUMENTS_JSON.refuse(type_name(value)));
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let keys = deserializer.deserialize_map(Keys { fields: field::of(tool) });
        let (values, fault) =
            keys.and_then(|keys| deserializer.end().map(|()| keys)).map_err(|error| broken(&error))?;
        match fault {
            None => Ok(Object { values }),
            Some(KeyFault::Unknown(key)) => Err(unknown(tool, &key, &values)),
            Some(KeyFault::Repeated(field)) => {
                Err(FsError::invalid_argument(field.name, "given more than once", "given once"))
            }
        }
    }

    /// A string, of well-formed Unicode.
    pub(super) fn string(&self, field: Field) -> Given<String> {
        let Some(value) = self.value(field) else { return Ok(None) };
        if !value.get().starts_with('"') {
            return Err(field.refuse(type_name(value)));
        }
        // The syntax was checked before; what is left is an escape that stands for no character.
        serde_json::from_str(value.get()).map(Some).map_err(|_| {
            let actual = "a string with half of a surrogate pair";
            FsError::invalid_argument(
                field.name,
                actual,
                format!("{}, in well-formed Unicode", field.expected),
            )
        })
    }

    /// An integer of 64 bits, however it is spelled.
    pub(super) fn integer(&self, field: Field) -> Given<i64> {
        let Some(value) = self.value(field) else { return Ok(None) };
        let text = value.get();
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Err(field.refuse(type_name(value)));
        }
        let shown = if text.len() <= MAX_SHOWN_NUMBER_BYTES { text } else { "a long number" };
        match number::whole(text) {
            Whole::Integer(number) => Ok(Some(number)),
            Whole::Fraction => Err(field.refuse(shown)),
            Whole::Beyond => Err(FsError::invalid_argument(
                field.name,
                shown,
                format!("an integer from 1 to {}", i64::MAX),
            )),
        }
    }

    /// `true` or `false`, nothing that could be taken for one.
    pub(super) fn boolean(&self, field: Field) -> Given<bool> {
        let Some(value) = self.value(field) else { return Ok(None) };
        match value.get() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(field.refuse(type_name(value))),
        }
    }

    /// The raw value of an argument; `null` means absent.
    fn value(&self, field: Field) -> Option<&'a RawValue> {
        let found = self.values.iter().find(|(given, _)| *given == field);
        found.map(|(_, value)| *value).filter(|value| value.get() != "null")
    }
}

/// The first key that cannot be accepted.
enum KeyFault {
    Unknown(String),
    Repeated(Field),
}

/// Collects the known keys of an object, and the first fault among all of them.
struct Keys {
    fields: &'static [Field],
}

impl<'a> Visitor<'a> for Keys {
    type Value = (Vec<(Field, &'a RawValue)>, Option<KeyFault>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ARGUMENTS_JSON.expected)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values: Vec<(Field, &RawValue)> = Vec::new();
        let mut fault = None;
        // A fault does not end the walk: that the text is broken further on is the graver news.
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value()?;
            match self.fields.iter().find(|field| field.name == key) {
                None => _ = fault.get_or_insert(KeyFault::Unknown(key)),
                Some(field) if values.iter().any(|(given, _)| given == field) => {
                    fault.get_or_insert(KeyFault::Repeated(*field));
                }
                Some(field) => values.push((*field, value)),
            }
        }
        Ok((values, fault))
    }
}

/// The refusal of a text that is no JSON. The parser's words are fixed sentences with a position; they quote nothing.
fn broken(error: &serde_json::Error) -> FsError {
    ARGUMENTS_JSON.refuse(format!("broken JSON ({error})"))
}

/// The refusal of a key that the tool does not know.
fn unknown(tool: ToolName, key: &str, values: &[(Field, &RawValue)]) -> FsError {
    let fields = field::of(tool);
    let names = field::listed(fields.iter().map(|field| field.name));
    let shown = shown_key(key);
    // A name that is given already cannot be what was meant.
    let free: Vec<Field> =
        fields.iter().copied().filter(|field| values.iter().all(|(given, _)| given != field)).collect();
    let advice = match suggest::nearest(key, &free) {
        Some(field) => format!("did you mean `{}`? its arguments are {names}", field.name),
        None => format!("its arguments are {names}"),
    };
    let message = format!("`{shown}` is not an argument of `{}`: {advice}", tool.as_str());
    let (actual, expected) = ("an unknown argument".to_owned(), format!("one of {names}"));
    FsError::new(ErrorKind::InvalidArgument { field: shown, actual, expected }, message)
}

/// A key as far as it is shown: on one line, and not longer than a name would be.
fn shown_key(key: &str) -> String {
    let mut shown: String = key.chars().take(MAX_SHOWN_KEY_CHARS).flat_map(char::escape_debug).collect();
    if key.chars().nth(MAX_SHOWN_KEY_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// What a value is, never what it says.
fn type_name(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(_) | None => "a number",
    }
}
