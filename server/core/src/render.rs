//! What a model sees: the one place that turns outcomes and errors into text.
//!
//! Every text is bounded, whatever a provider delivered: [`max_read_bytes`], [`MAX_CHANGE_BYTES`] and
//! [`MAX_ERROR_BYTES`] say how far. The text of lines is shown as it is, control characters included; paths
//! are display forms already.
//! Deliberately absent: versions (they mean nothing to a model), diffs, and the strings of a call.

mod bounded;
mod refusal;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use self::bounded::{clip, one_line};
use crate::diff::ChangedRange;
use crate::error::FsError;
use crate::limit::Limits;
use crate::notice::Notice;
use crate::outcome::{EditOutcome, ReadOutcome, WriteOperation, WriteOutcome};
use crate::text::LineEndings;
use crate::window::StopReason;

/// The most bytes of a path that are shown; a longer one is cut.
const MAX_PATH_BYTES: usize = 4_096;
/// The most notices that are shown.
const MAX_NOTICES: usize = 16;
/// The most bytes of one notice that are shown.
const MAX_NOTICE_BYTES: usize = 512;
/// The most changed ranges that are named.
const MAX_RANGES: usize = 10;
/// What a line of a read adds to its text at most: its number, the separator, the mark of a cut line, the newline.
const LINE_OVERHEAD_BYTES: u64 = 96;
/// A footer or a first sentence at most, without path and notices.
const SENTENCE_BYTES: usize = 512;
const NOTICES_BYTES: usize = (MAX_NOTICES + 1) * (MAX_NOTICE_BYTES + 16);

/// The longest text of a write or an edit, in bytes.
pub const MAX_CHANGE_BYTES: usize = 2 * SENTENCE_BYTES + MAX_RANGES * 64 + MAX_PATH_BYTES + NOTICES_BYTES;
pub use self::refusal::MAX_ERROR_BYTES;

/// The longest text of a read under these limits, in bytes: `max_window_bytes` of line text, 96 bytes for each of
/// `max_limit_lines` lines, and a footer of at most 10 KiB.
pub fn max_read_bytes(limits: &Limits) -> u64 {
    let lines = limits.max_limit_lines.saturating_mul(LINE_OVERHEAD_BYTES);
    let footer = (SENTENCE_BYTES + NOTICES_BYTES) as u64;
    limits.max_window_bytes.saturating_add(lines).saturating_add(footer)
}

/// The text of a read: numbered lines and one footer.
///
/// Lines beyond the limits, which no provider should deliver, are left out, and the footer tells the truth about
/// what is shown.
pub fn read(outcome: &ReadOutcome, limits: &Limits) -> String {
    let mut text = String::with_capacity(outcome.block.text_bytes() + outcome.block.line_count() * 8 + 128);
    let shown = numbered_lines(&mut text, outcome, limits);
    if shown.line_count > 0 {
        text.push('\n');
    }
    text.push('(');
    footer(&mut text, outcome, &shown, limits);
    text.push(')');
    text
}

/// The lines of a read that are in the text.
struct Shown {
    line_count: u64,
    stop: StopReason,
}

fn numbered_lines(text: &mut String, outcome: &ReadOutcome, limits: &Limits) -> Shown {
    let mut shown = Shown { line_count: 0, stop: outcome.stop };
    let mut room = usize::try_from(limits.max_window_bytes).unwrap_or(usize::MAX);
    for line in outcome.block.lines() {
        if shown.line_count == limits.max_limit_lines {
            shown.stop = StopReason::LineLimit;
            break;
        }
        if line.text.len() > room && shown.line_count > 0 {
            shown.stop = StopReason::ByteCap;
            break;
        }
        let kept = &line.text[..line.text.floor_char_boundary(room)];
        let full_chars = match line.full_chars {
            None if kept.len() < line.text.len() => Some(line.text.chars().count() as u64),
            full_chars => full_chars,
        };
        push(text, format_args!("{}", line.number));
        text.push_str(": ");
        text.push_str(kept);
        if let Some(full) = full_chars {
            let chars = kept.chars().count();
            push(text, format_args!(" [line cut: {chars} of {full} characters shown]"));
        }
        text.push('\n');
        room -= kept.len();
        shown.line_count += 1;
    }
    shown
}

