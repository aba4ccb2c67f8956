use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

use super::*;
use crate::argument::{RawCall, ToolCall};
use crate::limit::LimitName;

fn loose(tool: ToolName) -> Value {
    parsed(&definition(tool, &Limits::DEFAULT).input_schema_json)
}

fn strict(tool: ToolName) -> Value {
    parsed(&definition(tool, &Limits::DEFAULT).strict_input_schema_json)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn accepts(tool: ToolName, arguments: &Value) -> bool {
    let raw = RawCall::Json { name: tool.as_str().into(), arguments_json: arguments.to_string() };
    ToolCall::parse(raw, &Limits::DEFAULT).is_ok()
}

/// Judges by the keywords that our schemas use, as a validator of JSON Schema would.
fn conforms(schema: &Value, arguments: &Value) -> bool {
    let Some(arguments) = arguments.as_object() else { return false };
    let properties = schema["properties"].as_object().unwrap();
    schema["required"].as_array().unwrap().iter().all(|name| arguments.contains_key(name.as_str().unwrap()))
        && arguments
            .iter()
            .all(|(name, value)| properties.get(name).is_some_and(|keywords| fits(keywords, value)))
}

fn fits(keywords: &Value, value: &Value) -> bool {
    let is_of = |kind: &Value| match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("{other}"),
    };
    let of_type = match &keywords["type"] {
        Value::Array(kinds) => kinds.iter().any(is_of),
        kind => is_of(kind),
    };
    let minimum = keywords.get("minimum").map(|minimum| minimum.as_f64().unwrap());
    let below = minimum.zip(value.as_f64()).is_some_and(|(minimum, number)| number < minimum);
    of_type && !below
}

/// Every key of an object, at any depth.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            found.insert(key.clone());
            keys(value, found);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[track_caller]
fn check_properties(schema: &Value, allowed: &[&str]) {
    let root: BTreeSet<&str> = schema.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(root, BTreeSet::from(["type", "properties", "required", "additionalProperties"]));
    assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
    for (name, keywords) in schema["properties"].as_object().unwrap() {
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'), "{name}");
        for keyword in keywords.as_object().unwrap().keys() {
            assert!(allowed.contains(&keyword.as_str()), "{name}: {keyword}");
        }
        assert!(keywords["description"].as_str().unwrap().len() > 20, "{name}");
    }
}

#[test]
fn schemas_are_flat_and_use_no_keyword_that_a_vendor_refuses() {
    const FORBIDDEN: [&str; 22] = [
        "$ref",
        "$defs",
        "$schema",
        "$id",
        "definitions",
        "title",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "enum",
        "const",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "items",
        "nullable",
        "examples",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
    ];
    for tool in ToolName::ALL {
        check_properties(&loose(tool), &["type", "description", "minimum", "default"]);
        check_properties(&strict(tool), &["type", "description"]);
        for schema in [loose(tool), strict(tool)] {
            let mut found = BTreeSet::new();
            keys(&schema, &mut found);
            for keyword in FORBIDDEN {
                assert!(!found.contains(keyword), "{}: {keyword}", tool.as_str());
            }
        }
    }
}

#[test]
fn schemas_name_the_arguments_that_are_parsed_in_their_order() {
    for tool in ToolName::ALL {
        let names: Vec<&str> = tool.argument_names().collect();
        let definition = definition(tool, &Limits::DEFAULT);
        for text in [&definition.input_schema_json, &definition.strict_input_schema_json] {
            let schema = parsed(text);
            let given: BTreeSet<&str> =
                schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(given, names.iter().copied().collect());
            let positions: Vec<_> =
                names.iter().map(|name| text.find(&format!("\"{name}\":")).unwrap()).collect();
            assert!(positions.is_sorted(), "{text}");
        }
        assert_eq!(strict(tool)["required"], json!(names));
    }
}

