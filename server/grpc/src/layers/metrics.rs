//! What is counted and timed, as OpenTelemetry's metrics.
//!
//! | instrument | kind, unit | attributes |
//! | --- | --- | --- |
//! | `rpc.server.call.duration` | histogram, s | `rpc.system.name`, `rpc.method`, `rpc.response.status_code` |
//! | `toolfs.calls` | counter | `toolfs.tool`, `toolfs.code`, `toolfs.is_error` |
//! | `toolfs.call.duration` | histogram, s | `toolfs.tool` |
//! | `toolfs.calls.in_flight` | up-down counter | |
//! | `toolfs.content.bytes` | counter, By | `toolfs.tool`, `toolfs.direction` (`read`, `written`) |
//! | `toolfs.sessions.active` | observable gauge | |
//! | `toolfs.events.missed` | counter | |
//!
//! `toolfs.code` is `OK`, the code of a refusal, or the reason of a status, so that refusals by code are a part of
//! `toolfs.calls` and no instrument of their own. Every attribute has a bounded set of values: an RPC that the contract
//! does not know is `_OTHER`, a tool that there is not is `unknown`; there are no paths and no names of sessions.
//! The names of the RPC's instrument are those of the stable conventions, which the spans' are older than.
//!
//! Deliberately absent: exporters. Without one, which the process registers before it makes a server, nothing is kept.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use opentelemetry::{KeyValue, StringValue, global};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tokio::time::Instant;
use tonic::Code;
use toolfs_contract::code::CallReason;
use toolfs_core::argument::ToolName;
use toolfs_core::outcome::ToolResult;
use toolfs_tools::{CallError, ExecuteResponse, Executor};

use crate::status;

