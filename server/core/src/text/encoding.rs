//! Naming the encoding of bytes that are not UTF-8 text, from the first bytes of a file.
//!
//! A hint for a message, made of a byte order mark or of a clear pattern of NULs. Deliberately absent: code pages,
//! which no pattern tells apart, and anything that is not sure.

use crate::error::Encoding;

/// How many bytes at the start of a file are looked at.
pub(super) const HEAD_BYTES: usize = 64;

/// The encoding that the first bytes of a file that is not text name.
///
/// UTF-32 is tried before UTF-16: the mark of UTF-32LE starts with that of UTF-16LE.
pub(super) fn name_of(head: &[u8]) -> Option<Encoding> {
    const MARKS: [(&[u8], Encoding); 4] = [
        (b"\xff\xfe\0\0", Encoding::Utf32Le),
        (b"\0\0\xfe\xff", Encoding::Utf32Be),
        (b"\xff\xfe", Encoding::Utf16Le),
        (b"\xfe\xff", Encoding::Utf16Be),
    ];
    const UNMARKED: [Encoding; 4] =
        [Encoding::Utf32Le, Encoding::Utf32Be, Encoding::Utf16Le, Encoding::Utf16Be];
    let marked = MARKS.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, encoding)| *encoding);
    marked.or_else(|| UNMARKED.into_iter().find(|encoding| reads_as_text(head, *encoding)))
}

/// Whether the units of `head` are at least two, no control characters, and at least three in four of them below
/// U+0100: what mostly Latin text looks like, and small binary numbers do not.
fn reads_as_text(head: &[u8], encoding: Encoding) -> bool {
    let units: Vec<u32> = match encoding {
        Encoding::Utf16Le => units(head, |unit: [u8; 2]| u32::from(u16::from_le_bytes(unit))),
        Encoding::Utf16Be => units(head, |unit: [u8; 2]| u32::from(u16::from_be_bytes(unit))),
        Encoding::Utf32Le => units(head, u32::from_le_bytes),
        Encoding::Utf32Be => units(head, u32::from_be_bytes),
    };
    let is_blank = |unit: u32| matches!(unit, 0x09 | 0x0a | 0x0c | 0x0d);
    let is_control = |unit: u32| (unit < 0x20 && !is_blank(unit)) || (0x7f..0xa0).contains(&unit);
    let latin = units.iter().filter(|unit| **unit < 0x100).count();
    let in_range = units.iter().all(|unit| *unit <= u32::from(char::MAX) && !is_control(*unit));
    units.len() >= 2 && in_range && latin * 4 >= units.len() * 3
}

/// The whole units at the start of `head`.
fn units<const N: usize>(head: &[u8], read: impl Fn([u8; N]) -> u32) -> Vec<u32> {
    head.as_chunks::<N>().0.iter().map(|unit| read(*unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Encoding::Utf32Le => text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
            Encoding::Utf32Be => text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
        }
    }

    #[test]
    fn every_encoding_is_named_with_and_without_a_mark() {
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be] {
            for text in ["hi", "h\u{e9}llo\r\nw\u{f6}rld\t— and more \u{1f600}", "\u{feff}hi", "\u{feff}語"]
            {
                assert_eq!(name_of(&encode(text, encoding)), Some(encoding), "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_no_clear_pattern_is_not_named() {
        let cases: [&[u8]; 9] = [
            b"",
            b"\0",
            b"a\0",
            b"key=\"u\0v\"\n",
            b"\x01\0\0\0\x02\0\0\0",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
            b"PK\x03\x04\x14\0\0\0\x08\0",
            b"\0\0\0\0\0\0\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        ];
        for head in cases {
            assert_eq!(name_of(head), None, "{head:x?}");
        }
    }
}
