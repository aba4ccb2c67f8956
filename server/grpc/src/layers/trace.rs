//! One span per RPC, and one line in the log per error.
//!
//! The span has OpenTelemetry's names for RPCs (`rpc.system`, `rpc.service`, `rpc.method`, `rpc.grpc.status_code`) and
//! ours (`toolfs.tool`, `toolfs.session`, `toolfs.code`, `toolfs.guard`, `toolfs.bytes`, `request_id`), declared empty.
//! The executor records what it learns of a call; here are recorded the `request_id`, the end of the RPC, and as
//! `toolfs.code` the reason of a status. The `traceparent` of a caller is continued.
//!
//! Never in a span or a line: content, arguments, the secret of a session.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use toolfs_contract::code::ERROR_DOMAIN;
use toolfs_core::error::{self, FsError};
use toolfs_core::id::RequestId;
use toolfs_core::outcome::ToolResult;
use tower_layer::Layer;
use tower_service::Service;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::layers::metrics::{Metrics, Rpc};

/// The header that carries the caller's span.
const TRACE_PARENT_HEADER: &str = "traceparent";

/// The longest path of an RPC that is told in a span; a longer one is no RPC.
const MAX_PATH_BYTES: usize = 128;

/// Puts [`Trace`] around a service.
#[derive(Clone, Debug)]
pub(crate) struct TraceLayer {
    /// Where the ends of RPCs are counted too.
    pub(crate) metrics: Metrics,
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner, metrics: self.metrics.clone() }
    }
}

/// A service whose RPCs have spans.
#[derive(Clone, Debug)]
pub(crate) struct Trace<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, Q, B> Service<Request<Q>> for Trace<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<TraceBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let span = rpc_span(request.uri().path());
        if request.headers().contains_key(TRACE_PARENT_HEADER) {
            let parent = TraceContextPropagator::new().extract(&Headers(request.headers()));
            // Without a layer of OpenTelemetry there is no trace that could be continued.
            let _ = span.set_parent(parent);
        }
        let end = End { span: span.clone(), rpc: self.metrics.rpc(request.uri().path()), told: false };
        let call = span.in_scope(|| self.inner.call(request));
        Box::pin(
            async move {
                let mut end = end;
                let response = call.await?;
                if let Some(refusal) = response.extensions().get::<Status>() {
                    status(refusal);
                }
                if let Some(code) = status_code(response.headers()) {
                    end.tell(code);
                }
                Ok(response.map(|inner| TraceBody { inner, end }))
            }
            .instrument(span),
        )
    }
}

fn rpc_span(path: &str) -> Span {
    let (service, method) = names(path).unwrap_or(("unknown", "unknown"));
    tracing::info_span!(
        "rpc",
        otel.name = format_args!("{service}/{method}"),
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = service,
        rpc.method = method,
        rpc.grpc.status_code = Empty,
        toolfs.tool = Empty,
        toolfs.session = Empty,
        toolfs.code = Empty,
        toolfs.guard = Empty,
        toolfs.bytes = Empty,
        request_id = Empty,
    )
}

/// The service and the method of a path that can be an RPC's.
fn names(path: &str) -> Option<(&str, &str)> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    };
    (path.len() <= MAX_PATH_BYTES && plain(service) && plain(method)).then_some((service, method))
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// The end of an RPC, told once. One whose future or body is dropped before was cancelled by its caller.
#[derive(Debug)]
struct End {
    span: Span,
    rpc: Rpc,
    told: bool,
}

impl End {
    fn tell(&mut self, code: Code) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        self.rpc.end(code);
        self.span.record("rpc.grpc.status_code", i64::from(i32::from(code)));
        if is_error_of_the_server(code) {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.tell(Code::Cancelled);
    }
}

/// Which codes are errors of a server by OpenTelemetry's conventions.
fn is_error_of_the_server(code: Code) -> bool {
    match code {
        Code::Unknown
        | Code::DeadlineExceeded
        | Code::Unimplemented
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => true,
        Code::Ok
        | Code::Cancelled
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unauthenticated => false,
    }
}

fn status_code(headers: &HeaderMap) -> Option<Code> {
    headers.get(Status::GRPC_STATUS).map(|value| Code::from_bytes(value.as_bytes()))
}

/// A body within the span of its RPC.
#[derive(Debug)]
pub(crate) struct TraceBody<B> {
    inner: B,
    end: End,
}

