use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use toolfs_grpc::Drain;

use crate::gate;
use crate::support::{Host, SeamHost};

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.into() }
}

#[tokio::test]
async fn each_service_of_an_address_and_the_whole_are_serving() {
    let tools: &[&str] = &["toolfs.v1.ToolService", "toolfs.v1.SessionService", "toolfs.v1.EventService"];
    let seam: &[&str] = &["toolfs.v1.FileSystemService"];
    let policy: &[&str] = &["toolfs.v1.PolicyService"];
    for (channel, served) in
        [(Host::start().channel, tools), (SeamHost::start().channel, seam), (gate::start().channel, policy)]
    {
        let mut health = HealthClient::new(channel);
        for service in std::iter::once(&"").chain(served) {
            let answer = health.check(about(service)).await.unwrap().into_inner();
            assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
        }
        for service in tools.iter().chain(seam).chain(policy).filter(|service| !served.contains(service)) {
            assert_eq!(health.check(about(service)).await.unwrap_err().code(), Code::NotFound, "{service:?}");
        }
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
