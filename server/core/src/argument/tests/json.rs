//! What only JSON can get wrong.

use expect_test::expect;

use super::*;

#[test]
fn what_is_no_text_is_never_made_into_text() {
    for (value, actual) in [
        (r#"{"k":1}"#, "an object"),
        ("[]", "an array"),
        ("123", "a number"),
        ("true", "a boolean"),
        ("false", "a boolean"),
        ("null", "absent"),
    ] {
        let error =
            parse(json(ToolName::Write, &format!(r#"{{"file_path":"a","content":{value}}}"#))).unwrap_err();
        let expected = format!(
            "content: `content` was {actual}, it must be the whole new content of the file, as a string"
        );
        assert_eq!(told(&error), expected);
    }
    check(
        json(ToolName::Read, r#"{"file_path":{}}"#),
        expect!["file_path: `file_path` was an object, it must be a path, as a string"],
    );
    check(
        json(ToolName::Edit, r#"{"file_path":"a","old_string":["o"],"new_string":"n"}"#),
        expect!["old_string: `old_string` was an array, it must be the text to replace, as a string"],
    );
    check(
        json(ToolName::Edit, r#"{"file_path":"a","old_string":"o","new_string":7}"#),
        expect![
            "new_string: `new_string` was a number, it must be the text to put in its place, as a string"
        ],
    );
}

#[test]
fn what_is_no_integer_is_refused() {
    check(
        json(ToolName::Read, r#"{"file_path":"a","offset":"5"}"#),
        expect!["offset: `offset` was a string, it must be an integer of at least 1"],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","offset":5.5}"#),
        expect!["offset: `offset` was 5.5, it must be an integer of at least 1"],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","offset":true}"#),
        expect!["offset: `offset` was a boolean, it must be an integer of at least 1"],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","limit":[5]}"#),
        expect!["limit: `limit` was an array, it must be an integer of at least 1"],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","limit":{"$numberLong":"5"}}"#),
        expect!["limit: `limit` was an object, it must be an integer of at least 1"],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","limit":1e400}"#),
        expect!["limit: `limit` was 1e400, it must be an integer from 1 to 9223372036854775807"],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","limit":9223372036854775808}"#),
        expect![
            "limit: `limit` was 9223372036854775808, it must be an integer from 1 to 9223372036854775807"
        ],
    );
    let long = format!(r#"{{"file_path":"a","limit":{}}}"#, "9".repeat(400));
    check(
        json(ToolName::Read, &long),
        expect!["limit: `limit` was a long number, it must be an integer from 1 to 9223372036854775807"],
    );
}

#[test]
fn an_integer_may_be_spelled_as_a_float() {
    for spelling in ["5", "5.0", "5e0", "50E-1", "0.5e+1"] {
        let text = format!(r#"{{"file_path":"a","offset":{spelling},"limit":{spelling}}}"#);
        assert_eq!(read_arguments(json(ToolName::Read, &text)), ("a".to_owned(), 5, 5));
    }
}

#[test]
fn only_true_and_false_are_booleans() {
    for (value, actual) in
        [("1", "a number"), ("\"true\"", "a string"), ("[]", "an array"), ("{}", "an object")]
    {
        let text = format!(r#"{{"file_path":"a","old_string":"o","new_string":"n","replace_all":{value}}}"#);
        let error = parse(json(ToolName::Edit, &text)).unwrap_err();
        assert_eq!(
            told(&error),
            format!("replace_all: `replace_all` was {actual}, it must be true or false")
        );
    }
}

#[test]
fn half_a_surrogate_pair_is_no_text() {
    check(
        json(ToolName::Write, r#"{"file_path":"a","content":"x\ud800"}"#),
        expect![
            "content: `content` was a string with half of a surrogate pair, it must be the whole new content of the file, as a string, in well-formed Unicode"
        ],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"\udc00"}"#),
        expect![
            "file_path: `file_path` was a string with half of a surrogate pair, it must be a path, as a string, in well-formed Unicode"
        ],
    );
    check(
        json(ToolName::Edit, r#"{"file_path":"a","old_string":"\ud83dx","new_string":"n"}"#),
        expect![
            "old_string: `old_string` was a string with half of a surrogate pair, it must be the text to replace, as a string, in well-formed Unicode"
        ],
    );
    check(
        json(ToolName::Read, r#"{"\ud800":1}"#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (unexpected end of hex escape at line 1 column 9), it must be one JSON object"
        ],
    );
    assert_eq!(written(r#"{"file_path":"a","content":"\ud83d\ude00"}"#), "😀");
}

#[test]
fn escapes_are_decoded_once() {
    assert_eq!(written(r#"{"file_path":"a","content":"a\\nb\n"}"#), "a\\nb\n");
    assert_eq!(written(r#"{"file_path":"a","content":"&amp;\""}"#), "&amp;\"");
    assert_eq!(written(r#"{"file_path":"a","content":"\u0000\r\n\ufeff"}"#), "\0\r\n\u{feff}");
    assert_eq!(written(r#"{"file_path":"a","content":""}"#), "");
}

#[test]
fn an_unknown_argument_is_refused_by_name() {
    check(
        json(ToolName::Read, r#"{"path":"a"}"#),
        expect![
            "path: `path` is not an argument of `read`: did you mean `file_path`? its arguments are `file_path`, `offset`, `limit`"
        ],
    );
    check(
        json(ToolName::Write, r#"{"filePath":"a","content":"x"}"#),
        expect![
            "filePath: `filePath` is not an argument of `write`: did you mean `file_path`? its arguments are `file_path`, `content`"
        ],
    );
    check(
        json(ToolName::Edit, r#"{"file_path":"a","old_str":"o","new_str":"n"}"#),
        expect![
            "old_str: `old_str` is not an argument of `edit`: did you mean `old_string`? its arguments are `file_path`, `old_string`, `new_string`, `replace_all`"
        ],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","encoding":"latin1"}"#),
        expect![
            "encoding: `encoding` is not an argument of `read`: its arguments are `file_path`, `offset`, `limit`"
        ],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","path":"b"}"#),
        expect![
            "path: `path` is not an argument of `read`: its arguments are `file_path`, `offset`, `limit`"
        ],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","File_Path":"a"}"#),
        expect![
            "File_Path: `File_Path` is not an argument of `read`: its arguments are `file_path`, `offset`, `limit`"
        ],
    );
    check(
        json(ToolName::Read, r#"{"a\n`b":null}"#),
        expect![[
            r#"a\n`b: `a\n`b` is not an argument of `read`: its arguments are `file_path`, `offset`, `limit`"#
        ]],
    );
    check(
        json(ToolName::Read, &format!(r#"{{"{}":1}}"#, "k".repeat(100_000))),
        expect![
            "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…: `kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…` is not an argument of `read`: its arguments are `file_path`, `offset`, `limit`"
        ],
    );
}

#[test]
fn a_repeated_argument_is_refused_though_parsers_would_keep_the_last() {
    check(
        json(ToolName::Write, r#"{"file_path":"a","content":"x","content":"y"}"#),
        expect!["content: `content` was given more than once, it must be given once"],
    );
    for text in [
        r#"{"file_path":"a","file_path":"a"}"#,
        r#"{"file_path":null,"file_path":"a"}"#,
        r#"{"file_path":"a","file\u005fpath":"b"}"#,
    ] {
        assert_eq!(
            told(&parse(json(ToolName::Read, text)).unwrap_err()),
            "file_path: `file_path` was given more than once, it must be given once"
        );
    }
}

#[test]
fn broken_json_is_refused_with_its_position_and_without_its_text() {
    check(
        json(ToolName::Read, ""),
        expect!["arguments_json: `arguments_json` was empty, it must be one JSON object"],
    );
    check(
        json(ToolName::Read, " \n"),
        expect!["arguments_json: `arguments_json` was empty, it must be one JSON object"],
    );
    check(
        json(ToolName::Write, r#"{"file_path":"a","content":"secret"#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (EOF while parsing a string at line 1 column 34), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, "{\n  \"file_path\": secret\n}"),
        expect![
            "arguments_json: `arguments_json` was broken JSON (expected value at line 2 column 16), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a"} {"file_path":"b"}"#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (trailing characters at line 1 column 19), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a",}"#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (trailing comma at line 1 column 18), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, r#"{'file_path':'a'}"#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (key must be a string at line 1 column 2), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, "{\"file_path\":\"a\nb\"}"),
        expect![[
            r#"arguments_json: `arguments_json` was broken JSON (control character (\u0000-\u001F) found while parsing a string at line 1 column 15), it must be one JSON object"#
        ]],
    );
    check(
        json(ToolName::Read, r#"{"file_path":"a","offset":05}"#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (invalid number at line 1 column 28), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, "\u{feff}{}"),
        expect![
            "arguments_json: `arguments_json` was broken JSON (expected value at line 1 column 1), it must be one JSON object"
        ],
    );
    check(
        json(ToolName::Read, "nul"),
        expect![
            "arguments_json: `arguments_json` was broken JSON (EOF while parsing a value at line 1 column 3), it must be one JSON object"
        ],
    );
    // Broken text is graver than an unknown key before it.
    check(
        json(ToolName::Read, r#"{"path":"a","#),
        expect![
            "arguments_json: `arguments_json` was broken JSON (EOF while parsing a value at line 1 column 12), it must be one JSON object"
        ],
    );
}

#[test]
fn a_root_that_is_no_object_is_refused() {
    for (text, actual) in [
        ("[]", "an array"),
        (r#""{\"file_path\":\"a\"}""#, "a string"),
        ("null", "null"),
        ("7", "a number"),
        ("true", "a boolean"),
    ] {
        let error = parse(json(ToolName::Read, text)).unwrap_err();
        assert_eq!(
            told(&error),
            format!("arguments_json: `arguments_json` was {actual}, it must be one JSON object")
        );
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    check(
        json(ToolName::Read, &deep),
        expect!["arguments_json: `arguments_json` was an array, it must be one JSON object"],
    );
    check(
        json(ToolName::Read, &format!(r#"{{"file_path":{deep}}}"#)),
        expect!["file_path: `file_path` was an array, it must be a path, as a string"],
    );
    check(
        json(ToolName::Read, &r#"{"file_path":"#.repeat(1_000_000)),
        expect![
            "arguments_json: `arguments_json` was broken JSON (EOF while parsing a value at line 1 column 13000000), it must be one JSON object"
        ],
    );
}

#[test]
fn an_unknown_tool_is_told_which_there_are() {
    check(
        RawCall::Json { name: "view".into(), arguments_json: "{}".into() },
        expect!["name: `name` was a string that names no tool, it must be one of `read`, `write`, `edit`"],
    );
    for name in ["", "Read", " read", "secret"] {
        let error = parse(RawCall::Json { name: name.into(), arguments_json: "broken".into() }).unwrap_err();
        assert!(told(&error).starts_with("name: ") && !error.message().contains("secret"), "{error}");
    }
}
