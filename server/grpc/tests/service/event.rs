use std::time::Duration;

use tonic::{Code, Request, Status, Streaming};
use toolfs_contract::v1;
use toolfs_contract::v1::close_session_request;
use toolfs_contract::v1::event_service_client::EventServiceClient;
use toolfs_contract::v1::watch_request::Scope;
use toolfs_contract::v1::watch_response::Happening;
use toolfs_grpc::Drain;

use crate::support::{Host, Script, code_and_reason, edit, read, request, write};

fn of(session: &str, resume_token: &str) -> v1::WatchRequest {
    v1::WatchRequest { scope: Some(Scope::SessionId(session.into())), resume_token: resume_token.into() }
}

async fn try_watch(host: &Host, request: v1::WatchRequest) -> Result<Streaming<v1::WatchResponse>, Status> {
    let mut client = EventServiceClient::new(host.channel.clone());
    Ok(client.watch(request).await?.into_inner())
}

/// A watch that has begun.
async fn watch(host: &Host, session: &str) -> Streaming<v1::WatchResponse> {
    let mut events = try_watch(host, of(session, "")).await.unwrap();
    assert!(matches!(next(&mut events).await, Happening::WatchBegan(_)));
    events
}

async fn next(events: &mut Streaming<v1::WatchResponse>) -> Happening {
    events.message().await.unwrap().unwrap().happening.unwrap()
}

async fn close(host: &Host, session: &str) {
    let key = close_session_request::Key::SessionId(session.into());
    host.sessions().close_session(v1::CloseSessionRequest { key: Some(key) }).await.unwrap();
}

#[tokio::test]
async fn a_watch_of_nothing_of_no_session_and_from_nowhere_is_refused() {
    let host = Host::start();
    let session = host.open_session().await;
    let other = host.open_session().await;
    let mut events = try_watch(&host, of(&other, "")).await.unwrap();
    let token_of_other = events.message().await.unwrap().unwrap().resume_token;
    for (request, expected) in [
        (v1::WatchRequest::default(), (Code::InvalidArgument, "SCOPE_MISSING")),
        (of("", ""), (Code::InvalidArgument, "SCOPE_MISSING")),
        (of("ses_unknown", ""), (Code::NotFound, "SESSION_NOT_FOUND")),
        (of(&session, "garbage"), (Code::InvalidArgument, "RESUME_TOKEN_INVALID")),
        (of(&session, &token_of_other), (Code::InvalidArgument, "RESUME_TOKEN_INVALID")),
    ] {
        let status = try_watch(&host, request).await.unwrap_err();
        let (code, reason) = code_and_reason(&status);
        assert_eq!((code, reason.as_str()), expected);
    }
}

#[tokio::test]
async fn an_edit_is_told_with_every_field_that_the_contract_says_is_set() {
    let host = Host::start();
    let session = host.open_session().await;
    let mut events = watch(&host, &session).await;
    host.execute(&session, write("a", "one\n")).await;
    let call = v1::ExecuteRequest {
        request_id: "5f0c1b2a-0000-4000-8000-00000000000a".into(),
        tool_call_id: "toolu_7".into(),
        ..request(&session, edit("a", "one", "two"))
    };
    let answer = host.tools().execute(call).await.unwrap().into_inner();
    let Some(v1::execute_response::Outcome::Edit(outcome)) = answer.outcome else { panic!("{answer:?}") };
    for _ in 0..4 {
        next(&mut events).await;
    }
    let Happening::CallBegan(began) = next(&mut events).await else { panic!("the call begins") };
    assert_eq!(
        (began.tool.as_str(), began.path.as_str(), began.tool_call_id.as_str(), began.dry_run),
        ("edit", "a", "toolu_7", Some(false))
    );
    assert_eq!(began.request_id, "5f0c1b2a-0000-4000-8000-00000000000a");
    let Happening::GuardDecided(decided) = next(&mut events).await else { panic!("the gate decides") };
    assert_eq!((decided.call_number, decided.path.as_str()), (began.call_number, "/w/a"));
    let Some(v1::guard_decided::Decision::Edit(guard)) = decided.decision else { panic!("an edit") };
    let Some(v1::edit_guard::Condition::ReplaceIfVersion(seen)) = guard.condition else { panic!("guarded") };
    let Happening::ObservationRecorded(recorded) = next(&mut events).await else { panic!("it is recorded") };
    let state = recorded.observation.unwrap().state;
    assert_eq!(state, Some(v1::observation::State::PresentVersion(outcome.version.clone())));
    assert_ne!(outcome.version, seen);
    let event = events.message().await.unwrap().unwrap();
    assert!(event.time.is_some() && event.session_name.starts_with("session-"), "{event:?}");
    let Some(Happening::CallEnded(ended)) = event.happening else { panic!("it ends") };
    assert_eq!((ended.call_number, ended.is_error), (began.call_number, Some(false)));
    assert_eq!((ended.code(), ended.reason.as_str()), (v1::FsErrorCode::FsUnspecified, ""));
    assert_eq!((ended.published(), ended.version), (v1::Published::Yes, outcome.version));
    assert_eq!(ended.content_bytes, Some(4));
    assert!(ended.elapsed.is_some());
}

