use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::gate;
use crate::support::{Host, SeamHost};

/// Every method of the contract whose service is not among those that are served.
fn methods(served: &[&str]) -> Vec<String> {
    let contract = FileDescriptorSet::decode(toolfs_contract::FILE_DESCRIPTOR_SET).unwrap();
    let services = contract.file.into_iter().flat_map(|file| file.service);
    services
        .filter(|service| !served.contains(&service.name()))
        .flat_map(|service| {
            let name = service.name().to_owned();
            service.method.into_iter().map(move |method| format!("/toolfs.v1.{name}/{}", method.name()))
        })
        .collect()
}

async fn check(channel: Channel, served: &[&str], among_the_others: [&str; 2]) {
    let methods = methods(served);
    assert!(methods.len() >= 14, "{methods:?}");
    for method in among_the_others {
        assert!(methods.iter().any(|name| name.ends_with(method)), "{method}");
    }
    for method in methods {
        let path = PathAndQuery::try_from(method.as_str()).unwrap();
        let codec = tonic_prost::ProstCodec::<HealthCheckRequest, HealthCheckResponse>::default();
        let mut client = Grpc::new(channel.clone());
        client.ready().await.unwrap();
        let request = tonic::Request::new(HealthCheckRequest::default());
        let status = client.unary(request, path, codec).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{method}");
    }
}

#[tokio::test]
async fn on_an_address_of_the_tools_every_other_method_is_unimplemented() {
    let others = ["FileSystemService/WriteText", "PolicyService/RecordObservation"];
    check(Host::start().channel, &["ToolService", "SessionService", "EventService"], others).await;
}

#[tokio::test]
async fn on_an_address_of_the_seam_every_other_method_is_unimplemented() {
    let others = ["ToolService/Execute", "PolicyService/RecordObservation"];
    check(SeamHost::start().channel, &["FileSystemService"], others).await;
}

#[tokio::test]
async fn on_an_address_of_the_gate_every_other_method_is_unimplemented() {
    let others = ["ToolService/Execute", "FileSystemService/WriteText"];
    check(gate::start().channel, &["PolicyService"], others).await;
}
