use std::time::Duration;

use tonic::Code;
use toolfs_contract::v1;
use toolfs_core::error::AbortCause;

use crate::support::{Host, Script, code_and_reason, edit, fs_error, read, request, write};

/// Starts a call, and drops it once the provider is at work on it.
async fn abandon(host: &Host, session: &str, call: v1::execute_request::Call) {
    let mut tools = host.tools();
    let call = tools.execute(request(session, call));
    tokio::select! {
        answer = call => panic!("answered before it was abandoned: {answer:?}"),
        () = host.provider.is_waiting() => {}
    }
}

#[tokio::test]
async fn an_abandoned_write_that_published_nothing_leaves_nothing() {
    let host = Host::start();
    host.provider.will(Script::WaitUnpublished);
    abandon(&host, "", write("a", "one")).await;
    assert_eq!(host.provider.was_aborted().await, AbortCause::Cancelled);
    assert!(host.content("/w/a").is_none());

    host.provider.will(Script::Obey);
    assert_eq!(host.execute("", write("a", "two")).await.is_error, Some(false));
}

#[tokio::test]
async fn an_abandoned_write_that_was_published_is_completed_and_observed() {
    let host = Host::start();
    let session = host.open_session().await;
    host.provider.will(Script::WaitPublished);
    abandon(&host, &session, write("a", "one\n")).await;
    assert_eq!(host.content("/w/a").unwrap(), "one\n");

    host.provider.will(Script::Obey);
    host.provider.release();
    // The session's next call on that file comes after the end of the abandoned one.
    let response = host.execute(&session, edit("a", "one", "two")).await;
    assert_eq!(response.is_error, Some(false), "{:?}", response.error);
    assert_eq!(host.content("/w/a").unwrap(), "two\n");
}

#[tokio::test]
async fn an_abandoned_read_is_stopped() {
    let host = Host::start();
    host.provider.files.put(b"/w/a", "one\n");
    host.provider.will(Script::WaitUnpublished);
    abandon(&host, "", read("a")).await;
    assert_eq!(host.provider.was_aborted().await, AbortCause::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_call_out_of_time_is_told_so_before_its_time_is_over() {
    let host = Host::start();
    host.provider.will(Script::WaitUnpublished);
    let mut request = tonic::Request::new(request("", write("a", "one")));
    request.set_timeout(Duration::from_millis(500));
    let status = host.tools().execute(request).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".to_owned()));
    let error = fs_error(&status).unwrap();
    assert_eq!((error.reason.as_str(), error.published()), ("FS_ABORTED", v1::Published::No));
    assert!(host.content("/w/a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_change_that_landed_too_late_to_be_told_is_told_as_possible() {
    let host = Host::start();
    let session = host.open_session().await;
    host.provider.will(Script::WaitPublished);
    let mut late = tonic::Request::new(request(&session, write("a", "one\n")));
    late.set_timeout(Duration::from_millis(500));
    let status = host.tools().execute(late).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".to_owned()));
    let error = fs_error(&status).unwrap();
    assert_eq!((error.published(), error.retryable), (v1::Published::Maybe, Some(false)));
    assert_eq!(host.content("/w/a").unwrap(), "one\n");

    host.provider.will(Script::Obey);
    host.provider.release();
    let response = host.execute(&session, edit("a", "one", "two")).await;
    assert_eq!(response.is_error, Some(false), "{:?}", response.error);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_message_does_not_arrive_in_time_is_told_so() {
    let host = Host::start();
    let mut calls = tonic::client::Grpc::new(host.channel.clone());
    calls.ready().await.unwrap();
    let mut request = tonic::Request::new(tokio_stream::pending::<v1::ExecuteRequest>());
    request.set_timeout(Duration::from_millis(500));
    let path = "/toolfs.v1.ToolService/Execute".parse().unwrap();
    let codec = tonic_prost::ProstCodec::<_, v1::ExecuteResponse>::new();
    let status = calls.client_streaming(request, path, codec).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".to_owned()));
}
