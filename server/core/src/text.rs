//! What counts as text, and what a pass over a file learns.
//!
//! Text is UTF-8 without NUL, the whole file through; read and edit share this one judgement.

use crate::error::{Encoding, ErrorKind, FsError};

/// One line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEnd {
    /// `\n`
    Lf,
    /// `\r\n`
    Crlf,
}

/// The line ends of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEndings {
    /// There is no line end.
    None,
    /// All are `\n`.
    Lf,
    /// All are `\r\n`.
    Crlf,
    /// Both occur.
    Mixed,
}

/// The bytes of a UTF-8 byte order mark.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a whole pass over a text says about it.
///
/// - `size_bytes` counts everything, the BOM included
/// - a last line without line end counts as a line; an empty file, or a BOM alone, has none
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSummary {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Number of lines.
    pub total_lines: u64,
    /// Number of `\n` without `\r` before it.
    pub lf_count: u64,
    /// Number of `\r\n`.
    pub crlf_count: u64,
    /// The first line end.
    pub first_line_end: Option<LineEnd>,
    /// Whether the last byte is `\n`.
    pub ends_with_newline: bool,
    /// Whether the file starts with a byte order mark.
    pub bom: bool,
}

impl TextSummary {
    /// Which line ends occur.
    pub fn line_endings(&self) -> LineEndings {
        match (self.lf_count, self.crlf_count) {
            (0, 0) => LineEndings::None,
            (_, 0) => LineEndings::Lf,
            (0, _) => LineEndings::Crlf,
            (_, _) => LineEndings::Mixed,
        }
    }

    /// The line end that occurs more often; the first one of the file when both occur equally often.
    pub fn dominant_line_end(&self) -> Option<LineEnd> {
        match self.lf_count.cmp(&self.crlf_count) {
            std::cmp::Ordering::Greater => Some(LineEnd::Lf),
            std::cmp::Ordering::Less => Some(LineEnd::Crlf),
            std::cmp::Ordering::Equal => self.first_line_end,
        }
    }
}

/// Why bytes are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText {
    /// Offset of the first offending byte (a NUL, or the start of an invalid sequence), from 0.
    pub byte_offset: u64,
    /// Whether the offending byte is a NUL.
    pub is_nul: bool,
    /// The encoding, when a byte order mark or a pattern of NULs among the first bytes names it.
    pub encoding: Option<Encoding>,
}

impl From<NotText> for FsError {
    fn from(not_text: NotText) -> FsError {
        let NotText { byte_offset, is_nul, encoding } = not_text;
        let found = if is_nul { "a NUL byte" } else { "a byte that is not UTF-8" };
        let message = match encoding {
            Some(encoding) => {
                format!(
                    "the file is no UTF-8 text: it seems to be {} ({found} at offset {byte_offset})",
                    encoding.name()
                )
            }
            None => format!("the file is no UTF-8 text: it has {found} at offset {byte_offset}"),
        };
        FsError::new(ErrorKind::NotText { byte_offset, encoding }, message)
    }
}

/// Judges and counts text that arrives in pieces of any size.
#[derive(Clone, Debug)]
pub struct TextScanner {}

impl TextScanner {
    /// Starts at the first byte of a file.
    pub fn new() -> TextScanner {
        unimplemented!()
    }

    /// Looks at the next piece.
    ///
    /// # Errors
    /// [`NotText`] as soon as the bytes so far cannot be the start of a text.
    pub fn feed(&mut self, _piece: &[u8]) -> Result<(), NotText> {
        unimplemented!()
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// [`NotText`] when the file ends inside a character.
    pub fn finish(self) -> Result<TextSummary, NotText> {
        unimplemented!()
    }
}

/// The summary of a text that is at hand as a whole.
///
/// # Errors
/// [`NotText`] when it is none.
pub fn summarize(_content: &[u8]) -> Result<TextSummary, NotText> {
    unimplemented!()
}
