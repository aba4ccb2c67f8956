//! Cutting what others wrote to a length that fits a message.

use std::borrow::Cow;

/// What stands for the rest of a cut text.
const ELLIPSIS: &str = "…";

/// `text` in at most `max_bytes` bytes, cut between characters and marked if it was longer.
pub(super) fn clip(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub(ELLIPSIS.len()));
    Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
}

/// [`clip`] for texts that must stay on one line: newlines become blanks.
pub(super) fn one_line(text: &str, max_bytes: usize) -> String {
    clip(text, max_bytes).replace('\n', " ")
}

/// `text` in at most `max_chars` characters, cut and marked if it was longer.
pub(super) fn clip_chars(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}{ELLIPSIS}", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_keeps_characters_whole_and_the_bound() {
        assert_eq!(clip("äöü", 6), "äöü");
        assert_eq!(clip("äöüx", 6), "ä…");
        assert_eq!(clip("äöü", 2), "…");
        assert_eq!(one_line("a\nb", 10), "a b");
        assert_eq!(clip_chars("äöü", 3), "äöü");
        assert_eq!(clip_chars("äöü", 2), "äö…");
    }
}
