//! What models are told about the tools: a description for the tool list, a section for the system prompt.
//!
//! A limit's name in braces stands for the limit in force. The sentences speak of the default policy; without a
//! gate nothing is refused for not having been read, and to read first is still right.

use crate::argument::ToolName;
use crate::limit::{LimitName, Limits};

/// The description in the tool list.
pub(super) fn description(tool: ToolName) -> &'static str {
    match tool {
        ToolName::Read => READ_DESCRIPTION,
        ToolName::Write => WRITE_DESCRIPTION,
        ToolName::Edit => EDIT_DESCRIPTION,
    }
}

/// The section for the system prompt.
pub(super) fn prompt_section(tool: ToolName) -> &'static str {
    match tool {
        ToolName::Read => READ_SECTION,
        ToolName::Write => WRITE_SECTION,
        ToolName::Edit => EDIT_SECTION,
    }
}

/// Puts the limits in force where the text names them in braces.
pub(super) fn with_limits(text: &str, limits: &Limits) -> String {
    LimitName::ALL.iter().fold(text.to_owned(), |text, name| {
        let value = limits.value(*name).map_or_else(|| "unlimited".to_owned(), |value| value.to_string());
        text.replace(&format!("{{{}}}", name.as_str()), &value)
    })
}

const READ_DESCRIPTION: &str = "\
Reads a UTF-8 text file and shows its lines as `NUMBER: TEXT`, up to {default_limit_lines} lines and \
{max_window_bytes} bytes of text a call; the footer says how many lines there are and where to go on. Under the \
default policy an existing file must have been read in this session before it is written or edited; any part of it \
is enough. A new file need not be read.";

const WRITE_DESCRIPTION: &str = "\
Creates a file, with missing parent directories, or replaces the whole content of one; the bytes stored are exactly \
those of `content`, at most {max_content_bytes}. Under the default policy an existing file must have been read in this \
session before it is written, and must not have changed since; a new file need not be read. To change a part of a \
file, use `edit`.";

const EDIT_DESCRIPTION: &str = "\
Replaces text in a UTF-8 text file: `old_string` by `new_string`, both literal. `old_string` must occur exactly once, \
unless `replace_all` is true; everything else in the file stays as it is. Under the default policy an existing file \
must have been read in this session before it is edited, and must not have changed since. A new file need not be \
read: make it with `write`.";

const READ_SECTION: &str = "\
## read

Shows lines of a UTF-8 text file. Read a file before you write or edit it; any part of it is enough.

- Each line is shown as `NUMBER: TEXT`. `NUMBER: ` is not part of the file: leave it out of `old_string` and `content`.
- Without `offset` and `limit` you see the first {default_limit_lines} lines, or fewer when they exceed \
{max_window_bytes} bytes of text. The footer in round brackets, which is not part of the file either, says which lines \
of how many you saw and the `offset` to go on with: call again with it until nothing is left.
- A line of more than {max_line_chars} characters is cut and marked with its full length.
- The footer also tells of CRLF or mixed line endings, a BOM, and a missing newline at the end of the file.
- FS_NOT_FOUND: nothing is at this path; similar names are listed if there are any, and you may create the file with \
`write`.
- FS_OUT_OF_RANGE: `offset` is past the end; the error says how many lines there are.
- FS_NOT_TEXT: the file is not UTF-8 text and cannot be shown or edited. FS_NOT_REGULAR_FILE: it is a directory or a \
special file.
- Several reads may be sent at once.
";

const WRITE_SECTION: &str = "\
## write

Creates a file or replaces its whole content. Missing parent directories are made.

- `content` is stored exactly as given, at most {max_content_bytes} bytes. Nothing is added, a newline at the end \
neither. Give the whole content; for a change of a part use `edit`.
- A new file need not be read first. An existing one must have been read in this session.
- FS_NOT_OBSERVED: a file is there that you have not read. Nothing was written. Read it, decide whether it may be \
replaced, then write again; where it is not text, choose another path.
- FS_STALE_VERSION: the file changed or vanished after you last saw it. Nothing was written. Read it again and write \
with the change taken into account.
- After a successful write you know the file: go on without reading it again.
";

const EDIT_SECTION: &str = "\
## edit

Replaces `old_string` by `new_string` in a file that you have read.

- Copy `old_string` exactly from what `read` showed, with every blank and tab, and without the `NUMBER: ` before each \
line. It is literal: no patterns, no escapes. A newline in it matches LF and CRLF alike.
- It must occur exactly once. Add neighbouring lines until it does, or set `replace_all` to change every occurrence.
- `new_string` is put there literally; an empty one deletes the match. Everything else in the file stays as it is.
- FS_NOT_OBSERVED: you have not read this file. Read it, then edit again.
- FS_STALE_VERSION: the file changed or vanished after you last saw it. Read it again, then edit what is there now.
- FS_EDIT_NOT_FOUND: `old_string` is not in the file. The error shows the places that come nearest and how they \
differ: correct `old_string` after them, or read that part again.
- FS_AMBIGUOUS_EDIT: it occurs several times; the error says on which lines. Add lines around the one that you mean, \
or set `replace_all`.
- A refused edit changes nothing. After a successful one you know the file: go on without reading it again.
- Several edits may be sent at once, of one file too: they are applied one after the other, each to the result of \
those before it.
";
