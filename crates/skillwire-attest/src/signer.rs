//! Signers: those that the user trusts, and the one that made a signature.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use skillwire_core::Digest;

use crate::{
    certificate::RootCertificates,
    key::{KeyId, PublicKey},
    sigstore_root::SigstoreRoot,
};

/// A signer that the user trusts. Every root is one that the user chose: there is no default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedSigner(pub(crate) TrustedKind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrustedKind {
    Key(PublicKey),
    Certificate { roots: RootCertificates, identity: Option<Box<str>> },
    Keyless { root: Arc<SigstoreRoot>, identity: Box<str>, issuer: Box<str> },
}

impl TrustedSigner {
    /// Trusts the holder of a key.
    pub fn key(key: PublicKey) -> Self {
        Self(TrustedKind::Key(key))
    }

    /// Trusts the holders of certificates that a root issued; with `identity` only those that have
    /// this subject, common name or alternative name.
    pub fn certificate(roots: RootCertificates, identity: Option<&str>) -> Self {
        Self(TrustedKind::Certificate { roots, identity: identity.map(Into::into) })
    }

    /// Trusts one identity of one issuer, such as a mail address or a workflow, at a Sigstore
    /// instance.
    pub fn keyless(root: Arc<SigstoreRoot>, identity: &str, issuer: &str) -> Self {
        let identity = identity.into();
        let issuer = issuer.into();
        Self(TrustedKind::Keyless { root, identity, issuer })
    }
}

impl TrustedSigner {
    /// Returns a digest over the key, or over the root with the identity. It changes whenever
    /// something else is trusted.
    pub fn id(&self) -> Digest {
        let mut text = Vec::new();
        // The length in front of each part keeps apart two signers whose parts join to the same.
        let mut add = |part: &[u8]| {
            text.extend_from_slice(format!("{} ", part.len()).as_bytes());
            text.extend_from_slice(part);
        };
        match &self.0 {
            TrustedKind::Key(key) => {
                add(b"key");
                add(key.id().to_string().as_bytes());
            }
            TrustedKind::Certificate { roots, identity } => {
                add(b"certificate");
                roots.fingerprints().for_each(|root| add(root.as_bytes()));
                add(if identity.is_some() { b"identity" } else { b"any" });
                add(identity.as_deref().unwrap_or_default().as_bytes());
            }
            TrustedKind::Keyless { root, identity, issuer } => {
                add(b"keyless");
                add(root.digest().as_bytes());
                add(identity.as_bytes());
                add(issuer.as_bytes());
            }
        }
        Digest::of(&text)
    }
}

/// The signer that made a verified signature. Its text is what records, logs and people see; two
/// signers are the same if their texts are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signer {
    /// The holder of a key.
    Key(KeyId),
    /// The holder of a certificate that a trusted root issued.
    Certificate {
        /// The subject of the certificate.
        subject: String,
        /// The digest of the root certificate.
        root: Digest,
    },
    /// An identity at a Sigstore instance.
    Keyless {
        /// The mail address or URI.
        identity: String,
        /// The issuer of the token that proved the identity.
        issuer: String,
    },
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(id) => write!(f, "key {id}"),
            Self::Certificate { subject, root } => {
                write!(f, "{} (root {root})", subject.escape_debug())
            }
            Self::Keyless { identity, issuer } => {
                write!(f, "{} (issuer {})", identity.escape_debug(), issuer.escape_debug())
            }
        }
    }
}

impl Serialize for Signer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Key(id) => {
                map.serialize_entry("kind", "key")?;
                map.serialize_entry("key", &id.to_string())?;
            }
            Self::Certificate { subject, root } => {
                map.serialize_entry("kind", "certificate")?;
                map.serialize_entry("subject", subject)?;
                map.serialize_entry("root", root)?;
            }
            Self::Keyless { identity, issuer } => {
                map.serialize_entry("kind", "keyless")?;
                map.serialize_entry("identity", identity)?;
                map.serialize_entry("issuer", issuer)?;
            }
        }
        map.end()
    }
}
