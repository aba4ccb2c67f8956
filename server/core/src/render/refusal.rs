//! The text of refusals and failures.

use super::bounded::{clip, clip_chars, one_line};
use super::{MAX_PATH_BYTES, count, push};
use crate::error::{ErrorKind, Existing, FsError, NearMiss, NearMissReason, Published, SearchStop};
use crate::target::FileKind;

/// The most bytes of a message that are shown.
const MAX_MESSAGE_BYTES: usize = 8_192;
/// The most bytes of a remedy that are shown.
const MAX_REMEDY_BYTES: usize = 4_096;
/// The most bytes of one word of a detail (a name, a rule, a field) that are shown.
const MAX_WORD_BYTES: usize = 1_024;
/// The most similar names that are shown.
const MAX_NAMES: usize = 3;
/// The most lines of an ambiguous edit that are shown.
const MAX_MATCH_LINES: usize = 20;
/// The most reasons of a near miss that are shown: as many as there are.
const MAX_REASONS: usize = 10;
/// A line of a near miss: its number, the text, what separates and marks them.
const NEAR_MISS_LINE_BYTES: usize = NearMiss::MAX_LINE_CHARS * 4 + 64;
const NEAR_MISS_BYTES: usize = 640 + NearMiss::MAX_LINES * NEAR_MISS_LINE_BYTES;

/// The longest text of an error, in bytes.
pub const MAX_ERROR_BYTES: usize = MAX_MESSAGE_BYTES
    + 2 * MAX_PATH_BYTES
    + MAX_REMEDY_BYTES
    + 4 * MAX_WORD_BYTES
    + NearMiss::MAX_COUNT * NEAR_MISS_BYTES
    + 2_048;

pub(super) fn text(error: &FsError) -> String {
    let message = clip(error.message(), MAX_MESSAGE_BYTES);
    let mut text = format!("{}: {message}", error.code());
    if let Some(path) = error.path()
        && !names_path(&message, path)
    {
        push(&mut text, format_args!("\npath: `{}`", clip(path, MAX_PATH_BYTES)));
    }
    details(&mut text, error.kind(), &message);
    match error.published() {
        Published::No => {}
        Published::Yes => {
            text.push_str("\nthe new content is in place all the same: do not make the change again")
        }
        Published::Maybe => {
            text.push_str("\nwhether the change was made is not known: reading the file tells")
        }
    }
    if let Some(path) = error.rescue_path() {
        push(&mut text, format_args!("\ndisplaced content is kept at `{}`", clip(path, MAX_PATH_BYTES)));
    }
    if let Some(remedy) = error.remedy() {
        push(&mut text, format_args!("\nremedy: {}", one_line(remedy, MAX_REMEDY_BYTES)));
    }
    text
}

/// Whether a message names a path, as it was asked for or by the end of its canonical form.
fn names_path(message: &str, path: &str) -> bool {
    message.contains(&format!("`{path}`")) || message.contains(&format!("/{path}`"))
}

/// The facts of an error that a reader needs and its message does not name.
fn details(text: &mut String, kind: &ErrorKind, message: &str) {
    match kind {
        ErrorKind::NotFound { similar_names } => similar(text, similar_names),
        ErrorKind::NotRegularFile { kind: Some(kind) } if !message.contains(kind.noun()) => {
            push(text, format_args!("\nwhat is there: {}", kind.noun()));
        }
        ErrorKind::NotText { byte_offset, encoding } => {
            if !names_number(message, *byte_offset) {
                push(text, format_args!("\nfirst byte that is no text: offset {byte_offset}"));
            }
            if let Some(encoding) = encoding
                && !message.contains(encoding.name())
            {
                push(text, format_args!("\nthe encoding seems to be {}", encoding.name()));
            }
        }
        ErrorKind::TooLarge { limit_name, limit_bytes, size_bytes } => {
            if !(names_number(message, *limit_bytes) && names_number(message, *size_bytes)) {
                let limit = limit_name.as_str();
                push(text, format_args!("\nsize: {size_bytes} bytes; {limit}: {limit_bytes} bytes"));
            }
        }
        ErrorKind::OutOfRange { total_lines } if !names_number(message, *total_lines) => {
            push(text, format_args!("\nthe file has {}", count(*total_lines, "line")));
        }
        ErrorKind::SandboxDenied { rule } if !message.contains(rule.as_str()) => {
            push(text, format_args!("\nrule: {}", one_line(rule, MAX_WORD_BYTES)));
        }
        ErrorKind::NotObserved { existing: Some(existing) } => what_exists(text, existing, message),
        ErrorKind::AmbiguousEdit { match_count, lines } => matches(text, *match_count, lines),
        ErrorKind::EditNotFound { near_misses, search_stopped } => {
            for near_miss in near_misses.iter().take(NearMiss::MAX_COUNT) {
                near_miss_lines(text, near_miss);
            }
            match search_stopped {
                None if near_misses.is_empty() => text.push_str("\nno part of the file nearly matches it"),
                None => {}
                Some(stop) => {
                    let budget = match stop {
                        SearchStop::Bytes => "byte",
                        SearchStop::Time => "time",
                    };
                    push(
                        text,
                        format_args!(
                            "\nthe search for near misses ended early ({budget} budget): not all of the file was looked at"
                        ),
                    );
                }
            }
        }
        ErrorKind::InvalidArgument { field, actual, expected } => {
            for (name, value) in [("field", field), ("actual", actual), ("expected", expected)] {
                if !message.contains(value.as_str()) {
                    push(text, format_args!("\n{name}: {}", one_line(value, MAX_WORD_BYTES)));
                }
            }
        }
        // Versions mean nothing to a model; the causes of the others are their message.
        ErrorKind::NotDirectory
        | ErrorKind::NotRegularFile { .. }
        | ErrorKind::OutOfRange { .. }
        | ErrorKind::PermissionDenied
        | ErrorKind::SandboxDenied { .. }
        | ErrorKind::NoSpace
        | ErrorKind::IoError
        | ErrorKind::StaleVersion { .. }
        | ErrorKind::NotObserved { existing: None }
        | ErrorKind::Unsupported
        | ErrorKind::Unavailable { .. }
        | ErrorKind::Aborted { .. } => {}
    }
}

