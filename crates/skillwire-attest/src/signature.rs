//! A signature from its bytes to what it vouches for.

use std::time::SystemTime;

use rustls_pki_types::CertificateDer;
use serde::Serialize;
use serde_json::{Map, Value};
use skillwire_core::ContentId;

use crate::{
    bundle::Bundle,
    certificate::{LeafCertificate, LeafUsage, RootCertificates},
    dsse::Envelope,
    files::{SignedFiles, SkillFiles},
    json,
    key::PublicKey,
    log_entry::LogEntry,
    model_signing::{self, MODEL_SIGNING_PREDICATE},
    not_verified::{NotVerified, at_most},
    signer::{Signer, TrustedKind, TrustedSigner},
    sigstore_root::SigstoreRoot,
    skill::{self, SKILL_PREDICATE},
    statement::Statement,
    timestamp::Timestamp,
};

/// The largest signature that is read.
pub const MAX_SIGNATURE_BYTES: usize = 4 << 20;

/// The format of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureFormat {
    /// A DSSE envelope alone.
    Dsse,
    /// A Sigstore bundle.
    SigstoreBundle,
}

/// When a signature was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningTime {
    /// A trusted log took it at this time.
    Logged(SystemTime),
    /// A trusted timestamp authority saw it at this time.
    Stamped(SystemTime),
    /// Nothing proves it. Certificates were checked as of the time that the caller gave.
    Unproven,
}

/// A signature of a known format, of which nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    format: SignatureFormat,
    envelope: Envelope,
    certificates: Vec<CertificateDer<'static>>,
    log_entries: Vec<LogEntry>,
    timestamps: Vec<Timestamp>,
}

impl Signature {
    /// Reads a DSSE envelope or a Sigstore bundle.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotVerified> {
        at_most("bytes", bytes.len(), MAX_SIGNATURE_BYTES)?;
        let map = json::object(bytes, "the signature")?;
        match (map.contains_key("payloadType"), map.contains_key("mediaType")) {
            (true, false) => Ok(Self {
                format: SignatureFormat::Dsse,
                envelope: Envelope::parse(&map)?,
                certificates: Vec::new(),
                log_entries: Vec::new(),
                timestamps: Vec::new(),
            }),
            (false, true) => {
                let Bundle { envelope, certificates, log_entries, timestamps } =
                    Bundle::parse(&map)?;
                let format = SignatureFormat::SigstoreBundle;
                Ok(Self { format, envelope, certificates, log_entries, timestamps })
            }
            _ => Err(NotVerified::malformed(
                "the signature",
                "is neither a DSSE envelope nor a Sigstore bundle",
            )),
        }
    }

    /// Returns the format.
    pub fn format(&self) -> SignatureFormat {
        self.format
    }

    /// Returns the envelope, to add a signature to it.
    pub fn into_envelope(self) -> Envelope {
        self.envelope
    }

    /// Verifies that one of the trusted signers made the signature. Certificates must have been valid
    /// at the time that a trusted log proves, or else at `now`.
    ///
    /// Nothing that is not signed is used but to choose which check is made: neither key ids nor
    /// the order of members.
    pub fn verify(
        &self,
        trusted: &[TrustedSigner],
        now: SystemTime,
    ) -> Result<Vouched, NotVerified> {
        let mut nearest = NotVerified::NoTrustedSigner;
        for (index, signer) in trusted.iter().enumerate() {
            match self.verify_by(signer, now) {
                Ok((signer, time)) => {
                    let statement = Statement::parse(self.envelope.payload())?;
                    return Ok(Vouched { signer, trusted: index, time, statement });
                }
                Err(error) if error.progress() > nearest.progress() => nearest = error,
                Err(_) => {}
            }
        }
        Err(nearest)
    }

    fn verify_by(
        &self,
        trusted: &TrustedSigner,
        now: SystemTime,
    ) -> Result<(Signer, SigningTime), NotVerified> {
        match &trusted.0 {
            TrustedKind::Key(key) => {
                if self.is_signed_with(key) {
                    return Ok((Signer::Key(key.id()), SigningTime::Unproven));
                }
                Err(NotVerified::WrongKey(format!("the key {}", key.id()).into()))
            }
            TrustedKind::Certificate { roots, identity } => {
                self.verify_certificate(roots, identity.as_deref(), now)
            }
            TrustedKind::Keyless { root, identity, issuer } => {
                self.verify_keyless(root, identity, issuer)
            }
        }
    }

    fn verify_certificate(
        &self,
        roots: &RootCertificates,
        identity: Option<&str>,
        now: SystemTime,
    ) -> Result<(Signer, SigningTime), NotVerified> {
        let (leaf, others) = self.certificates()?;
        let root = roots.verify(&leaf, others, now, LeafUsage::CodeSigningIfStated)?;
        if let Some(identity) = identity
            && !leaf.names()?.iter().any(|name| name == identity)
        {
            return Err(wrong_identity(identity, &leaf.subject()));
        }
        self.check_signed_with(&leaf)?;
        let signer = Signer::Certificate { subject: leaf.subject(), root: root.fingerprint() };
        Ok((signer, SigningTime::Unproven))
    }

    fn verify_keyless(
        &self,
        root: &SigstoreRoot,
        identity: &str,
        issuer: &str,
    ) -> Result<(Signer, SigningTime), NotVerified> {
        let (leaf, others) = self.certificates()?;
        let time = self.proven_time(root, &leaf, others)?;
        let names = leaf.alternative_names()?;
        let [name] = names.as_slice() else {
            return Err(NotVerified::CertificateUnusable {
                problem: "it does not name exactly one identity".into(),
                source: None,
            });
        };
        if name != identity {
            return Err(wrong_identity(identity, name));
        }
        let actual = leaf.token_issuer().unwrap_or_default();
        if actual != issuer {
            return Err(wrong_identity(issuer, &actual));
        }
        self.check_signed_with(&leaf)?;
        let signer = Signer::Keyless { identity: identity.to_owned(), issuer: issuer.to_owned() };
        Ok((signer, time))
    }

    /// Returns the time at which a trusted log or timestamp authority saw the signature. Logs must
    /// have been in use then, and the certificate must have been valid at every proven time.
    fn proven_time(
        &self,
        root: &SigstoreRoot,
        leaf: &LeafCertificate<'_>,
        others: &[CertificateDer<'static>],
    ) -> Result<SigningTime, NotVerified> {
        let mut times = Vec::new();
        let mut logs = Vec::new();
        for entry in &self.log_entries {
            let (log, time) = entry.verify(root, &self.envelope, leaf)?;
            logs.push(log);
            times.extend(time.map(SigningTime::Logged));
        }
        // Such a certificate is valid for minutes, so it is worth nothing without a proven time.
        let mut refusal =
            NotVerified::LogEntry("nothing in it proves when the signature was made".into());
        if logs.is_empty() {
            return Err(refusal);
        }
        for timestamp in &self.timestamps {
            for signature in self.envelope.signatures() {
                match timestamp.verify(root, signature) {
                    Ok(time) => times.push(SigningTime::Stamped(time)),
                    Err(error) => refusal = error,
                }
            }
        }
        for proven in &times {
            let (SigningTime::Logged(time) | SigningTime::Stamped(time)) = *proven else {
                continue;
            };
            if !logs.iter().all(|log| log.valid.contains(time)) {
                return Err(NotVerified::LogEntry("the log was not in use at its time".into()));
            }
            root.verify(leaf, others, time)?;
        }
        times.first().copied().ok_or(refusal)
    }

    fn certificates(
        &self,
    ) -> Result<(LeafCertificate<'_>, &[CertificateDer<'static>]), NotVerified> {
        let (leaf, others) = self.certificates.split_first().ok_or(NotVerified::NoCertificate)?;
        Ok((LeafCertificate::parse(leaf)?, others))
    }

    fn check_signed_with(&self, leaf: &LeafCertificate<'_>) -> Result<(), NotVerified> {
        if self.is_signed_with(&leaf.public_key()?) {
            Ok(())
        } else {
            Err(NotVerified::BadSignature)
        }
    }

    fn is_signed_with(&self, key: &PublicKey) -> bool {
        let message = self.envelope.signed_bytes();
        self.envelope.signatures().any(|signature| key.verifies(&message, signature))
    }
}