#[test]
fn nothing_that_is_derived_is_lost_unnoticed() {
    let known = BTreeSet::from(["description", "type", "minimum", "default", "format"]);
    let roots = [
        schemars::schema_for!(argument::Read),
        schemars::schema_for!(argument::Write),
        schemars::schema_for!(argument::Edit),
    ];
    for (root, tool) in roots.iter().zip(ToolName::ALL) {
        let properties: &Map<String, Value> = root.get("properties").and_then(Value::as_object).unwrap();
        assert_eq!(properties.len(), tool.argument_names().count());
        for keywords in properties.values() {
            assert!(
                keywords.as_object().unwrap().keys().all(|keyword| known.contains(keyword.as_str())),
                "{keywords}"
            );
        }
        assert_eq!(root.get("additionalProperties"), Some(&json!(false)));
    }
}

#[test]
fn only_what_a_call_needs_is_required_in_the_loose_form() {
    assert_eq!(loose(ToolName::Read)["required"], json!(["file_path"]));
    assert_eq!(loose(ToolName::Write)["required"], json!(["file_path", "content"]));
    assert_eq!(loose(ToolName::Edit)["required"], json!(["file_path", "old_string", "new_string"]));
    assert_eq!(loose(ToolName::Edit)["properties"]["replace_all"]["default"], json!(false));
    for name in ["offset", "limit"] {
        assert_eq!(loose(ToolName::Read)["properties"][name]["type"], json!("integer"));
        assert_eq!(loose(ToolName::Read)["properties"][name]["minimum"], json!(1));
        assert_eq!(strict(ToolName::Read)["properties"][name]["type"], json!(["integer", "null"]));
    }
    assert_eq!(strict(ToolName::Edit)["properties"]["replace_all"]["type"], json!(["boolean", "null"]));
}

/// Argument sets over all tools; each is judged by schema and by parser.
fn argument_sets() -> Vec<(ToolName, Value)> {
    let values = [
        json!(null),
        json!(""),
        json!("a"),
        json!(0),
        json!(-1),
        json!(1),
        json!(5.0),
        json!(5.5),
        json!(true),
        json!([]),
        json!({}),
    ];
    let mut sets =
        vec![(ToolName::Read, json!([])), (ToolName::Read, json!(null)), (ToolName::Read, json!("a"))];
    for tool in ToolName::ALL {
        let whole = |optional: fn(&str) -> Value| -> Map<String, Value> {
            let value = |name: &str| match name {
                "offset" | "limit" | "replace_all" => optional(name),
                required => json!(required),
            };
            tool.argument_names().map(|name| (name.to_owned(), value(name))).collect()
        };
        let full = whole(|name| if name == "replace_all" { json!(true) } else { json!(3) });
        sets.push((tool, json!({})));
        sets.push((tool, Value::Object(full.clone())));
        sets.push((tool, Value::Object(whole(|_| json!(null)))));
        for name in tool.argument_names() {
            let mut without = full.clone();
            without.remove(name);
            sets.push((tool, Value::Object(without)));
            for value in &values {
                let mut other = full.clone();
                other.insert(name.to_owned(), value.clone());
                sets.push((tool, Value::Object(other)));
            }
        }
        let mut more = full.clone();
        more.insert("path".to_owned(), json!("a"));
        sets.push((tool, Value::Object(more)));
    }
    sets
}

/// What no flat schema can say: these two must not be empty.
fn is_beyond_schemas(tool: ToolName, arguments: &Value) -> bool {
    arguments["file_path"] == json!("") || (tool == ToolName::Edit && arguments["old_string"] == json!(""))
}

/// The strict form has no `minimum`; it is the parser that refuses these.
fn is_below_minimum(arguments: &Value) -> bool {
    ["offset", "limit"].iter().any(|name| arguments[name].as_f64().is_some_and(|number| number < 1.0))
}

fn without_nulls(arguments: &Value) -> Value {
    match arguments {
        Value::Object(map) => Value::Object(
            map.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        ),
        other => other.clone(),
    }
}

#[test]
fn schema_and_parser_are_of_one_mind() {
    let mut accepted = 0;
    for (tool, arguments) in argument_sets() {
        if is_beyond_schemas(tool, &arguments) {
            assert!(!accepts(tool, &arguments), "{arguments}");
            continue;
        }
        let is_accepted = accepts(tool, &arguments);
        accepted += usize::from(is_accepted);
        // `null` is absent to the parser; the loose form has no null.
        assert_eq!(conforms(&loose(tool), &without_nulls(&arguments)), is_accepted, "{arguments}");
        if conforms(&strict(tool), &arguments) {
            assert_eq!(is_accepted, !is_below_minimum(&arguments), "{arguments}");
        }
    }
    assert!(accepted >= 20, "{accepted}");
}

