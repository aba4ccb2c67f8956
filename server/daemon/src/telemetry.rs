//! Logs to standard error, and traces over OTLP when an endpoint is set.
//!
//! A collector that is away never slows or fails a call: spans go through a bounded queue, and what does not fit is
//! dropped. Deliberately absent: any choice of what is recorded; that is where it happens. Not there yet:
//! metrics.

use std::borrow::Cow;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::{LogArgs, LogFormat};
use crate::env::Environment;

/// How long the last spans may take to leave at the end.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Why telemetry cannot start.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The log filter is none.
    #[error("{origin}: `{filter}` is no log filter: use a level (`info`, `debug`) or one as in RUST_LOG")]
    Filter {
        /// Who said it.
        origin: &'static str,
        /// The filter.
        filter: String,
    },
    /// The log format is none of the choices.
    #[error("TOOLFS_LOG_FORMAT: `{0}` is not one of `text`, `json`")]
    Format(String),
    /// The endpoint is none that this build can reach.
    #[error(
        "OTEL_EXPORTER_OTLP_ENDPOINT: `{0}` cannot be used: name a collector as http://HOST:PORT (gRPC without TLS)"
    )]
    Endpoint(String),
    /// The exporter cannot be set up.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: {0}")]
    Exporter(String),
}

/// Telemetry of the process while it runs.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Starts logging, and exporting if an endpoint is set. To be called once, inside the runtime.
    ///
    /// # Errors
    /// [`TelemetryError`]
    pub fn start(log: &LogArgs, environment: &Environment) -> Result<Telemetry, TelemetryError> {
        let format = match (log.format, environment.get("TOOLFS_LOG_FORMAT")) {
            (Some(format), _) => format,
            (None, None | Some("text")) => LogFormat::Text,
            (None, Some("json")) => LogFormat::Json,
            (None, Some(other)) => return Err(TelemetryError::Format(other.to_owned())),
        };
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let lines = match format {
            LogFormat::Text => lines.with_ansi(false).boxed(),
            LogFormat::Json => lines.json().boxed(),
        };
        let lines = lines.with_filter(filter(log, environment)?);

        let traces = provider(environment)?;
        let spans = traces.as_ref().map(spans_layer);
        tracing_subscriber::registry().with(lines).with(spans).init();
        Ok(Telemetry { traces })
    }

    /// Sends what is left, within a limit.
    pub fn stop(self) {
        if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown_with_timeout(FLUSH_LIMIT)) {
            tracing::warn!(%error, "the last spans did not reach the collector");
        }
    }
}

fn filter(log: &LogArgs, environment: &Environment) -> Result<EnvFilter, TelemetryError> {
    let (filter, origin) = match (&log.filter, environment.get("RUST_LOG"), environment.get("TOOLFS_LOG")) {
        (Some(filter), _, _) => (filter.as_str(), "--log"),
        (None, Some(filter), _) => (filter, "RUST_LOG"),
        (None, None, Some(filter)) => (filter, "TOOLFS_LOG"),
        (None, None, None) => ("info", "the default"),
    };
    EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .parse(of_our_own(filter))
        .map_err(|_| TelemetryError::Filter { origin, filter: filter.to_owned() })
}

/// A bare level is about us: every frame of the transport would drown what we say.
fn of_our_own(filter: &str) -> Cow<'_, str> {
    match filter.parse::<LevelFilter>() {
        Ok(level) if level > LevelFilter::WARN => format!("warn,toolfs={filter}").into(),
        Ok(_) | Err(_) => filter.into(),
    }
}

fn provider(environment: &Environment) -> Result<Option<SdkTracerProvider>, TelemetryError> {
    let endpoint = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]
        .into_iter()
        .find_map(|name| environment.get(name));
    let is_disabled =
        environment.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if endpoint.is_none() || is_disabled {
        return Ok(None);
    }
    if let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.starts_with("http://")) {
        return Err(TelemetryError::Endpoint(endpoint.to_owned()));
    }
    // The exporter reads endpoint, headers and time-outs from the environment, as its specification says.
    let exporter = SpanExporter::builder()
        .with_tonic()
        .build()
        .map_err(|error| TelemetryError::Exporter(error.to_string()))?;
    let name = environment.get("OTEL_SERVICE_NAME").unwrap_or("toolfs").to_owned();
    let resource = Resource::builder().with_service_name(name).build();
    Ok(Some(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
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

    fn filter_of(flag: Option<&str>, variables: &[(&str, &str)]) -> Result<String, String> {
        let log = LogArgs { filter: flag.map(str::to_owned), format: None };
        filter(&log, &Environment::of(variables))
            .map(|filter| filter.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn flag_beats_rust_log_beats_our_variable_beats_info() {
        let both = [("RUST_LOG", "warn"), ("TOOLFS_LOG", "error")];
        assert_eq!(filter_of(Some("h2=debug"), &both).unwrap(), "h2=debug");
        assert_eq!(filter_of(None, &both).unwrap(), "warn");
        assert_eq!(filter_of(None, &both[1..]).unwrap(), "error");
        assert_eq!(filter_of(None, &[]).unwrap(), "toolfs=info,warn");
    }

    #[test]
    fn a_bare_level_does_not_drown_us_in_the_transport() {
        assert_eq!(filter_of(Some("debug"), &[]).unwrap(), "toolfs=debug,warn");
        assert_eq!(filter_of(Some("off"), &[]).unwrap(), "off");
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
        let error = filter_of(None, &[("RUST_LOG", "toolfs=loud")]).unwrap_err();
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
