//! The end of a file that is passed through: its last lines, for a change that may follow. Deliberately absent: whether
//! one does.

use std::collections::VecDeque;

use memchr::memrchr_iter;

/// The line that is being passed, as far as it came, and some whole lines before it.
///
/// Bytes are held up to a bound; beyond it the first lines go, and only their lengths are known.
#[derive(Debug)]
pub(super) struct Recent {
    /// How many whole lines.
    lines: usize,
    max_bytes: usize,
    /// What is held of them: all that is from `base` on, or nothing.
    bytes: Vec<u8>,
    base: u64,
    end: u64,
    /// Whether the last line alone is above the bound. It is passed over then.
    is_over: bool,
    /// Where they start, the last line included.
    starts: VecDeque<u64>,
    /// Whether lines went since [`Recent::restart`].
    has_passed_lines: bool,
}

/// Some of the bytes, or how many they are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held<'r> {
    Bytes(&'r [u8]),
    Count(u64),
}

impl Held<'_> {
    pub(super) fn len(&self) -> u64 {
        match self {
            Held::Bytes(bytes) => bytes.len() as u64,
            Held::Count(count) => *count,
        }
    }
}

impl Recent {
    /// Starts at the first byte of a file.
    pub(super) fn new(lines: usize, max_bytes: usize) -> Recent {
        Recent {
            lines,
            max_bytes,
            bytes: Vec::new(),
            base: 0,
            end: 0,
            is_over: false,
            starts: VecDeque::from([0]),
            has_passed_lines: false,
        }
    }

    /// Passes bytes.
    pub(super) fn pass(&mut self, run: &[u8]) {
        let mut starts = [0; 8];
        let mut count = 0;
        for (start, at) in starts.iter_mut().zip(memrchr_iter(b'\n', run).take(self.lines + 1)) {
            *start = at + 1;
            count += 1;
        }
        let run_start = self.end;
        self.end += run.len() as u64;
        if count == 0 {
            return self.hold(run);
        }
        for start in starts[..count].iter().rev() {
            self.starts.push_back(run_start + *start as u64);
        }
        while self.starts.len() > self.lines + 1 {
            self.starts.pop_front();
            self.has_passed_lines = true;
        }
        // Where the first of the lines starts in the run; if it is too long to be held, where the next one does.
        let from = if self.is_over {
            Some(starts[count - 1])
        } else {
            let start = self.starts[0].checked_sub(run_start);
            start.map(|start| usize::try_from(start).expect("it is in the run"))
        };
        match from {
            Some(from) => {
                self.is_over = false;
                self.bytes.clear();
                self.base = run_start + from as u64;
                self.hold(&run[from..]);
            }
            None => {
                self.forget_before(self.starts[0]);
                self.hold(run);
            }
        }
    }

    /// How many whole lines there are at most.
    pub(super) fn line_count(&self) -> usize {
        self.lines
    }

    /// Forgets all; what comes next starts a line. From now on at most so many bytes are held.
    pub(super) fn restart(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.bytes.clear();
        self.bytes.shrink_to(max_bytes);
        self.base = self.end;
        self.is_over = false;
        self.starts.clear();
        self.starts.push_back(self.end);
        self.has_passed_lines = false;
    }

    /// Whether some of what came since [`Recent::restart`] is in none of the lines any more.
    pub(super) fn has_passed_lines(&self) -> bool {
        self.has_passed_lines
    }

    /// The whole lines.
    pub(super) fn whole_lines(&self) -> Held<'_> {
        self.range(self.starts[0], self.starts[self.starts.len() - 1])
    }

    /// The last line, as far as it came.
    pub(super) fn last_line(&self) -> Held<'_> {
        self.range(self.starts[self.starts.len() - 1], self.end)
    }

    fn range(&self, start: u64, end: u64) -> Held<'_> {
        if start < self.base || (self.is_over && end > start) {
            return Held::Count(end - start);
        }
        let index = |offset: u64| usize::try_from(offset - self.base).expect("what is held is in memory");
        if start == end { Held::Bytes(&[]) } else { Held::Bytes(&self.bytes[index(start)..index(end)]) }
    }

    /// Holds a run, the last bytes that came, as far as the bound lets it.
    fn hold(&mut self, run: &[u8]) {
        if self.is_over {
            return;
        }
        let run_start = self.end - run.len() as u64;
        if self.bytes.len() + run.len() > self.max_bytes {
            // Without the first lines the others are short enough, or the last one alone is too long.
            let fits = |start: u64| start >= self.base && self.end - start <= self.max_bytes as u64;
            match self.starts.iter().copied().find(|start| fits(*start)) {
                None => {
                    self.bytes = Vec::new();
                    self.is_over = true;
                    return;
                }
                Some(start) if start >= run_start => {
                    let from = usize::try_from(start - run_start).expect("it is in the run");
                    self.bytes.clear();
                    self.base = start;
                    return self.append(&run[from..]);
                }
                Some(start) => self.forget_before(start),
            }
        }
        self.append(run);
    }

    /// Appends without more room than the bound.
    fn append(&mut self, run: &[u8]) {
        let len = self.bytes.len() + run.len();
        if self.bytes.capacity() < len {
            // Growing holds the old bytes and the new ones for a moment: never more than half as much again.
            let room = if len > self.max_bytes / 4 { self.max_bytes } else { 2 * len };
            self.bytes.reserve_exact(room - self.bytes.len());
        }
        self.bytes.extend_from_slice(run);
    }

    fn forget_before(&mut self, start: u64) {
        if start > self.base {
            let gone = usize::try_from(start - self.base).expect("what is held is in memory");
            self.bytes.drain(..gone);
            self.base = start;
        }
    }
}
