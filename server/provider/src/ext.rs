//! Conveniences over [`Provider`] that no implementation needs to write.

use async_trait::async_trait;
use futures_util::StreamExt;
use toolfs_core::error::{ErrorKind, FsError, Result};
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::version::Version;

use crate::Provider;
use crate::abort::AbortSignal;
use crate::content::ContentPart;
use crate::report::Entry;
use crate::request::{ByteRange, ResolveRequest};

/// What callers and tests do often.
#[async_trait]
pub trait ProviderExt: Provider {
    /// Resolves a path from the first root.
    async fn resolve_path(&self, abort: &AbortSignal, path: &str) -> Result<Target> {
        let request = ResolveRequest { cwd: None, path: path.as_bytes().to_vec() };
        self.resolve(abort, &request).await
    }

    /// The whole content of a file, and its version.
    async fn read_whole(&self, abort: &AbortSignal, target: &TargetKey) -> Result<(Vec<u8>, Version)> {
        let mut stream = self.read_bytes(abort, target, ByteRange::WHOLE).await?;
        let mut content = Vec::new();
        while let Some(part) = stream.parts.next().await {
            match part? {
                ContentPart::Chunk(chunk) => content.extend_from_slice(&chunk),
                ContentPart::End(Some(version)) => return Ok((content, version)),
                ContentPart::End(None) => break,
            }
        }
        Err(FsError::new(ErrorKind::IoError, "the content ended before the end of the file"))
    }

    /// All entries of a directory, sorted by raw name.
    async fn list_whole(&self, abort: &AbortSignal, target: &TargetKey) -> Result<Vec<Entry>> {
        let mut stream = self.list_dir(abort, target).await?;
        let mut entries = Vec::new();
        while let Some(batch) = stream.batches.next().await {
            entries.extend(batch?);
        }
        entries.sort_by(|left, right| left.raw_name.cmp(&right.raw_name));
        Ok(entries)
    }
}

impl<P: Provider + ?Sized> ProviderExt for P {}
