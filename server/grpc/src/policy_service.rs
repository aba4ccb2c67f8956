//! `toolfs.v1.PolicyService`: the gate.
//!
//! Each RPC is decode, call, encode. A call that its caller gives up is carried out all the same: the gate's steps are
//! short, and losing an answer must not lose an observation.

use std::future::Future;
use std::sync::Arc;

use tonic::{Request, Response, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::policy_service_server::PolicyService as Service;
use toolfs_core::error::Result as FsResult;
use toolfs_policy::PolicyGate;

use crate::convert::{guard, policy};
use crate::deadline::{self, Deadline};
use crate::layers::compression;
use crate::status;
use crate::task::{Calls, Effect};

/// The service.
#[derive(Debug)]
pub(crate) struct PolicyService {
    gate: Arc<dyn PolicyGate>,
    calls: Calls,
}

impl PolicyService {
    /// A service over a gate.
    pub(crate) fn new(gate: Arc<dyn PolicyGate>, calls: Calls) -> PolicyService {
        PolicyService { gate, calls }
    }

    async fn call<T, F>(
        &self,
        deadline: Option<Deadline>,
        effect: Effect,
        work: impl FnOnce(Arc<dyn PolicyGate>) -> F,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        F: Future<Output = FsResult<T>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.gate));
        self.calls
            .run(deadline, effect, |_| async move {
                work.await.map_err(|error| status::between_processes(&error))
            })
            .await
    }
}

#[tonic::async_trait]
impl Service for PolicyService {
    async fn get_policy_capabilities(
        &self,
        request: Request<v1::GetPolicyCapabilitiesRequest>,
    ) -> Result<Response<v1::GetPolicyCapabilitiesResponse>, Status> {
        let reply = compression::as_asked(&request);
        let capabilities = self
            .call(deadline::of(&request), Effect::None, |gate| async move { gate.capabilities().await })
            .await?;
        Ok(reply(policy::get_policy_capabilities_response(&capabilities)))
    }

    async fn decide_write(
        &self,
        request: Request<v1::DecideWriteRequest>,
    ) -> Result<Response<v1::DecideWriteResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let v1::DecideWriteRequest { session_key, target_key } = request.into_inner();
        let (session, target) = policy::decision(&session_key, target_key)?;
        let guard =
            self.call(deadline, Effect::None, |gate| async move {
                gate.decide_write(session.as_ref(), &target).await
            })
            .await?;
        Ok(reply(v1::DecideWriteResponse { guard: Some(guard::write_guard(guard)) }))
    }

    async fn decide_edit(
        &self,
        request: Request<v1::DecideEditRequest>,
    ) -> Result<Response<v1::DecideEditResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let v1::DecideEditRequest { session_key, target_key } = request.into_inner();
        let (session, target) = policy::decision(&session_key, target_key)?;
        let guard =
            self.call(deadline, Effect::None, |gate| async move {
                gate.decide_edit(session.as_ref(), &target).await
            })
            .await?;
        Ok(reply(v1::DecideEditResponse { guard: Some(guard::edit_guard(guard)) }))
    }

    async fn record_observation(
        &self,
        request: Request<v1::RecordObservationRequest>,
    ) -> Result<Response<v1::RecordObservationResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let seen = policy::record_observation_request(request.into_inner())?;
        self.call(deadline, Effect::Change, |gate| async move {
            gate.record_observation(&seen.session, &seen.target, seen.observation, seen.order).await
        })
        .await?;
        Ok(reply(v1::RecordObservationResponse {}))
    }

    async fn forget(
        &self,
        request: Request<v1::ForgetRequest>,
    ) -> Result<Response<v1::ForgetResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let (session, scope, order) = policy::forget_request(request.into_inner())?;
        self.call(deadline, Effect::Change, |gate| async move { gate.forget(&session, scope, order).await })
            .await?;
        Ok(reply(v1::ForgetResponse {}))
    }

    async fn end_session(
        &self,
        request: Request<v1::EndSessionRequest>,
    ) -> Result<Response<v1::EndSessionResponse>, Status> {
        let (reply, deadline) = (compression::as_asked(&request), deadline::of(&request));
        let session = policy::end_session_request(request.get_ref())?;
        self.call(deadline, Effect::Change, |gate| async move { gate.end_session(&session).await }).await?;
        Ok(reply(v1::EndSessionResponse {}))
    }
}
