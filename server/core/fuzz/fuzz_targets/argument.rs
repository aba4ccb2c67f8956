//! Argument validation takes any text: it never panics, refuses with its own codes, quotes nothing at length, and
//! what it accepts says the same to another JSON parser.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolfs_core::argument::{RawCall, ToolCall, ToolName};
use toolfs_core::error::Code;
use toolfs_core::limit::Limits;

const LIMITS: Limits = Limits { max_content_bytes: 64, max_path_bytes: 32, ..Limits::DEFAULT };

fuzz_target!(|input: (u8, &str)| {
    let (selector, arguments_json) = input;
    let tool = ToolName::ALL[usize::from(selector) % ToolName::ALL.len()];
    let raw = RawCall::Json { name: tool.as_str().to_owned(), arguments_json: arguments_json.to_owned() };
    match ToolCall::parse(raw, &LIMITS) {
        Ok(call) => {
            assert_eq!(call.name(), tool);
            let value: Value = serde_json::from_str(arguments_json).expect("what is accepted is JSON");
            check_call(&call, &value);
        }
        Err(error) => {
            assert!(matches!(error.code(), Code::InvalidArgument | Code::TooLarge), "{error}");
            assert!(error.message().len() < 1_000, "{error}");
        }
    }
});

fn check_call(call: &ToolCall, value: &Value) {
    let text = |name: &str| value[name].as_str().expect("a required string");
    let path = match call {
        ToolCall::Read(arguments) => {
            assert!(arguments.offset >= 1 && (1..=LIMITS.max_limit_lines).contains(&arguments.limit));
            for (name, count) in [("offset", arguments.offset), ("limit", arguments.limit)] {
                if let Some(given) = value[name].as_u64() {
                    assert!(given == count || (name == "limit" && given > LIMITS.max_limit_lines));
                }
            }
            &arguments.file_path
        }
        ToolCall::Write(arguments) => {
            assert_eq!(arguments.content, text("content"));
            assert!(arguments.content.len() <= 64);
            &arguments.file_path
        }
        ToolCall::Edit(arguments) => {
            assert_eq!(arguments.edit.old_string(), text("old_string"));
            assert_eq!(arguments.edit.new_string(), text("new_string"));
            assert_eq!(arguments.edit.replace_all(), value["replace_all"].as_bool().unwrap_or(false));
            assert!(!arguments.edit.old_string().is_empty());
            &arguments.file_path
        }
    };
    assert_eq!(path.as_str(), text("file_path"));
    assert!(!path.as_str().is_empty() && path.as_str().len() <= 32 && !path.as_str().contains('\0'));
    assert!(!path.as_str().starts_with("~/") && path.as_str() != "~");
}
