use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::sync::Notify;
use tokio_stream::StreamExt as _;
use toolfs_contract::v1;
use toolfs_contract::v1::{close_session_request, forget_observations_request, get_session_request};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::support::{Host, MAX_MESSAGE_BYTES, Script, SeamHost, content_parts, edit, read, request, write};

/// Keeps the spans that have ended, of all tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    spans: Arc<Mutex<HashMap<TraceId, Vec<SpanData>>>>,
    more: Arc<Notify>,
}

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut spans = self.spans.lock().unwrap();
        for span in batch {
            spans.entry(span.span_context.trace_id()).or_default().push(span);
        }
        drop(spans);
        self.more.notify_waiters();
        Ok(())
    }
}

/// Collects spans from now on, in this whole process: what one thread alone collects, another can hide from it. Every
/// server of a test starts with this, so that no span is decided upon before.
pub(crate) fn collect() -> &'static Kept {
    static KEPT: OnceLock<Kept> = OnceLock::new();
    KEPT.get_or_init(|| {
        let kept = Kept::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
        kept
    })
}

/// The trace of one test.
struct Trace(&'static str);

impl Trace {
    /// A request that carries this trace.
    fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        let parent = format!("00-{}-{PARENT}-01", self.0);
        request.metadata_mut().insert("traceparent", parent.parse().unwrap());
        request
    }

    /// The span of this trace and that name, if it has ended.
    fn ended(&self, name: &str) -> Option<SpanData> {
        let trace_id = TraceId::from_hex(self.0).unwrap();
        let spans = collect().spans.lock().unwrap();
        spans.get(&trace_id)?.iter().find(|span| span.name == name).cloned()
    }

    /// The span of this trace and that name, once it has ended.
    async fn span(&self, name: &str) -> SpanData {
        let find = async {
            loop {
                let mut more = pin!(collect().more.notified());
                more.as_mut().enable();
                if let Some(span) = self.ended(name) {
                    return span;
                }
                more.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), find).await.unwrap()
    }
}

const PARENT: &str = "b7ad6b7169203331";

/// The attributes of a span, each of which is told once.
#[track_caller]
fn attributes(span: &SpanData) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    for attribute in &span.attributes {
        let before = told.insert(attribute.key.to_string(), attribute.value.to_string());
        assert_eq!(before, None, "{} is told twice", attribute.key);
    }
    told
}

