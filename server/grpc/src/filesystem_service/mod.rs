//! `toolfs.v1.FileSystemService`: the seam, over a provider.
//!
//! Each RPC is decode, call, encode. The provider judges places, guards and protected patterns itself; nothing of a
//! gate, a session or a tool is here.

mod download;
mod upload;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status, Streaming};
use toolfs_contract::v1;
use toolfs_contract::v1::file_system_service_server::FileSystemService as Service;
use toolfs_core::error::{FsError, Result as FsResult};
use toolfs_core::guard::{EditGuard, WriteGuard};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;

use self::upload::UploadLimits;
use crate::convert::filesystem::{self, Bounds};
use crate::deadline::{self, Deadline};
use crate::layers::{compression, trace};
use crate::parts::{Outlet, Parts};
use crate::status;
use crate::task::{Calls, Effect};

/// The service.
#[derive(Debug)]
pub(crate) struct FileSystemService {
    provider: Arc<dyn Provider>,
    bounds: Bounds,
    patience: Duration,
    calls: Calls,
}

impl FileSystemService {
    /// A service over a provider. `patience` is how long a caller may neither send nor take a part.
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        bounds: Bounds,
        patience: Duration,
        calls: Calls,
    ) -> FileSystemService {
        FileSystemService { provider, bounds, patience, calls }
    }

    /// One call of the provider.
    async fn call<T, F>(
        &self,
        deadline: Option<Deadline>,
        effect: Effect,
        work: impl FnOnce(Arc<dyn Provider>, AbortSignal) -> F,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        F: Future<Output = FsResult<T>> + Send + 'static,
    {
        let provider = Arc::clone(&self.provider);
        self.calls
            .run(deadline, effect, |abort| {
                let work = work(provider, abort);
                async move { work.await.map_err(|error| status::between_processes(&error)) }
            })
            .await
    }

    /// One call of the provider whose answer has parts.
    async fn stream<T, F>(
        &self,
        deadline: Option<Deadline>,
        work: impl FnOnce(Arc<dyn Provider>, AbortSignal, Outlet<T>) -> F,
    ) -> Result<Parts<T>, Status>
    where
        T: Send + 'static,
        F: Future<Output = Result<(), Status>> + Send + 'static,
    {
        let provider = Arc::clone(&self.provider);
        self.calls.stream(deadline, self.patience, |abort, outlet| work(provider, abort, outlet)).await
    }

    fn upload_limits(&self) -> UploadLimits {
        UploadLimits { max_bytes: self.bounds.max_stream_bytes, patience: self.patience }
    }
}

#[tonic::async_trait]
impl Service for FileSystemService {
    type ReadTextStream = Parts<v1::ReadTextResponse>;
    type ReadBytesStream = Parts<v1::ReadBytesResponse>;
    type ListDirStream = Parts<v1::ListDirResponse>;

    async fn get_provider_capabilities(
        &self,
        request: Request<v1::GetProviderCapabilitiesRequest>,
    ) -> Result<Response<v1::GetProviderCapabilitiesResponse>, Status> {
        let reply = compression::as_asked(&request);
        let capabilities = self
            .call(deadline::of(&request), Effect::None, |provider, abort| async move {
                provider.capabilities(&abort).await
            })
            .await?;
        Ok(reply(filesystem::get_provider_capabilities_response(&capabilities, &self.bounds)))
    }

