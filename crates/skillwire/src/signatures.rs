//! Trusted signers from files of the user, and the check of one signature.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use skillwire_attest::{
    NotVerified, PublicKey, RootCertificates, SIGNATURE_FILES, Signature, SignatureFormat, Signer,
    SigningTime, SigstoreRoot, SkillFiles, TrustedSigner, VouchedContent,
};
use skillwire_core::RelPath;

use crate::{failure::Failure, regular_file};

/// The largest file with a key or a root.
const MAX_ROOT_BYTES: u64 = 1 << 20;

/// Reads a trusted key: the key itself, or a file that holds it.
pub(crate) fn trusted_key(key: &str) -> Result<TrustedSigner, Failure> {
    public_key(key).map(TrustedSigner::key)
}

/// Reads a public key: the key itself, or a file that holds it.
pub(crate) fn public_key(key: &str) -> Result<PublicKey, Failure> {
    if key.starts_with("ed25519:") {
        return PublicKey::parse(key).map_err(|error| {
            Failure::usage(format!("`{}` cannot be used: the key {error}.", key.escape_debug()))
        });
    }
    let text = read(Path::new(key), "key")?;
    PublicKey::parse(&text).map_err(|error| {
        Failure::usage(format!("`{key}` cannot be used: the key {error}."))
            .hint("Name a public key in PEM form, such as the `.pub` file of `skillwire key new`.")
    })
}

/// Reads a trusted root: certificates, or the trusted root of a Sigstore instance, which needs an
/// identity and its issuer.
pub(crate) fn trusted_root(
    file: &Path,
    identity: Option<&str>,
    issuer: Option<&str>,
) -> Result<TrustedSigner, Failure> {
    let text = read(file, "root")?;
    let shown = file.display();
    if !text.trim_start().starts_with('{') {
        let roots = RootCertificates::from_pem(&text).map_err(|error| {
            Failure::usage(format!("`{shown}` cannot be used: the file {error}."))
                .hint("Name a file with certificates in PEM form.")
        })?;
        if issuer.is_some() {
            return Err(Failure::usage(format!(
                "`{shown}` holds certificates, which have no issuer of tokens."
            ))
            .hint(
                "Leave the issuer out, or name the `trusted_root.json` of a Sigstore instance.",
            ));
        }
        return Ok(TrustedSigner::certificate(roots, identity));
    }
    let root = SigstoreRoot::parse(&text)
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be used.")).because(error))?;
    let (Some(identity), Some(issuer)) = (identity, issuer) else {
        return Err(Failure::usage(format!(
            "`{shown}` is the root of a Sigstore instance, at which anyone gets a certificate."
        ))
        .hint("Name the trusted identity and its issuer, too."));
    };
    Ok(TrustedSigner::keyless(Arc::new(root), identity, issuer))
}

fn read(file: &Path, what: &str) -> Result<String, Failure> {
    regular_file::read(file, MAX_ROOT_BYTES).map_err(|error| {
        Failure::usage(format!("The {what} `{}` cannot be read.", file.display())).because(error)
    })
}

/// Returns the path of the signature in a skill, if there is one in a place where it is looked for.
pub(crate) fn signature_path(files: &SkillFiles) -> Option<RelPath> {
    let mut names = SIGNATURE_FILES.iter().filter_map(|name| RelPath::parse(name).ok());
    names.find(|name| files.iter().any(|(path, ..)| path == name))
}

/// The result of checking one signature over one skill.
#[derive(Debug)]
pub(crate) struct CheckedSignature {
    pub(crate) format: Option<SignatureFormat>,
    /// The trusted signer, even if the content is another one.
    pub(crate) signer: Option<Signer>,
    pub(crate) content: Result<VouchedContent, NotVerified>,
}

impl CheckedSignature {
    /// Checks a signature; `inside` is its path, if it lies in the skill.
    pub(crate) fn check(
        signature: &[u8],
        inside: Option<&RelPath>,
        files: SkillFiles,
        trusted: &[TrustedSigner],
        now: SystemTime,
    ) -> Self {
        let mut checked =
            Self { format: None, signer: None, content: Err(NotVerified::NoTrustedSigner) };
        checked.content = Signature::parse(signature).and_then(|signature| {
            checked.format = Some(signature.format());
            let vouched = signature.verify(trusted, now)?;
            checked.signer = Some(vouched.signer().clone());
            let files = match inside {
                Some(path) => files.without(path),
                None => files,
            };
            vouched.covers(&files)
        });
        checked
    }

    /// Writes the result as members of a JSON object.
    pub(crate) fn json(&self) -> Value {
        let signed_at = match self.content.as_ref().map(VouchedContent::time) {
            Ok(SigningTime::Logged(time) | SigningTime::Stamped(time)) => {
                Some(humantime::format_rfc3339_seconds(time).to_string())
            }
            Ok(SigningTime::Unproven) | Err(_) => None,
        };
        let problem = self.content.as_ref().err();
        json!({
            "verified": self.content.is_ok(),
            "format": self.format,
            "signer": self.signer,
            "contentId": self.content.as_ref().ok().map(VouchedContent::content_id),
            "signedAt": signed_at,
            "code": problem.map(NotVerified::code),
            "problem": problem.map(|problem| format!("the signature {problem}")),
        })
    }
}

/// Reads a time that the user typed.
pub(crate) fn time(text: &str) -> Result<SystemTime, Failure> {
    let time = humantime::parse_rfc3339_weak(text).map_err(|error| {
        Failure::usage(format!("`{}` is not a time.", text.escape_debug()))
            .because(error)
            .hint("Write it as `2026-06-01T00:00:00Z`.")
    })?;
    // Certificates know no time before 1970.
    Ok(time.max(SystemTime::UNIX_EPOCH + Duration::ZERO))
}