fn similar(text: &mut String, names: &[String]) {
    for (index, name) in names.iter().take(MAX_NAMES).enumerate() {
        text.push_str(if index == 0 { "\nsimilar names there: " } else { ", " });
        push(text, format_args!("`{}`", one_line(name, MAX_WORD_BYTES)));
    }
}

fn what_exists(text: &mut String, existing: &Existing, message: &str) {
    let Existing { kind, size, text: is_text } = existing;
    match kind {
        FileKind::Regular => {
            if names_number(message, *size) && is_text.is_none() {
                return;
            }
            let judged = match is_text {
                Some(true) => ", text",
                Some(false) => ", not text",
                None => "",
            };
            push(text, format_args!("\nwhat is there: {} of {}{judged}", kind.noun(), count(*size, "byte")));
        }
        FileKind::Directory
        | FileKind::Symlink
        | FileKind::Fifo
        | FileKind::Socket
        | FileKind::BlockDevice
        | FileKind::CharDevice
        | FileKind::Other => push(text, format_args!("\nwhat is there: {}", kind.noun())),
    }
}

fn matches(text: &mut String, match_count: u64, lines: &[u64]) {
    let shown = &lines[..lines.len().min(MAX_MATCH_LINES)];
    if shown.is_empty() {
        return push(text, format_args!("\nmatches: {match_count}"));
    }
    text.push_str("\nmatches start at lines ");
    for (index, line) in shown.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        push(text, format_args!("{line}"));
    }
    if shown.len() as u64 != match_count {
        push(text, format_args!(" (the first {} of {match_count})", shown.len()));
    }
}

fn near_miss_lines(text: &mut String, near_miss: &NearMiss) {
    let NearMiss { start_line, end_line, lines, reasons } = near_miss;
    if start_line == end_line {
        push(text, format_args!("\nnear miss at line {start_line}"));
    } else {
        push(text, format_args!("\nnear miss at lines {start_line}-{end_line}"));
    }
    for (index, reason) in
        reasons.iter().map(|reason| NearMissReason::text(*reason)).take(MAX_REASONS).enumerate()
    {
        text.push_str(if index == 0 { ", differs in " } else { ", " });
        text.push_str(reason);
    }
    text.push(':');
    for (index, line) in lines.iter().take(NearMiss::MAX_LINES).enumerate() {
        let number = start_line.saturating_add(index as u64);
        let line = clip_chars(line, NearMiss::MAX_LINE_CHARS).replace('\n', " ");
        push(text, format_args!("\n{number}: {line}"));
    }
    let shown = lines.len().min(NearMiss::MAX_LINES) as u64;
    let next = start_line.saturating_add(shown);
    if next <= *end_line {
        push(text, format_args!("\n(lines {next}-{end_line} are not shown)"));
    }
}

/// Whether a number stands in a message as a number of its own.
fn names_number(message: &str, number: u64) -> bool {
    let number = number.to_string();
    message.split(|character: char| !character.is_ascii_digit()).any(|digits| digits == number)
}
