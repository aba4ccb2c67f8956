//! The rules of the arguments, alike in both forms.

use expect_test::expect;

use super::*;

#[test]
fn a_missing_required_argument_is_named_and_never_read_as_empty() {
    check_both(
        read_call(None, None, None),
        "{}",
        expect!["file_path: `file_path` was absent, it must be a path, as a string"],
    );
    check_both(
        write_call(None, Some("x")),
        r#"{"content":"x"}"#,
        expect!["file_path: `file_path` was absent, it must be a path, as a string"],
    );
    check_both(
        write_call(Some("a"), None),
        r#"{"file_path":"a","content":null}"#,
        expect!["content: `content` was absent, it must be the whole new content of the file, as a string"],
    );
    check_both(
        edit_call(None, Some("o"), Some("n"), None),
        r#"{"old_string":"o","new_string":"n"}"#,
        expect!["file_path: `file_path` was absent, it must be a path, as a string"],
    );
    check_both(
        edit_call(Some("a"), None, Some("n"), None),
        r#"{"file_path":"a","new_string":"n"}"#,
        expect!["old_string: `old_string` was absent, it must be the text to replace, as a string"],
    );
    check_both(
        edit_call(Some("a"), Some("o"), None, None),
        r#"{"file_path":"a","old_string":"o"}"#,
        expect!["new_string: `new_string` was absent, it must be the text to put in its place, as a string"],
    );
}

