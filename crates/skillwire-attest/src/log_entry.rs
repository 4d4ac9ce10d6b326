//! Entries of a transparency log (Rekor), which prove when a signature was made.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use serde_json::Value;
use skillwire_core::Digest;

use crate::{
    bundle,
    certificate::LeafCertificate,
    dsse::Envelope,
    json::{self, Members},
    merkle::{self, Checkpoint},
    not_verified::{NotVerified, at_most},
    sigstore_root::{SigstoreRoot, TransparencyLog},
};

/// The most hashes of an inclusion proof: a tree of that depth has more entries than a number can
/// count.
const MAX_HASHES: usize = 64;

/// One entry, of which nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogEntry {
    log_id: Vec<u8>,
    log_index: u64,
    integrated_time: Option<u64>,
    /// The log's promise to include the entry, with its time (SET).
    promise: Option<Vec<u8>>,
    proof: Option<InclusionProof>,
    body: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct InclusionProof {
    index: u64,
    tree_size: u64,
    root: Vec<u8>,
    hashes: Vec<[u8; 32]>,
    checkpoint: Option<String>,
}

impl LogEntry {
    pub(crate) fn parse(value: &Value) -> Result<Self, NotVerified> {
        let members = Members::of(value, "a log entry")?;
        let promise = members.get("inclusionPromise").map(|promise| {
            Members::of(promise, "the log's promise")?.base64("signedEntryTimestamp")
        });
        let time = members.get("integratedTime").map(|_| members.number("integratedTime"));
        Ok(Self {
            log_id: Members::new(members.object("logId")?, "the log's id").base64("keyId")?,
            log_index: members.number("logIndex")?,
            integrated_time: time.transpose()?.filter(|time| *time > 0),
            promise: promise.transpose()?,
            proof: members.get("inclusionProof").map(InclusionProof::parse).transpose()?,
            body: members.base64("canonicalizedBody")?,
        })
    }

    /// Tells whether the entry has a proof that the log includes it.
    pub(crate) fn has_proof(&self) -> bool {
        self.proof.is_some()
    }

    /// Verifies that a trusted log has an entry for this signature and certificate; returns the log,
    /// and the time at which it took the entry, if it signed that time.
    ///
    /// The promise and the inclusion proof are both verified if they are there, and one must be.
    pub(crate) fn verify<'r>(
        &self,
        root: &'r SigstoreRoot,
        envelope: &Envelope,
        leaf: &LeafCertificate<'_>,
    ) -> Result<(&'r TransparencyLog, Option<SystemTime>), NotVerified> {
        let refuse = |problem: &str| NotVerified::LogEntry(problem.into());
        let log = root.log(&self.log_id);
        let log = log.ok_or_else(|| refuse("the trusted root does not know the log"))?;
        self.check_body(envelope, leaf)?;
        if let Some(proof) = &self.proof {
            proof.verify(log, &self.body).map_err(refuse)?;
        }
        match (&self.promise, self.integrated_time) {
            (Some(promise), Some(seconds)) => {
                if !log.key.verifies(self.promised(seconds).as_bytes(), promise) {
                    return Err(refuse("the log did not sign its time"));
                }
                Ok((log, Some(UNIX_EPOCH + Duration::from_secs(seconds))))
            }
            (Some(_), None) => Err(refuse("it has a promise without a time")),
            (None, _) if self.proof.is_some() => Ok((log, None)),
            (None, _) => Err(refuse("it has neither a promise nor an inclusion proof")),
        }
    }

    /// Writes what the log signs as its promise: JSON in canonical form.
    fn promised(&self, seconds: u64) -> String {
        let id: Vec<String> = self.log_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let body = STANDARD.encode(&self.body);
        let id = id.concat();
        let index = self.log_index;
        format!(
            r#"{{"body":"{body}","integratedTime":{seconds},"logID":"{id}","logIndex":{index}}}"#
        )
    }

    /// Compares the entry with the signature: it must hold the same payload, signature and
    /// certificate.
    fn check_body(
        &self,
        envelope: &Envelope,
        leaf: &LeafCertificate<'_>,
    ) -> Result<(), NotVerified> {
        let logged = LoggedSignature::parse(&self.body, envelope)?;
        let other =
            |what: &str| Err(NotVerified::LogEntry(format!("it is for another {what}").into()));
        if !logged.is_for_statement {
            return other("statement");
        }
        if !envelope.signatures().any(|value| value == logged.signature) {
            return other("signature");
        }
        if logged.certificate.as_ref() != Some(leaf.der()) {
            return other("certificate");
        }
        Ok(())
    }
}

/// What the body of an entry says about a signature.
struct LoggedSignature {
    /// Whether it is over the statement of the envelope.
    is_for_statement: bool,
    signature: Vec<u8>,
    certificate: Option<CertificateDer<'static>>,
}