#[test]
fn nulls_of_the_strict_form_are_as_good_as_absent() {
    let parse = |tool: ToolName, arguments: Value| {
        assert!(conforms(&strict(tool), &arguments) || conforms(&loose(tool), &arguments), "{arguments}");
        let raw = RawCall::Json { name: tool.as_str().into(), arguments_json: arguments.to_string() };
        format!("{:?}", ToolCall::parse(raw, &Limits::DEFAULT).unwrap())
    };
    assert_eq!(
        parse(ToolName::Read, json!({"file_path": "a", "offset": null, "limit": null})),
        parse(ToolName::Read, json!({"file_path": "a"})),
    );
    assert_eq!(
        parse(
            ToolName::Edit,
            json!({"file_path": "a", "old_string": "o", "new_string": "n", "replace_all": null})
        ),
        parse(ToolName::Edit, json!({"file_path": "a", "old_string": "o", "new_string": "n"})),
    );
}

#[test]
fn descriptions_speak_of_the_prior_observation() {
    for definition in definitions(&Limits::DEFAULT) {
        let description = &definition.description;
        assert!(
            description.contains("an existing file must have been read in this session before it is"),
            "{description}"
        );
        assert!(description.to_lowercase().contains("a new file need not be read"), "{description}");
    }
}

#[test]
fn the_limits_in_force_are_named_and_no_placeholder_is_left() {
    let limits = Limits {
        default_limit_lines: 111,
        max_limit_lines: 222,
        max_window_bytes: 33_333,
        max_line_chars: 444,
        max_content_bytes: 5_555,
        ..Limits::DEFAULT
    };
    let all = |tool: ToolName| {
        let definition = definition(tool, &limits);
        assert_eq!(definition, super::definition(tool, &limits));
        [
            definition.description,
            definition.input_schema_json,
            definition.strict_input_schema_json,
            definition.prompt_section,
        ]
    };
    let named = [
        (ToolName::Read, [&["111", "33333"][..], &["111", "222"], &["111", "222"], &["111", "33333", "444"]]),
        (ToolName::Write, [&["5555"][..], &["5555"], &["5555"], &["5555"]]),
        (ToolName::Edit, [&[][..], &[], &[], &[]]),
    ];
    for (tool, expected) in named {
        for (text, numbers) in all(tool).iter().zip(expected) {
            assert!(numbers.iter().all(|number| text.contains(number)), "{text}");
            assert!(
                LimitName::ALL.iter().all(|name| !text.contains(&format!("{{{}}}", name.as_str()))),
                "{text}"
            );
        }
    }
}

#[test]
fn prompt_sections_tell_what_to_do_about_each_refusal() {
    let codes = [
        (ToolName::Read, &["FS_NOT_FOUND", "FS_OUT_OF_RANGE", "FS_NOT_TEXT", "FS_NOT_REGULAR_FILE"][..]),
        (ToolName::Write, &["FS_NOT_OBSERVED", "FS_STALE_VERSION"]),
        (ToolName::Edit, &["FS_NOT_OBSERVED", "FS_STALE_VERSION", "FS_EDIT_NOT_FOUND", "FS_AMBIGUOUS_EDIT"]),
    ];
    for (tool, codes) in codes {
        let section = definition(tool, &Limits::DEFAULT).prompt_section;
        assert!(
            section.starts_with(&format!("## {}\n", tool.as_str())) && section.ends_with(".\n"),
            "{section}"
        );
        assert!(codes.iter().all(|code| section.contains(code)), "{section}");
    }
}

#[track_caller]
fn check(tool: ToolName, expected_loose: Expect, expected_strict: Expect) {
    let definition = definition(tool, &Limits::DEFAULT);
    expected_loose.assert_eq(&definition.input_schema_json);
    expected_strict.assert_eq(&definition.strict_input_schema_json);
}