fn wrong_identity(expected: &str, actual: &str) -> NotVerified {
    NotVerified::WrongIdentity { expected: expected.into(), actual: actual.into() }
}

/// A statement that a trusted signer signed.
#[derive(Debug, Clone, PartialEq)]
pub struct Vouched {
    signer: Signer,
    trusted: usize,
    time: SigningTime,
    statement: Statement,
}

impl Vouched {
    /// Returns the signer.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Returns which of the trusted signers it was, as its place in the list.
    pub fn trusted(&self) -> usize {
        self.trusted
    }

    /// Returns when it was signed.
    pub fn time(&self) -> SigningTime {
        self.time
    }

    /// Returns the statement.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns the predicate if it is of this type.
    pub fn predicate(&self, predicate_type: &str) -> Option<&Map<String, Value>> {
        let is_wanted = self.statement.predicate_type() == predicate_type;
        is_wanted.then(|| self.statement.predicate())
    }

    /// Verifies that the statement lists exactly these files: none is missing, changed or unlisted.
    /// The file that holds the signature must have been
    /// [left out](SkillFiles::without) before.
    pub fn covers(&self, files: &SkillFiles) -> Result<VouchedContent, NotVerified> {
        self.signed_files()?.compare(files).map_err(NotVerified::Content)?;
        let content_id = files.content_id();
        let content_id =
            content_id.map_err(|error| NotVerified::malformed("the content", error.to_string()))?;
        Ok(VouchedContent { signer: self.signer.clone(), time: self.time, content_id })
    }

    fn signed_files(&self) -> Result<SignedFiles, NotVerified> {
        match self.statement.predicate_type() {
            SKILL_PREDICATE => skill::signed_files(&self.statement),
            MODEL_SIGNING_PREDICATE => model_signing::signed_files(&self.statement),
            other => Err(NotVerified::WrongPredicate(other.into())),
        }
    }
}

/// The content that a trusted signer vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VouchedContent {
    signer: Signer,
    time: SigningTime,
    content_id: ContentId,
}

impl VouchedContent {
    /// Returns the signer.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Returns when it was signed.
    pub fn time(&self) -> SigningTime {
        self.time
    }

    /// Returns the identity of the signed files.
    pub fn content_id(&self) -> ContentId {
        self.content_id
    }
}