impl LoggedSignature {
    /// Reads the body of an entry: two kinds of the first version of Rekor, two of the second.
    fn parse(body: &[u8], envelope: &Envelope) -> Result<Self, NotVerified> {
        let map = json::object(body, "the log entry")?;
        let body = Members::new(&map, "the log entry");
        let spec = Members::new(body.object("spec")?, "the log entry");
        match (body.text("kind")?, body.text("apiVersion")?) {
            ("dsse", "0.0.1") => {
                let single = only_signature(spec)?;
                Ok(Self {
                    is_for_statement: is_hex_digest(inside(spec, "payloadHash")?, envelope)?,
                    signature: single.base64("signature")?,
                    certificate: pem(single.text("verifier")?),
                })
            }
            ("intoto", "0.0.2") => {
                let content = inside(spec, "content")?;
                let single = only_signature(inside(content, "envelope")?)?;
                // The value is in base64 twice.
                let signature = STANDARD.decode(single.base64("sig")?).unwrap_or_default();
                Ok(Self {
                    is_for_statement: is_hex_digest(inside(content, "payloadHash")?, envelope)?,
                    signature,
                    certificate: pem(single.text("publicKey")?),
                })
            }
            ("dsse", "0.0.2") => {
                let spec = inside(spec, "dsseV002")?;
                let hash = inside(spec, "payloadHash")?;
                Self::of_second_version(only_signature(spec)?, hash, envelope.payload())
            }
            ("hashedrekord", "0.0.2") => {
                let spec = inside(spec, "hashedRekordV002")?;
                let hash = inside(spec, "data")?;
                let single = inside(spec, "signature")?;
                Self::of_second_version(single, hash, &envelope.signed_bytes())
            }
            (kind, version) => {
                let kind = format!("a log entry of kind `{kind}` {version}");
                Err(NotVerified::unsupported(kind.escape_debug().to_string()))
            }
        }
    }

    fn of_second_version(
        single: Members<'_>,
        hash: Members<'_>,
        hashed: &[u8],
    ) -> Result<Self, NotVerified> {
        let algorithm = match hash.text("algorithm")? {
            "SHA2_256" => &ring::digest::SHA256,
            "SHA2_384" => &ring::digest::SHA384,
            "SHA2_512" => &ring::digest::SHA512,
            other => {
                let hash = format!("the hash `{}` of a log entry", other.escape_debug());
                return Err(NotVerified::unsupported(hash));
            }
        };
        let verifier = Members::new(single.object("verifier")?, "the log entry");
        let certificate = verifier.get("x509Certificate").map(bundle::certificate).transpose()?;
        Ok(Self {
            is_for_statement: hash.base64("digest")?
                == ring::digest::digest(algorithm, hashed).as_ref(),
            signature: single.base64("content")?,
            certificate,
        })
    }
}

fn is_hex_digest(hash: Members<'_>, envelope: &Envelope) -> Result<bool, NotVerified> {
    let is_usual = hash.text("algorithm")? == "sha256";
    Ok(is_usual && hash.hex_digest("value")? == Digest::of(envelope.payload()))
}

/// Returns the members of an object in an object.
fn inside<'a>(members: Members<'a>, key: &str) -> Result<Members<'a>, NotVerified> {
    Ok(Members::new(members.object(key)?, "the log entry"))
}

/// Reads a certificate in PEM form, in base64.
fn pem(text: &str) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(&STANDARD.decode(text).ok()?).ok()
}

/// Returns the only signature of an object.
fn only_signature(members: Members<'_>) -> Result<Members<'_>, NotVerified> {
    let [single] = members.array("signatures")? else {
        return Err(NotVerified::LogEntry("it is not for exactly one signature".into()));
    };
    Members::of(single, "the log entry")
}

impl InclusionProof {
    fn parse(value: &Value) -> Result<Self, NotVerified> {
        let members = Members::of(value, "the inclusion proof")?;
        let hashes = members.optional_array("hashes")?;
        at_most("hashes of an inclusion proof", hashes.len(), MAX_HASHES)?;
        let hash = |value: &Value| {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
                NotVerified::malformed("the inclusion proof", "has a hash of another length")
            })
        };
        let checkpoint = members.get("checkpoint").map(|checkpoint| {
            let text = Members::of(checkpoint, "the checkpoint")?.text("envelope")?;
            Ok::<_, NotVerified>(text.to_owned())
        });
        Ok(Self {
            index: members.number("logIndex")?,
            tree_size: members.number("treeSize")?,
            root: members.base64("rootHash")?,
            hashes: hashes.iter().map(hash).collect::<Result<_, _>>()?,
            checkpoint: checkpoint.transpose()?,
        })
    }

    fn verify(&self, log: &TransparencyLog, body: &[u8]) -> Result<(), &'static str> {
        let leaf = merkle::leaf_hash(body);
        let root = merkle::root_of(self.index, self.tree_size, leaf, &self.hashes);
        let root = root.filter(|root| root[..] == self.root);
        let root = root.ok_or("its inclusion proof does not lead to the root")?;
        // Without the log's signature, anyone could have made the tree up.
        let note = self.checkpoint.as_deref().ok_or("its inclusion proof has no checkpoint")?;
        let checkpoint = Checkpoint::verify(note, &log.key, log.hint());
        let checkpoint = checkpoint.ok_or("the log did not sign its checkpoint")?;
        if checkpoint == (Checkpoint { tree_size: self.tree_size, root }) {
            Ok(())
        } else {
            Err("its checkpoint is of another tree")
        }
    }
}
