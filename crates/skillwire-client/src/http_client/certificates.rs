//! The certificates that every connection of this process trusts, and what is wrong with others.

use std::{error::Error, io, sync::OnceLock};

use rustls::{CertificateError, ClientConfig, crypto::ring::default_provider};

use crate::error::ClientError;

/// Returns the TLS configuration, which is built once: reading the system's certificates takes
/// milliseconds, and the client fetches many files from a web origin.
pub(super) fn config() -> Result<ClientConfig, ClientError> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    // A failure to read the certificates is not remembered, so that the next attempt may succeed.
    let builder = ClientConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = hyper_rustls::ConfigBuilderExt::with_native_roots(builder).map_err(unusable)?;
    Ok(CONFIG.get_or_init(|| builder.with_no_client_auth()).clone())
}

fn unusable(error: impl Error + Send + Sync + 'static) -> ClientError {
    let problem = format!("no certificates to trust were found on this machine: {error}");
    ClientError::Certificate { problem, source: None }.caused_by(error)
}

/// Returns what is wrong with a server's certificate, if that is why an error happened.
pub(super) fn problem(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(problem)) => return Some(words(problem)),
        Some(rustls::Error::NoCertificatesPresented) => {
            return Some("the server sent none".to_owned());
        }
        _ => {}
    }
    // I/O errors, one inside the other, hold the error of the TLS stack, and do not count it among
    // their causes.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inner {
        Some(inner) => problem(inner),
        None => error.source().and_then(problem),
    }
}

fn words(problem: &CertificateError) -> String {
    match problem {
        CertificateError::UnknownIssuer => {
            "it was issued by an authority that this machine does not know, or by the server itself"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; check the clock of this machine".to_owned()
        }
        CertificateError::NotValidForName => "it is for another host name".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented = presented.iter().take(4).map(|name| name.escape_debug().to_string());
            let presented = presented.collect::<Vec<_>>().join(", ");
            let expected = expected.to_str();
            if presented.is_empty() {
                format!("it is for no host name, and the URL names `{expected}`")
            } else {
                format!("it is for {presented}, and the URL names `{expected}`")
            }
        }
        CertificateError::Revoked => "its authority has revoked it".to_owned(),
        CertificateError::BadSignature => "its signature is wrong".to_owned(),
        CertificateError::BadEncoding => "it cannot be read".to_owned(),
        other => other.to_string(),
    }
}
