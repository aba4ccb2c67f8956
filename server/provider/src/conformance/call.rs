//! Short forms of the calls and checks that cases are made of.

use std::fmt::Debug;

use bytes::Bytes;
use futures_util::StreamExt;
use toolfs_core::edit::EditRequest;
use toolfs_core::error::{Code, FsError, Published, Result};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_core::target::{FileKind, Target, TargetKey};
use toolfs_core::version::Version;
use toolfs_core::window::LineWindow;

use super::fixture::Fixture;
use crate::abort::AbortSignal;
use crate::content::{ContentPart, ContentStream};
use crate::report::{EditReport, LinesReport, Stat, WriteReport};
use crate::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};

/// The default window of the read tool.
pub(super) const WINDOW: LineWindow =
    LineWindow { first_line: 1, max_lines: 2_000, max_bytes: 51_200, max_line_chars: 2_000 };

pub(super) fn running() -> AbortSignal {
    AbortSignal::new()
}

impl Fixture {
    /// `path` beneath the root, as an absolute path.
    pub(super) fn absolute(&self, path: impl AsRef<[u8]>) -> Vec<u8> {
        [self.root.as_slice(), b"/", path.as_ref()].concat()
    }

    /// The path beneath the root that symbolic links use.
    pub(super) fn link_target(&self, path: impl AsRef<[u8]>) -> Vec<u8> {
        [self.link_root.as_slice(), b"/", path.as_ref()].concat()
    }

    pub(super) fn put(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        self.hand.put(path.as_ref(), content.as_ref());
    }

    pub(super) fn get(&self, path: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.hand.get(path.as_ref())
    }

    pub(super) fn remove(&self, path: impl AsRef<[u8]>) {
        self.hand.remove(path.as_ref());
    }

    pub(super) fn make_dir(&self, path: impl AsRef<[u8]>) {
        self.hand.make_dir(path.as_ref());
    }

    pub(super) fn make_link(&self, path: impl AsRef<[u8]>, points_to: impl AsRef<[u8]>) {
        self.hand.make_link(path.as_ref(), points_to.as_ref());
    }

    /// Resolves from the root.
    pub(super) async fn try_resolve(&self, path: impl AsRef<[u8]>) -> Result<Target> {
        self.resolve_request(None, path.as_ref()).await
    }

    /// Resolves from a working directory that is named by its path beneath the root.
    pub(super) async fn try_resolve_from(&self, cwd: &str, path: impl AsRef<[u8]>) -> Result<Target> {
        self.resolve_request(Some(self.absolute(cwd)), path.as_ref()).await
    }

    pub(super) async fn resolve_request(&self, cwd: Option<Vec<u8>>, path: &[u8]) -> Result<Target> {
        self.provider.resolve(&running(), &ResolveRequest { cwd, path: path.to_vec() }).await
    }

    pub(super) async fn target(&self, path: impl AsRef<[u8]>) -> Target {
        let path = path.as_ref();
        self.try_resolve(path)
            .await
            .unwrap_or_else(|error| panic!("{:?}: {error}", Bytes::copy_from_slice(path)))
    }

    pub(super) async fn key(&self, path: impl AsRef<[u8]>) -> TargetKey {
        self.target(path).await.key
    }

    pub(super) async fn stat(&self, path: impl AsRef<[u8]>) -> Result<Stat> {
        self.provider.stat(&running(), &self.key(path).await, false).await
    }

    pub(super) async fn lstat(&self, path: impl AsRef<[u8]>) -> Result<Stat> {
        self.provider.lstat(&running(), &ResolveRequest { cwd: None, path: path.as_ref().to_vec() }).await
    }

    pub(super) async fn kind(&self, path: impl AsRef<[u8]>) -> FileKind {
        self.stat(path).await.unwrap().kind
    }

    pub(super) async fn version(&self, path: impl AsRef<[u8]>) -> Version {
        let stat = self.provider.stat(&running(), &self.key(path).await, true).await.unwrap();
        stat.version.expect("a version was wanted")
    }

    pub(super) async fn lines(&self, path: impl AsRef<[u8]>) -> Result<LinesReport> {
        self.window(path, WINDOW).await
    }

    pub(super) async fn window(&self, path: impl AsRef<[u8]>, window: LineWindow) -> Result<LinesReport> {
        self.provider.read_lines(&running(), &self.key(path).await, window).await
    }

    pub(super) async fn bytes(&self, path: impl AsRef<[u8]>, range: ByteRange) -> Result<Collected> {
        collect(self.provider.read_bytes(&running(), &self.key(path).await, range).await?).await
    }