#[tokio::test]
async fn a_call_out_of_time_is_told_by_the_reason_of_its_status() {
    let host = Host::start();
    let session = host.open_session().await;
    let mut events = watch(&host, &session).await;
    host.provider.will(Script::WaitUnpublished);
    let mut late = Request::new(request(&session, write("a", "one")));
    late.set_timeout(Duration::from_millis(500));
    host.tools().execute(late).await.unwrap_err();
    let ended = loop {
        if let Happening::CallEnded(ended) = next(&mut events).await {
            break ended;
        }
    };
    assert_eq!((ended.code(), ended.reason.as_str()), (v1::FsErrorCode::FsAborted, "DEADLINE_EXCEEDED"));
    assert_eq!((ended.is_error, ended.published()), (Some(true), v1::Published::No));
}

#[tokio::test]
async fn a_panic_is_told_as_a_mistake_of_the_server() {
    let host = Host::start();
    let session = host.open_session().await;
    let mut events = watch(&host, &session).await;
    host.provider.will(Script::Panic);
    host.tools().execute(request(&session, read("a"))).await.unwrap_err();
    assert!(matches!(next(&mut events).await, Happening::CallBegan(_)));
    let Happening::CallEnded(ended) = next(&mut events).await else { panic!("it ended") };
    assert_eq!((ended.is_error, ended.reason.as_str()), (Some(true), "INTERNAL"));
}

#[tokio::test]
async fn a_watch_ends_well_with_its_session() {
    let host = Host::start();
    let session = host.open_session().await;
    let mut events = watch(&host, &session).await;
    close(&host, &session).await;
    assert_eq!(events.message().await.unwrap(), None);
}

#[tokio::test]
async fn a_watch_ends_when_its_callers_time_is_over() {
    let host = Host::start();
    let session = host.open_session().await;
    let mut request = Request::new(of(&session, ""));
    request.set_timeout(Duration::from_millis(300));
    let mut events = EventServiceClient::new(host.channel.clone()).watch(request).await.unwrap().into_inner();
    assert!(matches!(next(&mut events).await, Happening::WatchBegan(_)));
    let status = events.message().await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".to_owned()));
}

#[tokio::test]
async fn a_drain_ends_watches_and_does_not_wait_for_them() {
    let mut host = Host::start();
    let session = host.open_session().await;
    let mut events = watch(&host, &session).await;
    let unread = watch(&host, &session).await;
    host.execute(&session, read("a")).await;
    host.begin_shutdown();
    for _ in 0..3 {
        next(&mut events).await;
    }
    let status = events.message().await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::Unavailable, "SHUTTING_DOWN".to_owned()));
    drop((events, unread));
    assert_eq!(host.ended().await, Drain::Complete);
}

/// The watcher's connection takes nothing more at some point, and the ring, which is full of long paths, forgets what is
/// oldest.
#[tokio::test]
async fn a_watcher_that_reads_late_is_told_how_many_it_missed() {
    const CALLS: i64 = 1_300;
    let host = Host::start();
    let session = host.open_session().await;
    let channel = host.channel_of(64 << 10);
    let mut late = EventServiceClient::new(channel).watch(of(&session, "")).await.unwrap().into_inner();
    assert!(matches!(next(&mut late).await, Happening::WatchBegan(_)));
    let path = vec!["p".repeat(200); 19].join("/");
    for _ in 0..CALLS {
        let answer = host.execute(&session, read(&path)).await;
        assert_eq!(answer.error.unwrap().code(), v1::FsErrorCode::FsNotFound);
    }
    close(&host, &session).await;
    let (mut seen, mut missed) = (0, 0);
    while let Some(event) = late.message().await.unwrap() {
        match event.happening.unwrap() {
            Happening::EventsMissed(gap) => missed += gap.missed_count.unwrap(),
            _ => seen += 1,
        }
    }
    // Each began, was recorded and ended.
    assert_eq!(seen + missed, 3 * CALLS, "{seen} seen, {missed} missed");
    assert!(missed > 0 && seen > 0, "{seen} seen, {missed} missed");
}
