//! What a successful call still has to say.

use serde::{Deserialize, Serialize};

use crate::text::{LineEndings, TextSummary};

/// The kind of a notice, stable for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NoticeKind {
    /// The line endings of the file are others than before.
    LineEndingsChanged,
    /// The file gained or lost its byte order mark.
    BomChanged,
    /// The file gained or lost the newline at its end.
    FinalNewlineChanged,
    /// Other hard links of the file keep the old content.
    HardLinksKeepOldContent,
    /// Owner or group could not be kept.
    OwnershipNotKept,
    /// Set-user-id, set-group-id or file capabilities were dropped.
    PrivilegeBitsDropped,
    /// Access control lists or extended attributes could not be kept.
    AttributesNotKept,
    /// The file was rewritten in place: readers may have seen it half written.
    NotAtomic,
    /// The effect is there, but the session's observation was not recorded: read before the next change.
    ObservationNotRecorded,
    /// The diff is left out; the text says why.
    DiffLeftOut,
    /// A remark of another process, of a kind that this build does not know; the text tells it.
    Other,
}

/// A remark that goes with a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// The remark, one line, without a full stop.
    pub text: String,
}

impl Notice {
    /// Makes a notice.
    pub fn new(kind: NoticeKind, text: impl Into<String>) -> Notice {
        Notice { kind, text: text.into() }
    }
}

/// What a write changed that a model does not see: line endings, byte order mark, final newline.
///
/// A side without text has none of these, so that filling an empty file, or emptying one, is no change of them.
pub fn line_end_changes(before: &TextSummary, after: &TextSummary) -> Vec<Notice> {
    let mut notices = Vec::new();
    let (old, new) = (before.line_endings(), after.line_endings());
    if old != new && old != LineEndings::None && new != LineEndings::None {
        let text = format!("line endings changed from {} to {}", endings_name(old), endings_name(new));
        notices.push(Notice::new(NoticeKind::LineEndingsChanged, text));
    }
    if before.total_lines == 0 || after.total_lines == 0 {
        return notices;
    }
    if before.bom != after.bom {
        let text = if after.bom { "a byte order mark was added" } else { "the byte order mark was removed" };
        notices.push(Notice::new(NoticeKind::BomChanged, text));
    }
    if before.ends_with_newline != after.ends_with_newline {
        let text = if after.ends_with_newline {
            "the file now ends with a newline"
        } else {
            "the file no longer ends with a newline"
        };
        notices.push(Notice::new(NoticeKind::FinalNewlineChanged, text));
    }
    notices
}

fn endings_name(endings: LineEndings) -> &'static str {
    match endings {
        LineEndings::None => "none",
        LineEndings::Lf => "LF",
        LineEndings::Crlf => "CRLF",
        LineEndings::Mixed => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::summarize;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        let summary = |text: &str| summarize(text.as_bytes()).unwrap();
        let notices = line_end_changes(&summary(before), &summary(after));
        let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_a_model_does_not_see_is_told() {
        check("a\r\n", "a\n", &["line endings changed from CRLF to LF"]);
        check("a\n", "a\r\nb\n", &["line endings changed from LF to mixed"]);
        check("\u{feff}a\n", "a\n", &["the byte order mark was removed"]);
        check("a\n", "\u{feff}a\n", &["a byte order mark was added"]);
        check("a\n", "a", &["the file no longer ends with a newline"]);
        check("a", "a\n", &["the file now ends with a newline"]);
    }

    #[test]
    fn a_side_without_text_changes_nothing() {
        check("", "a\r\n", &[]);
        check("\u{feff}a\r\n", "", &[]);
        check("a\n", "b\n", &[]);
        check("a", "b", &[]);
    }
}
