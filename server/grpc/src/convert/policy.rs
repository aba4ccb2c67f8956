//! The gate: what is asked of it, and what it answers.

use bytes::Bytes;
use tonic::Status;
use toolfs_contract::code::CallReason;
use toolfs_contract::v1::{self, forget_request::Scope, observation::State};
use toolfs_core::clock::Order;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::target::TargetKey;
use toolfs_policy::{ForgetScope, GateCapabilities};

use super::filesystem::{absent, target_key};
use super::{capability, guard};
use crate::status;

/// What a gate does.
pub(crate) fn get_policy_capabilities_response(
    capabilities: &GateCapabilities,
) -> v1::GetPolicyCapabilitiesResponse {
    v1::GetPolicyCapabilitiesResponse { policy: Some(capability::policy_capabilities(Some(capabilities))) }
}

/// Who wants to change what: no session for a call without one.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` when there is no target.
pub(crate) fn decision(
    session_key: &str,
    target_key: Bytes,
) -> Result<(Option<SessionKey>, TargetKey), Status> {
    let session = (!session_key.is_empty()).then(|| SessionKey::new(session_key));
    Ok((session, self::target_key("target_key", target_key)?))
}

/// What a session saw, where and when.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) session: SessionKey,
    pub(crate) target: TargetKey,
    pub(crate) observation: Observation,
    pub(crate) order: Order,
}

/// What is to be recorded.
///
/// # Errors
/// `KEY_MISSING`; `FS_INVALID_ARGUMENT` that names the field.
pub(crate) fn record_observation_request(request: v1::RecordObservationRequest) -> Result<Seen, Status> {
    let v1::RecordObservationRequest { session_key, target_key, observation, order } = request;
    Ok(Seen {
        session: session(&session_key)?,
        target: self::target_key("target_key", target_key)?,
        observation: self::observation(observation)?,
        order: self::order(order)?,
    })
}

fn observation(observation: Option<v1::Observation>) -> Result<Observation, Status> {
    match observation.and_then(|observation| observation.state) {
        Some(State::Absent(v1::Absent {})) => Ok(Observation::Absent),
        Some(State::PresentVersion(text)) => {
            Ok(Observation::Present(guard::version("present_version", &text)?))
        }
        None => Err(absent("observation", "`absent` or `present_version`")),
    }
}

/// What is to be forgotten.
///
/// # Errors
/// `KEY_MISSING`, `SCOPE_MISSING`; `FS_INVALID_ARGUMENT` that names the field.
pub(crate) fn forget_request(request: v1::ForgetRequest) -> Result<(SessionKey, ForgetScope, Order), Status> {
    let v1::ForgetRequest { session_key, order, scope } = request;
    let session = session(&session_key)?;
    let scope = match scope {
        Some(Scope::Targets(v1::TargetKeys { target_keys })) => {
            let keys = target_keys.into_iter().map(|key| target_key("target_keys", key));
            ForgetScope::Targets(keys.collect::<Result<_, _>>()?)
        }
        Some(Scope::All(v1::AllTargets {})) => ForgetScope::All,
        None => {
            let message = "the request does not say what to forget: set `targets` or `all`";
            return Err(status::refused(CallReason::ScopeMissing, message));
        }
    };
    Ok((session, scope, self::order(order)?))
}

/// The session that ends.
///
/// # Errors
/// `KEY_MISSING`
pub(crate) fn end_session_request(request: &v1::EndSessionRequest) -> Result<SessionKey, Status> {
    session(&request.session_key)
}

fn session(key: &str) -> Result<SessionKey, Status> {
    if key.is_empty() {
        let message = "the request names no session: set `session_key`";
        return Err(status::refused(CallReason::KeyMissing, message));
    }
    Ok(SessionKey::new(key))
}

fn order(order: Option<i64>) -> Result<Order, Status> {
    order.map(Order).ok_or_else(|| absent("order", "the place in the history of all observations"))
}
