//! `toolfs.v1.ToolService`: the tools, over the executor.

use std::sync::Arc;

use tonic::{Request, Response, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::tool_service_server::ToolService as Service;
use toolfs_core::argument::ToolName;
use toolfs_tools::Executor;

use crate::convert::capability::{self, Transport};
use crate::convert::{call, outcome};
use crate::layers::metrics::Metrics;
use crate::layers::{compression, trace};
use crate::task::{Calls, Effect};
use crate::{deadline, status};

/// The service.
#[derive(Debug)]
pub(crate) struct ToolService {
    executor: Arc<Executor>,
    transport: Transport,
    calls: Calls,
    metrics: Metrics,
}

impl ToolService {
    /// A service over an executor.
    pub(crate) fn new(
        executor: Arc<Executor>,
        transport: Transport,
        calls: Calls,
        metrics: Metrics,
    ) -> ToolService {
        ToolService { executor, transport, calls, metrics }
    }
}

#[tonic::async_trait]
impl Service for ToolService {
    async fn list_tools(
        &self,
        request: Request<v1::ListToolsRequest>,
    ) -> Result<Response<v1::ListToolsResponse>, Status> {
        let reply = compression::as_asked(&request);
        let executor = Arc::clone(&self.executor);
        let response = self
            .calls
            .run(deadline::of(&request), Effect::None, |_| async move {
                Ok(capability::list_tools_response(executor.definitions()))
            })
            .await?;
        Ok(reply(response))
    }

    async fn get_capabilities(
        &self,
        request: Request<v1::GetCapabilitiesRequest>,
    ) -> Result<Response<v1::GetCapabilitiesResponse>, Status> {
        let reply = compression::as_asked(&request);
        let executor = Arc::clone(&self.executor);
        let capabilities = self
            .calls
            .run(deadline::of(&request), Effect::None, |_| async move {
                executor.capabilities().await.map_err(|error| status::from_call_error(&error))
            })
            .await?;
        Ok(reply(capability::get_capabilities_response(capabilities, &self.transport)))
    }

    async fn execute(
        &self,
        request: Request<v1::ExecuteRequest>,
    ) -> Result<Response<v1::ExecuteResponse>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let (call, echo) = call::execute_request(request.into_inner())?;
        if let Some(request_id) = &call.request_id {
            trace::request_id(request_id);
        }

        let executor = Arc::clone(&self.executor);
        let counted = self.metrics.call(call.tool());
        let result = self
            .calls
            .run(deadline, effect(call.tool(), echo.dry_run), |abort| async move {
                let end = executor.execute(&abort, call).await;
                counted.end(&end);
                end.map_err(|error| status::from_call_error(&error))
            })
            .await?;
        trace::result(&result.result);
        Ok(reply(outcome::execute_response(result, echo)))
    }
}

fn effect(tool: Option<ToolName>, dry_run: bool) -> Effect {
    match tool {
        None | Some(ToolName::Read) => Effect::None,
        Some(ToolName::Write | ToolName::Edit) if dry_run => Effect::None,
        Some(ToolName::Write | ToolName::Edit) => Effect::Change,
    }
}
