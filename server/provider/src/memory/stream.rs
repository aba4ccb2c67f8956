//! Content and listings in pieces. The pieces share the file's memory.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use toolfs_core::error::Result;
use toolfs_core::limit::LimitName;
use toolfs_core::version::Version;

use super::tree::File;
use crate::abort::AbortSignal;
use crate::content::{ContentPart, ContentStream, EntryStream};
use crate::refusal;
use crate::report::Entry;
use crate::request::ByteRange;

const PIECE_BYTES: usize = 64 << 10;
const BATCH_ENTRIES: usize = 256;

/// The bytes of a range; as much of it as lies in the file.
pub(super) fn bytes(
    file: &Arc<File>,
    range: ByteRange,
    max_bytes: u64,
    path: String,
    abort: &AbortSignal,
) -> Result<ContentStream> {
    let size_bytes = file.content.len() as u64;
    let start = range.offset.min(size_bytes);
    let length = range.length.unwrap_or(u64::MAX).min(size_bytes - start);
    if length > max_bytes {
        return Err(refusal::too_large(path, LimitName::MaxReadBytes, max_bytes, length));
    }
    let place = |offset: u64| usize::try_from(offset).expect("it is at most the length of a slice");
    let content = file.content.slice(place(start)..place(start + length));
    let is_whole = range.offset == 0 && length == size_bytes;
    Ok(pieces(size_bytes, content, is_whole.then(|| file.version.clone()), PIECE_BYTES, abort))
}

/// The whole content, which is text, in pieces that end between characters.
pub(super) fn text(file: &Arc<File>, abort: &AbortSignal) -> ContentStream {
    pieces(file.content.len() as u64, file.content.clone(), Some(file.version.clone()), PIECE_BYTES, abort)
}

/// No piece ends inside a UTF-8 character, where the content is UTF-8.
fn pieces(
    size_bytes: u64,
    content: Bytes,
    version: Option<Version>,
    piece_bytes: usize,
    abort: &AbortSignal,
) -> ContentStream {
    let abort = abort.clone();
    let parts = stream::try_unfold((content, Some(version)), move |(mut rest, end)| {
        let abort = abort.clone();
        async move {
            let Some(version) = end else { return Ok(None) };
            abort.check()?;
            if rest.is_empty() {
                return Ok(Some((ContentPart::End(version), (rest, None))));
            }
            let piece = rest.split_to(character_end(&rest, piece_bytes));
            Ok(Some((ContentPart::Chunk(piece), (rest, Some(version)))))
        }
    });
    ContentStream { size_bytes, parts: Box::pin(parts) }
}

/// Where a piece of about `wanted` bytes ends between two characters. A character has at most 4 bytes, so that more
/// continuation bytes are no text anyway.
fn character_end(bytes: &[u8], wanted: usize) -> usize {
    if bytes.len() <= wanted {
        return bytes.len();
    }
    let is_continuation = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    (wanted.saturating_sub(3).max(1)..=wanted)
        .rev()
        .find(|end| !is_continuation(bytes[*end]))
        .unwrap_or(wanted)
}

/// Entries in batches.
pub(super) fn entries(entries: Vec<Entry>, abort: &AbortSignal) -> EntryStream {
    let abort = abort.clone();
    let batches = stream::try_unfold(entries, move |mut rest| {
        let abort = abort.clone();
        async move {
            abort.check()?;
            if rest.is_empty() {
                return Ok(None);
            }
            let later = rest.split_off(rest.len().min(BATCH_ENTRIES));
            Ok(Some((rest, later)))
        }
    });
    EntryStream { batches: Box::pin(batches) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_characters() {
        assert_eq!(character_end(b"abcdef", 4), 4);
        assert_eq!(character_end("ab\u{1f600}cd".as_bytes(), 4), 2);
        assert_eq!(character_end("abc\u{e9}".as_bytes(), 4), 3);
        assert_eq!(character_end("abc\u{e9}".as_bytes(), 5), 5);
    }

    #[test]
    fn bytes_that_are_no_text_still_make_progress() {
        assert_eq!(character_end(&[0x80; 9], 4), 4);
        assert_eq!(character_end("\u{1f600}x".as_bytes(), 1), 1);
    }
}
