use tokio_stream::StreamExt as _;

use crate::support::Host;

const SERVED: [&str; 6] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "toolfs.v1.EventService",
    "toolfs.v1.SessionService",
    "toolfs.v1.ToolService",
];

const KNOWN: [&str; 7] = [
    "toolfs.v1.ToolService.Execute",
    "toolfs.v1.OpenSessionRequest",
    "toolfs.v1.FsError",
    "toolfs.v1.FsErrorCode",
    "google.rpc.ErrorInfo",
    "google.rpc.RetryInfo",
    "grpc.health.v1.HealthCheckResponse",
];

const UNKNOWN: [&str; 4] = [
    "toolfs.v1.FileSystemService",
    "toolfs.v1.WriteTextRequest",
    "toolfs.v1.PolicyService",
    "toolfs.v1.RecordObservationRequest",
];

/// What one version of reflection says: the services, and for each symbol whether it is known.
macro_rules! ask {
    ($host:expr, $version:ident) => {{
        use tonic_reflection::pb::$version::ServerReflectionRequest;
        use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
        use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
        use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;

        let symbols = KNOWN.iter().chain(&UNKNOWN);
        let questions: Vec<_> = std::iter::once(MessageRequest::ListServices(String::new()))
            .chain(symbols.map(|symbol| MessageRequest::FileContainingSymbol((*symbol).to_owned())))
            .map(|question| ServerReflectionRequest { host: String::new(), message_request: Some(question) })
            .collect();

        let mut services = Vec::new();
        let mut known = Vec::new();
        // An unknown symbol ends the stream, so each question has one of its own.
        for question in questions {
            let mut client = ServerReflectionClient::new($host.channel.clone());
            let answers = client.server_reflection_info(tokio_stream::once(question.clone())).await;
            let answer = match answers {
                Ok(answers) => answers.into_inner().next().await.unwrap(),
                Err(status) => Err(status),
            };
            match (question.message_request.unwrap(), answer.map(|answer| answer.message_response.unwrap())) {
                (_, Ok(MessageResponse::ListServicesResponse(list))) => {
                    services.extend(list.service.into_iter().map(|service| service.name));
                }
                (
                    MessageRequest::FileContainingSymbol(symbol),
                    Ok(MessageResponse::FileDescriptorResponse(_)),
                ) => {
                    known.push(symbol);
                }
                (_, Ok(MessageResponse::ErrorResponse(_)) | Err(_)) => {}
                (question, answer) => panic!("{question:?} was answered by {answer:?}"),
            }
        }
        services.sort();
        (services, known)
    }};
}

#[tokio::test]
async fn exactly_what_is_served_is_told_in_both_versions() {
    let host = Host::start();
    for (services, known) in [ask!(host, v1), ask!(host, v1alpha)] {
        assert_eq!(services, SERVED);
        assert_eq!(known, KNOWN);
    }
}