fn footer(text: &mut String, outcome: &ReadOutcome, shown: &Shown, limits: &Limits) {
    let total = outcome.total_lines;
    let first = outcome.block.first_line();
    let next = first.saturating_add(shown.line_count);
    match shown.line_count {
        0 if total == 0 && outcome.bom => {
            text.push_str("the file is empty but for a byte order mark: 0 lines")
        }
        0 if total == 0 => text.push_str("the file is empty: 0 lines"),
        0 => push(text, format_args!("no lines from line {first} on: the file has {}", count(total, "line"))),
        1 => push(text, format_args!("line {first} of {total}")),
        _ => push(text, format_args!("lines {first}-{} of {total}", next - 1)),
    }
    match shown.stop {
        StopReason::EndOfFile => {}
        StopReason::LineLimit => push(text, format_args!("; continue with offset {next}")),
        StopReason::ByteCap => {
            let cap = limits.max_window_bytes;
            push(text, format_args!("; stopped at the cap of {cap} bytes; continue with offset {next}"));
        }
    }
    match outcome.line_endings {
        LineEndings::None | LineEndings::Lf => {}
        LineEndings::Crlf => text.push_str("; line endings are CRLF"),
        LineEndings::Mixed => text.push_str("; line endings are mixed, CRLF and LF"),
    }
    if outcome.bom && total > 0 {
        text.push_str("; the file starts with a byte order mark");
    }
    if !outcome.ends_with_newline && total > 0 {
        text.push_str("; no newline at the end of the file");
    }
    for notice in shown_notices(&outcome.notices) {
        push(text, format_args!("; {notice}"));
    }
}

/// The text of a write. Content is never echoed.
pub fn write(outcome: &WriteOutcome, dry_run: bool) -> String {
    let path = clip(&outcome.path, MAX_PATH_BYTES);
    let size = count(outcome.size_bytes, "byte");
    let mut text = match (outcome.operation, dry_run) {
        (WriteOperation::Create, false) => format!("created `{path}` ({size}"),
        (WriteOperation::Create, true) => format!("{DRY_RUN} this would create `{path}` ({size}"),
        (WriteOperation::Update, false) => format!("replaced the content of `{path}` ({size}"),
        (WriteOperation::Update, true) => {
            format!("{DRY_RUN} this would replace the content of `{path}` ({size}")
        }
    };
    if let Some(previous) = outcome.previous_size_bytes {
        push(&mut text, format_args!(", before {}", count(previous, "byte")));
    }
    text.push(')');
    notice_lines(&mut text, &outcome.notices);
    text
}

/// The text of an edit. Neither string is echoed.
pub fn edit(outcome: &EditOutcome, dry_run: bool) -> String {
    let path = clip(&outcome.path, MAX_PATH_BYTES);
    let replacements = count(outcome.replacements, "replacement");
    let size = count(outcome.size_bytes, "byte");
    let mut text = if dry_run {
        format!("{DRY_RUN} this would make {replacements} in `{path}` ({size} then)\nwould change: ")
    } else {
        format!("edited `{path}`: {replacements} ({size} now)\nchanged: ")
    };
    if outcome.changed.ranges.is_empty() {
        text.push_str("no line");
    }
    for (index, range) in outcome.changed.ranges.iter().take(MAX_RANGES).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        changed_range(&mut text, range);
    }
    let named = outcome.changed.ranges.len().min(MAX_RANGES) as u64;
    if outcome.changed.total > named {
        push(&mut text, format_args!(" and {}", count(outcome.changed.total - named, "more place")));
    }
    notice_lines(&mut text, &outcome.notices);
    text
}

/// The text of a refusal or failure.
///
/// The first line is the code and the message, the last one the remedy, if there is one. Between them stand the
/// path and the facts that the message does not name.
pub fn error(error: &FsError) -> String {
    refusal::text(error)
}

const DRY_RUN: &str = "dry run, nothing was changed:";

/// Names a range by the line numbers that a read shows after the change.
fn changed_range(text: &mut String, range: &ChangedRange) {
    let ChangedRange { old_count, new_start, new_count, .. } = *range;
    match (new_count, new_start) {
        (0, 0) => push(text, format_args!("{} removed at the start", count(old_count, "line"))),
        (0, before) => push(text, format_args!("{} removed after line {before}", count(old_count, "line"))),
        (1, line) => push(text, format_args!("line {line}")),
        (lines, first) => push(text, format_args!("lines {first}-{}", first.saturating_add(lines - 1))),
    }
}

fn notice_lines(text: &mut String, notices: &[Notice]) {
    for notice in shown_notices(notices) {
        push(text, format_args!("\nnotice: {notice}"));
    }
}

fn shown_notices(notices: &[Notice]) -> impl Iterator<Item = String> {
    let more = notices.len().saturating_sub(MAX_NOTICES) as u64;
    let more = (more > 0).then(|| count(more, "more notice"));
    notices.iter().take(MAX_NOTICES).map(|notice| one_line(&notice.text, MAX_NOTICE_BYTES)).chain(more)
}

/// A number and its noun: `1 line`, `2 lines`.
fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}
