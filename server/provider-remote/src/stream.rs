//! Content and listings on their way from the peer.

use bytes::Bytes;
use futures_util::stream;
use tonic::Streaming;
use toolfs_contract::v1::{self, read_bytes_response, read_text_response};
use toolfs_core::error::Result;
use toolfs_core::target::FileKind;
use toolfs_core::version::Version;
use toolfs_provider::content::{ContentPart, ContentStream, EntryStream};
use toolfs_provider::report::Entry;
use toolfs_provider::request::ByteRange;
use toolfs_remote::{Broken, count, file_kind, required, version};

use crate::answer;
use crate::call::{Effect, Wait};

/// What is read, and hence which rules hold for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// A whole text, in pieces that end between characters, with its version.
    Text,
    /// A range of bytes.
    Bytes(ByteRange),
}

/// A part of either kind of content.
pub(crate) enum Part {
    Header(v1::ContentHeader),
    Chunk(Bytes),
    Trailer(v1::ContentTrailer),
}

/// A message that is a part of content.
pub(crate) trait ContentMessage: Send + 'static {
    /// The part; `None` for none, or one that this build does not know.
    fn into_part(self) -> Option<Part>;
}

impl ContentMessage for v1::ReadTextResponse {
    fn into_part(self) -> Option<Part> {
        use read_text_response::Part as Told;
        Some(match self.part? {
            Told::Header(header) => Part::Header(header),
            Told::Chunk(chunk) => Part::Chunk(chunk),
            Told::Trailer(trailer) => Part::Trailer(trailer),
        })
    }
}

impl ContentMessage for v1::ReadBytesResponse {
    fn into_part(self) -> Option<Part> {
        use read_bytes_response::Part as Told;
        Some(match self.part? {
            Told::Header(header) => Part::Header(header),
            Told::Chunk(chunk) => Part::Chunk(chunk),
            Told::Trailer(trailer) => Part::Trailer(trailer),
        })
    }
}

/// Waits for the header, and hands the rest over to whoever reads it.
///
/// # Errors
/// Those of the call; `FS_IO_ERROR` for a stream that does not begin with the header of a regular file.
pub(crate) async fn content<M: ContentMessage>(
    messages: Streaming<M>,
    mut wait: Wait,
    asked: Asked,
) -> Result<ContentStream> {
    let mut messages = messages;
    let first = wait.on(&Effect::None, messages.message()).await?;
    let header = match first.and_then(ContentMessage::into_part) {
        Some(Part::Header(header)) => header,
        Some(Part::Chunk(_) | Part::Trailer(_)) | None => {
            return Err(Effect::None.broken(&Broken::new("header", "does not come first")));
        }
    };
    let size_bytes = header_size(&header).map_err(|broken| Effect::None.broken(&broken))?;
    let reading =
        Reading { messages, wait, asked, size_bytes, received_bytes: 0, is_text: true, ended: false };
    let parts = stream::try_unfold(reading, |mut reading| async move {
        Ok(reading.next().await?.map(|part| (part, reading)))
    });
    Ok(ContentStream { size_bytes, parts: Box::pin(parts) })
}

fn header_size(header: &v1::ContentHeader) -> Result<u64, Broken> {
    let kind = required("header.kind", file_kind(header.kind))?;
    Broken::unless(kind == FileKind::Regular, "header.kind", "is of something that has no content")?;
    count("header.size", header.size)
}

struct Reading<M> {
    messages: Streaming<M>,
    wait: Wait,
    asked: Asked,
    size_bytes: u64,
    received_bytes: u64,
    /// Whether every chunk so far is text that ends between characters.
    is_text: bool,
    ended: bool,
}

