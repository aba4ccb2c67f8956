use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::support::Host;

/// Every method of the contract whose service is not among those served here.
fn methods() -> Vec<String> {
    let contract = FileDescriptorSet::decode(toolfs_contract::FILE_DESCRIPTOR_SET).unwrap();
    let services = contract.file.into_iter().flat_map(|file| file.service);
    services
        .filter(|service| !["ToolService", "SessionService", "EventService"].contains(&service.name()))
        .flat_map(|service| {
            let name = service.name().to_owned();
            service.method.into_iter().map(move |method| format!("/toolfs.v1.{name}/{}", method.name()))
        })
        .collect()
}

#[tokio::test]
async fn every_method_of_the_other_services_is_unimplemented() {
    let host = Host::start();
    let methods = methods();
    assert!(methods.len() >= 19, "{methods:?}");
    for method in ["FileSystemService/WriteText", "PolicyService/RecordObservation"] {
        assert!(methods.iter().any(|name| name.ends_with(method)), "{method}");
    }
    for method in methods {
        let path = PathAndQuery::try_from(method.as_str()).unwrap();
        let codec = tonic_prost::ProstCodec::<HealthCheckRequest, HealthCheckResponse>::default();
        let mut client = Grpc::new(host.channel.clone());
        client.ready().await.unwrap();
        let request = tonic::Request::new(HealthCheckRequest::default());
        let status = client.unary(request, path, codec).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{method}");
    }
}
