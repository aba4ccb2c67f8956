//! Events: what is watched and what is told.

use tonic::Status;
use toolfs_contract::code::CallReason;
use toolfs_contract::v1::{self, guard_decided, observation, watch_request::Scope, watch_response};
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionId;
use toolfs_tools::{
    CallBegan, CallEnded, CallError, CallFailure, Decision, Event, GuardDecided, Happening,
    ObservationRecorded,
};

use super::error::{code, published};
use super::guard::{edit_guard, write_guard};
use super::{count, duration, timestamp};
use crate::status;

/// Whose calls are watched, and from where on.
///
/// # Errors
/// `SCOPE_MISSING`
pub(crate) fn watch_request(request: v1::WatchRequest) -> Result<(SessionId, String), Status> {
    match request.scope {
        Some(Scope::SessionId(id)) if !id.is_empty() => {
            Ok((SessionId::from_caller(&id), request.resume_token))
        }
        Some(Scope::SessionId(_)) | None => {
            let message = "the request does not say what to watch: set `session_id`";
            Err(status::refused(CallReason::ScopeMissing, message))
        }
    }
}

/// One event.
pub(crate) fn watch_response(event: Event) -> v1::WatchResponse {
    v1::WatchResponse {
        resume_token: event.resume_token,
        time: Some(timestamp(event.time)),
        session_name: event.session.as_str().to_owned(),
        happening: Some(happening(&event.happening)),
    }
}

fn happening(happening: &Happening) -> watch_response::Happening {
    use watch_response::Happening as Wire;
    match happening {
        Happening::WatchBegan => Wire::WatchBegan(v1::WatchBegan {}),
        Happening::EventsMissed { count: missed } => {
            Wire::EventsMissed(v1::EventsMissed { missed_count: missed.map(count) })
        }
        Happening::CallBegan(began) => Wire::CallBegan(call_began(began)),
        Happening::CallEnded(ended) => Wire::CallEnded(call_ended(ended)),
        Happening::GuardDecided(decided) => Wire::GuardDecided(decision(decided)),
        Happening::ObservationRecorded(recorded) => Wire::ObservationRecorded(observed(recorded)),
    }
}

fn call_began(began: &CallBegan) -> v1::CallBegan {
    let request_id = began.request_id.as_ref().map(|id| id.as_str().to_owned());
    v1::CallBegan {
        call_number: Some(count(began.call)),
        tool: began.tool.to_string(),
        request_id: request_id.unwrap_or_default(),
        tool_call_id: began.tool_call_id.to_string(),
        path: began.path.to_string(),
        dry_run: Some(began.dry_run),
    }
}

fn call_ended(ended: &CallEnded) -> v1::CallEnded {
    let (code, reason) = match &ended.failure {
        None => (v1::FsErrorCode::FsUnspecified, ""),
        Some(failure) => failed(failure),
    };
    v1::CallEnded {
        call_number: Some(count(ended.call)),
        is_error: Some(ended.failure.is_some()),
        code: code.into(),
        reason: reason.to_owned(),
        published: published(ended.published).into(),
        version: ended.version.as_ref().map(|version| version.as_str().to_owned()).unwrap_or_default(),
        elapsed: Some(duration(ended.elapsed)),
        content_bytes: Some(count(ended.content_bytes)),
    }
}

/// The code of a failure, and its reason: that of the status where the call ended in one.
fn failed(failure: &CallFailure) -> (v1::FsErrorCode, &'static str) {
    match failure {
        CallFailure::Fs(failed) => (code(*failed), failed.as_str()),
        CallFailure::Call(error) => {
            let code = match error {
                CallError::Aborted(error) | CallError::Fs(error) => code(error.code()),
                CallError::SessionNotFound
                | CallError::CallMissing
                | CallError::TooManySessions { .. }
                | CallError::PageTokenInvalid
                | CallError::RequestIdReused
                | CallError::ResumeTokenInvalid => v1::FsErrorCode::FsUnspecified,
            };
            (code, status::reason_of(error))
        }
        CallFailure::Lost => (v1::FsErrorCode::FsUnspecified, CallReason::Internal.as_str()),
    }
}

fn decision(decided: &GuardDecided) -> v1::GuardDecided {
    use guard_decided::Decision as Wire;
    let decision = match &decided.decision {
        Decision::Write(guard) => Wire::Write(write_guard(guard.clone())),
        Decision::Edit(guard) => Wire::Edit(edit_guard(guard.clone())),
        Decision::Refused(refused) => Wire::Refusal(code(*refused).into()),
    };
    v1::GuardDecided {
        call_number: Some(count(decided.call)),
        path: decided.path.to_string(),
        decision: Some(decision),
    }
}

fn observed(recorded: &ObservationRecorded) -> v1::ObservationRecorded {
    let state = match &recorded.observation {
        Observation::Absent => observation::State::Absent(v1::Absent {}),
        Observation::Present(version) => observation::State::PresentVersion(version.as_str().to_owned()),
    };
    v1::ObservationRecorded {
        call_number: Some(count(recorded.call)),
        path: recorded.path.to_string(),
        observation: Some(v1::Observation { state: Some(state) }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tonic_types::StatusExt as _;
    use toolfs_core::error::{AbortCause, Code, ErrorKind, FsError, Published};

    use super::*;

    fn reason(scope: Option<Scope>) -> String {
        let request = v1::WatchRequest { scope, resume_token: String::new() };
        let Err(status) = watch_request(request) else { return "accepted".to_owned() };
        status.get_details_error_info().expect("every status of ours has its reason").reason
    }

    #[test]
    fn a_watch_of_nothing_is_refused() {
        assert_eq!(reason(None), "SCOPE_MISSING");
        assert_eq!(reason(Some(Scope::SessionId(String::new()))), "SCOPE_MISSING");
        assert_eq!(reason(Some(Scope::SessionId("ses_1".into()))), "accepted");
    }

    #[test]
    fn a_failure_is_told_by_its_code_and_by_the_reason_of_its_status() {
        let aborted =
            |cause| CallFailure::Call(CallError::Aborted(FsError::new(ErrorKind::Aborted { cause }, "")));
        for (failure, code, reason) in [
            (None, v1::FsErrorCode::FsUnspecified, ""),
            (Some(CallFailure::Fs(Code::StaleVersion)), v1::FsErrorCode::FsStaleVersion, "FS_STALE_VERSION"),
            (Some(aborted(AbortCause::Cancelled)), v1::FsErrorCode::FsAborted, "CANCELLED"),
            (Some(aborted(AbortCause::DeadlineExceeded)), v1::FsErrorCode::FsAborted, "DEADLINE_EXCEEDED"),
            (Some(CallFailure::Lost), v1::FsErrorCode::FsUnspecified, "INTERNAL"),
        ] {
            let ended = call_ended(&CallEnded {
                call: 7,
                failure: failure.clone(),
                published: Published::No,
                version: None,
                elapsed: Duration::from_micros(1),
                content_bytes: 0,
            });
            assert_eq!((ended.code(), ended.reason.as_str()), (code, reason), "{failure:?}");
            assert_eq!(ended.is_error, Some(failure.is_some()), "{failure:?}");
            assert_eq!((ended.call_number, ended.content_bytes), (Some(7), Some(0)));
        }
    }
}
