//! Windows of lines: which lines a read asks for, and the raw lines that it gets.
//!
//! Lines here are raw: without their line end, the BOM and a number. What a model sees of them is `render`'s.
//! Deliberately absent: judging whether content is text (that is `text`'s), and finding where in a file a line
//! starts without reading up to it.

#[cfg(test)]
mod tests;

use memchr::{memchr, memchr_iter};

use crate::text::{BOM, Extended, PartialChar};

/// Which lines to deliver, and when to stop.
///
/// - `first_line` counts from 1; all four are at least 1
/// - the byte cap counts delivered line text (after cutting), without line ends and BOM
/// - the first line of a window is always delivered, cut to the byte cap if need be, so that paging makes progress
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineWindow {
    /// The first line wanted.
    pub first_line: u64,
    /// How many lines at most.
    pub max_lines: u64,
    /// How many bytes of line text at most.
    pub max_bytes: u64,
    /// How many Unicode scalar values of one line at most; the rest of a longer line is cut.
    pub max_line_chars: u64,
}

impl LineWindow {
    /// The window of content that is at hand as a whole.
    pub fn of(self, content: &[u8]) -> Window {
        let mut reader = WindowReader::new(self);
        reader.feed(content);
        reader.finish()
    }
}

/// What ended a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The last line of the file is in it.
    EndOfFile,
    /// `max_lines` lines are in it and more follow.
    LineLimit,
    /// The next line would exceed the byte cap.
    ByteCap,
}

/// One raw line of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRef<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its text, perhaps cut.
    pub text: &'a str,
    /// Its full length in Unicode scalar values, when `text` was cut.
    pub full_chars: Option<u64>,
    /// Whether it ended in `\r\n`.
    pub crlf: bool,
}

/// The lines of a window, in one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineBlock {
    first_line: u64,
    text: String,
    spans: Vec<LineSpan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineSpan {
    /// Where its text ends in the buffer; it starts where the line before ends.
    end: usize,
    full_chars: Option<u64>,
    crlf: bool,
}

impl LineBlock {
    /// A block without lines, for lines from `first_line` on.
    pub fn new(first_line: u64) -> LineBlock {
        LineBlock { first_line, text: String::new(), spans: Vec::new() }
    }

    /// Appends the next line.
    pub fn push(&mut self, text: &str, full_chars: Option<u64>, crlf: bool) {
        self.text.push_str(text);
        self.spans.push(LineSpan { end: self.text.len(), full_chars, crlf });
    }

    /// The number of its first line, from 1.
    pub fn first_line(&self) -> u64 {
        self.first_line
    }

    /// How many lines it has.
    pub fn line_count(&self) -> usize {
        self.spans.len()
    }

    /// Bytes of line text.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Its lines in order.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = LineRef<'_>> {
        let mut start = 0;
        self.spans.iter().enumerate().map(move |(index, span)| {
            let text = &self.text[start..span.end];
            start = span.end;
            LineRef {
                number: self.first_line.saturating_add(index as u64),
                text,
                full_chars: span.full_chars,
                crlf: span.crlf,
            }
        })
    }
}

/// A window's lines and what ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The lines; none when the window starts past the end.
    pub block: LineBlock,
    /// What ended it.
    pub stop: StopReason,
}

/// How many bytes are counted at once on the way to the first line.
const SKIP_BYTES: usize = 16 << 10;

