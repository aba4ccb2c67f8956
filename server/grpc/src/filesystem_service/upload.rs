//! Content that arrives in parts: one header, chunks, one trailer, and nothing after it.
//!
//! Nothing of it reaches the provider until the whole has come and matches what was announced.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio::task::yield_now;
use tokio::time::timeout;
use tonic::{Status, Streaming};
use toolfs_contract::v1;
use toolfs_core::error::{AbortCause, ErrorKind, FsError};
use toolfs_core::limit::LimitName;
use toolfs_provider::abort::{AbortSignal, aborted};

use crate::convert::filesystem::{self, WriteHeader, absent, invalid};
use crate::status;

/// For how many bytes room is made at once, whatever size is announced.
const FIRST_ROOM_BYTES: u64 = 1 << 20;

/// How many bytes are digested and copied before other calls have their turn: a chunk may be as large as a message.
const STRIDE_BYTES: usize = 1 << 20;

/// Within what content may arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct UploadLimits {
    /// Bytes of the content.
    pub(super) max_bytes: u64,
    /// How long nothing may come.
    pub(super) patience: Duration,
}

/// A part, whichever RPC it came by.
pub(super) enum Part {
    /// The header, and whether it could be read.
    Header(Result<WriteHeader, Status>),
    /// Some content.
    Chunk(Bytes),
    /// The end.
    Trailer(v1::WriteTrailer),
    /// Nothing, or an arm that this server does not know.
    Unknown,
}

/// A part of a write.
pub(super) fn write_part(request: v1::WriteTextRequest) -> Part {
    use v1::write_text_request::Part as Wire;
    match request.part {
        Some(Wire::Header(header)) => Part::Header(filesystem::write_text_header(header)),
        Some(Wire::Chunk(chunk)) => Part::Chunk(chunk),
        Some(Wire::Trailer(trailer)) => Part::Trailer(trailer),
        None => Part::Unknown,
    }
}

/// A part of a planned write.
pub(super) fn plan_part(request: v1::PlanWriteRequest) -> Part {
    use v1::plan_write_request::Part as Wire;
    match request.part {
        Some(Wire::Header(header)) => Part::Header(filesystem::plan_write_header(header)),
        Some(Wire::Chunk(chunk)) => Part::Chunk(chunk),
        Some(Wire::Trailer(trailer)) => Part::Trailer(trailer),
        None => Part::Unknown,
    }
}

/// Receives a whole write.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` that names the part or the field, `GUARD_MISSING`, `FS_TOO_LARGE`; `FS_ABORTED` when the call
/// is given up, or when nothing comes for too long; the transport's own when the caller went away.
pub(super) async fn receive<M>(
    mut messages: Streaming<M>,
    part: fn(M) -> Part,
    limits: UploadLimits,
    abort: &AbortSignal,
) -> Result<(WriteHeader, Bytes), Status> {
    let mut upload = Upload::new(limits.max_bytes);
    loop {
        let next = tokio::select! {
            biased;
            cause = abort.fired() => return Err(status::between_processes(&aborted(cause))),
            next = timeout(limits.patience, messages.message()) => next,
        };
        let next = next.map_err(|_| status::between_processes(&nothing_came(limits.patience)))?;
        match next? {
            Some(message) => upload.add(part(message)).await?,
            None => return upload.finish(),
        }
    }
}

fn nothing_came(patience: Duration) -> FsError {
    let message = format!("the call was given up: its caller sent nothing for {} s", patience.as_secs_f32());
    FsError::new(ErrorKind::Aborted { cause: AbortCause::Cancelled }, message)
}

/// What has come so far.
#[derive(Debug)]
struct Upload {
    max_bytes: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Empty,
    Open { header: WriteHeader, content: BytesMut, digest: Sha256 },
    Whole { header: WriteHeader, content: Bytes },
}

impl Upload {
    fn new(max_bytes: u64) -> Upload {
        Upload { max_bytes, stage: Stage::Empty }
    }

