//! The log, always on standard error: standard output belongs to answers and messages.

use tracing_subscriber::{EnvFilter, fmt};

use crate::{args::LogFormat, settings};

/// Starts the log.
pub(crate) fn start(format: LogFormat) {
    let filter = settings::log_filter()
        .and_then(|text| EnvFilter::try_new(text).ok())
        .unwrap_or_else(|| EnvFilter::new("info"));
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Starting twice can only happen in tests, where the first log is as good.
    let _ = match format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_ansi(settings::colour_on_stderr()).try_init(),
    };
}
