//! The certificates that every connection of this process trusts.

use std::sync::OnceLock;

use rustls::{ClientConfig, crypto::ring::default_provider};

/// Returns the TLS configuration, which is built once: reading the system's certificates takes
/// milliseconds, and the client fetches many files from a web origin.
pub(crate) fn config() -> Result<ClientConfig, String> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    // A failure to read the certificates is not remembered, so that the next attempt may succeed.
    let missing =
        |error: &dyn std::fmt::Display| format!("no certificates to trust were found: {error}");
    let builder = ClientConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| missing(&error))?;
    let builder = hyper_rustls::ConfigBuilderExt::with_native_roots(builder)
        .map_err(|error| missing(&error))?;
    Ok(CONFIG.get_or_init(|| builder.with_no_client_auth()).clone())
}