#[tokio::test]
async fn the_callers_trace_is_continued() {
    let trace = Trace("0af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    host.tools().execute(trace.request(request("", read("none")))).await.unwrap();

    let span = trace.span("toolfs.v1.ToolService/Execute").await;
    assert_eq!(span.parent_span_id, SpanId::from_hex(PARENT).unwrap());
    assert!(span.parent_span_is_remote);
    assert_eq!(span.span_kind, opentelemetry::trace::SpanKind::Server);
}

#[tokio::test]
async fn a_call_has_one_span_with_what_it_did_and_nothing_secret() {
    let trace = Trace("1af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    let opened = host.sessions().open_session(v1::OpenSessionRequest::default()).await.unwrap().into_inner();
    let (id, name) = (opened.session_id, opened.session.unwrap().name);
    let call = v1::ExecuteRequest {
        request_id: "5f0c1b2a-0000-4000-8000-00000000000a".into(),
        ..request(&id, write("a", "CONTENT"))
    };
    host.tools().execute(trace.request(call)).await.unwrap();

    let span = trace.span("toolfs.v1.ToolService/Execute").await;
    let told = attributes(&span);
    for (key, value) in [
        ("rpc.system", "grpc"),
        ("rpc.service", "toolfs.v1.ToolService"),
        ("rpc.method", "Execute"),
        ("rpc.grpc.status_code", "0"),
        ("toolfs.tool", "write"),
        ("toolfs.session", name.as_str()),
        ("toolfs.guard", "create_if_absent"),
        ("toolfs.bytes", "7"),
        ("request_id", "5f0c1b2a-0000-4000-8000-00000000000a"),
    ] {
        assert_eq!(told.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert!(!told.contains_key("toolfs.code"));
    let everything = format!("{span:?}");
    assert!(!everything.contains("CONTENT") && !everything.contains(&id));
}

#[tokio::test]
async fn a_refusal_is_told_by_its_code_and_a_status_by_its_own_too() {
    let trace = Trace("2af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    host.provider.files.put(b"/w/a", "one\n");
    host.tools().execute(trace.request(request("", edit("a", "one", "two")))).await.unwrap();
    let told = attributes(&trace.span("toolfs.v1.ToolService/Execute").await);
    assert_eq!(told["toolfs.code"], "FS_NOT_OBSERVED");
    assert_eq!(told["rpc.grpc.status_code"], "0");

    let open = v1::OpenSessionRequest { cwd: "nowhere".into(), ..Default::default() };
    host.sessions().open_session(trace.request(open)).await.unwrap_err();
    let told = attributes(&trace.span("toolfs.v1.SessionService/OpenSession").await);
    assert_eq!(told["toolfs.code"], "FS_NOT_FOUND");
    assert_eq!(told["rpc.grpc.status_code"], "5");
}

#[tokio::test]
async fn a_mutation_that_was_refused_after_its_guard_was_decided_tells_both() {
    let trace = Trace("3af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    host.provider.files.put(b"/w/a", "one\n");
    let session = host.open_session().await;
    host.execute(&session, read("a")).await;
    host.tools().execute(trace.request(request(&session, edit("a", "nowhere", "two")))).await.unwrap();
    let told = attributes(&trace.span("toolfs.v1.ToolService/Execute").await);
    assert_eq!(told["toolfs.tool"], "edit");
    assert_eq!(told["toolfs.guard"], "replace_if_version");
    assert_eq!(told["toolfs.code"], "FS_EDIT_NOT_FOUND");
}

#[tokio::test]
async fn a_call_that_ends_in_a_status_tells_its_tool_and_the_reason() {
    let trace = Trace("4af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    host.tools().execute(trace.request(request("ses_unknown", read("a")))).await.unwrap_err();
    let told = attributes(&trace.span("toolfs.v1.ToolService/Execute").await);
    assert_eq!(told["toolfs.tool"], "read");
    assert_eq!(told["toolfs.code"], "SESSION_NOT_FOUND");
    assert!(!told.contains_key("toolfs.session"));

    let trace = Trace("5af7651916cd43dd8448eb211c80319c");
    host.provider.will(Script::WaitUnpublished);
    let mut late = trace.request(request("", write("a", "one")));
    late.set_timeout(Duration::from_millis(500));
    host.tools().execute(late).await.unwrap_err();
    let told = attributes(&trace.span("toolfs.v1.ToolService/Execute").await);
    assert_eq!(told["toolfs.guard"], "create_if_absent");
    assert_eq!(told["toolfs.code"], "DEADLINE_EXCEEDED");
    assert_eq!(told["rpc.grpc.status_code"], "4");
}

#[tokio::test]
async fn a_status_of_the_transport_has_no_reason() {
    let trace = Trace("6af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    let content = "x".repeat(MAX_MESSAGE_BYTES + 1);
    host.tools().execute(trace.request(request("", write("a", &content)))).await.unwrap_err();
    let told = attributes(&trace.span("toolfs.v1.ToolService/Execute").await);
    assert_eq!(told["rpc.grpc.status_code"], "11");
    assert!(!told.contains_key("toolfs.code"));
}

#[tokio::test]
async fn an_operation_on_a_session_tells_its_name_and_not_its_secret() {
    let trace = Trace("7af7651916cd43dd8448eb211c80319c");
    let host = Host::start();
    let mut sessions = host.sessions();
    let open = trace.request(v1::OpenSessionRequest::default());
    let opened = sessions.open_session(open).await.unwrap().into_inner();
    let (id, name) = (opened.session_id, opened.session.unwrap().name);
    let get = v1::GetSessionRequest { key: Some(get_session_request::Key::SessionId(id.clone())) };
    sessions.get_session(trace.request(get)).await.unwrap();
    let forget = v1::ForgetObservationsRequest {
        key: Some(forget_observations_request::Key::SessionId(id.clone())),
        scope: Some(forget_observations_request::Scope::All(v1::AllPaths {})),
    };
    sessions.forget_observations(trace.request(forget)).await.unwrap();
    let close = v1::CloseSessionRequest { key: Some(close_session_request::Key::SessionId(id.clone())) };
    sessions.close_session(trace.request(close)).await.unwrap();
    for method in ["OpenSession", "GetSession", "ForgetObservations", "CloseSession"] {
        let span = trace.span(&format!("toolfs.v1.SessionService/{method}")).await;
        assert_eq!(attributes(&span).get("toolfs.session"), Some(&name), "{method}");
        assert!(!format!("{span:?}").contains(&id), "{method}");
    }
}

#[tokio::test]
async fn a_write_through_the_seam_has_its_guard_and_its_size_and_nothing_secret() {
    let trace = Trace("8af7651916cd43dd8448eb211c80319c");
    let host = SeamHost::start();
    let key = host.key("a").await;
    host.files().write_text(trace.request(content_parts(&key, "CONTENT"))).await.unwrap();
    let span = trace.span("toolfs.v1.FileSystemService/WriteText").await;
    let told = attributes(&span);
    assert_eq!(told["toolfs.guard"], "create_if_absent");
    assert_eq!(told["toolfs.bytes"], "7");
    assert_eq!(told["rpc.grpc.status_code"], "0");
    assert!(!format!("{span:?}").contains("CONTENT"));
}

#[tokio::test]
async fn a_span_of_an_answer_in_parts_ends_with_its_last_part() {
    let trace = Trace("9af7651916cd43dd8448eb211c80319c");
    let host = SeamHost::start();
    host.provider.files.put(b"/w/a", "CONTENT\n");
    let read = v1::ReadTextRequest { target_key: host.key("a").await };
    let mut parts = host.files().read_text(trace.request(read.clone())).await.unwrap().into_inner();
    while parts.next().await.is_some() {}
    let span = trace.span("toolfs.v1.FileSystemService/ReadText").await;
    let told = attributes(&span);
    assert_eq!((told["toolfs.bytes"].as_str(), told["rpc.grpc.status_code"].as_str()), ("8", "0"));
    assert!(!format!("{span:?}").contains("CONTENT"));

    // One that fails half-way tells its reason, one that its caller leaves was cancelled.
    let trace = Trace("aaf7651916cd43dd8448eb211c80319c");
    host.provider.will(Script::FailInStream);
    let mut parts = host.files().read_text(trace.request(read.clone())).await.unwrap().into_inner();
    while parts.next().await.is_some() {}
    let told = attributes(&trace.span("toolfs.v1.FileSystemService/ReadText").await);
    assert_eq!(told["toolfs.code"], "FS_IO_ERROR");
    assert_eq!(told["rpc.grpc.status_code"], "13");

    let trace = Trace("baf7651916cd43dd8448eb211c80319c");
    host.provider.will(Script::HangInStream);
    let mut parts = host.files().read_text(trace.request(read)).await.unwrap().into_inner();
    parts.next().await.unwrap().unwrap();
    assert!(trace.ended("toolfs.v1.FileSystemService/ReadText").is_none());
    drop(parts);
    let told = attributes(&trace.span("toolfs.v1.FileSystemService/ReadText").await);
    assert_eq!(told["rpc.grpc.status_code"], "1");
}
