use tonic::Code;
use toolfs_contract::v1;
use toolfs_contract::v1::fs_error::Detail;
use toolfs_contract::v1::{close_session_request, forget_observations_request, get_session_request};

use crate::support::{Host, code_and_reason, edit, fs_error, read, request, write};

fn by_id(id: &str) -> v1::GetSessionRequest {
    v1::GetSessionRequest { key: Some(get_session_request::Key::SessionId(id.into())) }
}

fn close(id: &str) -> v1::CloseSessionRequest {
    v1::CloseSessionRequest { key: Some(close_session_request::Key::SessionId(id.into())) }
}

fn forget(id: &str, scope: forget_observations_request::Scope) -> v1::ForgetObservationsRequest {
    let key = Some(forget_observations_request::Key::SessionId(id.into()));
    v1::ForgetObservationsRequest { key, scope: Some(scope) }
}

#[tokio::test]
async fn a_session_is_opened_shown_listed_and_closed_for_good() {
    let host = Host::start();
    host.provider.files.make_dir(b"/w/sub");
    let open = v1::OpenSessionRequest {
        cwd: "/w/sub".into(),
        labels: [("agent".to_owned(), "seven".to_owned())].into(),
        mode: v1::SessionMode::ReadOnly.into(),
        ..Default::default()
    };
    let opened = host.sessions().open_session(open).await.unwrap().into_inner();
    let (id, session) = (opened.session_id, opened.session.unwrap());
    assert_eq!((session.cwd.as_str(), session.mode()), ("/w/sub", v1::SessionMode::ReadOnly));
    assert_eq!(session.roots, ["/w"]);
    assert_eq!(session.labels["agent"], "seven");
    assert!(session.create_time.is_some() && session.expire_time.is_none());
    assert!(!session.name.contains(&id) && !id.contains(&session.name));

    let shown = host.sessions().get_session(by_id(&id)).await.unwrap().into_inner().session;
    assert_eq!(shown, Some(session.clone()));

    let response = host.execute(&id, write("a", "one")).await;
    assert_eq!(response.error.unwrap().code(), v1::FsErrorCode::FsSandboxDenied);

    let listed = host.sessions().list_sessions(v1::ListSessionsRequest::default()).await.unwrap();
    assert_eq!(listed.into_inner().sessions, [session]);

    host.sessions().close_session(close(&id)).await.unwrap();
    let again = host.sessions().close_session(close(&id)).await.unwrap_err();
    assert_eq!(code_and_reason(&again), (Code::NotFound, "SESSION_NOT_FOUND".to_owned()));
    let late = host.tools().execute(request(&id, read("a"))).await.unwrap_err();
    assert_eq!(code_and_reason(&late), (Code::NotFound, "SESSION_NOT_FOUND".to_owned()));
}

#[tokio::test]
async fn sessions_are_listed_a_page_at_a_time() {
    let host = Host::start();
    for _ in 0..3 {
        host.open_session().await;
    }
    let page = |page_token: String| {
        let request = v1::ListSessionsRequest { page_size: 2, page_token };
        let mut sessions = host.sessions();
        async move { sessions.list_sessions(request).await.unwrap().into_inner() }
    };
    let first = page(String::new()).await;
    assert_eq!(first.sessions.len(), 2);
    let last = page(first.next_page_token).await;
    assert_eq!((last.sessions.len(), last.next_page_token.as_str()), (1, ""));
}

#[tokio::test]
async fn what_a_session_forgets_it_must_read_again() {
    use forget_observations_request::Scope;
    let host = Host::start();
    host.provider.files.put(b"/w/a", "one\n");
    let session = host.open_session().await;
    for scope in [Scope::Paths(v1::PathList { paths: vec!["a".into()] }), Scope::All(v1::AllPaths {})] {
        assert_eq!(host.execute(&session, read("a")).await.is_error, Some(false));
        host.sessions().forget_observations(forget(&session, scope)).await.unwrap();
        let refused = host.execute(&session, edit("a", "one", "two")).await;
        assert_eq!(refused.error.unwrap().code(), v1::FsErrorCode::FsNotObserved);
    }
    let outside = Scope::Paths(v1::PathList { paths: vec!["../../etc".into()] });
    let status = host.sessions().forget_observations(forget(&session, outside)).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::PermissionDenied, "FS_SANDBOX_DENIED".to_owned()));
}

#[tokio::test]
async fn a_session_in_a_place_that_is_none_is_a_status_with_the_error_inside() {
    let host = Host::start();
    let open = v1::OpenSessionRequest { cwd: "/w/nowhere".into(), ..Default::default() };
    let status = host.sessions().open_session(open).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::NotFound, "FS_NOT_FOUND".to_owned()));
    let error = fs_error(&status).unwrap();
    assert_eq!((error.code(), error.path.as_str()), (v1::FsErrorCode::FsNotFound, "/w/nowhere"));
    assert_eq!(error.detail_truncated, Some(false));
}

#[tokio::test]
async fn what_a_session_holds_too_much_of_is_named() {
    let host = Host::start();
    let many_roots = v1::OpenSessionRequest { roots: vec!["/w".into(); 65], ..Default::default() };
    let many_labels = (0..33).map(|index| (index.to_string(), String::new())).collect();
    let many_labels = v1::OpenSessionRequest { labels: many_labels, ..Default::default() };
    for (request, field, message) in [
        (many_roots, "roots", "`roots` was 65 paths, it must be at most 64"),
        (many_labels, "labels", "`labels` was 33 labels, it must be at most 32"),
    ] {
        let status = host.sessions().open_session(request).await.unwrap_err();
        assert_eq!(code_and_reason(&status), (Code::InvalidArgument, "FS_INVALID_ARGUMENT".to_owned()));
        let error = fs_error(&status).unwrap();
        assert_eq!(error.message, message);
        let Some(Detail::InvalidArgument(detail)) = error.detail else { panic!("{error:?}") };
        assert_eq!(detail.field, field);
    }

    let most = v1::OpenSessionRequest { roots: vec!["/w".into(); 64], ..Default::default() };
    assert!(host.sessions().open_session(most).await.is_ok());
}

#[tokio::test]
async fn mistakes_of_the_caller_have_their_reasons() {
    let host = Host::start();
    let mut sessions = host.sessions();
    let name = get_session_request::Key::Name("session-1".into());
    let many = (0..33).map(|index| (index.to_string(), String::new())).collect();
    let refusals = [
        (sessions.get_session(v1::GetSessionRequest { key: None }).await.err(), "KEY_MISSING"),
        (sessions.get_session(by_id("")).await.err(), "KEY_MISSING"),
        (sessions.get_session(v1::GetSessionRequest { key: Some(name) }).await.err(), "OPERATOR_ONLY"),
        (sessions.get_session(by_id("ses_unknown")).await.err(), "SESSION_NOT_FOUND"),
        (sessions.close_session(v1::CloseSessionRequest { key: None }).await.err(), "KEY_MISSING"),
        (
            sessions
                .list_sessions(v1::ListSessionsRequest { page_size: -1, ..Default::default() })
                .await
                .err(),
            "PAGE_SIZE_INVALID",
        ),
        (
            sessions
                .list_sessions(v1::ListSessionsRequest { page_token: "?".into(), ..Default::default() })
                .await
                .err(),
            "PAGE_TOKEN_INVALID",
        ),
        (
            sessions.open_session(v1::OpenSessionRequest { labels: many, ..Default::default() }).await.err(),
            "FS_INVALID_ARGUMENT",
        ),
    ];
    for (status, expected) in refusals {
        assert_eq!(code_and_reason(&status.expect(expected)).1, expected);
    }
}
