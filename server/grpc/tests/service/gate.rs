use std::sync::Arc;

use bytes::Bytes;
use tonic::transport::Channel;
use tonic::{Code, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::policy_service_client::PolicyServiceClient;
use toolfs_contract::v1::{edit_guard, forget_request, observation, write_guard};
use toolfs_policy::{MemoryObservationStore, ObservationGate};

use crate::support::{Running, Setup, code_and_reason, fs_error, gate_server};

/// A server of an observation gate.
pub(crate) fn start() -> Running {
    let gate = ObservationGate::new(Arc::new(MemoryObservationStore::new()));
    Running::start(gate_server(Arc::new(gate), Setup::default()))
}

fn key() -> Bytes {
    Bytes::from_static(b"\xffkey")
}

fn seen(session: &str, state: observation::State, order: i64) -> v1::RecordObservationRequest {
    v1::RecordObservationRequest {
        session_key: session.into(),
        target_key: key(),
        observation: Some(v1::Observation { state: Some(state) }),
        order: Some(order),
    }
}

fn present(version: &str) -> observation::State {
    observation::State::PresentVersion(version.into())
}

async fn write_guard(gate: &mut PolicyServiceClient<Channel>, session: &str) -> write_guard::Condition {
    let request = v1::DecideWriteRequest { session_key: session.into(), target_key: key() };
    gate.decide_write(request).await.unwrap().into_inner().guard.unwrap().condition.unwrap()
}

async fn edit_guard(
    gate: &mut PolicyServiceClient<Channel>,
    session: &str,
) -> Result<edit_guard::Condition, (Code, String)> {
    let request = v1::DecideEditRequest { session_key: session.into(), target_key: key() };
    match gate.decide_edit(request).await {
        Ok(answer) => Ok(answer.into_inner().guard.unwrap().condition.unwrap()),
        Err(status) => {
            let error = fs_error(&status).unwrap();
            assert_eq!(error.remedy, "");
            assert_eq!(error.reason, code_and_reason(&status).1);
            Err(code_and_reason(&status))
        }
    }
}

fn creates() -> write_guard::Condition {
    write_guard::Condition::CreateIfAbsent(v1::CreateIfAbsent {})
}

fn not_observed() -> Result<edit_guard::Condition, (Code, String)> {
    Err((Code::FailedPrecondition, "FS_NOT_OBSERVED".to_owned()))
}

fn replaces(version: &str) -> Result<edit_guard::Condition, (Code, String)> {
    Ok(edit_guard::Condition::ReplaceIfVersion(version.into()))
}

#[tokio::test]
async fn what_a_session_saw_decides_its_guards() {
    let host = start();
    let gate = &mut PolicyServiceClient::new(host.channel.clone());
    let told = gate.get_policy_capabilities(v1::GetPolicyCapabilitiesRequest {}).await.unwrap().into_inner();
    let policy = told.policy.unwrap();
    assert_eq!((policy.name.as_str(), policy.persistent), ("observation", Some(false)));

    for session in ["", "one"] {
        assert_eq!(write_guard(gate, session).await, creates());
        assert_eq!(edit_guard(gate, session).await, not_observed());
    }
    gate.record_observation(seen("one", present("v1"), 10)).await.unwrap();
    assert_eq!(write_guard(gate, "one").await, write_guard::Condition::ReplaceIfVersion("v1".into()));
    assert_eq!(edit_guard(gate, "one").await, replaces("v1"));
    assert_eq!(edit_guard(gate, "two").await, not_observed());
    assert_eq!(edit_guard(gate, "").await, not_observed());

    // A slow read does not win over what was seen later.
    gate.record_observation(seen("one", present("v0"), 9)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, replaces("v1"));

    gate.record_observation(seen("one", observation::State::Absent(v1::Absent {}), 11)).await.unwrap();
    assert_eq!(write_guard(gate, "one").await, creates());
    assert_eq!(edit_guard(gate, "one").await, Err((Code::NotFound, "FS_NOT_FOUND".to_owned())));
}

#[tokio::test]
async fn what_is_forgotten_or_ended_is_unseen() {
    let host = start();
    let gate = &mut PolicyServiceClient::new(host.channel.clone());
    let forget = |scope, order| v1::ForgetRequest {
        session_key: "one".into(),
        scope: Some(scope),
        order: Some(order),
    };
    let targets =
        |keys: &[Bytes]| forget_request::Scope::Targets(v1::TargetKeys { target_keys: keys.to_vec() });
    gate.record_observation(seen("one", present("v1"), 10)).await.unwrap();
    gate.forget(forget(targets(&[Bytes::from_static(b"other")]), 11)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, replaces("v1"));
    gate.forget(forget(targets(&[key()]), 12)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, not_observed());
    gate.record_observation(seen("one", present("v1"), 12)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, not_observed());
    gate.record_observation(seen("one", present("v2"), 13)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, replaces("v2"));
    gate.forget(forget(forget_request::Scope::All(v1::AllTargets {}), 14)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, not_observed());

    let end = || v1::EndSessionRequest { session_key: "one".into() };
    gate.record_observation(seen("one", present("v3"), 15)).await.unwrap();
    gate.end_session(end()).await.unwrap();
    gate.end_session(end()).await.unwrap();
    gate.record_observation(seen("one", present("v4"), 16)).await.unwrap();
    assert_eq!(edit_guard(gate, "one").await, not_observed());
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let host = start();
    let gate = &mut PolicyServiceClient::new(host.channel.clone());
    let whole = || seen("one", present("v1"), 10);
    let whole_forget = || v1::ForgetRequest {
        session_key: "one".into(),
        scope: Some(forget_request::Scope::All(v1::AllTargets {})),
        order: Some(1),
    };

    let no_target = v1::DecideWriteRequest { session_key: "one".into(), target_key: Bytes::new() };
    check(gate.decide_write(no_target).await, "FS_INVALID_ARGUMENT", "`target_key`");
    let no_target = v1::DecideEditRequest { session_key: "one".into(), target_key: Bytes::new() };
    check(gate.decide_edit(no_target).await, "FS_INVALID_ARGUMENT", "`target_key`");

    for (request, reason, told) in [
        (
            v1::RecordObservationRequest { session_key: String::new(), ..whole() },
            "KEY_MISSING",
            "`session_key`",
        ),
        (
            v1::RecordObservationRequest { target_key: Bytes::new(), ..whole() },
            "FS_INVALID_ARGUMENT",
            "`target_key`",
        ),
        (
            v1::RecordObservationRequest { observation: None, ..whole() },
            "FS_INVALID_ARGUMENT",
            "`observation`",
        ),
        (
            v1::RecordObservationRequest { observation: Some(v1::Observation { state: None }), ..whole() },
            "FS_INVALID_ARGUMENT",
            "`observation`",
        ),
        (seen("one", present(""), 1), "FS_INVALID_ARGUMENT", "`present_version`"),
        (seen("one", present(&"v".repeat(129)), 1), "FS_INVALID_ARGUMENT", "`present_version`"),
        (v1::RecordObservationRequest { order: None, ..whole() }, "FS_INVALID_ARGUMENT", "`order`"),
    ] {
        check(gate.record_observation(request).await, reason, told);
    }
    let empty_key = forget_request::Scope::Targets(v1::TargetKeys { target_keys: vec![key(), Bytes::new()] });
    for (request, reason, told) in [
        (v1::ForgetRequest { session_key: String::new(), ..whole_forget() }, "KEY_MISSING", "`session_key`"),
        (v1::ForgetRequest { scope: None, ..whole_forget() }, "SCOPE_MISSING", "`all`"),
        (
            v1::ForgetRequest { scope: Some(empty_key), ..whole_forget() },
            "FS_INVALID_ARGUMENT",
            "`target_keys`",
        ),
        (v1::ForgetRequest { order: None, ..whole_forget() }, "FS_INVALID_ARGUMENT", "`order`"),
    ] {
        check(gate.forget(request).await, reason, told);
    }
    check(gate.end_session(v1::EndSessionRequest::default()).await, "KEY_MISSING", "`session_key`");
    assert_eq!(edit_guard(gate, "one").await, not_observed());
}

#[track_caller]
fn check<T: std::fmt::Debug>(answer: Result<T, Status>, reason: &str, told: &str) {
    let status = answer.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::InvalidArgument, reason.to_owned()));
    assert!(status.message().contains(told), "{}", status.message());
}
