use std::time::Duration;

use tokio::time::Instant;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use toolfs_core::error::AbortCause;
use toolfs_grpc::Drain;

use crate::support::{Host, Script, Setup, code_and_reason, read, request, write};

#[tokio::test]
async fn a_client_that_connects_and_says_nothing_does_not_hold_up_the_drain() {
    let mut host = Host::start();
    let silent = host.connect();
    // The server has accepted everything before this call's connection.
    assert_eq!(host.execute("", read("none")).await.is_error, Some(true));

    let began = Instant::now();
    host.begin_shutdown();
    assert_eq!(host.ended().await, Drain::Complete);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(silent);
}

#[tokio::test]
async fn a_client_that_stays_connected_without_a_call_does_not_hold_up_the_drain() {
    let mut host = Host::start();
    let mut tools = host.tools();
    tools.execute(request("", read("none"))).await.unwrap();
    host.begin_shutdown();
    assert_eq!(host.ended().await, Drain::Complete);
    assert!(tools.execute(request("", read("none"))).await.is_err());
}

#[tokio::test]
async fn a_call_in_flight_is_answered_during_the_drain() {
    let mut host = Host::start();
    host.provider.will(Script::WaitPublished);
    let call = tokio::task::LocalSet::new();
    let mut tools = host.tools();
    let answered = call.spawn_local(async move { tools.execute(request("", write("a", "one"))).await });
    call.run_until(async {
        host.provider.is_waiting().await;
        host.begin_shutdown();
        host.provider.release();
        let response = answered.await.unwrap().unwrap().into_inner();
        assert_eq!(response.is_error, Some(false));
    })
    .await;
    assert_eq!(host.ended().await, Drain::Complete);
}

#[tokio::test]
async fn at_the_limit_calls_are_told_to_stop() {
    let mut host = Host::with(Setup { drain_limit: Duration::from_millis(200), ..Setup::default() });
    host.provider.will(Script::WaitUnpublished);
    let provider = host.provider.clone();
    let mut tools = host.tools();
    let call = tools.execute(request("", write("a", "one")));
    let shut_down = async {
        provider.is_waiting().await;
        host.begin_shutdown();
        provider.was_aborted().await
    };
    let (answer, cause) = tokio::join!(call, shut_down);
    assert_eq!(cause, AbortCause::Draining);
    let response = answer.unwrap().into_inner();
    let error = response.error.unwrap();
    assert_eq!(error.reason, "FS_ABORTED");
    assert!(host.content("/w/a").is_none());
    assert_eq!(host.ended().await, Drain::LimitReached { calls_cut: 1 });
}

#[tokio::test]
async fn a_call_that_hears_nothing_is_cut() {
    let mut host = Host::with(Setup { drain_limit: Duration::from_millis(100), ..Setup::default() });
    host.provider.will(Script::Deaf);
    let provider = host.provider.clone();
    let mut tools = host.tools();
    let call = tools.execute(request("", write("a", "one")));
    let shut_down = async {
        provider.is_waiting().await;
        host.begin_shutdown();
    };
    let (answer, ()) = tokio::join!(call, shut_down);
    assert!(answer.is_err());
    drop(tools);
    let began = Instant::now();
    assert_eq!(host.ended().await, Drain::LimitReached { calls_cut: 1 });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_conversation_with_reflection_does_not_hold_up_the_drain() {
    let mut host = Host::start();
    let question = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let endless = tokio_stream::once(question).chain(tokio_stream::pending());
    let mut client = ServerReflectionClient::new(host.channel.clone());
    let mut answers = client.server_reflection_info(endless).await.unwrap().into_inner();
    assert!(answers.next().await.unwrap().is_ok());

    host.begin_shutdown();
    // Its client's half ends first or the server's does: with `OK`, or with the reason.
    if let Some(end) = answers.next().await {
        assert_eq!(code_and_reason(&end.unwrap_err()), (Code::Unavailable, "SHUTTING_DOWN".to_owned()));
    }
    drop((answers, client));
    assert_eq!(host.ended().await, Drain::Complete);
}
