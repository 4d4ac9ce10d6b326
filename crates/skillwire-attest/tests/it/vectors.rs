//! The vectors, and changes to them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use skillwire_attest::{
    NotVerified, PublicKey, RootCertificates, Signature, SigningKey, SkillFiles, TrustedSigner,
    VouchedContent,
};
use skillwire_core::{Digest, RelPath};

/// A vector as text.
macro_rules! vector {
    ($name:literal) => {
        include_str!(concat!("../../testdata/", $name))
    };
}
pub(crate) use vector;

/// The files of the signed skill.
pub(crate) const FILES: [(&str, &str); 3] = [
    ("SKILL.md", vector!("skill/SKILL.md")),
    ("references/limits.md", vector!("skill/references/limits.md")),
    ("scripts/refund.sh", vector!("skill/scripts/refund.sh")),
];

/// A day on which the certificates of the vectors are valid: 2026-06-01.
pub(crate) fn in_2026() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(494_520)
}

pub(crate) fn files(files: &[(&str, &str)]) -> SkillFiles {
    let file = |(path, text): &(&str, &str)| {
        let path = RelPath::parse(path).unwrap();
        (path, Digest::of(text.as_bytes()), text.len() as u64)
    };
    SkillFiles::new(files.iter().map(file)).unwrap()
}

pub(crate) fn signing_key() -> SigningKey {
    SigningKey::from_pem(vector!("ed25519.key.pem")).unwrap()
}

pub(crate) fn ed25519() -> TrustedSigner {
    TrustedSigner::key(PublicKey::parse(vector!("ed25519.pub.pem")).unwrap())
}

pub(crate) fn vendor(identity: Option<&str>) -> TrustedSigner {
    let roots = RootCertificates::from_pem(vector!("model-signing.root.pem")).unwrap();
    TrustedSigner::certificate(roots, identity)
}

/// Verifies a signature over the files of the vectors.
pub(crate) fn verify(
    signature: &str,
    trusted: &TrustedSigner,
    now: SystemTime,
) -> Result<VouchedContent, NotVerified> {
    verify_files(signature, trusted, now, &files(&FILES))
}

pub(crate) fn verify_files(
    signature: &str,
    trusted: &TrustedSigner,
    now: SystemTime,
    files: &SkillFiles,
) -> Result<VouchedContent, NotVerified> {
    let signature = Signature::parse(signature.as_bytes())?;
    signature.verify(std::slice::from_ref(trusted), now)?.covers(files)
}

/// Returns the code of the refusal.
pub(crate) fn code(result: Result<VouchedContent, NotVerified>) -> &'static str {
    match result {
        Ok(_) => "verified",
        Err(error) => error.code(),
    }
}

/// Changes a JSON text.
pub(crate) fn changed(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value = serde_json::from_str(text).unwrap();
    change(&mut value);
    value.to_string()
}

/// Changes the statement inside an envelope, and leaves the signature as it is.
pub(crate) fn with_statement(text: &str, change: impl FnOnce(&mut Value)) -> String {
    changed(text, |value| {
        let envelope =
            if value.get("dsseEnvelope").is_some() { &mut value["dsseEnvelope"] } else { value };
        let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        let payload = changed(std::str::from_utf8(&payload).unwrap(), change);
        envelope["payload"] = STANDARD.encode(payload).into();
    })
}