    async fn resolve(
        &self,
        request: Request<v1::ResolveRequest>,
    ) -> Result<Response<v1::ResolveResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let resolve = filesystem::resolve_request(request.into_inner())?;
        let target = self
            .call(deadline, Effect::None, |provider, abort| async move {
                provider.resolve(&abort, &resolve).await
            })
            .await?;
        Ok(reply(v1::ResolveResponse { target: Some(filesystem::target(target)) }))
    }

    async fn contains(
        &self,
        request: Request<v1::ContainsRequest>,
    ) -> Result<Response<v1::ContainsResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let v1::ContainsRequest { ancestor_key, target_key } = request.into_inner();
        let ancestor = filesystem::target_key("ancestor_key", ancestor_key)?;
        let target = filesystem::target_key("target_key", target_key)?;
        let contained = self
            .call(deadline, Effect::None, |provider, abort| async move {
                provider.contains(&abort, &ancestor, &target).await
            })
            .await?;
        Ok(reply(v1::ContainsResponse { contained: Some(contained) }))
    }

    async fn stat(&self, request: Request<v1::StatRequest>) -> Result<Response<v1::StatResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let v1::StatRequest { target_key, want_version } = request.into_inner();
        let target = filesystem::target_key("target_key", target_key)?;
        let stat = self
            .call(deadline, Effect::None, |provider, abort| async move {
                provider.stat(&abort, &target, want_version).await
            })
            .await?;
        Ok(reply(v1::StatResponse { stat: Some(filesystem::file_stat(stat)) }))
    }

    async fn lstat(&self, request: Request<v1::LstatRequest>) -> Result<Response<v1::LstatResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let resolve = filesystem::lstat_request(request.into_inner())?;
        let stat =
            self.call(deadline, Effect::None, |provider, abort| async move {
                provider.lstat(&abort, &resolve).await
            })
            .await?;
        Ok(reply(v1::LstatResponse { stat: Some(filesystem::file_stat(stat)) }))
    }

    async fn read_lines(
        &self,
        request: Request<v1::ReadLinesRequest>,
    ) -> Result<Response<v1::ReadLinesResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let request = request.into_inner();
        let window = filesystem::line_window(&request, &self.bounds)?;
        let target = filesystem::target_key("target_key", request.target_key)?;
        let report = self
            .call(deadline, Effect::None, |provider, abort| async move {
                provider.read_lines(&abort, &target, window).await
            })
            .await?;
        trace::bytes(report.window.block.text_bytes() as u64);
        Ok(reply(filesystem::read_lines_response(&report)))
    }

    async fn read_text(
        &self,
        request: Request<v1::ReadTextRequest>,
    ) -> Result<Response<Self::ReadTextStream>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let target = filesystem::target_key("target_key", request.into_inner().target_key)?;
        let parts = self
            .stream(deadline, |provider, abort, outlet| async move {
                let content = provider.read_text(&abort, &target).await;
                let content = content.map_err(|error| status::between_processes(&error))?;
                download::send_content(content, &outlet, download::text_part).await
            })
            .await?;
        Ok(reply(parts))
    }

    async fn read_bytes(
        &self,
        request: Request<v1::ReadBytesRequest>,
    ) -> Result<Response<Self::ReadBytesStream>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let request = request.into_inner();
        let range = filesystem::byte_range(&request)?;
        let target = filesystem::target_key("target_key", request.target_key)?;
        let parts = self
            .stream(deadline, |provider, abort, outlet| async move {
                let content = provider.read_bytes(&abort, &target, range).await;
                let content = content.map_err(|error| status::between_processes(&error))?;
                download::send_content(content, &outlet, download::bytes_part).await
            })
            .await?;
        Ok(reply(parts))
    }

    async fn list_dir(
        &self,
        request: Request<v1::ListDirRequest>,
    ) -> Result<Response<Self::ListDirStream>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let target = filesystem::target_key("target_key", request.into_inner().target_key)?;
        let parts = self
            .stream(deadline, |provider, abort, outlet| async move {
                let entries = provider.list_dir(&abort, &target).await;
                let entries = entries.map_err(|error| status::between_processes(&error))?;
                download::send_entries(entries, &outlet).await
            })
            .await?;
        Ok(reply(parts))
    }

    async fn write_text(
        &self,
        request: Request<Streaming<v1::WriteTextRequest>>,
    ) -> Result<Response<v1::WriteTextResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let (provider, limits) = (Arc::clone(&self.provider), self.upload_limits());
        let messages = request.into_inner();
        let report = self
            .calls
            .run(deadline, Effect::Change, |abort| async move {
                let (header, content) = upload::receive(messages, upload::write_part, limits, &abort).await?;
                trace_write(&header.guard, content.len());
                let written = provider.write_text(&abort, header.with_content(content)).await;
                written.map_err(|error| status::between_processes(&error))
            })
            .await?;
        trace_not_durable(report.not_durable.as_ref());
        Ok(reply(filesystem::write_text_response(report)))
    }

    async fn edit_text(
        &self,
        request: Request<v1::EditTextRequest>,
    ) -> Result<Response<v1::EditTextResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let edit = filesystem::edit_text_request(request.into_inner())?;
        trace_edit(&edit.guard);
        let report = self
            .call(deadline, Effect::Change, |provider, abort| async move {
                provider.edit_text(&abort, edit).await
            })
            .await?;
        trace_not_durable(report.not_durable.as_ref());
        Ok(reply(filesystem::edit_text_response(report)))
    }

    async fn plan_write(
        &self,
        request: Request<Streaming<v1::PlanWriteRequest>>,
    ) -> Result<Response<v1::PlanWriteResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let (provider, limits) = (Arc::clone(&self.provider), self.upload_limits());
        let messages = request.into_inner();
        let report = self
            .calls
            .run(deadline, Effect::None, |abort| async move {
                let (header, content) = upload::receive(messages, upload::plan_part, limits, &abort).await?;
                trace_write(&header.guard, content.len());
                let planned = provider.plan_write(&abort, header.with_content(content)).await;
                planned.map_err(|error| status::between_processes(&error))
            })
            .await?;
        Ok(reply(filesystem::plan_write_response(report)))
    }

    async fn plan_edit(
        &self,
        request: Request<v1::PlanEditRequest>,
    ) -> Result<Response<v1::PlanEditResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let edit = filesystem::plan_edit_request(request.into_inner())?;
        trace_edit(&edit.guard);
        let report =
            self.call(deadline, Effect::None, |provider, abort| async move {
                provider.plan_edit(&abort, edit).await
            })
            .await?;
        Ok(reply(filesystem::plan_edit_response(report)))
    }
}

fn trace_write(guard: &WriteGuard, content_bytes: usize) {
    trace::guard(match guard {
        WriteGuard::Unconditional => "unconditional",
        WriteGuard::CreateIfAbsent => "create_if_absent",
        WriteGuard::ReplaceIfVersion(_) => "replace_if_version",
    });
    trace::bytes(content_bytes as u64);
}

fn trace_edit(guard: &EditGuard) {
    trace::guard(match guard {
        EditGuard::Unconditional => "unconditional",
        EditGuard::ReplaceIfVersion(_) => "replace_if_version",
    });
}

fn trace_not_durable(error: Option<&FsError>) {
    if let Some(error) = error {
        trace::not_durable(error);
    }
}
