//! Calls as values: the tools' own argument names, and what goes with any call.

use std::fmt;
use std::time::Duration;

use toolfs_contract::v1;
use toolfs_contract::v1::execute_request::Call;
use uuid::Uuid;

/// What goes with a call, whatever the tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Decide and report everything, change and record nothing.
    pub dry_run: bool,
    /// Return the lines of a read and the diff of a mutation.
    pub full_view: bool,
    /// The model's own id of the call; echoed, never interpreted.
    pub tool_call_id: String,
    /// The name of the logical call: set it to repeat a call. A fresh UUID otherwise.
    pub request_id: Option<Uuid>,
    /// How long to wait at most; the client's default otherwise.
    pub deadline: Option<Duration>,
}

/// Arguments of `read`.
///
/// ```
/// use toolfs_client::Read;
///
/// let page = Read::new("src/main.rs").offset(101).limit(50);
/// assert_eq!(page.offset, Some(101));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The file.
    pub file_path: String,
    /// The first line, from 1.
    pub offset: Option<i64>,
    /// How many lines, at least 1.
    pub limit: Option<i64>,
    /// What goes with any call.
    pub options: CallOptions,
}

impl Read {
    /// Reads a file from its first line.
    pub fn new(file_path: impl Into<String>) -> Read {
        Read { file_path: file_path.into(), ..Read::default() }
    }

    /// Starts at this line, from 1.
    #[must_use]
    pub fn offset(mut self, offset: i64) -> Read {
        self.offset = Some(offset);
        self
    }

    /// Reads at most so many lines.
    #[must_use]
    pub fn limit(mut self, limit: i64) -> Read {
        self.limit = Some(limit);
        self
    }

    /// Replaces what goes with the call.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Read {
        self.options = options;
        self
    }
}

/// Arguments of `write`. Its `Debug` form shows the content's length only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub file_path: String,
    /// The whole new content.
    pub content: String,
    /// What goes with any call.
    pub options: CallOptions,
}

impl Write {
    /// Creates a file or replaces its content.
    pub fn new(file_path: impl Into<String>, content: impl Into<String>) -> Write {
        Write { file_path: file_path.into(), content: content.into(), options: CallOptions::default() }
    }

    /// Replaces what goes with the call.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Write {
        self.options = options;
        self
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("file_path", &self.file_path)
            .field("content_bytes", &self.content.len())
            .field("options", &self.options)
            .finish()
    }
}

/// Arguments of `edit`. Its `Debug` form shows lengths only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub file_path: String,
    /// The text to replace, literally.
    pub old_string: String,
    /// The text to put in its place; empty deletes.
    pub new_string: String,
    /// Replace every occurrence instead of exactly one.
    pub replace_all: bool,
    /// What goes with any call.
    pub options: CallOptions,
}

impl Edit {
    /// Replaces the one occurrence of `old_string`.
    pub fn new(
        file_path: impl Into<String>,
        old_string: impl Into<String>,
        new_string: impl Into<String>,
    ) -> Edit {
        Edit {
            file_path: file_path.into(),
            old_string: old_string.into(),
            new_string: new_string.into(),
            ..Edit::default()
        }
    }

    /// Replaces every occurrence.
    #[must_use]
    pub fn replace_all(mut self) -> Edit {
        self.replace_all = true;
        self
    }

    /// Replaces what goes with the call.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Edit {
        self.options = options;
        self
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit")
            .field("file_path", &self.file_path)
            .field("old_string_bytes", &self.old_string.len())
            .field("new_string_bytes", &self.new_string.len())
            .field("replace_all", &self.replace_all)
            .field("options", &self.options)
            .finish()
    }
}

/// The message of a call.
pub(crate) fn execute_request(session_id: &str, call: Call, options: CallOptions) -> v1::ExecuteRequest {
    let view = if options.full_view { v1::ResultView::Full } else { v1::ResultView::Basic };
    v1::ExecuteRequest {
        session_id: session_id.to_owned(),
        request_id: options.request_id.unwrap_or_else(Uuid::new_v4).to_string(),
        tool_call_id: options.tool_call_id,
        dry_run: options.dry_run,
        view: view.into(),
        call: Some(call),
    }
}

pub(crate) fn json_call(name: impl Into<String>, arguments_json: impl Into<String>) -> Call {
    Call::Json(v1::JsonCall { name: Some(name.into()), arguments_json: Some(arguments_json.into()) })
}

pub(crate) fn read_call(read: &Read) -> Call {
    Call::Read(v1::ReadCall {
        file_path: Some(read.file_path.clone()),
        offset: read.offset,
        limit: read.limit,
    })
}

pub(crate) fn write_call(write: Write) -> (Call, CallOptions) {
    let call = v1::WriteCall { file_path: Some(write.file_path), content: Some(write.content) };
    (Call::Write(call), write.options)
}

pub(crate) fn edit_call(edit: Edit) -> (Call, CallOptions) {
    let call = v1::EditCall {
        file_path: Some(edit.file_path),
        old_string: Some(edit.old_string),
        new_string: Some(edit.new_string),
        replace_all: Some(edit.replace_all),
    };
    (Call::Edit(call), edit.options)
}
