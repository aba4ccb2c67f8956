//! What counts as text, and what a pass over a file learns.
//!
//! Text is UTF-8 without NUL, the whole file through; read and edit share this one judgement.
//! Deliberately absent: decoding anything else, guessing from a sample, and finding lines (that is `window`'s).

mod encoding;
mod partial;
#[cfg(test)]
mod tests;

use memchr::{memchr, memchr_iter, memchr2};

pub(crate) use self::partial::{Extended, PartialChar};
use crate::error::{Encoding, ErrorKind, FsError};
use crate::version::{Version, VersionHasher};

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
    /// The summary of a file whose pass somebody else made, and told what a reader of the file needs.
    ///
    /// How often each line end occurs in a mixed file is not among that, nor which one is the first: one CR LF and LF
    /// otherwise stand in, which serves no edit. `None` when the facts contradict each other.
    ///
    /// ```
    /// use toolfs_core::text::{LineEndings, TextSummary, summarize};
    ///
    /// let told = TextSummary::told(8, 2, LineEndings::Lf, true, false);
    /// assert_eq!(told, summarize(b"one\ntwo\n").ok());
    /// assert_eq!(TextSummary::told(8, 2, LineEndings::None, true, false), None);
    /// ```
    pub fn told(
        size_bytes: u64,
        total_lines: u64,
        endings: LineEndings,
        ends_with_newline: bool,
        bom: bool,
    ) -> Option<TextSummary> {
        let newlines = if ends_with_newline { total_lines } else { total_lines.saturating_sub(1) };
        let (lf_count, crlf_count, first_line_end) = match endings {
            LineEndings::None => (0, 0, None),
            LineEndings::Lf => (newlines, 0, Some(LineEnd::Lf)),
            LineEndings::Crlf => (0, newlines, Some(LineEnd::Crlf)),
            LineEndings::Mixed => (newlines.saturating_sub(1), 1, None),
        };
        let summary = TextSummary {
            size_bytes,
            total_lines,
            lf_count,
            crlf_count,
            first_line_end,
            ends_with_newline,
            bom,
        };
        // Every line end counts as many bytes as it has, a last line without one at least one, a BOM its own.
        let open_line = u64::from(total_lines > newlines);
        let least_bytes = newlines
            .saturating_add(crlf_count)
            .saturating_add(open_line)
            .saturating_add(if bom { BOM.len() as u64 } else { 0 });
        let is_consistent = summary.line_endings() == endings
            && lf_count.saturating_add(crlf_count) == newlines
            && (total_lines > 0 || !ends_with_newline)
            && if total_lines == 0 { size_bytes == least_bytes } else { size_bytes >= least_bytes };
        is_consistent.then_some(summary)
    }

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
        dominant(self.lf_count, self.crlf_count, self.first_line_end)
    }
}

