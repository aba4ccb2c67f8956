//! Spans and metrics as a collector gets them, and a collector that is away.

use std::collections::BTreeMap;
use std::net::TcpListener as Listener;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status};
use toolfs_client::{CallOptions, Client, Edit, OpenSession, Read, v1};
use toolfs_contract::v1::tool_service_client::ToolServiceClient;

use crate::support::door::{Ask, read_call};
use crate::support::process::Server;
use crate::support::wire::execute_request;

/// A directory with a file that is large enough to be remembered and was not changed a moment ago: `v1.txtpb`.
const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");

/// Whether files of that directory are remembered: on the file systems whose time stamps can be trusted.
fn is_remembered() -> bool {
    let magic = rustix::fs::statfs(CONTRACT).unwrap().f_type & 0xffff_ffff;
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010].contains(&magic)
}

/// Passes on what arrives.
#[derive(Clone)]
struct Collector {
    spans: UnboundedSender<ExportTraceServiceRequest>,
    metrics: UnboundedSender<ExportMetricsServiceRequest>,
}

/// What arrived.
struct Collected {
    spans: UnboundedReceiver<ExportTraceServiceRequest>,
    metrics: UnboundedReceiver<ExportMetricsServiceRequest>,
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        // Nobody listens any more once the test has ended.
        let _ = self.spans.send(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let _ = self.metrics.send(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

async fn collector() -> (String, Collected) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (spans, spans_received) = unbounded_channel();
    let (metrics, metrics_received) = unbounded_channel();
    let collector = Collector { spans, metrics };
    let server = tonic::transport::Server::builder()
        .add_service(TraceServiceServer::new(collector.clone()))
        .add_service(MetricsServiceServer::new(collector))
        .serve_with_incoming(TcpListenerStream::new(listener));
    // It ends with the runtime of the test.
    tokio::spawn(server);
    (endpoint, Collected { spans: spans_received, metrics: metrics_received })
}

fn start(directory: &tempfile::TempDir, endpoint: &str) -> Server {
    std::fs::write(directory.path().join("f"), "one\n").unwrap();
    let root = format!("{}=/workspace", directory.path().display());
    let arguments = ["--root", &root, "--root", CONTRACT, "--listen", "127.0.0.1:0"];
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), ("OTEL_METRIC_EXPORT_INTERVAL", "200")];
    Server::start_with(&arguments, &variables)
}

fn attributes(span: &Span) -> BTreeMap<String, String> {
    texts(&span.attributes).collect()
}

fn texts(attributes: &[KeyValue]) -> impl Iterator<Item = (String, String)> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(truth) => truth.to_string(),
        other => format!("{other:?}"),
    };
    attributes
        .iter()
        .filter_map(move |pair| Some((pair.key.clone(), text(pair.value.as_ref()?.value.as_ref()?))))
}

