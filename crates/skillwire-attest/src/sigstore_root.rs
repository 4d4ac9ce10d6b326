//! The trust root of a Sigstore instance: its certificate authorities, transparency logs and timestamp
//! authorities.

use std::time::SystemTime;

use rustls_pki_types::CertificateDer;
use serde_json::Value;
use skillwire_core::Digest;

use crate::{
    bundle,
    certificate::{LeafCertificate, LeafUsage, RootCertificate},
    json::{self, Members},
    key::PublicKey,
    not_verified::{NotVerified, at_most},
};

/// What the media type of a trusted root begins with.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.trustedroot";

/// The most authorities or logs of one root.
const MAX_ENTRIES: usize = 64;

/// A period in which an authority or a log was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    start: Option<SystemTime>,
    end: Option<SystemTime>,
}

impl Period {
    pub(crate) fn contains(&self, time: SystemTime) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time <= end)
    }

    fn parse(owner: Members<'_>) -> Result<Self, NotVerified> {
        let Some(period) = owner.get("validFor") else {
            return Ok(Self { start: None, end: None });
        };
        let members = Members::of(period, "a period")?;
        let time = |key: &str| {
            let text = members.get(key).map(|_| members.text(key)).transpose()?;
            let time = text.map(humantime::parse_rfc3339);
            time.transpose().map_err(|error| NotVerified::Malformed {
                what: "a period".into(),
                problem: format!("needs a time as `{key}`").into(),
                source: Some(error.into()),
            })
        };
        Ok(Self { start: time("start")?, end: time("end")? })
    }
}

/// The trust root of a Sigstore instance (`trusted_root.json`), which the user obtained and keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigstoreRoot {
    digest: Digest,
    authorities: Vec<CertificateAuthority>,
    timestamp_authorities: Vec<CertificateAuthority>,
    logs: Vec<TransparencyLog>,
}

/// An authority for certificates or for timestamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateAuthority {
    root: RootCertificate,
    intermediates: Vec<CertificateDer<'static>>,
    valid: Period,
}

impl CertificateAuthority {
    /// Returns the certificates below the root. Those of a timestamp authority begin with its own.
    pub(crate) fn intermediates(&self) -> &[CertificateDer<'static>] {
        &self.intermediates
    }

    /// Tells whether a certificate is one for timestamps and leads to the root at a time.
    pub(crate) fn issued_timestamp_certificate(
        &self,
        leaf: &LeafCertificate<'_>,
        time: SystemTime,
    ) -> bool {
        self.root.verify(leaf, &self.intermediates, time, LeafUsage::TimeStamping).is_ok()
    }
}

/// A transparency log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransparencyLog {
    id: Vec<u8>,
    pub(crate) key: PublicKey,
    pub(crate) valid: Period,
}

impl TransparencyLog {
    /// Returns what stands in front of the log's signatures on checkpoints.
    pub(crate) fn hint(&self) -> [u8; 4] {
        let mut hint = [0; 4];
        for (to, from) in hint.iter_mut().zip(&self.id) {
            *to = *from;
        }
        hint
    }
}

impl SigstoreRoot {
    /// Reads a `trusted_root.json`. Logs and authorities with keys of other kinds are left out, and
    /// so are certificate transparency logs, which are not used.
    pub fn parse(text: &str) -> Result<Self, NotVerified> {
        let map = json::object(text.as_bytes(), "the trusted root")?;
        let members = Members::new(&map, "the trusted root");
        if !members.text("mediaType")?.starts_with(MEDIA_TYPE) {
            return Err(NotVerified::malformed("the trusted root", "has another media type"));
        }
        let (logs, authorities) =
            (members.array("tlogs")?, members.array("certificateAuthorities")?);
        at_most("logs", logs.len(), MAX_ENTRIES)?;
        at_most("certificate authorities", authorities.len(), MAX_ENTRIES)?;
        let timestamp_authorities = members.optional_array("timestampAuthorities")?;
        at_most("timestamp authorities", timestamp_authorities.len(), MAX_ENTRIES)?;
        let digest = Digest::of(text.as_bytes());
        let mut root = Self {
            digest,
            authorities: Vec::new(),
            timestamp_authorities: Vec::new(),
            logs: Vec::new(),
        };
        for value in logs {
            root.logs.extend(log(value)?);
        }
        for value in authorities {
            root.authorities.extend(authority(value)?);
        }
        for value in timestamp_authorities {
            root.timestamp_authorities.extend(authority(value)?);
        }
        if root.logs.is_empty() || root.authorities.is_empty() {
            return Err(NotVerified::malformed(
                "the trusted root",
                "has no log or no certificate authority that can be used",
            ));
        }
        Ok(root)
    }

    /// Returns the digest of the file.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn log(&self, id: &[u8]) -> Option<&TransparencyLog> {
        self.logs.iter().find(|log| log.id == id)
    }

    /// Returns the timestamp authorities that were in use at a time.
    pub(crate) fn timestamp_authorities(
        &self,
        time: SystemTime,
    ) -> impl Iterator<Item = &CertificateAuthority> {
        self.timestamp_authorities.iter().filter(move |authority| authority.valid.contains(time))
    }

    /// Verifies that one of the authorities issued a certificate while it was in use.
    pub(crate) fn verify(
        &self,
        leaf: &LeafCertificate<'_>,
        others: &[CertificateDer<'static>],
        time: SystemTime,
    ) -> Result<(), NotVerified> {
        let mut nearest = NotVerified::UntrustedRoot;
        for authority in self.authorities.iter().filter(|authority| authority.valid.contains(time))
        {
            let mut others = others.to_vec();
            others.extend_from_slice(&authority.intermediates);
            match authority.root.verify(leaf, &others, time, LeafUsage::CodeSigning) {
                Ok(()) => return Ok(()),
                Err(error) if error.progress() > nearest.progress() => nearest = error,
                Err(_) => {}
            }
        }
        Err(nearest)
    }
}

fn log(value: &Value) -> Result<Option<TransparencyLog>, NotVerified> {
    let members = Members::of(value, "a log")?;
    let key = Members::new(members.object("publicKey")?, "the key of a log");
    let id = Members::new(members.object("logId")?, "the id of a log").base64("keyId")?;
    let Ok(public) = PublicKey::from_spki(&key.base64("rawBytes")?) else { return Ok(None) };
    Ok(Some(TransparencyLog { id, key: public, valid: Period::parse(key)? }))
}

fn authority(value: &Value) -> Result<Option<CertificateAuthority>, NotVerified> {
    let members = Members::of(value, "a certificate authority")?;
    let chain = Members::new(members.object("certChain")?, "a certificate authority");
    let chain = chain.array("certificates")?.iter().map(bundle::certificate);
    let mut chain: Vec<_> = chain.collect::<Result<_, _>>()?;
    let Some(root) = chain.pop().and_then(|der| RootCertificate::new(der).ok()) else {
        return Ok(None);
    };
    let valid = Period::parse(members)?;
    Ok(Some(CertificateAuthority { root, intermediates: chain, valid }))
}
