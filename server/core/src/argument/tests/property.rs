//! Properties over generated calls.

use proptest::prelude::*;

use super::*;
use crate::error::Code;

proptest! {
    #[test]
    fn typed_and_json_calls_agree(
        file_path in proptest::option::of("[a~/\0]{0,5}|[b-z]{15,18}"),
        offset in proptest::option::of(-3..60_i64),
        limit in proptest::option::of(any::<i64>()),
        content in proptest::option::of("\\PC{0,9}"),
    ) {
        let outcome = |raw| parse(raw).map_or_else(|error| told(&error), |call| format!("{call:?}"));
        let text = serde_json::json!({"limit": limit, "offset": offset, "file_path": file_path}).to_string();
        let typed = RawCall::Read { file_path: file_path.clone(), offset, limit };
        prop_assert_eq!(outcome(typed), outcome(json(ToolName::Read, &text)));

        let text = serde_json::json!({"content": content, "file_path": file_path}).to_string();
        prop_assert_eq!(outcome(RawCall::Write { file_path, content }), outcome(json(ToolName::Write, &text)));
    }

    #[test]
    fn text_passes_through_unchanged(content in any::<String>()) {
        let arguments_json = serde_json::json!({"file_path": "a", "content": content}).to_string();
        let raw = RawCall::Json { name: "write".into(), arguments_json };
        match ToolCall::parse(raw, &Limits::DEFAULT).unwrap() {
            ToolCall::Write(arguments) => prop_assert_eq!(arguments.content, content),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic_or_fail_otherwise(text in "[\\[\\]{}:,\"a0-9.eE\\\\un+ -]{0,40}|\\PC*") {
        for tool in ToolName::ALL {
            if let Err(error) = parse(json(tool, &text)) {
                prop_assert!(matches!(error.code(), Code::InvalidArgument | Code::TooLarge));
            }
        }
    }
}