impl<M: ContentMessage> Reading<M> {
    /// The next part; `None` after the end. An empty chunk is passed over.
    async fn next(&mut self) -> Result<Option<ContentPart>> {
        while !self.ended {
            let message = self.wait.on(&Effect::None, self.messages.message()).await?;
            let part = message.map(ContentMessage::into_part);
            if let Some(part) = self.take(part).map_err(|broken| Effect::None.broken(&broken))? {
                if self.ended {
                    self.end_of_messages().await?;
                }
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    fn take(&mut self, part: Option<Option<Part>>) -> Result<Option<ContentPart>, Broken> {
        match part {
            None => Err(Broken::new("trailer", "is missing: the content ended before its end")),
            Some(None) => Err(Broken::new("part", "is missing or not known")),
            Some(Some(Part::Header(_))) => Err(Broken::new("header", "comes a second time")),
            Some(Some(Part::Chunk(chunk))) => self.take_chunk(chunk),
            Some(Some(Part::Trailer(trailer))) => {
                self.ended = true;
                Ok(Some(ContentPart::End(self.version(&trailer)?)))
            }
        }
    }

    fn take_chunk(&mut self, chunk: Bytes) -> Result<Option<ContentPart>, Broken> {
        if chunk.is_empty() {
            return Ok(None);
        }
        self.received_bytes = self.received_bytes.saturating_add(chunk.len() as u64);
        match self.asked {
            // A peer may find out behind a chunk that the file is no text, and then says so instead of ending.
            Asked::Text => self.is_text &= std::str::from_utf8(&chunk).is_ok_and(|text| !text.contains('\0')),
            Asked::Bytes(range) => {
                let within = range.length.is_none_or(|length| self.received_bytes <= length);
                Broken::unless(within, "chunk", "goes past the range that was asked for")?;
            }
        }
        // A file of a reported size of 0 may have content all the same.
        let within = self.size_bytes == 0 || self.received_bytes <= self.size_bytes;
        Broken::unless(within, "header.size", "is below the size of the content")?;
        Ok(Some(ContentPart::Chunk(chunk)))
    }

    /// The version that the trailer tells: of the whole file, or none.
    fn version(&self, trailer: &v1::ContentTrailer) -> Result<Option<Version>, Broken> {
        let is_as_asked = match self.asked {
            Asked::Text => self.is_text,
            Asked::Bytes(_) => true,
        };
        Broken::unless(is_as_asked, "chunk", "is no text that ends between characters")?;
        let is_whole = self.size_bytes == 0 || self.received_bytes == self.size_bytes;
        let starts_at_0 = match self.asked {
            Asked::Text => true,
            Asked::Bytes(range) => range.offset == 0,
        };
        match (self.asked, trailer.version.as_str()) {
            (Asked::Text, "") => Err(Broken::new("trailer.version", "is missing")),
            (Asked::Bytes(_), "") => Ok(None),
            (Asked::Text | Asked::Bytes(_), text) => {
                let holds = is_whole && starts_at_0;
                Broken::unless(holds, "trailer.version", "is told although not the whole file was sent")?;
                Ok(Some(version("trailer.version", text)?))
            }
        }
    }

    /// Nothing may follow the trailer, and the status behind it must be OK.
    async fn end_of_messages(&mut self) -> Result<()> {
        match self.wait.on(&Effect::None, self.messages.message()).await? {
            None => Ok(()),
            Some(_) => Err(Effect::None.broken(&Broken::new("trailer", "is not the last part"))),
        }
    }
}

/// A listing, batch by batch. An empty one is passed over.
pub(crate) fn entries(messages: Streaming<v1::ListDirResponse>, wait: Wait) -> EntryStream {
    let batches = stream::try_unfold((messages, wait), |(mut messages, mut wait)| async move {
        loop {
            let Some(message) = wait.on(&Effect::None, messages.message()).await? else { return Ok(None) };
            let batch: Result<Vec<Entry>, Broken> = message.entries.into_iter().map(answer::entry).collect();
            let batch = batch.map_err(|broken| Effect::None.broken(&broken))?;
            if !batch.is_empty() {
                return Ok(Some((batch, (messages, wait))));
            }
        }
    });
    EntryStream { batches: Box::pin(batches) }
}
