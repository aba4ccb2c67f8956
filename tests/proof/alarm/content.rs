//! Contents: each is told from all others by its first line, and some are changed into each other with the same size.

use std::fmt::Write as _;

use fastrand::Rng;

/// How large the files of a case are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    /// So large that what a pass learned of it is remembered.
    Remembered,
    /// So large that it is not edited in memory.
    Streamed,
}

impl Size {
    pub(super) fn draw(rng: &mut Rng) -> Size {
        match rng.u32(..100) {
            0..68 => Size::Small,
            68..94 => Size::Remembered,
            _ => Size::Streamed,
        }
    }

    fn bytes(self, rng: &mut Rng) -> usize {
        match self {
            Size::Small => rng.usize(STAMP_BYTES..2_000),
            Size::Remembered => rng.usize((64 << 10) + 64..160 << 10),
            Size::Streamed => rng.usize((1 << 20) + 64..(1 << 20) + (300 << 10)),
        }
    }
}

/// The length of a first line.
const STAMP_BYTES: usize = "stamp 00000000\n".len();

/// The first line of a content, which an edit replaces.
pub(super) fn stamp(serial: u64) -> String {
    format!("stamp {serial:08}\n")
}

/// The first line of a content as it is.
pub(super) fn stamp_of(content: &[u8]) -> String {
    String::from_utf8_lossy(&content[..STAMP_BYTES]).into_owned()
}

/// Numbers the contents of a case, so that no two are alike by chance.
#[derive(Debug)]
pub(super) struct Contents {
    size: Size,
    next: u64,
}

impl Contents {
    pub(super) fn of(size: Size) -> Contents {
        Contents { size, next: 1 }
    }

    pub(super) fn next_stamp(&mut self) -> String {
        self.next += 1;
        stamp(self.next)
    }

    /// A new content.
    pub(super) fn draw(&mut self, rng: &mut Rng) -> Vec<u8> {
        let bytes = self.size.bytes(rng);
        let mut text = self.next_stamp();
        let line = format!("{:016x} and the same again\n", rng.u64(..));
        let _ = write!(text, "{}", line.repeat(bytes / line.len()));
        while text.len() < bytes {
            text.push('.');
        }
        text.into_bytes()
    }

    /// Another content with the same size.
    pub(super) fn of_same_size(&mut self, content: &[u8]) -> Vec<u8> {
        let mut other = content.to_vec();
        other[..STAMP_BYTES].copy_from_slice(self.next_stamp().as_bytes());
        other
    }
}