#[test]
fn the_schemas_as_text() {
    check(
        ToolName::Read,
        expect![[
            r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Path of the file, absolute or relative to the session's working directory. `~` is not expanded."},"offset":{"type":"integer","description":"Number of the first line to show, at least 1. Default: 1.","minimum":1},"limit":{"type":"integer","description":"How many lines to show, at least 1. Default: 2000; a larger number than 2000 is read as 2000.","minimum":1}},"required":["file_path"],"additionalProperties":false}"#
        ]],
        expect![[
            r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Path of the file, absolute or relative to the session's working directory. `~` is not expanded."},"offset":{"type":["integer","null"],"description":"Number of the first line to show, at least 1. Default: 1."},"limit":{"type":["integer","null"],"description":"How many lines to show, at least 1. Default: 2000; a larger number than 2000 is read as 2000."}},"required":["file_path","offset","limit"],"additionalProperties":false}"#
        ]],
    );
    check(
        ToolName::Write,
        expect![[
            r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Path of the file, absolute or relative to the session's working directory. `~` is not expanded."},"content":{"type":"string","description":"The whole new content, stored exactly as given, at most 16777216 bytes. Empty makes an empty file."}},"required":["file_path","content"],"additionalProperties":false}"#
        ]],
        expect![[
            r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Path of the file, absolute or relative to the session's working directory. `~` is not expanded."},"content":{"type":"string","description":"The whole new content, stored exactly as given, at most 16777216 bytes. Empty makes an empty file."}},"required":["file_path","content"],"additionalProperties":false}"#
        ]],
    );
    check(
        ToolName::Edit,
        expect![[
            r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Path of the file, absolute or relative to the session's working directory. `~` is not expanded."},"old_string":{"type":"string","description":"The text to replace, exactly as it stands in the file, without the line numbers that `read` puts before it. Not empty, and found exactly once unless `replace_all` is true."},"new_string":{"type":"string","description":"The text to put in its place, literally. Different from `old_string`; empty deletes the match."},"replace_all":{"type":"boolean","description":"Whether to replace every occurrence instead of exactly one. Default: false.","default":false}},"required":["file_path","old_string","new_string"],"additionalProperties":false}"#
        ]],
        expect![[
            r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Path of the file, absolute or relative to the session's working directory. `~` is not expanded."},"old_string":{"type":"string","description":"The text to replace, exactly as it stands in the file, without the line numbers that `read` puts before it. Not empty, and found exactly once unless `replace_all` is true."},"new_string":{"type":"string","description":"The text to put in its place, literally. Different from `old_string`; empty deletes the match."},"replace_all":{"type":["boolean","null"],"description":"Whether to replace every occurrence instead of exactly one. Default: false."}},"required":["file_path","old_string","new_string","replace_all"],"additionalProperties":false}"#
        ]],
    );
}

#[test]
fn the_prompt_section_of_read_as_text() {
    expect![[r#"
        ## read

        Shows lines of a UTF-8 text file. Read a file before you write or edit it; any part of it is enough.

        - Each line is shown as `NUMBER: TEXT`. `NUMBER: ` is not part of the file: leave it out of `old_string` and `content`.
        - Without `offset` and `limit` you see the first 2000 lines, or fewer when they exceed 51200 bytes of text. The footer in round brackets, which is not part of the file either, says which lines of how many you saw and the `offset` to go on with: call again with it until nothing is left.
        - A line of more than 2000 characters is cut and marked with its full length.
        - The footer also tells of CRLF or mixed line endings, a BOM, and a missing newline at the end of the file.
        - FS_NOT_FOUND: nothing is at this path; similar names are listed if there are any, and you may create the file with `write`.
        - FS_OUT_OF_RANGE: `offset` is past the end; the error says how many lines there are.
        - FS_NOT_TEXT: the file is not UTF-8 text and cannot be shown or edited. FS_NOT_REGULAR_FILE: it is a directory or a special file.
        - Several reads may be sent at once.
    "#]].assert_eq(&definition(ToolName::Read, &Limits::DEFAULT).prompt_section);
}
