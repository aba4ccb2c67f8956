//! Tool arguments: from what a caller or a model sent to validated values.
//!
//! Typed calls and JSON calls meet the same checks here. Refusals name the field, what it was and what it must be.

use std::fmt;

use crate::edit::EditRequest;
use crate::error::Result;
use crate::limit::Limits;

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
}

/// A path argument that may be given to a provider.
///
/// - not empty, without NUL, at most `max_path_bytes` bytes
/// - does not start with `~` or `~name` as a component of its own: the server knows no home directory
/// - not normalized: the provider resolves it as the kernel would
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(String);

impl FilePath {
    /// Checks a path; `field` is the argument that an error names.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT`
    pub fn parse(_field: &str, _text: &str, _limits: &Limits) -> Result<FilePath> {
        unimplemented!()
    }

    /// The path as given.
    pub fn as_str(&self) -> &str {
        &self.0
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
    /// `FS_INVALID_ARGUMENT` that names the field, what it was and what it must be; `FS_TOO_LARGE` for content over
    /// `max_content_bytes`.
    pub fn parse(_raw: RawCall, _limits: &Limits) -> Result<ToolCall> {
        unimplemented!()
    }
}
