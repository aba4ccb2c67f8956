//! The gate: each operation is one call.

use std::future::Future;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Response, Status};
use toolfs_contract::v1::policy_service_client::PolicyServiceClient;
use toolfs_contract::v1::{self, forget_request};
use toolfs_core::clock::Order;
use toolfs_core::error::{FsError, Published, Result};
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::target::TargetKey;
use toolfs_policy::{ForgetScope, GateCapabilities, PolicyGate};
use toolfs_remote::{
    Broken, Peer, display, edit_guard, failure, observation_message, out_of_time, required, write_guard,
};

use crate::RemoteOptions;

/// The name of a gate that has no observations to keep.
const NO_OBSERVATIONS: &str = "none";

/// A policy gate that another process serves. Clones share its connection.
#[derive(Clone, Debug)]
pub struct RemoteGate {
    stub: PolicyServiceClient<Channel>,
    options: RemoteOptions,
}

impl RemoteGate {
    /// A gate at `HOST:PORT`, `unix:PATH` or `http://HOST:PORT`, which need not be there yet: it is connected when a
    /// call needs it, and again whenever the connection was lost.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` for an address that is none.
    pub fn connect(address: &str, options: RemoteOptions) -> Result<RemoteGate> {
        let channel = toolfs_remote::connect(address, &options)?;
        Ok(RemoteGate::from_channel(channel, options))
    }

    /// A gate at the end of a channel that is there already, over whatever transport.
    pub fn from_channel(channel: Channel, options: RemoteOptions) -> RemoteGate {
        let limit = options.max_message_bytes;
        let stub = PolicyServiceClient::new(channel)
            .max_decoding_message_size(limit)
            .max_encoding_message_size(limit);
        RemoteGate { stub, options }
    }

    /// One call, and the reading of its answer. A gate changes no file: whatever fails, none was changed.
    async fn ask<A, T>(
        &self,
        call: impl Future<Output = Result<Response<A>, Status>>,
        read: impl FnOnce(A) -> Result<T, Broken>,
    ) -> Result<T> {
        let end = match self.options.call_timeout {
            Some(limit) => timeout(limit, call).await.map_err(|_| out_of_time(Peer::Gate, Published::No))?,
            None => call.await,
        };
        let answer = end.map_err(gate_failure)?.into_inner();
        read(answer).map_err(|broken| Peer::Gate.breaks_contract(&broken))
    }
}

fn gate_failure(status: Status) -> FsError {
    failure(Peer::Gate, status, false).error
}

fn session_key(session: Option<&SessionKey>) -> String {
    session.map(|session| session.as_str().to_owned()).unwrap_or_default()
}

fn target_key(target: &TargetKey) -> Bytes {
    Bytes::copy_from_slice(target.as_bytes())
}

fn capabilities(answer: v1::GetPolicyCapabilitiesResponse) -> Result<GateCapabilities, Broken> {
    let policy = required("policy", answer.policy)?;
    let name = display("policy.name", policy.name)?;
    let persistent = match policy.persistent {
        None if name == NO_OBSERVATIONS => false,
        told => required("policy.persistent", told)?,
    };
    Ok(GateCapabilities { policy: name, persistent })
}

#[async_trait]
impl PolicyGate for RemoteGate {
    async fn capabilities(&self) -> Result<GateCapabilities> {
        let mut stub = self.stub.clone();
        let call = stub.get_policy_capabilities(self.options.timed(v1::GetPolicyCapabilitiesRequest {}));
        self.ask(call, capabilities).await
    }

    async fn decide_write(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<WriteGuard> {
        let mut stub = self.stub.clone();
        let message =
            v1::DecideWriteRequest { session_key: session_key(session), target_key: target_key(target) };
        self.ask(stub.decide_write(self.options.timed(message)), |answer| write_guard(answer.guard)).await
    }

    async fn decide_edit(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<EditGuard> {
        let mut stub = self.stub.clone();
        let message =
            v1::DecideEditRequest { session_key: session_key(session), target_key: target_key(target) };
        self.ask(stub.decide_edit(self.options.timed(message)), |answer| edit_guard(answer.guard)).await
    }

    async fn record_observation(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()> {
        let mut stub = self.stub.clone();
        let message = v1::RecordObservationRequest {
            session_key: session_key(Some(session)),
            target_key: target_key(target),
            observation: Some(observation_message(&observation)),
            order: Some(order.0),
        };
        let call = stub.record_observation(self.options.timed(message));
        self.ask(call, |v1::RecordObservationResponse {}| Ok(())).await
    }

    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()> {
        let mut stub = self.stub.clone();
        let scope = match scope {
            ForgetScope::Targets(targets) => forget_request::Scope::Targets(v1::TargetKeys {
                target_keys: targets.iter().map(target_key).collect(),
            }),
            ForgetScope::All => forget_request::Scope::All(v1::AllTargets {}),
        };
        let message = v1::ForgetRequest {
            session_key: session_key(Some(session)),
            scope: Some(scope),
            order: Some(order.0),
        };
        self.ask(stub.forget(self.options.timed(message)), |v1::ForgetResponse {}| Ok(())).await
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        let mut stub = self.stub.clone();
        let message = v1::EndSessionRequest { session_key: session_key(Some(session)) };
        self.ask(stub.end_session(self.options.timed(message)), |v1::EndSessionResponse {}| Ok(())).await
    }
}