/// The last value of each series, as `NAME{KEY=VALUE,...}`: a sum, or how often a duration was recorded.
fn series(exports: &[ExportMetricsServiceRequest]) -> BTreeMap<String, i64> {
    let mut series = BTreeMap::new();
    let mut put = |name: &str, attributes: &[KeyValue], value: i64| {
        let mut pairs: Vec<String> = texts(attributes).map(|(key, text)| format!("{key}={text}")).collect();
        pairs.sort();
        series.insert(format!("{name}{{{}}}", pairs.join(",")), value);
    };
    let number = |value: &Option<Number>| match value.as_ref().unwrap() {
        Number::AsInt(number) => *number,
        Number::AsDouble(number) => panic!("{number} is no count"),
    };
    let resources = exports.iter().flat_map(|export| &export.resource_metrics);
    for metric in resources.flat_map(|resource| &resource.scope_metrics).flat_map(|scope| &scope.metrics) {
        match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                sum.data_points
                    .iter()
                    .for_each(|point| put(&metric.name, &point.attributes, number(&point.value)));
            }
            Data::Gauge(gauge) => {
                let points = &gauge.data_points;
                points.iter().for_each(|point| put(&metric.name, &point.attributes, number(&point.value)));
            }
            Data::Histogram(histogram) => {
                for point in &histogram.data_points {
                    assert!(point.sum.unwrap() > 0.0 && metric.unit == "s", "{metric:?}");
                    put(&metric.name, &point.attributes, i64::try_from(point.count).unwrap());
                }
            }
            other => panic!("{other:?}"),
        }
    }
    series
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
    while let Ok(export) = received.spans.try_recv() {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_refusals_latency_bytes_and_cache_hits_are_counted() {
    let (endpoint, mut received) = collector().await;
    let directory = tempfile::tempdir().unwrap();
    let server = start(&directory, &endpoint);
    let client = Client::connect(&server.address()).await.unwrap();
    let session = client.open_session(OpenSession::default()).await.unwrap();
    session.edit(Edit::new("f", "one", "two")).await.unwrap_err();
    session.read(Read::new("nothing")).await.unwrap_err();
    for _ in 0..3 {
        session.read(Read::new("f")).await.unwrap();
    }
    session.edit(Edit::new("f", "one", "three")).await.unwrap();
    for _ in 0..4 {
        session.read(Read::new(format!("{CONTRACT}/v1.txtpb")).limit(1)).await.unwrap();
    }
    session.call("rename", "{}", CallOptions::default()).await.unwrap();
    client.resume_session("ses_unknown").await.unwrap_err();
    let (name, id) = (session.info().name.clone(), session.id().to_owned());
    // What is open is told while the server runs, what was counted is told at its end too.
    let mut exports = Vec::new();
    while !series(&exports).contains_key("toolfs.sessions.active{}") {
        let next = tokio::time::timeout(Duration::from_secs(30), received.metrics.recv());
        exports.push(next.await.expect("metrics leave at intervals").unwrap());
    }
    drop((client, session));
    let (status, errors) = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert!(status.success(), "{status}: {errors}");

    while let Ok(export) = received.metrics.try_recv() {
        exports.push(export);
    }
    let told = format!("{exports:?}");
    for secret in [&id, &name, "/workspace", CONTRACT, "nothing", "rename"] {
        assert!(!told.contains(secret), "an attribute without bounds: {secret}");
    }
    let found = series(&exports);
    let contract = std::fs::read_to_string(format!("{CONTRACT}/v1.txtpb")).unwrap();
    let first_line = i64::try_from(contract.lines().next().unwrap().len()).unwrap();
    let hits = if is_remembered() { 3 } else { 0 };
    let call = |code: &str, is_error: bool, tool: &str| {
        format!("toolfs.calls{{toolfs.code={code},toolfs.is_error={is_error},toolfs.tool={tool}}}")
    };
    let rpc = |method: &str, code: &str| {
        format!(
            "rpc.server.call.duration{{rpc.method=toolfs.v1.{method},rpc.response.status_code={code},\
             rpc.system.name=grpc}}"
        )
    };
    for (name, expected) in [
        (call("OK", false, "read"), 7),
        (call("FS_NOT_FOUND", true, "read"), 1),
        (call("OK", false, "edit"), 1),
        (call("FS_NOT_OBSERVED", true, "edit"), 1),
        (call("FS_INVALID_ARGUMENT", true, "unknown"), 1),
        ("toolfs.call.duration{toolfs.tool=read}".to_owned(), 8),
        ("toolfs.call.duration{toolfs.tool=edit}".to_owned(), 2),
        ("toolfs.calls.in_flight{}".to_owned(), 0),
        ("toolfs.content.bytes{toolfs.direction=read,toolfs.tool=read}".to_owned(), 3 * 3 + 4 * first_line),
        ("toolfs.content.bytes{toolfs.direction=written,toolfs.tool=edit}".to_owned(), 6),
        (rpc("ToolService/Execute", "OK"), 11),
        (rpc("SessionService/OpenSession", "OK"), 1),
        (rpc("SessionService/GetSession", "NOT_FOUND"), 1),
        ("toolfs.sessions.active{}".to_owned(), 1),
        ("toolfs.cache.lookups{toolfs.cache.result=hit}".to_owned(), hits),
        // Small files are not remembered, and the start has a look at a sample.
        ("toolfs.cache.lookups{toolfs.cache.result=miss}".to_owned(), 1 + 3 + 4 - hits),
    ] {
        assert_eq!(found.get(&name), Some(&expected), "{name} in {found:#?}");
    }
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
