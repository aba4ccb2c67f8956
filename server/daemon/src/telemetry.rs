//! Logs to standard error, and traces and metrics over OTLP when an endpoint is set.
//!
//! A collector that is away never slows or fails a call: spans go through a bounded queue, and what does not fit is
//! dropped; metrics are sums in memory. Deliberately absent: any choice of what is recorded; that is where it happens.

mod metrics;

use std::borrow::Cow;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::LogConfig;
use crate::env::Environment;
use crate::setting::origin::Origin;

pub use self::metrics::observe_cache;

/// How long the last spans and the last metrics may take to leave at the end, at the same time.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/// Why telemetry cannot start.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The log filter is none.
    #[error("{origin}: `{filter}` is no log filter: use a level (`info`, `debug`) or one as in RUST_LOG")]
    Filter {
        /// Who said it.
        origin: Origin,
        /// The filter.
        filter: String,
    },
    /// The endpoint is none that this build can reach.
    #[error(
        "{variable}: `{endpoint}` cannot be used: name a collector as http://HOST:PORT (gRPC without TLS)"
    )]
    Endpoint {
        /// Which variable named it.
        variable: &'static str,
        /// The endpoint.
        endpoint: String,
    },
    /// The exporter cannot be set up.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: {0}")]
    Exporter(String),
}

/// Telemetry of the process while it runs.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

impl Telemetry {
    /// Starts logging, and exporting if an endpoint is set. To be called once, inside the runtime, and before anything
    /// makes an instrument.
    ///
    /// # Errors
    /// [`TelemetryError`]
    pub fn start(log: &LogConfig, environment: &Environment) -> Result<Telemetry, TelemetryError> {
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let lines = if log.is_json { lines.json().boxed() } else { lines.with_ansi(false).boxed() };
        let lines = lines.with_filter(filter(log)?);

        let traces = provider(environment)?;
        let metrics = metrics::start(environment, resource(environment))?;
        let spans = traces.as_ref().map(spans_layer);
        tracing_subscriber::registry().with(lines).with(spans).init();
        Ok(Telemetry { traces, metrics })
    }

    /// Sends what is left, within a limit.
    pub fn stop(self) {
        std::thread::scope(|scope| {
            let metrics = self.metrics;
            scope.spawn(|| metrics.into_iter().for_each(|metrics| metrics::stop(metrics, FLUSH_LIMIT)));
            if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown_with_timeout(FLUSH_LIMIT)) {
                tracing::warn!(%error, "the last spans did not reach the collector");
            }
        });
    }
}

/// Looks at everything that telemetry is told, and starts nothing.
///
/// # Errors
/// [`TelemetryError`]
pub fn check(log: &LogConfig, environment: &Environment) -> Result<(), TelemetryError> {
    filter(log)?;
    has_collector(environment, TRACES_ENDPOINT)?;
    metrics::is_wanted(environment).map(drop)
}

fn filter(log: &LogConfig) -> Result<EnvFilter, TelemetryError> {
    EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .parse(of_our_own(&log.filter))
        .map_err(|_| TelemetryError::Filter { origin: log.filter_origin.clone(), filter: log.filter.clone() })
}

/// A bare level is about us: every frame of the transport would drown what we say.
fn of_our_own(filter: &str) -> Cow<'_, str> {
    match filter.parse::<LevelFilter>() {
        Ok(level) if level > LevelFilter::WARN => format!("warn,toolfs={filter}").into(),
        Ok(_) | Err(_) => filter.into(),
    }
}

/// Whether there is a collector for a signal.
fn has_collector(
    environment: &Environment,
    endpoint_of_the_signal: &'static str,
) -> Result<bool, TelemetryError> {
    let named = [endpoint_of_the_signal, "OTEL_EXPORTER_OTLP_ENDPOINT"]
        .into_iter()
        .find_map(|variable| Some((variable, environment.get(variable)?)));
    let is_disabled =
        environment.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    match named {
        Some((variable, endpoint)) if !is_disabled && !endpoint.starts_with("http://") => {
            Err(TelemetryError::Endpoint { variable, endpoint: endpoint.to_owned() })
        }
        named => Ok(named.is_some() && !is_disabled),
    }
}

fn resource(environment: &Environment) -> Resource {
    let name = environment.get("OTEL_SERVICE_NAME").unwrap_or("toolfs").to_owned();
    Resource::builder().with_service_name(name).build()
}

fn provider(environment: &Environment) -> Result<Option<SdkTracerProvider>, TelemetryError> {
    if !has_collector(environment, TRACES_ENDPOINT)? {
        return Ok(None);
    }
    // The exporter reads endpoint, headers and time-outs from the environment, as its specification says.
    let exporter = SpanExporter::builder()
        .with_tonic()
        .build()
        .map_err(|error| TelemetryError::Exporter(error.to_string()))?;
    let traces = SdkTracerProvider::builder().with_batch_exporter(exporter);
    Ok(Some(traces.with_resource(resource(environment)).build()))
}

fn spans_layer<S>(traces: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    // The exporter's own transport would be traced too, without end; and its failures are logged under its target.
    let ours = Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("opentelemetry", LevelFilter::OFF)
        .with_target("opentelemetry_sdk", LevelFilter::OFF)
        .with_target("opentelemetry-otlp", LevelFilter::OFF)
        .with_target("opentelemetry_otlp", LevelFilter::OFF)
        .with_target("tonic", LevelFilter::OFF)
        .with_target("tower", LevelFilter::OFF)
        .with_target("h2", LevelFilter::OFF)
        .with_target("hyper", LevelFilter::OFF)
        .with_target("hyper_util", LevelFilter::OFF);
    tracing_opentelemetry::layer().with_tracer(traces.tracer("toolfs")).with_filter(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(text: &str) -> Result<String, String> {
        let log = LogConfig {
            filter: text.to_owned(),
            filter_origin: Origin::Variable("RUST_LOG"),
            is_json: false,
        };
        filter(&log).map(|filter| filter.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bare_level_does_not_drown_us_in_the_transport() {
        assert_eq!(filter_of("info").unwrap(), "toolfs=info,warn");
        assert_eq!(filter_of("debug").unwrap(), "toolfs=debug,warn");
        assert_eq!(filter_of("off").unwrap(), "off");
        assert_eq!(filter_of("warn").unwrap(), "warn");
        assert_eq!(filter_of("h2=debug").unwrap(), "h2=debug");
    }

    #[test]
    fn an_endpoint_that_cannot_be_reached_is_told_in_our_own_words() {
        for endpoint in ["https://collector:4317", "collector:4317", "garbage"] {
            let error = provider(&Environment::of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)])).unwrap_err();
            assert!(error.to_string().contains("http://HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn a_wrong_filter_is_told_with_its_origin() {
        let error = filter_of("toolfs=loud").unwrap_err();
        assert!(error.starts_with("RUST_LOG: `toolfs=loud` is no log filter"), "{error}");
    }

    #[test]
    fn without_an_endpoint_nothing_is_exported() {
        assert!(provider(&Environment::default()).unwrap().is_none());
        let disabled =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"), ("OTEL_SDK_DISABLED", "True")];
        assert!(provider(&Environment::of(&disabled)).unwrap().is_none());
    }
}
