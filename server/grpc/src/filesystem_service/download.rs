//! Content and listings that leave in parts.

use std::ops::ControlFlow;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tonic::Status;
use toolfs_contract::v1;
use toolfs_core::error::{ErrorKind, FsError};
use toolfs_provider::content::{ContentPart, ContentStream, EntryStream};

use crate::convert::filesystem;
use crate::layers::trace;
use crate::parts::Outlet;
use crate::status;

/// A part of content, whichever RPC it leaves by.
pub(super) enum Part {
    /// Comes first.
    Header(v1::ContentHeader),
    /// Some content.
    Chunk(Bytes),
    /// Comes last.
    Trailer(v1::ContentTrailer),
}

/// A part of a text.
pub(super) fn text_part(part: Part) -> v1::ReadTextResponse {
    use v1::read_text_response::Part as Wire;
    let part = match part {
        Part::Header(header) => Wire::Header(header),
        Part::Chunk(chunk) => Wire::Chunk(chunk),
        Part::Trailer(trailer) => Wire::Trailer(trailer),
    };
    v1::ReadTextResponse { part: Some(part) }
}

/// A part of a range of bytes.
pub(super) fn bytes_part(part: Part) -> v1::ReadBytesResponse {
    use v1::read_bytes_response::Part as Wire;
    let part = match part {
        Part::Header(header) => Wire::Header(header),
        Part::Chunk(chunk) => Wire::Chunk(chunk),
        Part::Trailer(trailer) => Wire::Trailer(trailer),
    };
    v1::ReadBytesResponse { part: Some(part) }
}

/// Sends content, and an end only where the provider told one.
///
/// # Errors
/// Those of the provider; `FS_IO_ERROR` when it stops before the end; `FS_ABORTED` when nothing is taken for too long.
pub(super) async fn send_content<T>(
    mut content: ContentStream,
    outlet: &Outlet<T>,
    wire: fn(Part) -> T,
) -> Result<(), Status> {
    let header = filesystem::content_header(content.size_bytes);
    outlet.send(wire(Part::Header(header))).await?;
    let mut sent_bytes = 0;
    while let Some(part) = content.parts.next().await {
        match part.map_err(|error| status::between_processes(&error))? {
            ContentPart::Chunk(mut chunk) => {
                sent_bytes += chunk.len() as u64;
                while let ControlFlow::Continue(piece) = filesystem::next_piece(&mut chunk) {
                    outlet.send(wire(Part::Chunk(piece))).await?;
                }
            }
            ContentPart::End(version) => {
                trace::bytes(sent_bytes);
                let trailer = filesystem::content_trailer(version);
                return outlet.send(wire(Part::Trailer(trailer))).await;
            }
        }
    }
    let error = FsError::new(ErrorKind::IoError, "the provider stopped before the end of the content");
    Err(status::between_processes(&error))
}

/// Sends the entries of a directory.
///
/// # Errors
/// Those of the provider; `FS_ABORTED` when nothing is taken for too long.
pub(super) async fn send_entries(
    mut entries: EntryStream,
    outlet: &Outlet<v1::ListDirResponse>,
) -> Result<(), Status> {
    while let Some(batch) = entries.batches.next().await {
        let batch = batch.map_err(|error| status::between_processes(&error))?;
        for response in filesystem::list_dir_responses(batch) {
            outlet.send(response).await?;
        }
    }
    Ok(())
}
