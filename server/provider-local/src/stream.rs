//! Content that leaves in pieces: each is read when it is asked for, so a slow taker holds no thread and no memory
//! beyond one piece.
//!
//! Dropping a stream closes its file and nothing else.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::try_unfold;
use toolfs_core::error::Result;
use toolfs_core::limit::LimitName;
use toolfs_core::target::TargetKey;
use toolfs_core::text::TextScanner;
use toolfs_core::version::VersionHasher;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::content::{ContentPart, ContentStream};
use toolfs_provider::refusal;
use toolfs_provider::request::ByteRange;

use crate::disk::{Disk, OpenFile};
use crate::read::{Pieces, not_text, start_at};
use crate::work::blocking;

/// Past the end of every file that reports no size, and nowhere an offset that a file system refuses.
const MAX_OFFSET: u64 = 1 << 43;

/// Opens a text to be streamed.
pub(crate) fn text(disk: &Arc<Disk>, key: &TargetKey, abort: &AbortSignal) -> Result<ContentStream> {
    let open = disk.open_file(key)?;
    let pieces = Pieces::whole(disk, &open);
    let judge = Some(Judge { scanner: TextScanner::new(), cut_off: Vec::new() });
    Ok(Source {
        disk: disk.clone(),
        abort: abort.clone(),
        open,
        pieces,
        judge,
        is_whole: true,
        hasher: Some(VersionHasher::new()),
    }
    .into_stream())
}

/// Opens bytes to be streamed.
pub(crate) fn bytes(
    disk: &Arc<Disk>,
    key: &TargetKey,
    range: ByteRange,
    abort: &AbortSignal,
) -> Result<ContentStream> {
    let open = disk.open_file(key)?;
    let size = open.facts.size;
    // A file that reports no size may still have content: how much is seen when it is read.
    let rest = if size == 0 { u64::MAX } else { size.saturating_sub(range.offset) };
    let wanted = range.length.map_or(rest, |length| length.min(rest));
    let limit = disk.limits.max_read_bytes;
    if size > 0 && wanted > limit {
        return Err(refusal::too_large(&open.path, LimitName::MaxReadBytes, limit, wanted));
    }
    if range.offset > 0 && wanted > 0 {
        // What is wanted of a file with a size starts within it.
        start_at(&open, if size > 0 { range.offset } else { range.offset.min(MAX_OFFSET) })?;
    }
    let is_whole = range.offset == 0 && range.length.is_none_or(|length| length >= size);
    let pieces = Pieces::part(disk, &open, wanted);
    let hasher = is_whole.then(VersionHasher::new);
    let source =
        Source { disk: disk.clone(), abort: abort.clone(), open, pieces, judge: None, is_whole, hasher };
    Ok(source.into_stream())
}

#[derive(Debug)]
struct Source {
    disk: Arc<Disk>,
    abort: AbortSignal,
    open: OpenFile,
    pieces: Pieces,
    judge: Option<Judge>,
    is_whole: bool,
    hasher: Option<VersionHasher>,
}

/// What a stream of text needs beside its bytes.
#[derive(Debug)]
struct Judge {
    scanner: TextScanner,
    /// The start of a character whose end is in the next piece.
    cut_off: Vec<u8>,
}

impl Source {
    fn into_stream(self) -> ContentStream {
        let size_bytes = self.open.facts.size;
        let parts = try_unfold(Some(self), |source| async move {
            let Some(mut source) = source else { return Ok(None) };
            let (part, source) = blocking(move || Ok((source.next()?, source))).await?;
            let rest = match part {
                ContentPart::Chunk(_) => Some(source),
                ContentPart::End(_) => None,
            };
            Ok(Some((part, rest)))
        });
        ContentStream { size_bytes, parts: Box::pin(parts) }
    }

    fn next(&mut self) -> Result<ContentPart> {
        let Source { disk, abort, open, pieces, judge, is_whole, hasher } = self;
        while let Some(piece) = pieces.next(disk, open, abort)? {
            if let Some(hasher) = hasher {
                hasher.update(piece);
            }
            let Some(Judge { scanner, cut_off }) = judge else {
                return Ok(ContentPart::Chunk(Bytes::copy_from_slice(piece)));
            };
            scanner.feed(piece).map_err(|refused| not_text(refused, &open.path))?;
            let mut text = std::mem::take(cut_off);
            text.extend_from_slice(piece);
            *cut_off = text.split_off(whole_characters(&text));
            if !text.is_empty() {
                return Ok(ContentPart::Chunk(text.into()));
            }
        }
        if let Some(Judge { scanner, .. }) = judge.take() {
            scanner.finish().map_err(|refused| not_text(refused, &open.path))?;
        }
        // Of a file that became shorter meanwhile, not all that was promised was sent.
        let is_complete = *is_whole
            && match open.facts.size {
                0 => !pieces.is_used_up(),
                size => pieces.taken == size,
            };
        let version = hasher.take().filter(|_| is_complete).map(|hasher| hasher.finish());
        Ok(ContentPart::End(version))
    }
}

/// How many bytes of `text` there are before a character that its end cuts off.
fn whole_characters(text: &[u8]) -> usize {
    let start = text.iter().rev().take(3).position(|&byte| byte >= 0xc0);
    let Some(length) = start.map(|back| back + 1) else { return text.len() };
    let lead = text[text.len() - length];
    let due = match lead {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    };
    if due > length { text.len() - length } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_before_the_character_that_it_cuts_off() {
        for text in ["", "a", "é", "語", "\u{1f600}", "aé語\u{1f600}z"] {
            for end in 0..=text.len() {
                let whole = whole_characters(&text.as_bytes()[..end]);
                let boundary = (0..=end).rev().find(|&at| text.is_char_boundary(at)).unwrap();
                assert_eq!(whole, boundary, "{text:?} cut at {end}");
            }
        }
    }
}
