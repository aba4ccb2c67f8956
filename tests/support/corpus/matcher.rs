//! Whether what came back is what a case expects.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

/// What the names of `$bind` stand for, in one case.
#[derive(Debug, Default)]
pub(crate) struct Bindings(BTreeMap<String, Value>);

/// Compares a value with what is expected at a place, and tells each difference.
pub(crate) fn compare(
    place: &str,
    expected: &Value,
    found: Option<&Value>,
    bindings: &mut Bindings,
    differences: &mut Vec<String>,
) {
    let mut differ = |what: String| differences.push(format!("{place}: {what}"));
    let found = match (expected, found) {
        (Value::Null, None) => return,
        (Value::Array(expected), None) if expected.is_empty() => return,
        (Value::Null, Some(found)) => return differ(format!("expected nothing, found {found}")),
        (_, None) => return differ(format!("expected {expected}, found nothing")),
        (_, Some(found)) => found,
    };
    if is_matcher(expected) {
        return match matches(expected, found, bindings) {
            Ok(()) => {}
            Err(why) => differ(why),
        };
    }
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, expected) in expected {
                let place = format!("{place}.{name}");
                compare(&place, expected, found.get(name), bindings, differences);
            }
        }
        (Value::Array(expected), Value::Array(found)) => {
            if expected.len() != found.len() {
                let found_text = Value::Array(found.clone());
                differ(format!("expected {} elements, found {}: {found_text}", expected.len(), found.len()));
            }
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{place}[{index}]"), expected, Some(found), bindings, differences);
            }
        }
        (Value::Number(expected), found) if is_number(expected, found) => {}
        (expected, found) if expected == found => {}
        (expected, found) => differ(format!("expected {expected}, found {found}")),
    }
}

/// Whether a value is a number, or the text of one: an int64 of Protobuf's JSON is a text.
fn is_number(expected: &Number, found: &Value) -> bool {
    let integer =
        |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (found, integer(expected)) {
        (Value::Number(found), Some(expected)) => integer(found) == Some(expected),
        (Value::String(found), Some(expected)) => found.parse() == Ok(expected),
        (Value::Number(found), None) => found.as_f64() == expected.as_f64(),
        (Value::String(found), None) => found.parse().ok() == expected.as_f64(),
        _ => false,
    }
}

/// Whether an expected value is one of `$any`, `$contains` and `$bind`, or means to be.
pub(crate) fn is_matcher(expected: &Value) -> bool {
    expected.as_object().is_some_and(|members| members.keys().any(|name| name.starts_with('$')))
}

/// The one member of a matcher.
fn parts(expected: &Value) -> Option<(&str, &Value)> {
    let members = expected.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().map(|(name, value)| (name.as_str(), value))
}

/// Refuses a matcher that there is not, at any depth.
pub(crate) fn check(expected: &Value) -> Result<(), String> {
    if is_matcher(expected) {
        return match parts(expected) {
            Some(("$any", Value::Bool(true))) | Some(("$contains" | "$bind", Value::String(_))) => Ok(()),
            _ => Err(format!("{expected} is none of `$any`, `$contains` and `$bind`")),
        };
    }
    match expected {
        Value::Object(members) => members.values().try_for_each(check),
        Value::Array(elements) => elements.iter().try_for_each(check),
        _ => Ok(()),
    }
}

fn matches(expected: &Value, found: &Value, bindings: &mut Bindings) -> Result<(), String> {
    match parts(expected) {
        Some(("$any", Value::Bool(true))) => Ok(()),
        Some(("$contains", Value::String(piece))) => match found.as_str() {
            Some(text) if text.contains(piece.as_str()) => Ok(()),
            _ => Err(format!("expected a text with {}, found {found}", Value::from(piece.as_str()))),
        },
        Some(("$bind", Value::String(name))) => bindings.bind(name, found),
        _ => Err(format!("{expected} is no matcher")),
    }
}

