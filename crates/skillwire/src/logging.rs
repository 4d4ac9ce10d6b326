//! The log. It goes to standard error, because standard output carries results and MCP messages.

use tracing_subscriber::{EnvFilter, fmt};

use crate::{args::LogFormat, settings};

/// The default filter of the log.
const USUAL: &str = "info";

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

/// Starts the log.
pub(crate) fn start(format: LogFormat) {
    let asked = settings::log_filter().map(EnvFilter::try_new);
    let (filter, misunderstood) = match asked {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(USUAL), Some(error)),
        None => (EnvFilter::new(USUAL), None),
    };
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
    if let Some(error) = misunderstood {
        tracing::warn!("`SKILLWIRE_LOG` cannot be understood: {error}. `{USUAL}` is used.");
    }
}
