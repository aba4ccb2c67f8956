//! Metrics over OTLP: what leaves the process, and when.
//!
//! The interval is the SDK's (`OTEL_METRIC_EXPORT_INTERVAL`, a minute by default), and so is the thread that exports: a
//! collector that is away or silent holds up that thread and no call. That it is away is said once, until it is back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};

use super::{TelemetryError, has_collector};
use crate::env::Environment;

/// Whether metrics are to be exported.
///
/// # Errors
/// [`TelemetryError::Endpoint`]
pub(super) fn is_wanted(environment: &Environment) -> Result<bool, TelemetryError> {
    let exporter = environment.get("OTEL_METRICS_EXPORTER");
    let is_off = exporter.is_some_and(|name| name.eq_ignore_ascii_case("none"));
    Ok(!is_off && has_collector(environment, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")?)
}

/// Starts to export, if an endpoint is set, and registers where instruments are made.
///
/// # Errors
/// [`TelemetryError`]
pub(super) fn start(
    environment: &Environment,
    resource: Resource,
) -> Result<Option<SdkMeterProvider>, TelemetryError> {
    if !is_wanted(environment)? {
        return Ok(None);
    }
    let exporter = MetricExporter::builder()
        .with_tonic()
        .build()
        .map_err(|error| TelemetryError::Exporter(error.to_string()))?;
    let reader = PeriodicReader::builder(Discreet::around(exporter)).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
    global::set_meter_provider(provider.clone());
    Ok(Some(provider))
}

/// Sends what is left, within a limit. Whatever takes longer ends with the process.
pub(super) fn stop(provider: SdkMeterProvider, limit: Duration) {
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody listens any more when the limit was over first.
        let _ = done.send(provider.shutdown());
    });
    match is_done.recv_timeout(limit) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the last metrics did not reach the collector"),
        Err(_) => tracing::warn!("the last metrics did not reach the collector in time"),
    }
}

/// Observes what a cache of the process did since it was made: its hits and misses so far.
pub fn observe_cache(statistics: impl Fn() -> (u64, u64) + Send + Sync + 'static) {
    let _registered = global::meter("toolfs")
        .u64_observable_counter("toolfs.cache.lookups")
        .with_unit("{lookup}")
        .with_description("Reads of lines that found their file remembered, and those that did not.")
        .with_callback(move |observer| {
            let (hits, misses) = statistics();
            observer.observe(hits, &[KeyValue::new("toolfs.cache.result", "hit")]);
            observer.observe(misses, &[KeyValue::new("toolfs.cache.result", "miss")]);
        })
        .build();
}

/// An exporter that says once that it fails, and once that it does so no longer.
#[derive(Debug)]
struct Discreet<E> {
    inner: E,
    is_failing: AtomicBool,
}

impl<E> Discreet<E> {
    fn around(inner: E) -> Discreet<E> {
        Discreet { inner, is_failing: AtomicBool::new(false) }
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Discreet<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let exported = self.inner.export(metrics).await;
        let was_failing = self.is_failing.swap(exported.is_err(), Ordering::Relaxed);
        match exported {
            Ok(()) if was_failing => tracing::info!("metrics reach the collector again"),
            Ok(()) => {}
            Err(error) if was_failing => tracing::debug!(%error, "metrics do not reach the collector"),
            Err(error) => tracing::warn!(%error, "metrics do not reach the collector: it is tried on"),
        }
        // The SDK would log each failure as an error.
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use opentelemetry_sdk::error::OTelSdkError;
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

    use super::*;

    /// Fails as often as it is told to.
    #[derive(Debug)]
    struct Away(Mutex<Vec<bool>>);

    impl PushMetricExporter for Away {
        async fn export(&self, _metrics: &ResourceMetrics) -> OTelSdkResult {
            let fails = self.0.lock().unwrap().remove(0);
            if fails { Err(OTelSdkError::InternalFailure("away".into())) } else { Ok(()) }
        }

        fn force_flush(&self) -> OTelSdkResult {
            Ok(())
        }

        fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
            Ok(())
        }

        fn temporality(&self) -> Temporality {
            Temporality::Cumulative
        }
    }

    /// Writes down at which levels something was said.
    #[derive(Clone, Default)]
    struct Levels(std::sync::Arc<Mutex<Vec<String>>>);

    impl<S: tracing::Subscriber> Layer<S> for Levels {
        fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
            self.0.lock().unwrap().push(event.metadata().level().to_string());
        }
    }

    #[tokio::test]
    async fn a_collector_that_is_away_is_told_of_once_until_it_is_back() {
        let exporter = Discreet::around(Away(Mutex::new(vec![false, true, true, true, false, false, true])));
        let levels = Levels::default();
        let _listening =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(levels.clone()));
        for _ in 0..7 {
            exporter.export(&ResourceMetrics::default()).await.unwrap();
        }
        assert_eq!(*levels.0.lock().unwrap(), ["WARN", "DEBUG", "DEBUG", "INFO", "WARN"]);
    }

    #[tokio::test]
    async fn metrics_are_exported_only_where_they_are_wanted() {
        let resource = || Resource::builder_empty().build();
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
        for variables in [
            &[][..],
            &[endpoint, ("OTEL_METRICS_EXPORTER", "none")],
            &[endpoint, ("OTEL_SDK_DISABLED", "true")],
            &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4317")],
        ] {
            assert!(start(&Environment::of(variables), resource()).unwrap().is_none(), "{variables:?}");
        }
        let wrong = [("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "collector:4317")];
        let error = start(&Environment::of(&wrong), resource()).unwrap_err().to_string();
        assert!(error.starts_with("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `collector:4317`"), "{error}");
    }
}