/// Collects a window from content that arrives in pieces of any size, in memory bounded by the window.
///
/// - it holds the line text delivered so far and a few bytes more, however long lines are
/// - the content must have been judged to be text, in the same or an earlier pass; a reader that is fed anything
///   else still never fails or panics, it replaces what is no UTF-8 by U+FFFD
///
/// ```
/// use toolfs_core::window::{LineWindow, StopReason, WindowReader};
///
/// let window = LineWindow { first_line: 2, max_lines: 1, max_bytes: 100, max_line_chars: 100 };
/// let mut reader = WindowReader::new(window);
/// assert!(reader.feed(b"one\ntw"));
/// assert!(reader.feed(b"o\r\n"));
/// assert!(!reader.feed(b"three"));
/// let window = reader.finish();
/// assert_eq!(window.block.lines().next().unwrap().text, "two");
/// assert_eq!(window.stop, StopReason::LineLimit);
/// ```
#[derive(Debug)]
pub struct WindowReader {
    window: LineWindow,
    /// The line that the next byte belongs to.
    line: u64,
    /// How many bytes of a BOM were seen; `None` when none can come any more.
    bom_seen: Option<usize>,
    block: LineBlock,
    open: OpenLine,
    /// Set once nothing can change the answer.
    stop: Option<StopReason>,
}

/// What is known of the line that is being read. Its kept text is already at the end of the block's text.
#[derive(Clone, Copy, Debug, Default)]
struct OpenLine {
    /// Whether a byte of it was seen.
    begun: bool,
    /// Whether the last byte seen is a CR, which is text only if no LF follows.
    held_cr: bool,
    partial: PartialChar,
    kept_chars: u64,
    full_chars: u64,
    /// Whether text was left out: what follows is only counted.
    cut: bool,
}

impl WindowReader {
    /// Starts before the first byte of the file (where a BOM may be).
    pub fn new(window: LineWindow) -> WindowReader {
        WindowReader::starting_at(window, 1)
    }

    /// Starts before the first byte of line `line`, for callers that know where it is. `line` is at most the
    /// window's first line. A BOM is looked for before line 1 only.
    pub fn starting_at(window: LineWindow, line: u64) -> WindowReader {
        let first_line = window.first_line.max(line);
        WindowReader {
            window: LineWindow { first_line, ..window },
            line,
            bom_seen: (line <= 1).then_some(0),
            block: LineBlock::new(first_line),
            open: OpenLine::default(),
            stop: None,
        }
    }

    /// Takes the next piece. Returns whether the window wants more: once it says `false`, feeding is pointless
    /// (and harmless).
    pub fn feed(&mut self, piece: &[u8]) -> bool {
        let rest = self.after_bom(piece);
        self.take(rest);
        self.stop.is_none()
    }

    /// Ends at the end of the content, or wherever feeding became pointless.
    pub fn finish(mut self) -> Window {
        // A file that ends inside a BOM has none: what was held back of it is text (of a file that is none).
        let held_back = self.bom_seen.take().unwrap_or(0);
        self.take(&BOM[..held_back]);
        if self.open.begun && self.stop.is_none() {
            self.take_held_cr();
            self.end_line(false);
        }
        Window { block: self.block, stop: self.stop.unwrap_or(StopReason::EndOfFile) }
    }

