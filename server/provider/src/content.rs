//! Content and listings that arrive in pieces.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use toolfs_core::error::Result;
use toolfs_core::version::Version;

use crate::report::Entry;

/// A piece of a content stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// The next bytes; never empty.
    Chunk(Bytes),
    /// The end, with the version of the whole file when all of it was sent. Exactly one, last; a stream without it
    /// was cut off.
    End(Option<Version>),
}

/// The content of a regular file, in pieces. A stream that yields an error ends there.
pub struct ContentStream {
    /// The size of the file when it was opened, in bytes.
    pub size_bytes: u64,
    /// The pieces.
    pub parts: Pin<Box<dyn Stream<Item = Result<ContentPart>> + Send>>,
}

impl fmt::Debug for ContentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentStream").field("size_bytes", &self.size_bytes).finish_non_exhaustive()
    }
}

/// A directory's entries, in batches.
pub struct EntryStream {
    /// The batches; none is empty.
    pub batches: Pin<Box<dyn Stream<Item = Result<Vec<Entry>>> + Send>>,
}

impl fmt::Debug for EntryStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryStream").finish_non_exhaustive()
    }
}
