//! What the edited file is like, told from what the file was like and what changed.
//!
//! Nothing that stays is counted again: its line ends are those of the file, but for a `\n` that the edit puts
//! behind a `\r`. Deliberately absent: whether the edited file is text, which a NUL in `new_string` alone changes and
//! whoever has that sees.

use memchr::{memchr, memchr_iter};

use crate::text::{BOM, LineEnd, TextSummary, crlf_pairs};

/// The last bytes of the file and of the edited file, at some place between them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    pub(super) old: Option<u8>,
    pub(super) new: Option<u8>,
}

impl Last {
    /// Whether a line ends here, on both sides.
    pub(super) fn end_a_line(self) -> bool {
        matches!(self.old, None | Some(b'\n')) && matches!(self.new, None | Some(b'\n'))
    }
}

/// Gathers the summary of the edited file.
#[derive(Debug, Default)]
pub(super) struct After {
    size_bytes: u64,
    head: [u8; BOM.len()],
    removed: LineEnds,
    added: LineEnds,
    first: First,
}

#[derive(Debug, Default)]
struct LineEnds {
    all: u64,
    crlf: u64,
}

/// The first line end of the edited file.
#[derive(Debug, Default)]
enum First {
    /// It is in front of the first change, or nothing changed.
    #[default]
    AsBefore,
    /// A change is in the first line: it comes behind that, if at all.
    Sought,
    Is(LineEnd),
}

impl After {
    /// Takes bytes that stay.
    pub(super) fn keep(&mut self, bytes: &[u8], last: Last) {
        if bytes.first() == Some(&b'\n') {
            self.removed.crlf += u64::from(last.old == Some(b'\r'));
            self.added.crlf += u64::from(last.new == Some(b'\r'));
        }
        self.pass(bytes, last);
    }

    /// Takes bytes that go, in a line that is told from 1.
    pub(super) fn remove(&mut self, bytes: &[u8], last: Last, line: u64) {
        if line == 1 && matches!(self.first, First::AsBefore) {
            self.first = First::Sought;
        }
        self.removed.count(bytes, last.old);
    }

    /// Takes bytes that come, behind those that [`After::remove`] took.
    pub(super) fn add(&mut self, bytes: &[u8], last: Last) {
        self.added.count(bytes, last.new);
        self.pass(bytes, last);
    }

    /// The summary of the edited file, given that of the file.
    pub(super) fn finish(&self, before: &TextSummary, last: Last) -> TextSummary {
        let newlines =
            (before.lf_count + before.crlf_count + self.added.all).saturating_sub(self.removed.all);
        let crlf_count = (before.crlf_count + self.added.crlf).saturating_sub(self.removed.crlf);
        let bom = self.size_bytes >= BOM.len() as u64 && self.head == *BOM;
        let ends_with_newline = last.new == Some(b'\n');
        let text_bytes = self.size_bytes - if bom { BOM.len() as u64 } else { 0 };
        TextSummary {
            size_bytes: self.size_bytes,
            total_lines: newlines + u64::from(text_bytes > 0 && !ends_with_newline),
            lf_count: newlines.saturating_sub(crlf_count),
            crlf_count,
            first_line_end: match self.first {
                First::AsBefore => before.first_line_end,
                First::Sought => None,
                First::Is(line_end) => Some(line_end),
            },
            ends_with_newline,
            bom,
        }
    }

    fn pass(&mut self, bytes: &[u8], last: Last) {
        if self.size_bytes < BOM.len() as u64 {
            let at = usize::try_from(self.size_bytes).expect("it is below three");
            let wanted = bytes.len().min(BOM.len() - at);
            self.head[at..at + wanted].copy_from_slice(&bytes[..wanted]);
        }
        if let First::Sought = self.first
            && let Some(at) = memchr(b'\n', bytes)
        {
            let before = at.checked_sub(1).map_or(last.new, |before| Some(bytes[before]));
            self.first = First::Is(if before == Some(b'\r') { LineEnd::Crlf } else { LineEnd::Lf });
        }
        self.size_bytes = self.size_bytes.saturating_add(bytes.len() as u64);
    }
}

impl LineEnds {
    fn count(&mut self, bytes: &[u8], last: Option<u8>) {
        let joined = last == Some(b'\r') && bytes.first() == Some(&b'\n');
        self.all += memchr_iter(b'\n', bytes).count() as u64;
        self.crlf += u64::from(joined) + crlf_pairs(bytes);
    }
}
