use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use toolfs_contract::v1;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::support::{Host, edit, read, request, write};

/// Keeps the spans that have ended.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

impl Kept {
    /// The first span of that name, once it has ended.
    async fn span(&self, name: &str) -> SpanData {
        loop {
            if let Some(span) = self.0.lock().unwrap().iter().find(|span| span.name == name) {
                return span.clone();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Collects the spans of this thread: the tests here run on one.
fn collect() -> (Kept, tracing::subscriber::DefaultGuard) {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    (kept, tracing::subscriber::set_default(tracing_subscriber::registry().with(layer)))
}

fn attributes(span: &SpanData) -> BTreeMap<String, String> {
    span.attributes.iter().map(|attribute| (attribute.key.to_string(), attribute.value.to_string())).collect()
}

#[tokio::test]
async fn the_callers_trace_is_continued() {
    let (kept, _guard) = collect();
    let host = Host::start();
    let mut request = tonic::Request::new(request("", read("none")));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    request.metadata_mut().insert("traceparent", parent.parse().unwrap());
    host.tools().execute(request).await.unwrap();

    let span = kept.span("toolfs.v1.ToolService/Execute").await;
    let trace_id = TraceId::from_hex("0af7651916cd43dd8448eb211c80319c").unwrap();
    assert_eq!(span.span_context.trace_id(), trace_id);
    assert_eq!(span.parent_span_id, SpanId::from_hex("b7ad6b7169203331").unwrap());
    assert_eq!(span.span_kind, opentelemetry::trace::SpanKind::Server);
}

#[tokio::test]
async fn a_call_has_one_span_with_what_it_did_and_nothing_secret() {
    let (kept, _guard) = collect();
    let host = Host::start();
    let opened = host.sessions().open_session(v1::OpenSessionRequest::default()).await.unwrap().into_inner();
    let (id, name) = (opened.session_id, opened.session.unwrap().name);
    let call = v1::ExecuteRequest {
        request_id: "5f0c1b2a-0000-4000-8000-00000000000a".into(),
        ..request(&id, write("a", "CONTENT"))
    };
    host.tools().execute(call).await.unwrap();

    let span = kept.span("toolfs.v1.ToolService/Execute").await;
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
    let (kept, _guard) = collect();
    let host = Host::start();
    host.provider.files.put(b"/w/a", "one\n");
    host.execute("", edit("a", "one", "two")).await;
    let span = kept.span("toolfs.v1.ToolService/Execute").await;
    let told = attributes(&span);
    assert_eq!(told["toolfs.code"], "FS_NOT_OBSERVED");
    assert_eq!(told["rpc.grpc.status_code"], "0");

    let open = v1::OpenSessionRequest { cwd: "nowhere".into(), ..Default::default() };
    host.sessions().open_session(open).await.unwrap_err();
    let span = kept.span("toolfs.v1.SessionService/OpenSession").await;
    assert_eq!(attributes(&span)["rpc.grpc.status_code"], "5");
}
