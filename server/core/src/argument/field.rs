//! The arguments by name, and the checks that typed and JSON calls share.
//!
//! Nothing here knows how an argument arrived: a [`Given`] is what the caller's form made of it.

use crate::argument::ToolName;
use crate::error::{ErrorKind, FsError, Result};
use crate::limit::{LimitName, Limits};

/// An argument as it arrived: absent, a value, or the refusal of something of the wrong type.
///
/// The refusal is carried along rather than returned at once, so that an earlier argument's fault comes first.
pub(super) type Given<T> = Result<Option<T>>;

/// One argument of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it must be, as the end of "it must be …".
    pub(crate) expected: &'static str,
}

pub(crate) const FILE_PATH: Field = Field { name: "file_path", expected: "a path, as a string" };
pub(crate) const OFFSET: Field = Field { name: "offset", expected: "an integer of at least 1" };
pub(crate) const LIMIT: Field = Field { name: "limit", expected: "an integer of at least 1" };
pub(crate) const CONTENT: Field =
    Field { name: "content", expected: "the whole new content of the file, as a string" };
pub(crate) const OLD_STRING: Field =
    Field { name: "old_string", expected: "the text to replace, as a string" };
pub(crate) const NEW_STRING: Field =
    Field { name: "new_string", expected: "the text to put in its place, as a string" };
pub(crate) const REPLACE_ALL: Field = Field { name: "replace_all", expected: "true or false" };

/// The arguments of a tool, in the order in which they are declared and checked.
pub(crate) fn of(tool: ToolName) -> &'static [Field] {
    match tool {
        ToolName::Read => &[FILE_PATH, OFFSET, LIMIT],
        ToolName::Write => &[FILE_PATH, CONTENT],
        ToolName::Edit => &[FILE_PATH, OLD_STRING, NEW_STRING, REPLACE_ALL],
    }
}

impl Field {
    /// The refusal of this argument; `actual` is its type only, where it is text.
    pub(super) fn refuse(self, actual: impl Into<String>) -> FsError {
        FsError::invalid_argument(self.name, actual, self.expected)
    }

    /// A value that has to be there. An absent one is never read as empty.
    pub(super) fn required<T>(self, given: Given<T>) -> Result<T> {
        given?.ok_or_else(|| self.refuse("absent"))
    }

    /// A count of at least 1, if there is one.
    pub(super) fn positive(self, given: Given<i64>) -> Result<Option<u64>> {
        match given? {
            None => Ok(None),
            Some(number) => match u64::try_from(number) {
                Ok(count) if count >= 1 => Ok(Some(count)),
                Ok(_) | Err(_) => Err(self.refuse(number.to_string())),
            },
        }
    }

    /// A text that has to be there and is bounded by `max_content_bytes`; `advice` says what to do with a longer one.
    pub(super) fn bounded(self, given: Given<String>, limits: &Limits, advice: &str) -> Result<String> {
        let text = self.required(given)?;
        let size_bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let limit_bytes = limits.max_content_bytes;
        if size_bytes <= limit_bytes {
            return Ok(text);
        }
        let limit_name = LimitName::MaxContentBytes;
        let message = format!(
            "`{}` is {size_bytes} bytes long, the limit `{}` is {limit_bytes}: {advice}",
            self.name,
            limit_name.as_str()
        );
        Err(FsError::new(ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes }, message))
    }
}

/// Names in backticks, as a list of choices.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
