//! Spans as a collector gets them, and a collector that is away.

use std::collections::BTreeMap;
use std::net::TcpListener as Listener;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status};
use toolfs_client::{Client, Edit, OpenSession, Read, v1};
use toolfs_contract::v1::tool_service_client::ToolServiceClient;

use crate::support::door::{Ask, read_call};
use crate::support::process::Server;
use crate::support::wire::execute_request;

/// Passes on what arrives.
struct Collector(UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        // Nobody listens any more once the test has ended.
        let _ = self.0.send(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn collector() -> (String, UnboundedReceiver<ExportTraceServiceRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = unbounded_channel();
    let server = tonic::transport::Server::builder()
        .add_service(TraceServiceServer::new(Collector(sender)))
        .serve_with_incoming(TcpListenerStream::new(listener));
    // It ends with the runtime of the test.
    tokio::spawn(server);
    (endpoint, received)
}

fn start(directory: &tempfile::TempDir, endpoint: &str) -> Server {
    std::fs::write(directory.path().join("f"), "one\n").unwrap();
    let root = format!("{}=/workspace", directory.path().display());
    let arguments = ["--root", &root, "--listen", "127.0.0.1:0"];
    Server::start_with(&arguments, &[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)])
}

fn attributes(span: &Span) -> BTreeMap<String, String> {
    let value = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = span
        .attributes
        .iter()
        .filter_map(|pair| Some((pair.key.clone(), value(pair.value.as_ref()?.value.as_ref()?))));
    pairs.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_is_one_span_that_continues_the_callers_trace() {
    let (endpoint, mut received) = collector().await;
    let directory = tempfile::tempdir().unwrap();
    let server = start(&directory, &endpoint);
    let address = server.address();

    let client = Client::connect(&address).await.unwrap();
    let session = client.open_session(OpenSession::default()).await.unwrap();
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut raw = ToolServiceClient::new(channel);
    let mut request = Request::new(v1::ExecuteRequest {
        request_id: "5f0c1b2a-0000-4000-8000-00000000000a".to_owned(),
        ..execute_request(Some(session.id()), Ask::of(read_call("f", None, None)))
    });
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    request.metadata_mut().insert("traceparent", traceparent.parse().unwrap());
    raw.execute(request).await.unwrap();
    session.edit(Edit::new("f", "one", "two")).await.unwrap();
    session.edit(Edit::new("f", "nowhere", "x")).await.unwrap_err();
    client.resume_session("ses_unknown").await.unwrap_err();
    let (name, id) = (session.info().name.clone(), session.id().to_owned());
    drop((client, session, raw));
    let (status, errors) = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert!(status.success(), "{status}: {errors}");

    let mut exports = Vec::new();
    while let Ok(export) = received.try_recv() {
        exports.push(export);
    }
    let told = format!("{exports:?}");
    assert!(!told.contains(&id) && !told.contains("nowhere"), "a secret or content left the process");
    let resources = exports.iter().flat_map(|export| &export.resource_spans);
    let mut spans: Vec<&Span> =
        resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans).collect();
    spans.sort_by_key(|span| span.start_time_unix_nano);
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let (execute, sessions) = ("toolfs.v1.ToolService/Execute", "toolfs.v1.SessionService");
    let (open, get) = (format!("{sessions}/OpenSession"), format!("{sessions}/GetSession"));
    assert_eq!(names, [open.as_str(), execute, execute, execute, get.as_str()]);

    let read = spans[1];
    assert_eq!(read.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes());
    assert_eq!(read.parent_span_id, 0xb7ad_6b71_6920_3331_u64.to_be_bytes());
    assert!(spans[2].parent_span_id.is_empty(), "a call without a parent is a root");
    let expect = |span: &Span, expected: &[(&str, &str)]| {
        let found = attributes(span);
        for (key, value) in expected {
            assert_eq!(found.get(*key).map(String::as_str), Some(*value), "{key} in {found:?}");
        }
    };
    expect(
        read,
        &[
            ("rpc.system", "grpc"),
            ("rpc.service", "toolfs.v1.ToolService"),
            ("rpc.method", "Execute"),
            ("rpc.grpc.status_code", "0"),
            ("toolfs.tool", "read"),
            ("toolfs.session", &name),
            ("toolfs.bytes", "3"),
            ("request_id", "5f0c1b2a-0000-4000-8000-00000000000a"),
        ],
    );
    let edit = [("toolfs.tool", "edit"), ("toolfs.guard", "replace_if_version"), ("toolfs.bytes", "4")];
    expect(spans[2], &edit);
    expect(spans[3], &[("toolfs.code", "FS_EDIT_NOT_FOUND"), ("rpc.grpc.status_code", "0")]);
    expect(spans[4], &[("rpc.grpc.status_code", "5")]);
}

/// Calls go on, and so does the end.
async fn a_server_does_its_work_without(endpoint: &str) {
    let directory = tempfile::tempdir().unwrap();
    let server = start(&directory, endpoint);
    let client = Client::connect(&server.address()).await.unwrap();
    let session = client.open_session(OpenSession::default()).await.unwrap();
    for _ in 0..200 {
        session.read(Read::new("f")).await.unwrap();
    }
    drop((client, session));
    let (status, errors) = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert_eq!(status.code(), Some(0), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_fails_no_call() {
    // A port that was free a moment ago, and is not listened on.
    let free = Listener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    a_server_does_its_work_without(&format!("http://{free}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_never_answers_fails_no_call() {
    let silent = Listener::bind("127.0.0.1:0").unwrap();
    a_server_does_its_work_without(&format!("http://{}", silent.local_addr().unwrap())).await;
}