    /// Passes over a BOM, which may arrive in pieces, and returns what follows it.
    fn after_bom<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let Some(seen) = self.bom_seen else { return piece };
        let wanted = &BOM[seen..];
        let common = wanted.iter().zip(piece).take_while(|(wanted, found)| wanted == found).count();
        if common == wanted.len() {
            self.bom_seen = None;
        } else if common == piece.len() {
            self.bom_seen = Some(seen + common);
        } else {
            // It was no BOM: what was held back of it is text (of a file that is none).
            self.bom_seen = None;
            self.take(&BOM[..seen]);
            return piece;
        }
        &piece[common..]
    }

    fn take(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while self.stop.is_none() && !rest.is_empty() {
            rest =
                if self.line < self.window.first_line { self.skip_lines(rest) } else { self.take_line(rest) };
        }
    }

    /// Passes over lines before the window as fast as newlines can be counted.
    fn skip_lines<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let mut rest = piece;
        while !rest.is_empty() {
            let (block, after) = rest.split_at(rest.len().min(SKIP_BYTES));
            let wanted = self.window.first_line - self.line;
            let newlines = memchr_iter(b'\n', block).count() as u64;
            if newlines >= wanted {
                let last = usize::try_from(wanted - 1).expect("wanted is at most the newlines of one block");
                let at = memchr_iter(b'\n', block).nth(last).expect("the block has that many newlines");
                self.line = self.window.first_line;
                return &rest[at + 1..];
            }
            self.line += newlines;
            rest = after;
        }
        rest
    }

    /// Takes what `piece` has of the current line and returns what follows it.
    fn take_line<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        if self.block.line_count() as u64 >= self.window.max_lines {
            self.stop = Some(StopReason::LineLimit);
            return &[];
        }
        self.open.begun = true;
        let newline = memchr(b'\n', piece);
        let (line, after) = piece.split_at(newline.unwrap_or(piece.len()));
        let (text, cr) = match line.split_last() {
            Some((b'\r', text)) => (text, true),
            Some(_) | None => (line, false),
        };
        if !line.is_empty() {
            self.take_held_cr();
        }
        self.take_bytes(text);
        self.open.held_cr |= cr;
        match after.split_first() {
            Some((_newline, after)) => {
                let crlf = std::mem::take(&mut self.open.held_cr);
                self.end_line(crlf);
                after
            }
            None => after,
        }
    }

    /// A CR that no LF follows is text.
    fn take_held_cr(&mut self) {
        if std::mem::take(&mut self.open.held_cr) {
            self.take_bytes(b"\r");
        }
    }

    /// Takes bytes of the current line's text, of which characters may be cut off at either end.
    fn take_bytes(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.open.partial.is_empty() {
            let Some((&next, after)) = rest.split_first() else { return };
            match self.open.partial.extend(next) {
                Extended::Whole(character) => {
                    rest = after;
                    self.take_text(character.encode_utf8(&mut [0; 4]));
                }
                Extended::Partial => rest = after,
                Extended::Invalid => self.take_partial(),
            }
        }
        let (body, partial) = PartialChar::split_off(rest);
        self.open.partial = partial;
        if let Ok(text) = simdutf8::basic::from_utf8(body) {
            return self.take_text(text);
        }
        for chunk in body.utf8_chunks() {
            self.take_text(chunk.valid());
            if !chunk.invalid().is_empty() {
                self.take_text(REPLACEMENT);
            }
        }
    }

    /// Replaces the start of a character that nothing continues.
    fn take_partial(&mut self) {
        if !std::mem::take(&mut self.open.partial).is_empty() {
            self.take_text(REPLACEMENT);
        }
    }

    /// Keeps what the caps leave room for and counts the rest.
    fn take_text(&mut self, text: &str) {
        if self.stop.is_some() || text.is_empty() {
            return;
        }
        let chars = text.chars().count() as u64;
        self.open.full_chars += chars;
        if self.open.cut {
            return;
        }
        let room_chars = self.window.max_line_chars - self.open.kept_chars;
        let room_bytes = self.window.max_bytes.saturating_sub(self.block.text.len() as u64);
        let mut end = if chars <= room_chars { text.len() } else { end_of_chars(text, room_chars) };
        if end as u64 > room_bytes {
            if !self.block.spans.is_empty() {
                let start = self.block.spans.last().map_or(0, |span| span.end);
                self.block.text.truncate(start);
                self.stop = Some(StopReason::ByteCap);
                return;
            }
            end = usize::try_from(room_bytes).map_or(end, |room| text.floor_char_boundary(room));
        }
        let kept = &text[..end];
        self.open.cut = end < text.len();
        self.open.kept_chars += if self.open.cut { kept.chars().count() as u64 } else { chars };
        self.block.text.push_str(kept);
    }

    fn end_line(&mut self, crlf: bool) {
        self.take_partial();
        if self.stop.is_some() {
            return;
        }
        let open = std::mem::take(&mut self.open);
        let full_chars = open.cut.then_some(open.full_chars);
        self.block.push("", full_chars, crlf);
        self.line += 1;
    }
}

const REPLACEMENT: &str = "\u{fffd}";

/// Where the first `count` characters of `text` end.
fn end_of_chars(text: &str, count: u64) -> usize {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
}