#[test]
fn a_path_is_judged_alike_in_both_forms() {
    check_both(
        read_call(Some(""), None, None),
        r#"{"file_path":""}"#,
        expect!["file_path: `file_path` was an empty string, it must be a path"],
    );
    check_both(
        read_call(Some("a\0b"), None, None),
        r#"{"file_path":"a\u0000b"}"#,
        expect![
            "file_path: `file_path` was a path with a NUL character at byte 1, it must be a path without NUL characters"
        ],
    );
    check_both(
        write_call(Some("~/x.txt"), Some("1")),
        r#"{"file_path":"~/x.txt","content":"1"}"#,
        expect![
            "file_path: `file_path` was a path that starts with `~`, it must be a path without `~` at its start (it is not expanded here; `./~` reaches a name that begins with it)"
        ],
    );
    let long = "0123456789abcdefg";
    check_both(
        edit_call(Some(long), Some("o"), Some("n"), None),
        &format!(r#"{{"file_path":"{long}","old_string":"o","new_string":"n"}}"#),
        expect!["file_path: `file_path` was a path of 17 bytes, it must be a path of at most 16 bytes"],
    );
}

#[test]
fn counts_below_one_are_refused() {
    check_both(
        read_call(Some("a"), Some(0), None),
        r#"{"file_path":"a","offset":0}"#,
        expect!["offset: `offset` was 0, it must be an integer of at least 1"],
    );
    check_both(
        read_call(Some("a"), Some(-1), None),
        r#"{"file_path":"a","offset":-1.0}"#,
        expect!["offset: `offset` was -1, it must be an integer of at least 1"],
    );
    check_both(
        read_call(Some("a"), None, Some(0)),
        r#"{"file_path":"a","limit":0}"#,
        expect!["limit: `limit` was 0, it must be an integer of at least 1"],
    );
    check_both(
        read_call(Some("a"), None, Some(i64::MIN)),
        r#"{"file_path":"a","limit":-9223372036854775808}"#,
        expect!["limit: `limit` was -9223372036854775808, it must be an integer of at least 1"],
    );
}

#[test]
fn a_window_has_defaults_and_a_cap() {
    let cases = [
        (None, None, 1, 20),
        (Some(1), Some(1), 1, 1),
        (Some(7), Some(50), 7, 50),
        (Some(i64::MAX), Some(51), 9_223_372_036_854_775_807, 50),
        (None, Some(i64::MAX), 1, 50),
    ];
    for (offset, limit, expected_offset, expected_limit) in cases {
        let expected = ("a".to_owned(), expected_offset, expected_limit);
        assert_eq!(read_arguments(read_call(Some("a"), offset, limit)), expected);
        let number = |value: Option<i64>| value.map_or("null".to_owned(), |value| value.to_string());
        let text = format!(r#"{{"limit":{},"file_path":"a","offset":{}}}"#, number(limit), number(offset));
        assert_eq!(read_arguments(json(ToolName::Read, &text)), expected);
    }
}

#[test]
fn text_over_the_limit_is_too_large() {
    let long = "äöüx€"; // 5 characters in 2 + 2 + 2 + 1 + 3 bytes
    check_both(
        write_call(Some("a"), Some(long)),
        &format!(r#"{{"file_path":"a","content":"{long}"}}"#),
        expect![
            "max_content_bytes 8 10: `content` is 10 bytes long, the limit `max_content_bytes` is 8: write a first part and add the rest by edits"
        ],
    );
    check_both(
        edit_call(Some("a"), Some(long), Some("n"), None),
        &format!(r#"{{"file_path":"a","old_string":"{long}","new_string":"n"}}"#),
        expect![
            "max_content_bytes 8 10: `old_string` is 10 bytes long, the limit `max_content_bytes` is 8: make several smaller edits"
        ],
    );
    check_both(
        edit_call(Some("a"), Some("o"), Some(long), None),
        &format!(r#"{{"file_path":"a","old_string":"o","new_string":"{long}"}}"#),
        expect![
            "max_content_bytes 8 10: `new_string` is 10 bytes long, the limit `max_content_bytes` is 8: make several smaller edits"
        ],
    );
    // The limit counts what arrives, not how it was escaped.
    assert_eq!(
        written(r#"{"file_path":"a","content":"\u0041\u0042\u0043\u0044\u0045\u0046\u0047\u0048"}"#),
        "ABCDEFGH"
    );
}

#[test]
fn an_edit_without_effect_is_refused_alike_in_both_forms() {
    for (old, new, field) in [("", "n", "old_string"), ("", "", "old_string"), ("x", "x", "new_string")] {
        let typed = parse(edit_call(Some("a"), Some(old), Some(new), None)).unwrap_err();
        let text = format!(r#"{{"file_path":"a","old_string":"{old}","new_string":"{new}"}}"#);
        let json = parse(json(ToolName::Edit, &text)).unwrap_err();
        assert_eq!((typed.kind(), typed.message()), (json.kind(), json.message()));
        assert!(told(&typed).starts_with(field), "{typed:?}");
    }
}

#[test]
fn an_edit_keeps_its_strings_and_replaces_one_by_default() {
    let expected = ("o".to_owned(), String::new(), false);
    assert_eq!(edited(edit_call(Some("a"), Some("o"), Some(""), None)), expected);
    let text = r#"{"replace_all":null,"new_string":"","old_string":"o","file_path":"a"}"#;
    assert_eq!(edited(json(ToolName::Edit, text)), expected);
    assert!(edited(edit_call(Some("a"), Some("o"), Some("n"), Some(true))).2);
    let text = r#"{"file_path":"a","old_string":"o","new_string":"n","replace_all":true}"#;
    assert!(edited(json(ToolName::Edit, text)).2);
}

#[test]
fn the_first_fault_is_told_in_the_order_of_declaration() {
    let cases = [
        (ToolName::Read, r#"{"limit":"x","offset":0,"file_path":"~/x"}"#, "file_path"),
        (ToolName::Read, r#"{"limit":"x","offset":0,"file_path":"a"}"#, "offset"),
        (ToolName::Read, r#"{"limit":"x","offset":1,"file_path":"a"}"#, "limit"),
        (ToolName::Read, r#"{"limit":"x","nolimit":1}"#, "nolimit"),
        (ToolName::Edit, r#"{"replace_all":1,"new_string":1,"old_string":1}"#, "file_path"),
        (ToolName::Edit, r#"{"replace_all":1,"new_string":1,"old_string":1,"file_path":"a"}"#, "old_string"),
        (ToolName::Edit, r#"{"replace_all":1,"new_string":1,"old_string":"","file_path":"a"}"#, "new_string"),
        (
            ToolName::Edit,
            r#"{"replace_all":1,"new_string":"n","old_string":"","file_path":"a"}"#,
            "replace_all",
        ),
        (ToolName::Edit, r#"{"new_string":"n","old_string":"","file_path":"a"}"#, "old_string"),
    ];
    for (tool, text, field) in cases {
        let told = told(&parse(json(tool, text)).unwrap_err());
        assert!(told.starts_with(&format!("{field}: ")), "{text}: {told}");
    }
}

#[test]
fn debug_forms_show_no_content() {
    let raw = write_call(Some("a"), Some("secret"));
    assert_eq!(format!("{raw:?}"), "RawCall::Write");
    expect![[r#"WriteArguments { file_path: FilePath("a"), content_bytes: 6 }"#]]
        .assert_eq(&format!("{:?}", parse(raw).unwrap()));
}