/// The boundaries of durations, in seconds: from a read that is remembered to a call that waits for a disk.
const SECONDS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The RPCs that there are: of the contract, of health and of reflection. Each path with the method's whole name.
static METHODS: LazyLock<HashMap<String, Arc<str>>> = LazyLock::new(|| {
    let sets = [
        toolfs_contract::FILE_DESCRIPTOR_SET,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    let mut methods = HashMap::new();
    for set in sets {
        let set = FileDescriptorSet::decode(set).expect("a descriptor set that was compiled in");
        for file in &set.file {
            for service in &file.service {
                for method in &service.method {
                    let name = format!("{}.{}/{}", file.package(), service.name(), method.name());
                    methods.insert(format!("/{name}"), name.into());
                }
            }
        }
    }
    methods
});

/// The instruments of a server. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Metrics(Arc<Instruments>);

#[derive(Debug)]
struct Instruments {
    rpc_duration: Histogram<f64>,
    calls: Counter<u64>,
    call_duration: Histogram<f64>,
    in_flight: UpDownCounter<i64>,
    content_bytes: Counter<u64>,
    events_missed: Counter<u64>,
}

impl Metrics {
    /// Instruments of whatever the process registered.
    pub(crate) fn new() -> Metrics {
        let meter = meter();
        Metrics(Arc::new(Instruments {
            rpc_duration: meter
                .f64_histogram("rpc.server.call.duration")
                .with_unit("s")
                .with_description("How long RPCs take; streams until their end.")
                .with_boundaries(SECONDS.to_vec())
                .build(),
            calls: meter
                .u64_counter("toolfs.calls")
                .with_unit("{call}")
                .with_description("Tool calls that ended, by what they ended in.")
                .build(),
            call_duration: meter
                .f64_histogram("toolfs.call.duration")
                .with_unit("s")
                .with_description("How long tool calls take.")
                .with_boundaries(SECONDS.to_vec())
                .build(),
            in_flight: meter
                .i64_up_down_counter("toolfs.calls.in_flight")
                .with_unit("{call}")
                .with_description("Tool calls that have not ended.")
                .build(),
            content_bytes: meter
                .u64_counter("toolfs.content.bytes")
                .with_unit("By")
                .with_description("Content of files that calls read into their answers or published.")
                .build(),
            events_missed: meter
                .u64_counter("toolfs.events.missed")
                .with_unit("{event}")
                .with_description("Events that watchers were told they missed.")
                .build(),
        }))
    }

    /// Observes the sessions of an executor for as long as there is one.
    pub(crate) fn observe(&self, executor: &Arc<Executor>) {
        let executor: Weak<Executor> = Arc::downgrade(executor);
        let _registered = meter()
            .u64_observable_gauge("toolfs.sessions.active")
            .with_unit("{session}")
            .with_description("Sessions that were used at this server within the last minutes.")
            .with_callback(move |observer| {
                if let Some(executor) = executor.upgrade() {
                    observer.observe(executor.active_sessions(), &[]);
                }
            })
            .build();
    }

    /// An RPC begins.
    pub(crate) fn rpc(&self, path: &str) -> Rpc {
        let method = METHODS.get(path).map_or(StringValue::from("_OTHER"), |name| Arc::clone(name).into());
        Rpc { metrics: self.clone(), method, began: Instant::now() }
    }

    /// A tool call begins.
    pub(crate) fn call(&self, tool: Option<ToolName>) -> Call {
        self.0.in_flight.add(1, &[]);
        let tool = tool.map_or("unknown", ToolName::as_str);
        Call { metrics: self.clone(), tool, began: Instant::now(), has_ended: false }
    }

    /// A watcher was told of so many events that it missed.
    pub(crate) fn events_missed(&self, count: u64) {
        self.0.events_missed.add(count, &[]);
    }
}

fn meter() -> Meter {
    global::meter("toolfs")
}

/// An RPC that is timed.
#[derive(Debug)]
pub(crate) struct Rpc {
    metrics: Metrics,
    method: StringValue,
    began: Instant,
}

impl Rpc {
    /// It ended with this code.
    pub(crate) fn end(&self, code: Code) {
        let attributes = [
            KeyValue::new("rpc.system.name", "grpc"),
            KeyValue::new("rpc.method", self.method.clone()),
            KeyValue::new("rpc.response.status_code", name_of(code)),
        ];
        self.metrics.0.rpc_duration.record(self.began.elapsed().as_secs_f64(), &attributes);
    }
}

/// A tool call that is counted. One that is dropped without an end was a mistake of the server.
#[derive(Debug)]
pub(crate) struct Call {
    metrics: Metrics,
    tool: &'static str,
    began: Instant,
    has_ended: bool,
}

impl Call {
    /// It ended.
    pub(crate) fn end(mut self, end: &Result<ExecuteResponse, CallError>) {
        self.has_ended = true;
        match end {
            Err(error) => self.count(status::reason_of(error), true),
            Ok(response) => {
                match &response.result {
                    ToolResult::Done(_) => self.count("OK", false),
                    ToolResult::Refused(error) | ToolResult::PublishedNotDurable(_, error) => {
                        self.count(error.code().as_str(), true);
                    }
                }
                self.content(response);
            }
        }
    }

    fn count(&self, code: &'static str, is_error: bool) {
        let instruments = &*self.metrics.0;
        let tool = KeyValue::new("toolfs.tool", self.tool);
        let elapsed = self.began.elapsed().as_secs_f64();
        instruments.in_flight.add(-1, &[]);
        instruments.call_duration.record(elapsed, std::slice::from_ref(&tool));
        let outcome = [KeyValue::new("toolfs.code", code), KeyValue::new("toolfs.is_error", is_error)];
        let [code, is_error] = outcome;
        instruments.calls.add(1, &[tool, code, is_error]);
    }

    fn content(&self, response: &ExecuteResponse) {
        let bytes = response.content_bytes();
        if bytes == 0 {
            return;
        }
        let direction = if self.tool == ToolName::Read.as_str() { "read" } else { "written" };
        let attributes =
            [KeyValue::new("toolfs.tool", self.tool), KeyValue::new("toolfs.direction", direction)];
        self.metrics.0.content_bytes.add(bytes, &attributes);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.has_ended {
            self.count(CallReason::Internal.as_str(), true);
        }
    }
}

/// A gRPC code as it is spelled in the protocol's documents.
fn name_of(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_stranger_makes_up_makes_no_attribute() {
        let metrics = Metrics::new();
        let method = |path: &str| metrics.rpc(path).method.as_str().to_owned();
        for path in ["/toolfs.v1.ToolService/Execute", "/grpc.health.v1.Health/Watch"] {
            assert_eq!(method(path), path[1..]);
        }
        for path in ["/toolfs.v1.ToolService/Execute2", "/", "", "/a/b"] {
            assert_eq!(method(path), "_OTHER", "{path}");
        }
    }
}
