//! `toolfs.v1.SessionService`: sessions, over the executor.

use std::future::Future;
use std::sync::Arc;

use tonic::{Request, Response, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::session_service_server::SessionService as Service;
use toolfs_provider::abort::AbortSignal;
use toolfs_tools::{CallError, Caller, Executor};

use crate::convert::session;
use crate::layers::compression;
use crate::task::{Calls, Effect};
use crate::{deadline, status};

/// The service.
#[derive(Debug)]
pub(crate) struct SessionService {
    executor: Arc<Executor>,
    calls: Calls,
}

impl SessionService {
    /// A service over an executor.
    pub(crate) fn new(executor: Arc<Executor>, calls: Calls) -> SessionService {
        SessionService { executor, calls }
    }

    async fn run<T, F>(
        &self,
        deadline: Option<deadline::Deadline>,
        effect: Effect,
        work: impl FnOnce(Arc<Executor>, AbortSignal) -> F,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, CallError>> + Send + 'static,
    {
        let executor = Arc::clone(&self.executor);
        self.calls
            .run(deadline, effect, |abort| {
                let work = work(executor, abort);
                async move { work.await.map_err(|error| status::from_call_error(&error)) }
            })
            .await
    }
}

#[tonic::async_trait]
impl Service for SessionService {
    async fn open_session(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let open = session::open_session_request(request.into_inner())?;
        let opened = self
            .run(deadline, Effect::Change, |executor, abort| async move {
                executor.open_session(&abort, Caller::Local, open).await
            })
            .await?;
        Ok(reply(session::open_session_response(opened)))
    }

    async fn get_session(
        &self,
        request: Request<v1::GetSessionRequest>,
    ) -> Result<Response<v1::GetSessionResponse>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let id = session::get_session_request(request.into_inner())?;
        let info =
            self.run(deadline, Effect::None, |executor, _| async move {
                executor.session(&Caller::Local, &id).await
            })
            .await?;
        Ok(reply(v1::GetSessionResponse { session: Some(session::session(info)) }))
    }

    async fn list_sessions(
        &self,
        request: Request<v1::ListSessionsRequest>,
    ) -> Result<Response<v1::ListSessionsResponse>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let (size, token) = session::list_sessions_request(request.into_inner())?;
        let page = self
            .run(deadline, Effect::None, |executor, _| async move {
                executor.sessions(&Caller::Local, size, token.as_deref()).await
            })
            .await?;
        Ok(reply(session::list_sessions_response(page)))
    }

    async fn close_session(
        &self,
        request: Request<v1::CloseSessionRequest>,
    ) -> Result<Response<v1::CloseSessionResponse>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let close = session::close_session_request(request.into_inner())?;
        self.run(deadline, Effect::Change, |executor, _| async move { executor.close_session(close).await })
            .await?;
        Ok(reply(v1::CloseSessionResponse {}))
    }

    async fn forget_observations(
        &self,
        request: Request<v1::ForgetObservationsRequest>,
    ) -> Result<Response<v1::ForgetObservationsResponse>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let forget = session::forget_observations_request(request.into_inner())?;
        self.run(deadline, Effect::Change, |executor, abort| async move {
            executor.forget_observations(&abort, forget).await
        })
        .await?;
        Ok(reply(v1::ForgetObservationsResponse {}))
    }
}
