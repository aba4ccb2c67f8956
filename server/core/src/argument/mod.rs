//! Tool arguments: from what a caller or a model sent to validated values.
//!
//! Typed calls and JSON calls meet the same checks here, and the same fault is refused in the same words.
//! Refusals name the field, what it was (its type only, for text) and what it must be; none quotes content.
//! A wrong value is never mended: no trimming, no other spellings of names, no text read as a number.
//!
//! Everything is checked before anything is done, in this order, and the first fault is the one that is told:
//! 1. the tool's name,
//! 2. in JSON: that the text is one JSON value, that it is an object, that each key is known and given once,
//! 3. the arguments in the order of their declaration, each for presence, type and value,
//! 4. what concerns two arguments together ([`EditRequest::new`]).

mod field;
mod json;
mod number;
mod path;
mod suggest;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

pub use self::path::FilePath;
use crate::edit::EditRequest;
use crate::error::{FsError, Result};
use crate::limit::Limits;

use self::field::{CONTENT, FILE_PATH, Given, LIMIT, NEW_STRING, OFFSET, OLD_STRING, REPLACE_ALL};

/// The tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolName {
    /// `read`
    Read,
    /// `write`
    Write,
    /// `edit`
    Edit,
}

impl ToolName {
    /// Every tool, in the order in which they are listed.
    pub const ALL: [ToolName; 3] = [ToolName::Read, ToolName::Write, ToolName::Edit];

    /// The name that models use.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolName::Read => "read",
            ToolName::Write => "write",
            ToolName::Edit => "edit",
        }
    }

    /// The names of its arguments, in the order in which they are declared and checked.
    pub fn argument_names(self) -> impl Iterator<Item = &'static str> {
        field::of(self).iter().map(|field| field.name)
    }

    /// The tool of that name, spelled exactly so.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` that lists the tools; its field is `name`.
    pub fn parse(name: &str) -> Result<ToolName> {
        ToolName::ALL.into_iter().find(|tool| tool.as_str() == name).ok_or_else(|| {
            let names = field::listed(ToolName::ALL.map(ToolName::as_str));
            FsError::invalid_argument("name", "a string that names no tool", format!("one of {names}"))
        })
    }
}

/// A typed call as it arrived: any field may be missing.
#[derive(Clone)]
pub enum RawCall {
    /// Typed arguments of `read`.
    Read {
        /// `file_path`
        file_path: Option<String>,
        /// `offset`
        offset: Option<i64>,
        /// `limit`
        limit: Option<i64>,
    },
    /// Typed arguments of `write`.
    Write {
        /// `file_path`
        file_path: Option<String>,
        /// `content`
        content: Option<String>,
    },
    /// Typed arguments of `edit`.
    Edit {
        /// `file_path`
        file_path: Option<String>,
        /// `old_string`
        old_string: Option<String>,
        /// `new_string`
        new_string: Option<String>,
        /// `replace_all`
        replace_all: Option<bool>,
    },
    /// A call exactly as a model produced it.
    Json {
        /// The tool's name.
        name: String,
        /// Its arguments, a JSON object.
        arguments_json: String,
    },
}

impl RawCall {
    /// The name of the tool as the caller spelled it; there may be no such tool.
    pub fn tool_as_called(&self) -> &str {
        match self {
            RawCall::Read { .. } => ToolName::Read.as_str(),
            RawCall::Write { .. } => ToolName::Write.as_str(),
            RawCall::Edit { .. } => ToolName::Edit.as_str(),
            RawCall::Json { name, .. } => name,
        }
    }

    /// The path that the call names, as far as one can be read; whether it is in order is another question. JSON is
    /// parsed for it.
    pub fn path(&self) -> Option<Cow<'_, str>> {
        match self {
            RawCall::Read { file_path, .. }
            | RawCall::Write { file_path, .. }
            | RawCall::Edit { file_path, .. } => file_path.as_deref().map(Cow::Borrowed),
            RawCall::Json { name, arguments_json } => {
                let object = json::Object::parse(ToolName::parse(name).ok()?, arguments_json).ok()?;
                object.string(FILE_PATH).ok()?.map(Cow::Owned)
            }
        }
    }
}

impl fmt::Debug for RawCall {
    /// Shows the shape only: arguments may hold file content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RawCall::Read { .. } => "RawCall::Read",
            RawCall::Write { .. } => "RawCall::Write",
            RawCall::Edit { .. } => "RawCall::Edit",
            RawCall::Json { .. } => "RawCall::Json",
        })
    }
}

/// A validated call.
#[derive(Clone)]
pub enum ToolCall {
    /// `read`
    Read(ReadArguments),
    /// `write`
    Write(WriteArguments),
    /// `edit`
    Edit(EditArguments),
}

