//! Sessions: what is asked of them and what is shown.

use std::collections::BTreeMap;

use tonic::Status;
use toolfs_contract::code::CallReason;
use toolfs_contract::v1::{self, close_session_request, forget_observations_request, get_session_request};
use toolfs_core::error::FsError;
use toolfs_core::id::SessionId;
use toolfs_tools::{
    Caller, CloseSession, ForgetObservations, ForgetPaths, OpenSession, OpenedSession, SessionInfo,
    SessionMode, SessionPage,
};

use super::timestamp;
use crate::status;

/// To how many paths a session is narrowed at most.
const MAX_ROOTS: usize = 64;
/// How many labels a session has at most.
const MAX_LABELS: usize = 32;
/// How many bytes the name of a label has at most.
const MAX_LABEL_NAME_BYTES: usize = 63;
/// How many bytes the value of a label has at most.
const MAX_LABEL_VALUE_BYTES: usize = 255;

/// Which session a request is about: the same choice in each of them.
enum Key {
    Unset,
    SessionId(String),
    Name,
}

/// What a new session asks for.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` for roots or labels out of bounds and for a mode that this server does not know.
pub(crate) fn open_session_request(request: v1::OpenSessionRequest) -> Result<OpenSession, Status> {
    let mode = requested_mode(request.mode).map_err(|error| status::from_fs_error(&error))?;
    let v1::OpenSessionRequest { cwd, roots, labels, mode: _ } = request;
    check_roots(&roots).map_err(|error| status::from_fs_error(&error))?;
    let labels = labels.into_iter().collect();
    check_labels(&labels).map_err(|error| status::from_fs_error(&error))?;
    Ok(OpenSession { cwd: (!cwd.is_empty()).then_some(cwd), roots, labels, mode })
}

/// An unknown mode is refused and never read as the widest one.
fn requested_mode(mode: i32) -> Result<SessionMode, FsError> {
    match v1::SessionMode::try_from(mode) {
        Ok(v1::SessionMode::Unspecified | v1::SessionMode::WorkspaceWrite) => Ok(SessionMode::WorkspaceWrite),
        Ok(v1::SessionMode::ReadOnly) => Ok(SessionMode::ReadOnly),
        Err(_) => {
            Err(FsError::invalid_argument("mode", mode.to_string(), "a mode that `GetCapabilities` lists"))
        }
    }
}

fn check_roots(roots: &[String]) -> Result<(), FsError> {
    if roots.len() > MAX_ROOTS {
        let (actual, expected) = (format!("{} paths", roots.len()), format!("at most {MAX_ROOTS}"));
        return Err(FsError::invalid_argument("roots", actual, expected));
    }
    Ok(())
}

fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), FsError> {
    let refuse =
        |actual: String, expected: String| Err(FsError::invalid_argument("labels", actual, expected));
    if labels.len() > MAX_LABELS {
        return refuse(format!("{} labels", labels.len()), format!("at most {MAX_LABELS}"));
    }
    for (name, value) in labels {
        if name.is_empty() || name.len() > MAX_LABEL_NAME_BYTES {
            let expected = format!("names of 1 to {MAX_LABEL_NAME_BYTES} bytes");
            return refuse(format!("a name of {} bytes", name.len()), expected);
        }
        if value.len() > MAX_LABEL_VALUE_BYTES {
            let expected = format!("values of at most {MAX_LABEL_VALUE_BYTES} bytes");
            return refuse(format!("a value of {} bytes", value.len()), expected);
        }
    }
    Ok(())
}

/// The session that is asked for.
///
/// # Errors
/// `KEY_MISSING`, `OPERATOR_ONLY`
pub(crate) fn get_session_request(request: v1::GetSessionRequest) -> Result<SessionId, Status> {
    session_id(match request.key {
        None => Key::Unset,
        Some(get_session_request::Key::SessionId(id)) => Key::SessionId(id),
        Some(get_session_request::Key::Name(_)) => Key::Name,
    })
}

/// The session that is to end.
///
/// # Errors
/// `KEY_MISSING`, `OPERATOR_ONLY`
pub(crate) fn close_session_request(request: v1::CloseSessionRequest) -> Result<CloseSession, Status> {
    let session = session_id(match request.key {
        None => Key::Unset,
        Some(close_session_request::Key::SessionId(id)) => Key::SessionId(id),
        Some(close_session_request::Key::Name(_)) => Key::Name,
    })?;
    Ok(CloseSession { caller: Caller::Local, session })
}

/// What is to be forgotten.
///
/// # Errors
/// `KEY_MISSING`, `OPERATOR_ONLY`, `SCOPE_MISSING`
pub(crate) fn forget_observations_request(
    request: v1::ForgetObservationsRequest,
) -> Result<ForgetObservations, Status> {
    use forget_observations_request::{Key as WireKey, Scope};
    let session = session_id(match request.key {
        None => Key::Unset,
        Some(WireKey::SessionId(id)) => Key::SessionId(id),
        Some(WireKey::Name(_)) => Key::Name,
    })?;
    let scope = match request.scope {
        Some(Scope::Paths(list)) => ForgetPaths::Paths(list.paths),
        Some(Scope::All(v1::AllPaths {})) => ForgetPaths::All,
        None => {
            let message = "the request does not say what to forget: set `paths` or `all`";
            return Err(status::refused(CallReason::ScopeMissing, message));
        }
    };
    Ok(ForgetObservations { caller: Caller::Local, session, scope })
}

