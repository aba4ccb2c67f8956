//! What a model probably meant by an argument name that does not exist.
//!
//! A suggestion is only ever shown. No other name is accepted in place of the right one.

use crate::argument::field::Field;

/// Names that other tools of this kind use, spelled as [`plain`] spells them.
const OTHER_NAMES: [(&str, &[&str]); 7] = [
    (
        "file_path",
        &["path", "file", "filename", "target", "targetfile", "absolutepath", "relativepath", "uri"],
    ),
    ("offset", &["start", "startline", "firstline", "line", "linenumber", "from"]),
    ("limit", &["count", "lines", "linecount", "maxlines", "numlines", "length"]),
    ("content", &["contents", "text", "filetext", "filecontent", "data", "body", "newcontent"]),
    (
        "old_string",
        &["old", "oldstr", "oldtext", "oldcontent", "search", "find", "from", "target", "pattern"],
    ),
    ("new_string", &["new", "newstr", "newtext", "newcontent", "replace", "replacement", "with", "to"]),
    ("replace_all", &["all", "global", "multiple", "allowmultiple", "replaceglobally"]),
];

/// The field of `fields` that `key` most likely means, if any is close.
///
/// Close means: the same letters, a name in use elsewhere, or at most two typing errors and one per three letters.
pub(super) fn nearest(key: &str, fields: &[Field]) -> Option<Field> {
    // Longer than any name could be mistyped; it also bounds the work below.
    if key.len() > 64 {
        return None;
    }
    let key = plain(key);
    let same = |field: &&Field| plain(field.name) == key;
    let elsewhere = |field: &&Field| {
        OTHER_NAMES.iter().any(|(name, others)| *name == field.name && others.contains(&key.as_str()))
    };
    let mistyped = || {
        let distances = fields.iter().map(|field| (distance(&plain(field.name), &key), field));
        distances
            .filter(|(distance, field)| *distance <= 2 && distance * 3 <= field.name.len())
            .min_by_key(|(distance, _)| *distance)
    };
    fields
        .iter()
        .find(same)
        .or_else(|| fields.iter().find(elsewhere))
        .or_else(|| mistyped().map(|(_, field)| field))
        .copied()
}

/// A name without case and separators: `filePath`, `file-path` and `file_path` are one.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// How many letters have to be added, dropped or changed (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, left_letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, right_letter) in right.iter().enumerate() {
            let changed = diagonal + usize::from(left_letter != *right_letter);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::{ToolName, field};

    #[test]
    fn a_close_name_is_suggested_and_a_far_one_is_not() {
        let cases = [
            (ToolName::Read, "path", Some("file_path")),
            (ToolName::Read, "filePath", Some("file_path")),
            (ToolName::Read, "File-Path", Some("file_path")),
            (ToolName::Read, "file_pat", Some("file_path")),
            (ToolName::Read, "fliepath", Some("file_path")),
            (ToolName::Read, "ofset", Some("offset")),
            (ToolName::Read, "start_line", Some("offset")),
            (ToolName::Read, "limits", Some("limit")),
            (ToolName::Read, "list", None),
            (ToolName::Read, "content", None),
            (ToolName::Read, "encoding", None),
            (ToolName::Read, "", None),
            (ToolName::Write, "contents", Some("content")),
            (ToolName::Write, "file_text", Some("content")),
            (ToolName::Write, "new_string", None),
            (ToolName::Edit, "oldText", Some("old_string")),
            (ToolName::Edit, "new_str", Some("new_string")),
            (ToolName::Edit, "replaceAll", Some("replace_all")),
            (ToolName::Edit, "expected_replacements", None),
        ];
        for (tool, key, expected) in cases {
            assert_eq!(nearest(key, field::of(tool)).map(|field| field.name), expected, "{key}");
        }
        assert_eq!(nearest(&"file_path".repeat(1_000), field::of(ToolName::Read)), None);
    }

    #[test]
    fn distance_counts_typing_errors() {
        for (left, right, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("limit", "limits", 1), ("abc", "axd", 2)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }
}
