//! A character whose bytes are not all there yet, because a piece ends inside it.

/// The first bytes of a UTF-8 character: always the valid start of one, never a whole one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartialChar {
    bytes: [u8; 4],
    len: usize,
}

/// What one more byte made of a [`PartialChar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extended {
    /// The character is whole; nothing is kept.
    Whole(char),
    /// Still more bytes are due.
    Partial,
    /// The byte cannot continue it. It was not taken; the bytes kept before it are an invalid sequence.
    Invalid,
}

impl PartialChar {
    /// No byte at all.
    pub(crate) const NONE: PartialChar = PartialChar { bytes: [0; 4], len: 0 };

    /// Splits the start of a character that the end of `text` cuts off from what is before it. Bytes that no
    /// further byte can make valid stay with the text.
    pub(crate) fn split_off(text: &[u8]) -> (&[u8], PartialChar) {
        let is_lead = |byte: u8| byte >= 0xc0;
        for len in 1..=text.len().min(3) {
            let (body, tail) = text.split_at(text.len() - len);
            if tail[0].is_ascii() {
                break;
            }
            if is_lead(tail[0]) {
                let cut_off = matches!(std::str::from_utf8(tail), Err(error) if error.error_len().is_none());
                if cut_off {
                    let mut partial = PartialChar::NONE;
                    partial.bytes[..len].copy_from_slice(tail);
                    partial.len = len;
                    return (body, partial);
                }
                break;
            }
        }
        (text, PartialChar::NONE)
    }

    /// Whether no byte is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes are kept, at most 3.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds the byte that follows. There must be bytes to continue.
    pub(crate) fn extend(&mut self, next: u8) -> Extended {
        let mut bytes = self.bytes;
        bytes[self.len] = next;
        match std::str::from_utf8(&bytes[..=self.len]) {
            Ok(text) => {
                *self = PartialChar::NONE;
                Extended::Whole(text.chars().next().expect("the slice holds at least `next`"))
            }
            Err(error) if error.error_len().is_none() => {
                *self = PartialChar { bytes, len: self.len + 1 };
                Extended::Partial
            }
            Err(_) => Extended::Invalid,
        }
    }
}
