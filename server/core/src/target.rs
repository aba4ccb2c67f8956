//! What a tool call points at, and what it is called outside.
//!
//! A provider makes targets by resolving paths; everything above passes them on and never looks inside a key.
//! Deliberately absent: any path arithmetic, which only the owner of the name space can do.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// The provider's canonical name of a target: equal for every spelling of one file.
///
/// Opaque bytes: consumers compare and store it, and never parse it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TargetKey(Box<[u8]>);

impl TargetKey {
    /// Wraps a key that a provider made.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> TargetKey {
        TargetKey(bytes.into())
    }

    /// The key as it travels.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetKey({})", display_form(&self.0))
    }
}

/// A resolved path: where a call lands, whether or not something is there yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The identity that locks, observations and operations use.
    pub key: TargetKey,
    /// The canonical absolute path under which agents see it, as raw bytes.
    pub raw_path: Vec<u8>,
    /// The path of the same file for processes on the provider's host; empty where there is none.
    pub process_path: Vec<u8>,
    /// [`Target::raw_path`] made safe to show. Never parsed back.
    pub display_path: String,
    /// A `file:` (or provider specific) URL of it; empty where there is none.
    pub file_url: String,
    /// The protected pattern that its spelling or its place matches: mutations are refused then.
    pub protected_rule: Option<String>,
}

/// What is at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// A regular file: the only kind that has content here.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, told only where links are not followed.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharDevice,
    /// Anything that the platform calls something else.
    Other,
}

impl FileKind {
    /// The kind as a noun with its article, for messages.
    pub fn noun(self) -> &'static str {
        match self {
            FileKind::Regular => "a regular file",
            FileKind::Directory => "a directory",
            FileKind::Symlink => "a symbolic link",
            FileKind::Fifo => "a named pipe",
            FileKind::Socket => "a socket",
            FileKind::BlockDevice => "a block device",
            FileKind::CharDevice => "a character device",
            FileKind::Other => "a special file",
        }
    }
}

/// Raw name bytes made safe to show on one line: control characters, line separators and bytes that are not
/// UTF-8 appear as `\xNN` or `\u{N}`. Never fails, and is never parsed back.
///
/// ```
/// use toolfs_core::target::display_form;
///
/// assert_eq!(display_form(b"notes.txt"), "notes.txt");
/// assert_eq!(display_form(b"\xff\n"), r"\xff\u{a}");
/// ```
pub fn display_form(raw: &[u8]) -> String {
    let mut shown = String::with_capacity(raw.len());
    for piece in raw.utf8_chunks() {
        for character in piece.valid().chars() {
            match character {
                '\u{2028}'
                | '\u{2029}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' => {
                    let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
                }
                _ if character.is_control() => {
                    let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
                }
                _ => shown.push(character),
            }
        }
        for byte in piece.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// A `file:` URL of an absolute path of raw bytes (RFC 8089), percent-encoded outside RFC 3986's unreserved set.
///
/// ```
/// assert_eq!(toolfs_core::target::file_url(b"/a b/\xff"), "file:///a%20b/%FF");
/// ```
pub fn file_url(absolute_path: &[u8]) -> String {
    let mut url = String::from("file://");
    for &byte in absolute_path {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_break_a_line_or_hide_text_are_escaped() {
        assert_eq!(display_form("a\u{202e}b".as_bytes()), r"a\u{202e}b");
        assert_eq!(display_form("é\u{2028}".as_bytes()), r"é\u{2028}");
        assert_eq!(display_form(b"tab\there"), r"tab\u{9}here");
    }
}