fn dominant(lf_count: u64, crlf_count: u64, first: Option<LineEnd>) -> Option<LineEnd> {
    match lf_count.cmp(&crlf_count) {
        std::cmp::Ordering::Greater => Some(LineEnd::Lf),
        std::cmp::Ordering::Less => Some(LineEnd::Crlf),
        std::cmp::Ordering::Equal => first,
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

/// How many bytes the scanner works on at once: small enough that the later looks at them come from the
/// processor's first cache.
const BLOCK_BYTES: usize = 16 << 10;

/// Judges and counts text that arrives in pieces of any size.
///
/// ```
/// use toolfs_core::text::{LineEndings, TextScanner};
///
/// let mut scanner = TextScanner::new();
/// for piece in [&b"caf\xc3"[..], b"\xa9\r", b"\nau lait"] {
///     scanner.feed(piece).unwrap();
/// }
/// let summary = scanner.finish().unwrap();
/// assert_eq!(summary.total_lines, 2);
/// assert_eq!(summary.line_endings(), LineEndings::Crlf);
/// ```
#[derive(Clone, Debug)]
pub struct TextScanner {
    /// The first bytes of the file, for the byte order mark and for naming the encoding.
    head: [u8; encoding::HEAD_BYTES],
    head_len: usize,
    size_bytes: u64,
    newline_count: u64,
    crlf_count: u64,
    first_line_end: Option<LineEnd>,
    last_byte: Option<u8>,
    partial: PartialChar,
    /// Offset of the first offending byte, and whether it is a NUL.
    offence: Option<(u64, bool)>,
}

impl TextScanner {
    /// Starts at the first byte of a file.
    pub fn new() -> TextScanner {
        TextScanner {
            head: [0; encoding::HEAD_BYTES],
            head_len: 0,
            size_bytes: 0,
            newline_count: 0,
            crlf_count: 0,
            first_line_end: None,
            last_byte: None,
            partial: PartialChar::default(),
            offence: None,
        }
    }

    /// Looks at the next piece.
    ///
    /// # Errors
    /// [`NotText`] as soon as the bytes so far cannot be the start of a text, but not before the first 64 bytes of
    /// the file are seen, so that the encoding is named alike however the content is cut into pieces. A
    /// shorter file gets it from [`TextScanner::finish`]. Once told, it is told again for any further piece.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), NotText> {
        let wanted = piece.len().min(self.head.len() - self.head_len);
        self.head[self.head_len..self.head_len + wanted].copy_from_slice(&piece[..wanted]);
        self.head_len += wanted;
        for block in piece.chunks(BLOCK_BYTES) {
            if self.offence.is_some() {
                break;
            }
            self.offence = self.judge(block);
            self.size_bytes += block.len() as u64;
        }
        match self.offence {
            Some(_) if self.head_len == self.head.len() => self.verdict(),
            Some(_) | None => Ok(()),
        }
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// [`NotText`] when the file ends inside a character, or was too short for [`TextScanner::feed`] to tell.
    pub fn finish(mut self) -> Result<TextSummary, NotText> {
        if self.offence.is_none() && !self.partial.is_empty() {
            self.offence = Some((self.size_bytes - self.partial.len() as u64, false));
        }
        self.verdict()?;
        let bom = self.head[..self.head_len].starts_with(BOM);
        let ends_with_newline = self.last_byte == Some(b'\n');
        let text_bytes = self.size_bytes - if bom { BOM.len() as u64 } else { 0 };
        let has_open_line = text_bytes > 0 && !ends_with_newline;
        Ok(TextSummary {
            size_bytes: self.size_bytes,
            total_lines: self.newline_count + u64::from(has_open_line),
            lf_count: self.newline_count - self.crlf_count,
            crlf_count: self.crlf_count,
            first_line_end: self.first_line_end,
            ends_with_newline,
            bom,
        })
    }

    /// The line end that occurs more often so far, as [`TextSummary::dominant_line_end`].
    pub(crate) fn dominant_so_far(&self) -> Option<LineEnd> {
        dominant(self.newline_count - self.crlf_count, self.crlf_count, self.first_line_end)
    }

    fn verdict(&self) -> Result<(), NotText> {
        match self.offence {
            None => Ok(()),
            Some((byte_offset, is_nul)) => {
                let encoding = encoding::name_of(&self.head[..self.head_len]);
                Err(NotText { byte_offset, is_nul, encoding })
            }
        }
    }

    /// Judges a block that starts at `size_bytes` and counts its line ends; `Some` is the offence.
    fn judge(&mut self, block: &[u8]) -> Option<(u64, bool)> {
        let follows_cr = self.last_byte == Some(b'\r');
        self.last_byte = block.last().copied();
        let mut rest = block;
        let mut offset = self.size_bytes;
        while !self.partial.is_empty() {
            let start = offset - self.partial.len() as u64;
            let (&next, after) = rest.split_first()?;
            match self.partial.extend(next) {
                Extended::Whole(_) | Extended::Partial => (rest, offset) = (after, offset + 1),
                Extended::Invalid => return Some((start, false)),
            }
        }
        // One search rules out both NUL and CR, which most files have neither of.
        let special = memchr2(0, b'\r', rest);
        let nul = special.and_then(|from| Some(from + memchr(0, &rest[from..])?));
        if let Some(at) = self.first_invalid(&rest[..nul.unwrap_or(rest.len())], nul.is_none()) {
            return Some((offset + at as u64, false));
        }
        if let Some(at) = nul {
            return Some((offset + at as u64, true));
        }
        self.count_line_ends(rest, special.is_some(), follows_cr);
        None
    }

    /// Where `text` stops being UTF-8. A character that its end cuts off is kept if more may follow.
    fn first_invalid(&mut self, text: &[u8], more_may_follow: bool) -> Option<usize> {
        let (body, tail) =
            if more_may_follow { PartialChar::split_off(text) } else { (text, PartialChar::NONE) };
        // The fast validator does not say where; the standard one does and is asked only when it matters.
        if simdutf8::basic::from_utf8(body).is_err() {
            return std::str::from_utf8(body).err().map(|error| error.valid_up_to());
        }
        self.partial = tail;
        None
    }

    fn count_line_ends(&mut self, rest: &[u8], has_cr: bool, follows_cr: bool) {
        let newlines = memchr_iter(b'\n', rest).count() as u64;
        if newlines == 0 {
            return;
        }
        let joined = follows_cr && rest[0] == b'\n';
        if self.first_line_end.is_none()
            && let Some(at) = memchr(b'\n', rest)
        {
            let crlf = if at == 0 { joined } else { rest[at - 1] == b'\r' };
            self.first_line_end = Some(if crlf { LineEnd::Crlf } else { LineEnd::Lf });
        }
        self.newline_count += newlines;
        self.crlf_count += u64::from(joined) + if has_cr { crlf_pairs(rest) } else { 0 };
    }
}

impl Default for TextScanner {
    fn default() -> TextScanner {
        TextScanner::new()
    }
}

/// How many `\r\n` lie whole in `bytes`.
pub(crate) fn crlf_pairs(bytes: &[u8]) -> u64 {
    // Counts of one byte each stay in vector registers; a run of 255 cannot overflow them.
    const RUN: usize = 255;
    let Some(seconds) = bytes.get(1..) else { return 0 };
    let runs = bytes.chunks(RUN).zip(seconds.chunks(RUN));
    runs.map(|(first, second)| {
        let pairs =
            first.iter().zip(second).map(|(&first, &second)| u8::from((first == b'\r') & (second == b'\n')));
        u64::from(pairs.sum::<u8>())
    })
    .sum()
}

/// The summary of a text that is at hand as a whole.
///
/// # Errors
/// [`NotText`] when it is none.
pub fn summarize(content: &[u8]) -> Result<TextSummary, NotText> {
    let mut scanner = TextScanner::new();
    scanner.feed(content)?;
    scanner.finish()
}

/// One pass over a file that judges, counts and names its content: a [`TextScanner`] and a [`VersionHasher`] that
/// look at each piece while it is in the processor's caches.
///
/// A reader that also wants lines feeds a [`crate::window::WindowReader`] beside it.
#[derive(Clone, Debug, Default)]
pub struct TextPass {
    scanner: TextScanner,
    hasher: VersionHasher,
}

impl TextPass {
    /// Starts at the first byte of a file.
    pub fn new() -> TextPass {
        TextPass::default()
    }

    /// Looks at the next piece. Pieces of 64 KiB and up let the hash use its widest instructions.
    ///
    /// # Errors
    /// As [`TextScanner::feed`].
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), NotText> {
        self.scanner.feed(piece)?;
        self.hasher.update(piece);
        Ok(())
    }

    /// Ends the pass: what the text is, and the version of exactly the bytes that were fed.
    ///
    /// # Errors
    /// As [`TextScanner::finish`].
    pub fn finish(self) -> Result<(TextSummary, Version), NotText> {
        let summary = self.scanner.finish()?;
        Ok((summary, self.hasher.finish()))
    }
}
