//! The arguments of the tools as types from which their schemas are derived.
//!
//! The documentation of a field is the description that a model reads. A limit's name in braces stands for the
//! limit in force. These types hold no call: what a caller sends is judged by [`crate::argument`], and the tests
//! keep both of one mind.

#![expect(dead_code, reason = "only the schemas of these types are used")]

use schemars::JsonSchema;

/// Arguments of `read`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Read {
    /// Path of the file, absolute or relative to the session's working directory. `~` is not expanded.
    file_path: String,
    /// Number of the first line to show, at least 1. Default: 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to show, at least 1. Default: {default_limit_lines}; a larger number than {max_limit_lines}
    /// is read as {max_limit_lines}.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// Arguments of `write`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Write {
    /// Path of the file, absolute or relative to the session's working directory. `~` is not expanded.
    file_path: String,
    /// The whole new content, stored exactly as given, at most {max_content_bytes} bytes. Empty makes an empty file.
    content: String,
}

/// Arguments of `edit`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Edit {
    /// Path of the file, absolute or relative to the session's working directory. `~` is not expanded.
    file_path: String,
    /// The text to replace, exactly as it stands in the file, without the line numbers that `read` puts before it.
    /// Not empty, and found exactly once unless `replace_all` is true.
    old_string: String,
    /// The text to put in its place, literally. Different from `old_string`; empty deletes the match.
    new_string: String,
    /// Whether to replace every occurrence instead of exactly one. Default: false.
    #[schemars(default)]
    replace_all: bool,
}
