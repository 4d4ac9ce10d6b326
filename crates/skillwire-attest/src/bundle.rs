//! Sigstore bundles: an envelope together with what is needed to verify it.

use rustls_pki_types::CertificateDer;
use serde_json::{Map, Value};

use crate::{
    dsse::Envelope,
    json::Members,
    log_entry::LogEntry,
    not_verified::{NotVerified, at_most},
    timestamp::Timestamp,
};

/// The most certificates of one chain.
const MAX_CERTIFICATES: usize = 8;

/// The most entries of transparency logs.
const MAX_LOG_ENTRIES: usize = 4;

/// The most timestamps.
const MAX_TIMESTAMPS: usize = 4;

/// The largest certificate.
const MAX_CERTIFICATE_BYTES: usize = 64 * 1024;

/// The media types of the versions that are read. The shape of what is used here is the same in all.
const MEDIA_TYPES: [&str; 4] = [
    "application/vnd.dev.sigstore.bundle.v0.3+json",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    WITHOUT_PROOFS,
];

/// The media type of the only version in which a log's promise to include an entry is enough.
const WITHOUT_PROOFS: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";

/// A bundle, of which nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bundle {
    pub(crate) envelope: Envelope,
    /// The signer's certificate first, then those that issued it; empty if a plain key signed.
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    pub(crate) log_entries: Vec<LogEntry>,
    pub(crate) timestamps: Vec<Timestamp>,
}

impl Bundle {
    pub(crate) fn parse(map: &Map<String, Value>) -> Result<Self, NotVerified> {
        let members = Members::new(map, "the bundle");
        let media_type = members.text("mediaType")?;
        if !MEDIA_TYPES.contains(&media_type) {
            let kind = media_type.escape_debug();
            return Err(NotVerified::unsupported(format!("the media type `{kind}`")));
        }
        if members.get("messageSignature").is_some() {
            return Err(NotVerified::unsupported("a signature over one file without a statement"));
        }
        let material = Members::new(members.object("verificationMaterial")?, "the bundle");
        let envelope = Envelope::parse(members.object("dsseEnvelope")?)?;
        at_most("signatures", envelope.signatures().len(), 1)?;
        let entries = material.optional_array("tlogEntries")?;
        at_most("log entries", entries.len(), MAX_LOG_ENTRIES)?;
        let log_entries: Vec<_> = entries.iter().map(LogEntry::parse).collect::<Result<_, _>>()?;
        if media_type != WITHOUT_PROOFS && !log_entries.iter().all(LogEntry::has_proof) {
            return Err(NotVerified::malformed("a log entry", "has no inclusion proof"));
        }
        let certificates = certificates(material)?;
        let timestamps = timestamps(material)?;
        Ok(Self { envelope, certificates, log_entries, timestamps })
    }
}

fn timestamps(material: Members<'_>) -> Result<Vec<Timestamp>, NotVerified> {
    let Some(data) = material.get("timestampVerificationData") else { return Ok(Vec::new()) };
    let data = Members::of(data, "the timestamps")?.optional_array("rfc3161Timestamps")?;
    at_most("timestamps", data.len(), MAX_TIMESTAMPS)?;
    data.iter().map(Timestamp::parse).collect()
}

fn certificates(material: Members<'_>) -> Result<Vec<CertificateDer<'static>>, NotVerified> {
    if let Some(chain) = material.get("x509CertificateChain") {
        let chain = Members::of(chain, "the certificate chain")?.array("certificates")?;
        at_most("certificates", chain.len(), MAX_CERTIFICATES)?;
        if chain.is_empty() {
            return Err(NotVerified::malformed("the certificate chain", "is empty"));
        }
        return chain.iter().map(certificate).collect();
    }
    match material.get("certificate") {
        Some(single) => Ok(vec![certificate(single)?]),
        None => Ok(Vec::new()),
    }
}

pub(crate) fn certificate(value: &Value) -> Result<CertificateDer<'static>, NotVerified> {
    let der = Members::of(value, "a certificate")?.base64("rawBytes")?;
    at_most("bytes in a certificate", der.len(), MAX_CERTIFICATE_BYTES)?;
    Ok(CertificateDer::from(der))
}
