use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use toolfs_grpc::Drain;

use crate::support::Host;

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.into() }
}

#[tokio::test]
async fn each_service_and_the_whole_are_serving() {
    let host = Host::start();
    let mut health = HealthClient::new(host.channel.clone());
    for service in ["", "toolfs.v1.ToolService", "toolfs.v1.SessionService", "toolfs.v1.EventService"] {
        let answer = health.check(about(service)).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    for service in ["toolfs.v1.FileSystemService", "toolfs.v1.PolicyService"] {
        assert_eq!(health.check(about(service)).await.unwrap_err().code(), Code::NotFound, "{service:?}");
    }
}

#[tokio::test]
async fn a_watcher_hears_of_the_drain_and_does_not_hold_it_up() {
    let mut host = Host::start();
    let mut health = HealthClient::new(host.channel.clone());
    let mut watched = health.watch(about("toolfs.v1.ToolService")).await.unwrap().into_inner();
    assert_eq!(watched.next().await.unwrap().unwrap().status(), ServingStatus::Serving);

    host.begin_shutdown();
    assert_eq!(watched.next().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert_eq!(watched.next().await.unwrap().unwrap_err().code(), Code::Unavailable);
    drop((watched, health));
    assert_eq!(host.ended().await, Drain::Complete);
}
