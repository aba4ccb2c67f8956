//! Values of settings, before they mean anything: what a flag, a variable or a key of the file can say.

use std::fmt;

/// What the values of a setting look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A number without fraction or sign.
    Whole {
        /// The least that makes sense.
        at_least: u64,
    },
    /// `true` or `false`.
    Switch,
    /// Texts in order.
    List {
        /// What stands between them in a variable. A variable that is nothing but separators is the empty list.
        separator: char,
    },
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of [`Kind::Text`] or [`Kind::Choice`].
    Text(String),
    /// Of [`Kind::Whole`].
    Whole(u64),
    /// Of [`Kind::Switch`].
    Switch(bool),
    /// Of [`Kind::List`].
    List(Vec<String>),
}

impl Kind {
    /// Reads a value as a flag or a variable spells it; `None` when it is not of this kind.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            Kind::Text => Some(Value::Text(text.to_owned())),
            Kind::Choice(choices) => choices.contains(&text).then(|| Value::Text(text.to_owned())),
            Kind::Whole { at_least } => whole(text).filter(|value| *value >= at_least).map(Value::Whole),
            Kind::Switch => match text {
                "true" => Some(Value::Switch(true)),
                "false" => Some(Value::Switch(false)),
                _ => None,
            },
            Kind::List { separator } => {
                let values = text.split(separator).filter(|value| !value.is_empty());
                Some(Value::List(values.map(str::to_owned).collect()))
            }
        }
    }

    /// What a value must be, to be put after "must be".
    pub fn expected(self) -> String {
        match self {
            Kind::Text => "a text".to_owned(),
            Kind::Choice(choices) => {
                let quoted: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Kind::Whole { at_least } => format!("a whole number, at least {at_least}"),
            Kind::Switch => "true or false".to_owned(),
            Kind::List { .. } => "a list of texts".to_owned(),
        }
    }
}

/// Digits only: `parse` alone would take a plus sign.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A value as `config show` shows it, and an error: without the secrets that an address may have in it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(&redacted(text)),
            Value::Whole(number) => number.fmt(f),
            Value::Switch(switch) => switch.fmt(f),
            Value::List(texts) if texts.is_empty() => f.write_str("nothing"),
            Value::List(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| redacted(text)).collect();
                f.write_str(&texts.join(" "))
            }
        }
    }
}

/// A text without user and password of an address, which are nobody's business but the other side's.
pub fn redacted(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rfind('@') {
        Some(at) => format!("{scheme}://[redacted]{}", &rest[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_their_kind() {
        let list = |texts: &[&str]| Some(Value::List(texts.iter().map(|text| (*text).to_owned()).collect()));
        let colons = Kind::List { separator: ':' };
        let cases = [
            (Kind::Text, "", Some(Value::Text(String::new()))),
            (Kind::Choice(&["full", "none"]), "none", Some(Value::Text("none".into()))),
            (Kind::Choice(&["full", "none"]), "non", None),
            (Kind::Whole { at_least: 0 }, "0", Some(Value::Whole(0))),
            (Kind::Whole { at_least: 1 }, "0", None),
            (Kind::Whole { at_least: 0 }, "+1", None),
            (Kind::Whole { at_least: 0 }, "-1", None),
            (Kind::Whole { at_least: 0 }, "1.0", None),
            (Kind::Whole { at_least: 0 }, "", None),
            (Kind::Whole { at_least: 0 }, "18446744073709551616", None),
            (Kind::Switch, "true", Some(Value::Switch(true))),
            (Kind::Switch, "yes", None),
            (colons, "/a:/b=/w", list(&["/a", "/b=/w"])),
            (colons, ":", list(&[])),
        ];
        for (kind, text, value) in cases {
            assert_eq!(kind.parse(text), value, "{kind:?} {text}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        assert_eq!(redacted("redis://me:secret@host:1/2"), "redis://[redacted]@host:1/2");
        assert_eq!(redacted("redis://me:p@ss@host"), "redis://[redacted]@host");
        for plain in ["grpc://host:1", "/home/a@b", "unix:/run/a@b", "grpc://host/a@b"] {
            assert_eq!(redacted(plain), plain);
        }
        let value = Value::List(vec!["a".into(), "x://u:p@h".into()]);
        assert_eq!(value.to_string(), "a x://[redacted]@h");
    }
}