impl Bindings {
    fn bind(&mut self, name: &str, found: &Value) -> Result<(), String> {
        match self.0.get(name) {
            Some(bound) if bound == found => Ok(()),
            Some(bound) => Err(format!("`{name}` is {bound}, found {found}")),
            None => match self.0.iter().find(|(_, bound)| *bound == found) {
                Some((other, _)) => Err(format!("`{name}` must not be {found}, which is `{other}`")),
                None => {
                    self.0.insert(name.to_owned(), found.clone());
                    Ok(())
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn differences(expected: Value, found: Value) -> Vec<String> {
        let mut differences = Vec::new();
        compare("it", &expected, Some(&found), &mut Bindings::default(), &mut differences);
        differences
    }

    #[track_caller]
    fn same(expected: Value, found: Value) {
        assert_eq!(differences(expected, found), Vec::<String>::new());
    }

    #[track_caller]
    fn differs(expected: Value, found: Value, told: &str) {
        assert_eq!(differences(expected, found), [told]);
    }

    #[test]
    fn further_members_are_free_and_a_missing_one_is_not() {
        same(json!({"a": 1}), json!({"a": 1, "b": 2}));
        differs(json!({"a": {"b": 1}}), json!({"a": {}}), "it.a.b: expected 1, found nothing");
        differs(json!({"a": 1}), json!(5), r#"it: expected {"a":1}, found 5"#);
    }

    #[test]
    fn an_array_of_another_length_differs_though_its_beginning_is_the_same() {
        same(json!([1, 2]), json!([1, 2]));
        differs(json!([1]), json!([1, 2]), "it: expected 1 elements, found 2: [1,2]");
        differs(json!([1, 2]), json!([1]), "it: expected 2 elements, found 1: [1]");
        differs(json!([1, 2]), json!([2, 2]), "it[0]: expected 1, found 2");
        differs(json!([]), json!({}), "it: expected [], found {}");
        same(json!({"a": []}), json!({}));
        differs(json!({"a": []}), json!({"a": [1]}), "it.a: expected 0 elements, found 1: [1]");
    }

    #[test]
    fn what_must_be_absent_differs_when_it_is_there() {
        same(json!({"a": null}), json!({}));
        differs(json!({"a": null}), json!({"a": 0}), "it.a: expected nothing, found 0");
        differs(json!({"a": null}), json!({"a": ""}), r#"it.a: expected nothing, found """#);
    }

    #[test]
    fn a_number_is_equal_to_its_text_and_a_text_to_no_number() {
        same(json!(5), json!("5"));
        same(json!(i64::MAX), json!(i64::MAX.to_string()));
        differs(json!(5), json!("6"), r#"it: expected 5, found "6""#);
        differs(
            json!(9_007_199_254_740_992_i64),
            json!("9007199254740993"),
            r#"it: expected 9007199254740992, found "9007199254740993""#,
        );
        differs(json!(0), json!(""), r#"it: expected 0, found """#);
        differs(json!("5"), json!(5), r#"it: expected "5", found 5"#);
        differs(json!(true), json!("true"), r#"it: expected true, found "true""#);
    }

    #[test]
    fn anything_is_something() {
        same(json!({"a": {"$any": true}}), json!({"a": false}));
        differs(json!({"a": {"$any": true}}), json!({}), r#"it.a: expected {"$any":true}, found nothing"#);
    }

    #[test]
    fn a_piece_is_looked_for_in_texts_alone() {
        same(json!({"$contains": "is"}), json!("this"));
        differs(json!({"$contains": "is"}), json!("that"), r#"it: expected a text with "is", found "that""#);
        differs(json!({"$contains": ""}), json!(5), r#"it: expected a text with "", found 5"#);
    }

    #[test]
    fn a_name_stands_for_one_value_and_a_value_for_one_name() {
        same(json!([{"$bind": "a"}, {"$bind": "b"}, {"$bind": "a"}]), json!(["x", "y", "x"]));
        differs(
            json!([{"$bind": "a"}, {"$bind": "a"}]),
            json!(["x", "y"]),
            r#"it[1]: `a` is "x", found "y""#,
        );
        differs(
            json!([{"$bind": "a"}, {"$bind": "b"}]),
            json!(["x", "x"]),
            r#"it[1]: `b` must not be "x", which is `a`"#,
        );
        differs(json!({"a": {"$bind": "a"}}), json!({}), r#"it.a: expected {"$bind":"a"}, found nothing"#);
    }

    #[test]
    fn a_matcher_that_there_is_not_is_refused() {
        for expected in [json!({"$any": false}), json!({"$regex": "."}), json!([{"$any": true, "b": 1}])] {
            assert!(check(&expected).is_err(), "{expected}");
        }
    }
}
