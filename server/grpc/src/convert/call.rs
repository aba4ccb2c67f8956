//! A tool call, as it comes in.

use tonic::Status;
use toolfs_contract::code::CallReason;
use toolfs_contract::v1::{self, execute_request::Call};
use toolfs_core::argument::RawCall;
use toolfs_core::id::{RequestId, SessionId};
use toolfs_tools::{Caller, ExecuteRequest};

use crate::status;

/// What the answer repeats of its request, and how much it holds.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    /// As it came.
    pub(crate) request_id: String,
    /// As it came.
    pub(crate) tool_call_id: String,
    /// Whether it was a dry run.
    pub(crate) dry_run: bool,
    /// Whether lines and diffs are wanted.
    pub(crate) full: bool,
}

/// A call and what its answer repeats.
///
/// # Errors
/// `REQUEST_ID_INVALID`
pub(crate) fn execute_request(request: v1::ExecuteRequest) -> Result<(ExecuteRequest, Echo), Status> {
    let view = match request.view() {
        v1::ResultView::Unspecified | v1::ResultView::Basic => v1::ResultView::Basic,
        v1::ResultView::Full => v1::ResultView::Full,
    };
    let v1::ExecuteRequest { session_id, request_id, tool_call_id, dry_run, view: _, call } = request;
    let call = ExecuteRequest {
        caller: Caller::Local,
        session: (!session_id.is_empty()).then(|| SessionId::from_caller(&session_id)),
        request_id: parse_request_id(&request_id)?,
        tool_call_id: tool_call_id.clone(),
        dry_run,
        want_diff: dry_run || view == v1::ResultView::Full,
        call: call.map(raw_call),
    };
    let full = call.want_diff;
    Ok((call, Echo { request_id, tool_call_id, dry_run, full }))
}

fn parse_request_id(text: &str) -> Result<Option<RequestId>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    RequestId::parse(text).map(Some).ok_or_else(|| {
        let message = "`request_id` is no UUID: send a fresh one for each call, or leave it empty";
        status::refused(CallReason::RequestIdInvalid, message)
    })
}

fn raw_call(call: Call) -> RawCall {
    match call {
        Call::Read(v1::ReadCall { file_path, offset, limit }) => RawCall::Read { file_path, offset, limit },
        Call::Write(v1::WriteCall { file_path, content }) => RawCall::Write { file_path, content },
        Call::Edit(v1::EditCall { file_path, old_string, new_string, replace_all }) => {
            RawCall::Edit { file_path, old_string, new_string, replace_all }
        }
        // An absent name names no tool, and absent arguments are no JSON: the tools refuse both as what they are.
        Call::Json(v1::JsonCall { name, arguments_json }) => RawCall::Json {
            name: name.unwrap_or_default(),
            arguments_json: arguments_json.unwrap_or_default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt as _;

    use super::*;

    #[test]
    fn empty_identifiers_are_absent() {
        let (call, _) = execute_request(v1::ExecuteRequest::default()).unwrap();
        assert_eq!((call.session, call.request_id), (None, None));
        assert!(call.call.is_none());
    }

    #[test]
    fn a_request_id_is_a_uuid_and_is_repeated_as_it_came() {
        let sent = "5F0C1B2A-0000-4000-8000-00000000000A";
        let request = v1::ExecuteRequest { request_id: sent.into(), ..Default::default() };
        let (call, echo) = execute_request(request).unwrap();
        assert_eq!(call.request_id.unwrap().as_str(), sent.to_ascii_lowercase());
        assert_eq!(echo.request_id, sent);

        let request = v1::ExecuteRequest { request_id: "call-1".into(), ..Default::default() };
        let status = execute_request(request).unwrap_err();
        assert_eq!(status.get_details_error_info().unwrap().reason, "REQUEST_ID_INVALID");
    }

    #[test]
    fn a_dry_run_is_judged_as_full() {
        for (view, dry_run, full) in [
            (v1::ResultView::Unspecified, false, false),
            (v1::ResultView::Basic, false, false),
            (v1::ResultView::Full, false, true),
            (v1::ResultView::Basic, true, true),
        ] {
            let request = v1::ExecuteRequest { view: view.into(), dry_run, ..Default::default() };
            let (call, echo) = execute_request(request).unwrap();
            assert_eq!((call.want_diff, echo.full), (full, full), "{view:?} {dry_run}");
        }
    }

    #[test]
    fn a_view_that_is_not_known_is_basic() {
        let request = v1::ExecuteRequest { view: 99, ..Default::default() };
        assert!(!execute_request(request).unwrap().1.full);
    }
}