/// The page that is asked for: its size, `None` for the server's default, and its token, `None` for the first one.
///
/// # Errors
/// `PAGE_SIZE_INVALID`
pub(crate) fn list_sessions_request(
    request: v1::ListSessionsRequest,
) -> Result<(Option<u32>, Option<String>), Status> {
    let v1::ListSessionsRequest { page_size, page_token } = request;
    let size = u32::try_from(page_size).map_err(|_| {
        let words = [("page_size".to_owned(), page_size.to_string())].into();
        let message = format!("`page_size` was {page_size}, it must be 0 (the server's default) or more");
        status::refused_with(CallReason::PageSizeInvalid, &message, words)
    })?;
    Ok(((size != 0).then_some(size), (!page_token.is_empty()).then_some(page_token)))
}

fn session_id(key: Key) -> Result<SessionId, Status> {
    match key {
        Key::SessionId(id) if !id.is_empty() => Ok(SessionId::from_caller(&id)),
        Key::SessionId(_) | Key::Unset => {
            let message = "the request names no session: set `session_id`";
            Err(status::refused(CallReason::KeyMissing, message))
        }
        Key::Name => {
            let message = "only operators name a session by its name: set `session_id`";
            Err(status::refused(CallReason::OperatorOnly, message))
        }
    }
}

/// A new session, with its secret.
pub(crate) fn open_session_response(opened: OpenedSession) -> v1::OpenSessionResponse {
    v1::OpenSessionResponse { session_id: opened.id.reveal().to_owned(), session: Some(session(opened.info)) }
}

/// A page of sessions.
pub(crate) fn list_sessions_response(page: SessionPage) -> v1::ListSessionsResponse {
    v1::ListSessionsResponse {
        sessions: page.sessions.into_iter().map(session).collect(),
        next_page_token: page.next_page_token.unwrap_or_default(),
    }
}

/// What is public about a session.
pub(crate) fn session(info: SessionInfo) -> v1::Session {
    v1::Session {
        name: info.name.as_str().to_owned(),
        cwd: info.cwd,
        roots: info.roots,
        mode: mode(info.mode).into(),
        labels: info.labels.into_iter().collect(),
        create_time: Some(timestamp(info.created)),
        expire_time: info.expires.map(timestamp),
    }
}

/// What a session may do.
pub(crate) fn mode(mode: SessionMode) -> v1::SessionMode {
    match mode {
        SessionMode::WorkspaceWrite => v1::SessionMode::WorkspaceWrite,
        SessionMode::ReadOnly => v1::SessionMode::ReadOnly,
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt as _;

    use super::*;

    fn reason<T>(result: Result<T, Status>) -> String {
        let Err(status) = result else { return "accepted".to_owned() };
        status.get_details_error_info().expect("every status of ours has its reason").reason
    }

    fn labels(count: usize, name_bytes: usize, value_bytes: usize) -> v1::OpenSessionRequest {
        let labels = (0..count).map(|index| (format!("{index:0name_bytes$}"), "v".repeat(value_bytes)));
        v1::OpenSessionRequest { labels: labels.collect(), ..Default::default() }
    }

    fn label(name: &str, value: &str) -> v1::OpenSessionRequest {
        v1::OpenSessionRequest { labels: [(name.into(), value.into())].into(), ..Default::default() }
    }

    #[test]
    fn labels_have_bounds() {
        for (request, expected) in [
            (labels(0, 1, 1), "accepted"),
            (labels(32, 63, 255), "accepted"),
            (labels(33, 2, 1), "FS_INVALID_ARGUMENT"),
            (labels(1, 64, 1), "FS_INVALID_ARGUMENT"),
            (labels(1, 1, 256), "FS_INVALID_ARGUMENT"),
            (label("", "v"), "FS_INVALID_ARGUMENT"),
            (label("n", ""), "accepted"),
        ] {
            assert_eq!(reason(open_session_request(request)), expected);
        }
    }

    #[test]
    fn roots_have_a_bound() {
        let roots = |count| v1::OpenSessionRequest { roots: vec!["a".into(); count], ..Default::default() };
        assert_eq!(reason(open_session_request(roots(64))), "accepted");
        assert_eq!(reason(open_session_request(roots(65))), "FS_INVALID_ARGUMENT");
    }

    #[test]
    fn a_mode_of_a_later_contract_is_not_read_as_writing() {
        let request = v1::OpenSessionRequest { mode: 3, ..Default::default() };
        assert_eq!(reason(open_session_request(request)), "FS_INVALID_ARGUMENT");
    }

    #[test]
    fn an_empty_cwd_is_absent() {
        assert_eq!(open_session_request(v1::OpenSessionRequest::default()).unwrap(), OpenSession::default());
    }

    #[test]
    fn a_request_about_no_session_is_told_what_it_lacks() {
        use forget_observations_request::{Key, Scope};
        let forget =
            |key, scope| reason(forget_observations_request(v1::ForgetObservationsRequest { key, scope }));
        let id = || Some(Key::SessionId("ses_1".into()));
        assert_eq!(forget(None, None), "KEY_MISSING");
        assert_eq!(forget(Some(Key::SessionId(String::new())), None), "KEY_MISSING");
        assert_eq!(forget(Some(Key::Name("session-1".into())), None), "OPERATOR_ONLY");
        assert_eq!(forget(id(), None), "SCOPE_MISSING");
        assert_eq!(forget(id(), Some(Scope::All(v1::AllPaths {}))), "accepted");
    }

    #[test]
    fn a_page_has_a_size_from_zero_on() {
        let page =
            |page_size| list_sessions_request(v1::ListSessionsRequest { page_size, ..Default::default() });
        assert_eq!(page(0).unwrap(), (None, None));
        assert_eq!(page(7).unwrap(), (Some(7), None));
        assert_eq!(reason(page(-1)), "PAGE_SIZE_INVALID");
    }
}