    async fn add(&mut self, part: Part) -> Result<(), Status> {
        match (&mut self.stage, part) {
            (Stage::Whole { .. }, part) => {
                Err(invalid(name(&part), "a part after the trailer", "absent: the trailer comes last"))
            }
            (Stage::Empty | Stage::Open { .. }, Part::Unknown) => {
                Err(absent("part", "`header`, `chunk` or `trailer`"))
            }
            (Stage::Empty, Part::Header(header)) => {
                self.stage = open(header?, self.max_bytes)?;
                Ok(())
            }
            (Stage::Empty, part @ (Part::Chunk(_) | Part::Trailer(_))) => {
                Err(invalid(name(&part), "the first part", "a part after the header, which comes first"))
            }
            (Stage::Open { .. }, Part::Header(_)) => {
                Err(invalid("header", "a second header", "one, which comes first"))
            }
            (Stage::Open { header, content, digest }, Part::Chunk(chunk)) => {
                let size_bytes = content.len() as u64 + chunk.len() as u64;
                if size_bytes > header.size_bytes {
                    return Err(another_size(header.size_bytes, "more"));
                }
                for (index, stride) in chunk.chunks(STRIDE_BYTES).enumerate() {
                    if index > 0 {
                        yield_now().await;
                    }
                    digest.update(stride);
                    content.extend_from_slice(stride);
                }
                Ok(())
            }
            (Stage::Open { .. }, Part::Trailer(trailer)) => self.close(trailer),
        }
    }

    /// Compares what came with what was announced.
    fn close(&mut self, trailer: v1::WriteTrailer) -> Result<(), Status> {
        let Stage::Open { header, content, digest } = std::mem::replace(&mut self.stage, Stage::Empty) else {
            return Err(absent("header", "the first part"));
        };
        if content.len() as u64 != header.size_bytes {
            return Err(another_size(header.size_bytes, "fewer"));
        }
        let announced = trailer.sha256.ok_or_else(|| absent("sha256", "the SHA-256 of the content"))?;
        if announced.len() != 32 {
            return Err(invalid("sha256", format!("{} bytes", announced.len()), "32 bytes"));
        }
        if announced != digest.finalize().as_slice() {
            return Err(invalid("sha256", "that of other content", "the SHA-256 of the content as it came"));
        }
        self.stage = Stage::Whole { header, content: content.freeze() };
        Ok(())
    }

    fn finish(self) -> Result<(WriteHeader, Bytes), Status> {
        match self.stage {
            Stage::Empty => Err(absent("header", "the first part")),
            Stage::Open { .. } => Err(absent("trailer", "the last part, with the SHA-256 of the content")),
            Stage::Whole { header, content } => Ok((header, content)),
        }
    }
}

fn open(header: WriteHeader, max_bytes: u64) -> Result<Stage, Status> {
    let size_bytes = header.size_bytes;
    if size_bytes > max_bytes {
        let limit_name = LimitName::MaxContentBytes;
        let message = format!(
            "{size_bytes} bytes of content exceed the limit `{}` of {max_bytes} bytes",
            limit_name.as_str()
        );
        let kind = ErrorKind::TooLarge { limit_name, limit_bytes: max_bytes, size_bytes };
        return Err(status::between_processes(&FsError::new(kind, message)));
    }
    let room = usize::try_from(size_bytes.min(FIRST_ROOM_BYTES)).expect("a MiB fits");
    Ok(Stage::Open { header, content: BytesMut::with_capacity(room), digest: Sha256::new() })
}

fn another_size(announced: u64, came: &str) -> Status {
    let expected = format!("the size of the content: {came} bytes came");
    invalid("size", announced.to_string(), expected)
}

/// The name of a part's field.
fn name(part: &Part) -> &'static str {
    match part {
        Part::Header(_) => "header",
        Part::Chunk(_) => "chunk",
        Part::Trailer(_) => "trailer",
        Part::Unknown => "part",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_large_chunk_lets_other_calls_have_their_turn() {
        let sent = Bytes::from(vec![b'x'; 4 * STRIDE_BYTES + 1]);
        let unconditional = v1::write_guard::Condition::Unconditional(v1::Unconditional {});
        let header = v1::WriteTextHeader {
            target_key: Bytes::from_static(b"key").into(),
            guard: Some(v1::WriteGuard { condition: Some(unconditional) }),
            size: Some(i64::try_from(sent.len()).unwrap()),
            ..v1::WriteTextHeader::default()
        };
        let mut upload = Upload::new(u64::MAX);
        upload.add(Part::Header(filesystem::write_text_header(header))).await.unwrap();
        let mut turns = 0;
        let adding = async {
            upload.add(Part::Chunk(sent.clone())).await.unwrap();
        };
        let others = async {
            loop {
                turns += 1;
                yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = adding => {}
            () = others => {}
        }
        assert_eq!(turns, 4);
        let sha256 = Some(Bytes::copy_from_slice(&Sha256::digest(&sent)));
        upload.add(Part::Trailer(v1::WriteTrailer { sha256 })).await.unwrap();
        assert_eq!(upload.finish().unwrap().1, sent);
    }
}
