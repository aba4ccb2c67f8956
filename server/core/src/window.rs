//! Windows of lines: which lines a read asks for, and the raw lines that it gets.
//!
//! Lines here are raw: without their line end, the BOM and a number. What a model sees of them is `render`'s.

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
                number: self.first_line + index as u64,
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

/// Collects a window from content that arrives in pieces of any size, in memory bounded by the window.
///
/// The content must have been judged to be text, in the same or an earlier pass; a reader that is fed anything else
/// still never fails or panics, it replaces what is no UTF-8.
#[derive(Debug)]
pub struct WindowReader {}

impl WindowReader {
    /// Starts before the first byte of the file (where a BOM may be).
    pub fn new(window: LineWindow) -> WindowReader {
        WindowReader::starting_at(window, 1)
    }

    /// Starts before the first byte of line `line`, for callers that know where it is.
    pub fn starting_at(_window: LineWindow, _line: u64) -> WindowReader {
        unimplemented!()
    }

    /// Takes the next piece. Returns whether the window wants more: once it says `false`, feeding is pointless
    /// (and harmless).
    pub fn feed(&mut self, _piece: &[u8]) -> bool {
        unimplemented!()
    }

    /// Ends at the end of the content, or wherever feeding became pointless.
    pub fn finish(self) -> Window {
        unimplemented!()
    }
}
