use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use toolfs_contract::v1;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::support::{Host, edit, read, request, write};

/// Keeps the spans that have ended, of all tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
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

    /// The span of this trace and that name, once it has ended.
    async fn span(&self, name: &str) -> SpanData {
        let trace_id = TraceId::from_hex(self.0).unwrap();
        let find = async {
            loop {
                let kept = collect().0.lock().unwrap().clone();
                let mut found = kept.into_iter().filter(|span| span.span_context.trace_id() == trace_id);
                if let Some(span) = found.find(|span| span.name == name) {
                    return span;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), find).await.unwrap()
    }
}

const PARENT: &str = "b7ad6b7169203331";

fn attributes(span: &SpanData) -> BTreeMap<String, String> {
    span.attributes.iter().map(|attribute| (attribute.key.to_string(), attribute.value.to_string())).collect()
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
async fn a_refusal_is_told_by_its_code_and_a_status_by_its_own() {
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
    assert_eq!(told["rpc.grpc.status_code"], "5");
}