    pub(super) async fn text(&self, path: impl AsRef<[u8]>) -> Result<Collected> {
        collect(self.provider.read_text(&running(), &self.key(path).await).await?).await
    }

    /// Writes, with the diff.
    pub(super) async fn write(
        &self,
        path: impl AsRef<[u8]>,
        content: impl AsRef<[u8]>,
        guard: WriteGuard,
    ) -> Result<WriteReport> {
        let request = write_request(self.key(path).await, content, guard);
        self.provider.write_text(&running(), request).await
    }

    pub(super) async fn create(
        &self,
        path: impl AsRef<[u8]>,
        content: impl AsRef<[u8]>,
    ) -> Result<WriteReport> {
        self.write(path, content, WriteGuard::CreateIfAbsent).await
    }

    pub(super) async fn plan_write(
        &self,
        path: impl AsRef<[u8]>,
        content: impl AsRef<[u8]>,
        guard: WriteGuard,
    ) -> Result<WriteReport> {
        let request = write_request(self.key(path).await, content, guard);
        self.provider.plan_write(&running(), request).await
    }

    /// Edits the one place, with the diff.
    pub(super) async fn edit(
        &self,
        path: impl AsRef<[u8]>,
        old: &str,
        new: &str,
        guard: EditGuard,
    ) -> Result<EditReport> {
        let request = edit_request(self.key(path).await, old, new, false, guard);
        self.provider.edit_text(&running(), request).await
    }

    pub(super) async fn edit_all(&self, path: impl AsRef<[u8]>, old: &str, new: &str) -> Result<EditReport> {
        let request = edit_request(self.key(path).await, old, new, true, EditGuard::Unconditional);
        self.provider.edit_text(&running(), request).await
    }

    pub(super) async fn plan_edit(
        &self,
        path: impl AsRef<[u8]>,
        old: &str,
        new: &str,
        guard: EditGuard,
    ) -> Result<EditReport> {
        let request = edit_request(self.key(path).await, old, new, false, guard);
        self.provider.plan_edit(&running(), request).await
    }
}

pub(super) fn write_request(
    target: TargetKey,
    content: impl AsRef<[u8]>,
    guard: WriteGuard,
) -> WriteTextRequest {
    let content = Bytes::copy_from_slice(content.as_ref());
    WriteTextRequest { target, content, guard, want_diff: true, operation_id: None }
}

pub(super) fn edit_request(
    target: TargetKey,
    old: &str,
    new: &str,
    replace_all: bool,
    guard: EditGuard,
) -> EditTextRequest {
    let edit =
        EditRequest::new(old.to_owned(), new.to_owned(), replace_all).expect("cases ask for valid edits");
    EditTextRequest { target, edit, guard, want_diff: true, operation_id: None }
}

/// A content stream, read to its end.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) size_bytes: u64,
    pub(super) pieces: Vec<Bytes>,
    pub(super) version: Option<Version>,
}

impl Collected {
    pub(super) fn content(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// Reads a stream to its end, and checks the shape that every stream has.
async fn collect(mut stream: ContentStream) -> Result<Collected> {
    let mut pieces = Vec::new();
    let mut end = None;
    while let Some(part) = stream.parts.next().await {
        assert!(end.is_none(), "nothing follows the end of a stream");
        match part? {
            ContentPart::Chunk(chunk) => {
                assert!(!chunk.is_empty(), "no piece is empty");
                pieces.push(chunk);
            }
            ContentPart::End(version) => end = Some(version),
        }
    }
    let version = end.expect("a stream that yields no error has an end");
    Ok(Collected { size_bytes: stream.size_bytes, pieces, version })
}

/// The error of a call that was refused, after the checks that hold for every refusal.
#[track_caller]
pub(super) fn refused<T: Debug>(result: Result<T>, code: Code) -> FsError {
    let error = match result {
        Ok(done) => panic!("{code} was due, and it succeeded: {done:?}"),
        Err(error) => error,
    };
    assert_eq!(error.code(), code, "{error:?}");
    assert_eq!(error.published(), Published::No, "{error:?}");
    assert_eq!(error.remedy(), None, "remedies are the tool layer's: {error:?}");
    assert!(!error.message().is_empty() && !error.message().ends_with('.'), "{error:?}");
    let retryable = matches!(code, Code::Unavailable | Code::Aborted);
    assert_eq!(error.is_retryable(), retryable, "{error:?}");
    error
}

/// The lines of a window as text, for comparing.
pub(super) fn texts(report: &LinesReport) -> Vec<String> {
    report.window.block.lines().map(|line| line.text.to_owned()).collect()
}
