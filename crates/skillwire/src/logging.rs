//! The log. It goes to standard error, because standard output carries results and MCP messages.

use tracing_subscriber::{EnvFilter, fmt};

use crate::{args::LogFormat, failure::Failure, settings};
#[cfg(feature = "otel")]
use crate::{settings::telemetry::TelemetrySettings, telemetry::Telemetry};

/// The default filter of the log.
const USUAL: &str = "info";

/// Keeps what the log needs while the program runs; dropping it sends what a collector did not get yet.
#[derive(Debug, Default)]
pub(crate) struct LogGuard {
    #[cfg(feature = "otel")]
    _telemetry: Option<Telemetry>,
}

/// Starts the log of a command that users type: messages without times.
pub(crate) fn for_people() {
    let asked = settings::log_filter().and_then(|text| EnvFilter::try_new(text).ok());
    // Only tests start the log twice; the first one stays.
    let _ = fmt()
        .with_env_filter(asked.unwrap_or_else(|| EnvFilter::new("warn")))
        .with_writer(std::io::stderr)
        .with_target(false)
        .without_time()
        .with_ansi(settings::colour_on_stderr())
        .log_internal_errors(false)
        .try_init();
}

/// Starts the log of a server, and sends it to a collector if the environment names one.
pub(crate) fn start(format: LogFormat) -> Result<LogGuard, Failure> {
    let asked = settings::log_filter().map(EnvFilter::try_new);
    let (filter, misunderstood) = match asked {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(USUAL), Some(error)),
        None => (EnvFilter::new(USUAL), None),
    };
    let guard = install(format, filter)?;
    if let Some(error) = misunderstood {
        tracing::warn!("`SKILLWIRE_LOG` cannot be understood: {error}. `{USUAL}` is used.");
    }
    #[cfg(not(feature = "otel"))]
    if settings::names_collector() {
        tracing::warn!("{}", crate::features::Feature::Otel.ignored("OTEL_EXPORTER_OTLP_ENDPOINT"));
    }
    Ok(guard)
}

#[cfg_attr(
    not(feature = "otel"),
    expect(clippy::unnecessary_wraps, reason = "a collector may be named wrongly")
)]
fn install(format: LogFormat, filter: EnvFilter) -> Result<LogGuard, Failure> {
    #[cfg(feature = "otel")]
    if let Some(settings) = TelemetrySettings::resolve()? {
        return with_telemetry(format, filter, settings);
    }
    let builder = fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        // A closed standard error ends the log. Reporting that on standard error would panic.
        .log_internal_errors(false);
    // Only tests start the log twice; the first one stays.
    let _ = match format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_ansi(settings::colour_on_stderr()).try_init(),
    };
    Ok(LogGuard::default())
}

/// Starts the log beside a layer that collects for OpenTelemetry. Each has its own filter, so that
/// spans of requests are collected and not shown.
#[cfg(feature = "otel")]
fn with_telemetry(
    format: LogFormat,
    filter: EnvFilter,
    settings: TelemetrySettings,
) -> Result<LogGuard, Failure> {
    use skillwire_otlp::OtlpLayer;
    use tracing_subscriber::{
        Layer as _, filter::filter_fn, layer::SubscriberExt as _, registry,
        util::SubscriberInitExt as _,
    };
    let (layer, telemetry) = Telemetry::start(settings)?;
    let shown = fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(settings::colour_on_stderr() && format == LogFormat::Text)
        .log_internal_errors(false);
    let shown = match format {
        LogFormat::Json => shown.json().boxed(),
        LogFormat::Text => shown.boxed(),
    };
    // Only tests start the log twice; the first one stays.
    let _ = registry()
        .with(shown.with_filter(filter))
        .with(layer.with_filter(filter_fn(OtlpLayer::wants)))
        .try_init();
    Ok(LogGuard { _telemetry: Some(telemetry) })
}
