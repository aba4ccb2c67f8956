//! What the tests of arguments share: calls in both forms, and what an error tells.

mod json;
mod property;
mod rule;

use expect_test::Expect;

use super::*;
use crate::error::ErrorKind;

const LIMITS: Limits = Limits {
    default_limit_lines: 20,
    max_limit_lines: 50,
    max_content_bytes: 8,
    max_path_bytes: 16,
    ..Limits::DEFAULT
};

fn json(tool: ToolName, arguments_json: &str) -> RawCall {
    RawCall::Json { name: tool.as_str().into(), arguments_json: arguments_json.into() }
}

fn parse(raw: RawCall) -> Result<ToolCall> {
    ToolCall::parse(raw, &LIMITS)
}

fn read_call(file_path: Option<&str>, offset: Option<i64>, limit: Option<i64>) -> RawCall {
    RawCall::Read { file_path: file_path.map(Into::into), offset, limit }
}

fn write_call(file_path: Option<&str>, content: Option<&str>) -> RawCall {
    RawCall::Write { file_path: file_path.map(Into::into), content: content.map(Into::into) }
}

fn edit_call(
    file_path: Option<&str>,
    old: Option<&str>,
    new: Option<&str>,
    replace_all: Option<bool>,
) -> RawCall {
    RawCall::Edit {
        file_path: file_path.map(Into::into),
        old_string: old.map(Into::into),
        new_string: new.map(Into::into),
        replace_all,
    }
}

fn told(error: &FsError) -> String {
    match error.kind() {
        ErrorKind::InvalidArgument { field, .. } => format!("{field}: {}", error.message()),
        ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes } => {
            format!("{} {limit_bytes} {size_bytes}: {}", limit_name.as_str(), error.message())
        }
        _ => panic!("{error:?}"),
    }
}

#[track_caller]
fn check(raw: RawCall, expected: Expect) {
    expected.assert_eq(&told(&parse(raw).unwrap_err()));
}

/// The same fault, typed and in JSON, is refused in the same words.
#[track_caller]
fn check_both(typed: RawCall, arguments_json: &str, expected: Expect) {
    let tool = match typed {
        RawCall::Read { .. } => ToolName::Read,
        RawCall::Write { .. } => ToolName::Write,
        RawCall::Edit { .. } => ToolName::Edit,
        RawCall::Json { .. } => panic!("a typed call is due"),
    };
    let (typed, json) = (parse(typed).unwrap_err(), parse(json(tool, arguments_json)).unwrap_err());
    assert_eq!(typed.kind(), json.kind());
    assert_eq!(typed.message(), json.message());
    expected.assert_eq(&told(&typed));
}

#[track_caller]
fn read_arguments(raw: RawCall) -> (String, u64, u64) {
    match parse(raw).unwrap() {
        ToolCall::Read(arguments) => {
            (arguments.file_path.as_str().to_owned(), arguments.offset, arguments.limit)
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn written(arguments_json: &str) -> String {
    match parse(json(ToolName::Write, arguments_json)).unwrap() {
        ToolCall::Write(arguments) => arguments.content,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn edited(raw: RawCall) -> (String, String, bool) {
    match parse(raw).unwrap() {
        ToolCall::Edit(EditArguments { edit, .. }) => {
            (edit.old_string().to_owned(), edit.new_string().to_owned(), edit.replace_all())
        }
        other => panic!("{other:?}"),
    }
}
