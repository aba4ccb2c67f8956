//! A shared provider is a provider.

use std::sync::Arc;

use async_trait::async_trait;
use toolfs_core::error::Result;
use toolfs_core::target::{Target, TargetKey};
use toolfs_core::window::LineWindow;

use crate::Provider;
use crate::abort::AbortSignal;
use crate::capability::Capabilities;
use crate::content::{ContentStream, EntryStream};
use crate::report::{EditReport, LinesReport, Stat, WriteReport};
use crate::request::{ByteRange, EditTextRequest, ResolveRequest, WriteTextRequest};

#[async_trait]
impl<P: Provider + ?Sized> Provider for Arc<P> {
    async fn capabilities(&self, abort: &AbortSignal) -> Result<Capabilities> {
        self.as_ref().capabilities(abort).await
    }

    async fn resolve(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Target> {
        self.as_ref().resolve(abort, request).await
    }

    async fn contains(&self, abort: &AbortSignal, ancestor: &TargetKey, target: &TargetKey) -> Result<bool> {
        self.as_ref().contains(abort, ancestor, target).await
    }

    async fn stat(&self, abort: &AbortSignal, target: &TargetKey, want_version: bool) -> Result<Stat> {
        self.as_ref().stat(abort, target, want_version).await
    }

    async fn lstat(&self, abort: &AbortSignal, request: &ResolveRequest) -> Result<Stat> {
        self.as_ref().lstat(abort, request).await
    }

    async fn read_lines(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        window: LineWindow,
    ) -> Result<LinesReport> {
        self.as_ref().read_lines(abort, target, window).await
    }

    async fn read_text(&self, abort: &AbortSignal, target: &TargetKey) -> Result<ContentStream> {
        self.as_ref().read_text(abort, target).await
    }

    async fn read_bytes(
        &self,
        abort: &AbortSignal,
        target: &TargetKey,
        range: ByteRange,
    ) -> Result<ContentStream> {
        self.as_ref().read_bytes(abort, target, range).await
    }

    async fn list_dir(&self, abort: &AbortSignal, target: &TargetKey) -> Result<EntryStream> {
        self.as_ref().list_dir(abort, target).await
    }

    async fn write_text(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.as_ref().write_text(abort, request).await
    }

    async fn edit_text(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.as_ref().edit_text(abort, request).await
    }

    async fn plan_write(&self, abort: &AbortSignal, request: WriteTextRequest) -> Result<WriteReport> {
        self.as_ref().plan_write(abort, request).await
    }

    async fn plan_edit(&self, abort: &AbortSignal, request: EditTextRequest) -> Result<EditReport> {
        self.as_ref().plan_edit(abort, request).await
    }
}
