use tokio_stream::StreamExt as _;

use crate::gate;
use crate::support::{Host, SeamHost};

/// What every address serves and knows.
const EVERYWHERE_SERVED: [&str; 3] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

const EVERYWHERE_KNOWN: [&str; 5] = [
    "toolfs.v1.FsError",
    "toolfs.v1.FsErrorCode",
    "google.rpc.ErrorInfo",
    "google.rpc.RetryInfo",
    "grpc.health.v1.HealthCheckResponse",
];

/// What the tools, the seam and the gate serve, and some of what goes with each.
const TOOLS: [&str; 3] = ["toolfs.v1.EventService", "toolfs.v1.SessionService", "toolfs.v1.ToolService"];
const TOOLS_KNOWN: [&str; 4] = [
    "toolfs.v1.ToolService.Execute",
    "toolfs.v1.ToolService",
    "toolfs.v1.OpenSessionRequest",
    "toolfs.v1.EventService",
];
const SEAM: [&str; 1] = ["toolfs.v1.FileSystemService"];
const SEAM_KNOWN: [&str; 3] =
    ["toolfs.v1.FileSystemService", "toolfs.v1.FileSystemService.WriteText", "toolfs.v1.WriteTextRequest"];
const GATE: [&str; 1] = ["toolfs.v1.PolicyService"];
const GATE_KNOWN: [&str; 2] = ["toolfs.v1.PolicyService", "toolfs.v1.RecordObservationRequest"];

/// Everything that is asked for on every address.
fn symbols() -> impl Iterator<Item = &'static str> {
    EVERYWHERE_KNOWN.into_iter().chain(TOOLS_KNOWN).chain(SEAM_KNOWN).chain(GATE_KNOWN)
}

/// What one version of reflection says: the services, and for each symbol whether it is known.
macro_rules! ask {
    ($channel:expr, $version:ident) => {{
        use tonic_reflection::pb::$version::ServerReflectionRequest;
        use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
        use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
        use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;

        let questions: Vec<_> = std::iter::once(MessageRequest::ListServices(String::new()))
            .chain(symbols().map(|symbol| MessageRequest::FileContainingSymbol(symbol.to_owned())))
            .map(|question| ServerReflectionRequest { host: String::new(), message_request: Some(question) })
            .collect();

        let mut services = Vec::new();
        let mut known = Vec::new();
        // An unknown symbol ends the stream, so each question has one of its own.
        for question in questions {
            let mut client = ServerReflectionClient::new($channel.clone());
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

/// Both versions tell exactly this.
macro_rules! check {
    ($channel:expr, $served:expr, $known:expr) => {
        let mut served: Vec<_> = EVERYWHERE_SERVED.into_iter().chain($served).collect();
        served.sort_unstable();
        let known: Vec<_> = EVERYWHERE_KNOWN.into_iter().chain($known).collect();
        for (told, told_of) in [ask!($channel, v1), ask!($channel, v1alpha)] {
            assert_eq!(told, served);
            assert_eq!(told_of, known);
        }
    };
}

#[tokio::test]
async fn an_address_of_the_tools_tells_of_them_alone() {
    let host = Host::start();
    check!(host.channel, TOOLS, TOOLS_KNOWN);
}

#[tokio::test]
async fn an_address_of_the_seam_tells_of_it_alone() {
    let host = SeamHost::start();
    check!(host.channel, SEAM, SEAM_KNOWN);
}

#[tokio::test]
async fn an_address_of_the_gate_tells_of_it_alone() {
    let host = gate::start();
    check!(host.channel, GATE, GATE_KNOWN);
}