impl<B: Body<Data = Bytes> + Unpin> Body for TraceBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let span = self.end.span.clone();
        let frame = ready!(span.in_scope(|| Pin::new(&mut self.inner).poll_frame(cx)));
        if let Some(Ok(frame)) = &frame
            && let Some(code) = frame.trailers_ref().and_then(status_code)
        {
            self.end.tell(code);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Records the name of a logical call.
pub(crate) fn request_id(id: &RequestId) {
    Span::current().record("request_id", id.as_str());
}

/// Records the condition under which a mutation of the seam may land.
pub(crate) fn guard(name: &'static str) {
    Span::current().record("toolfs.guard", name);
}

/// Records how much content a call of the seam carried.
pub(crate) fn bytes(count: u64) {
    Span::current().record("toolfs.bytes", count);
}

/// Records and logs the refusal that ends an answer in parts: it leaves in the trailers, where no layer sees it whole.
pub(crate) fn status(status: &Status) {
    record_reason(status);
    log_status(status);
}

/// Logs what became of an effect that is in place and could not be made durable.
pub(crate) fn not_durable(error: &FsError) {
    log_error(error);
}

/// Logs the error of a tool call that ended in a result.
pub(crate) fn result(result: &ToolResult) {
    match result {
        ToolResult::Done(_) => {}
        ToolResult::Refused(error) | ToolResult::PublishedNotDurable(_, error) => log_error(error),
    }
}

fn log_error(error: &FsError) {
    let (code, cause) = (error.code().as_str(), causes(error.source()));
    match error.code() {
        error::Code::NoSpace | error::Code::IoError | error::Code::Unavailable => {
            tracing::warn!(code, cause, "{}", error.message());
        }
        error::Code::NotFound
        | error::Code::NotDirectory
        | error::Code::NotRegularFile
        | error::Code::NotText
        | error::Code::TooLarge
        | error::Code::OutOfRange
        | error::Code::PermissionDenied
        | error::Code::SandboxDenied
        | error::Code::StaleVersion
        | error::Code::NotObserved
        | error::Code::AmbiguousEdit
        | error::Code::EditNotFound
        | error::Code::InvalidArgument
        | error::Code::Unsupported
        | error::Code::Aborted => tracing::debug!(code, cause, "{}", error.message()),
    }
}

/// Records what a refusal that is no result is called. A status of the transport itself has no reason.
fn record_reason(status: &Status) {
    let span = Span::current();
    if !span.is_disabled()
        && let Some(info) = status.get_details_error_info()
        && info.domain == ERROR_DOMAIN
    {
        span.record("toolfs.code", info.reason.as_str());
    }
}

fn log_status(status: &Status) {
    let (code, cause) = (i32::from(status.code()), causes(status.source()));
    match status.code() {
        Code::Internal | Code::Unknown | Code::DataLoss => {
            tracing::error!(code, cause, "{}", status.message());
        }
        Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted => {
            tracing::warn!(code, cause, "{}", status.message());
        }
        Code::Ok
        | Code::Cancelled
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => tracing::debug!(code, cause, "{}", status.message()),
    }
}

/// An error and what it came from, first to last; `None` where there is none.
fn causes(error: Option<&(dyn Error + 'static)>) -> Option<String> {
    let chain: Vec<_> =
        std::iter::successors(error, |&error| error.source()).map(ToString::to_string).collect();
    (!chain.is_empty()).then(|| chain.join(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_rpc_does_not_name_a_span() {
        let long = format!("/{}/Execute", "s".repeat(MAX_PATH_BYTES));
        for (path, expected) in [
            ("/toolfs.v1.ToolService/Execute", Some(("toolfs.v1.ToolService", "Execute"))),
            ("/", None),
            ("/favicon.ico", None),
            ("/a/b/c", None),
            ("/a/%2e", None),
            (long.as_str(), None),
        ] {
            assert_eq!(names(path), expected, "{path}");
        }
    }

    #[test]
    fn an_error_is_told_with_what_it_came_from() {
        let source = std::io::Error::other("disk on fire");
        let error = FsError::new(error::ErrorKind::IoError, "the storage failed").with_source(source);
        let chain = causes(Some(&error)).unwrap();
        assert_eq!(chain, "FS_IO_ERROR: the storage failed: disk on fire");
        assert_eq!(causes(None), None);
    }
}
