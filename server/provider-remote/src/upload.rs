//! Content on its way to the peer: one header, chunks, one trailer with the digest of what was sent.

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use sha2::{Digest as _, Sha256};
use toolfs_contract::v1::{self, plan_write_request, write_text_request};
use toolfs_provider::request::WriteTextRequest;

use crate::call::Sent;
use crate::request;

/// How many bytes of content travel in one message.
const CHUNK_BYTES: usize = 1 << 20;

/// The messages of a write. `sent` is told when the trailer leaves: without it the peer publishes nothing.
pub(crate) fn write_messages(
    asked: &WriteTextRequest,
    sent: Sent,
) -> impl Stream<Item = v1::WriteTextRequest> + Send + 'static {
    use write_text_request::Part;
    let header = Part::Header(request::write_header(asked));
    let content = pieces(asked.content.clone()).map(move |piece| match piece {
        Piece::Chunk(chunk) => Part::Chunk(chunk),
        Piece::Trailer(trailer) => {
            sent.mark_whole();
            Part::Trailer(trailer)
        }
    });
    stream::iter([header].into_iter().chain(content).map(|part| v1::WriteTextRequest { part: Some(part) }))
}

/// The messages of a planned write.
pub(crate) fn plan_messages(
    asked: &WriteTextRequest,
) -> impl Stream<Item = v1::PlanWriteRequest> + Send + 'static {
    use plan_write_request::Part;
    let header = Part::Header(request::plan_write_header(asked));
    let content = pieces(asked.content.clone()).map(|piece| match piece {
        Piece::Chunk(chunk) => Part::Chunk(chunk),
        Piece::Trailer(trailer) => Part::Trailer(trailer),
    });
    stream::iter([header].into_iter().chain(content).map(|part| v1::PlanWriteRequest { part: Some(part) }))
}

enum Piece {
    Chunk(Bytes),
    Trailer(v1::WriteTrailer),
}

/// Cuts content into chunks, digests each as it leaves, and ends with the trailer.
fn pieces(mut rest: Bytes) -> impl Iterator<Item = Piece> + Send + 'static {
    let mut digest = Some(Sha256::new());
    std::iter::from_fn(move || {
        if rest.is_empty() {
            let sha256 = digest.take()?.finalize().to_vec();
            return Some(Piece::Trailer(v1::WriteTrailer { sha256: Some(sha256.into()) }));
        }
        let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
        if let Some(digest) = &mut digest {
            digest.update(&chunk);
        }
        Some(Piece::Chunk(chunk))
    })
}