/// Arguments of `read`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadArguments {
    /// What to read.
    pub file_path: FilePath,
    /// The first line, at least 1; 1 when absent.
    pub offset: u64,
    /// How many lines, 1 to `max_limit_lines`; `default_limit_lines` when absent.
    pub limit: u64,
}

/// Arguments of `write`. Its `Debug` form shows the content's length only.
#[derive(Clone, PartialEq, Eq)]
pub struct WriteArguments {
    /// What to write.
    pub file_path: FilePath,
    /// The whole new content, at most `max_content_bytes` bytes.
    pub content: String,
}

impl fmt::Debug for WriteArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteArguments")
            .field("file_path", &self.file_path)
            .field("content_bytes", &self.content.len())
            .finish()
    }
}

/// Arguments of `edit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditArguments {
    /// What to edit.
    pub file_path: FilePath,
    /// What to replace by what.
    pub edit: EditRequest,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolCall::Read(arguments) => arguments.fmt(f),
            ToolCall::Write(arguments) => arguments.fmt(f),
            ToolCall::Edit(arguments) => arguments.fmt(f),
        }
    }
}

impl ToolCall {
    /// The tool that is called.
    pub fn name(&self) -> ToolName {
        match self {
            ToolCall::Read(_) => ToolName::Read,
            ToolCall::Write(_) => ToolName::Write,
            ToolCall::Edit(_) => ToolName::Edit,
        }
    }

    /// Validates a call.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` that names the field, what it was and what it must be; `FS_TOO_LARGE` for `content`,
    /// `old_string` or `new_string` over `max_content_bytes`.
    pub fn parse(raw: RawCall, limits: &Limits) -> Result<ToolCall> {
        match raw {
            RawCall::Read { file_path, offset, limit } => {
                read(Ok(file_path), Ok(offset), Ok(limit), limits).map(ToolCall::Read)
            }
            RawCall::Write { file_path, content } => {
                write(Ok(file_path), Ok(content), limits).map(ToolCall::Write)
            }
            RawCall::Edit { file_path, old_string, new_string, replace_all } => {
                edit(Ok(file_path), Ok(old_string), Ok(new_string), Ok(replace_all), limits)
                    .map(ToolCall::Edit)
            }
            RawCall::Json { name, arguments_json } => parse_json(&name, &arguments_json, limits),
        }
    }
}

fn parse_json(name: &str, arguments_json: &str, limits: &Limits) -> Result<ToolCall> {
    let tool = ToolName::parse(name)?;
    let object = json::Object::parse(tool, arguments_json)?;
    let file_path = object.string(FILE_PATH);
    match tool {
        ToolName::Read => {
            read(file_path, object.integer(OFFSET), object.integer(LIMIT), limits).map(ToolCall::Read)
        }
        ToolName::Write => write(file_path, object.string(CONTENT), limits).map(ToolCall::Write),
        ToolName::Edit => {
            let (old_string, new_string) = (object.string(OLD_STRING), object.string(NEW_STRING));
            edit(file_path, old_string, new_string, object.boolean(REPLACE_ALL), limits).map(ToolCall::Edit)
        }
    }
}

fn read(
    file_path: Given<String>,
    offset: Given<i64>,
    limit: Given<i64>,
    limits: &Limits,
) -> Result<ReadArguments> {
    let file_path = parse_path(file_path, limits)?;
    let offset = OFFSET.positive(offset)?.unwrap_or(1);
    let limit = LIMIT.positive(limit)?.unwrap_or(limits.default_limit_lines).min(limits.max_limit_lines);
    Ok(ReadArguments { file_path, offset, limit })
}

fn write(file_path: Given<String>, content: Given<String>, limits: &Limits) -> Result<WriteArguments> {
    let file_path = parse_path(file_path, limits)?;
    let content = CONTENT.bounded(content, limits, "write a first part and add the rest by edits")?;
    Ok(WriteArguments { file_path, content })
}

fn edit(
    file_path: Given<String>,
    old_string: Given<String>,
    new_string: Given<String>,
    replace_all: Given<bool>,
    limits: &Limits,
) -> Result<EditArguments> {
    let advice = "make several smaller edits";
    let file_path = parse_path(file_path, limits)?;
    let old_string = OLD_STRING.bounded(old_string, limits, advice)?;
    let new_string = NEW_STRING.bounded(new_string, limits, advice)?;
    let edit = EditRequest::new(old_string, new_string, replace_all?.unwrap_or(false))?;
    Ok(EditArguments { file_path, edit })
}

fn parse_path(file_path: Given<String>, limits: &Limits) -> Result<FilePath> {
    FilePath::parse(FILE_PATH.name, &FILE_PATH.required(file_path)?, limits)
}
