//! Keys: Ed25519 to sign, and Ed25519 or ECDSA on P-256 and P-384 to verify.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, Ed25519KeyPair, KeyPair as _,
    UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, pem::PemObject as _};
use skillwire_core::Digest;
use x509_cert::{
    der::{Decode as _, asn1::ObjectIdentifier},
    spki::SubjectPublicKeyInfoRef,
};

const ED25519_OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

/// What stands in front of the 32 bytes of a private key in PKCS #8.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// What stands in front of the 32 bytes of a public key in its usual encoding.
const SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What the one-line form of an Ed25519 key begins with.
const ONE_LINE: &str = "ed25519:";

/// Why bytes are not a usable key; the text continues "the key".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// The text is not in a known form.
    #[error("is not in PEM form")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// The text looks like the one-line form and is not.
    #[error("is not `ed25519:` and 32 bytes in base64")]
    OneLine,
    /// The bytes in it are not a key.
    #[error("cannot be read")]
    Der(#[source] x509_cert::der::Error),
    /// The private key cannot be used.
    #[error("is not an Ed25519 key in PKCS #8 form: {0}")]
    Private(String),
    /// The key is of another kind.
    #[error("is neither Ed25519 nor ECDSA on P-256 or P-384")]
    Unsupported,
}

/// Identifies a public key: the SHA-256 digest of its usual encoding (SPKI, DER).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A private key that signs.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.public.id()).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Makes the key of 32 random bytes, which are the private key.
    ///
    /// # Panics
    /// Never: every 32 bytes are a key.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        #[expect(clippy::expect_used, reason = "it fails for other lengths only")]
        let pair = pair.expect("32 bytes are a seed");
        let mut spki = SPKI_PREFIX.to_vec();
        spki.extend_from_slice(pair.public_key().as_ref());
        let public = PublicKey {
            kind: KeyKind::Ed25519,
            point: pair.public_key().as_ref().into(),
            spki: spki.into(),
        };
        Self { seed: *seed, pair, public }
    }

    /// Reads a key in PEM form, as [`Self::to_pem`] and `openssl genpkey` write it.
    pub fn from_pem(text: &str) -> Result<Self, InvalidKey> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(InvalidKey::Pem)?;
        let der = der.secret_pkcs8_der();
        // It may be followed by the public key, which is made from the private one anyway.
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)
            .map_err(|error| InvalidKey::Private(error.to_string()))?;
        let start = der.windows(4).position(|bytes| bytes == [0x04, 0x22, 0x04, 0x20]);
        let seed = start.and_then(|start| der.get(start + 4..start + 36));
        let seed = seed.and_then(|seed| <[u8; 32]>::try_from(seed).ok());
        seed.map(|seed| Self::from_seed(&seed))
            .ok_or_else(|| InvalidKey::Private("it has no private part".to_owned()))
    }

    /// Writes the private key in PEM form. Keep it where only its owner can read it.
    pub fn to_pem(&self) -> String {
        let mut der = PKCS8_PREFIX.to_vec();
        der.extend_from_slice(&self.seed);
        pem("PRIVATE KEY", &der)
    }

    /// Returns the public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

/// The algorithm that a key is for. A key is never used with another one, whatever a signature
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Ed25519,
    EcdsaP256,
    EcdsaP384,
}

/// A public key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    kind: KeyKind,
    point: Box<[u8]>,
    spki: Box<[u8]>,
}

impl PublicKey {
    /// Reads a key in PEM form, or `ed25519:` and 32 bytes in base64.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        if let Some(line) = text.trim().strip_prefix(ONE_LINE) {
            let point = STANDARD.decode(line).ok().filter(|point| point.len() == 32);
            let point = point.ok_or(InvalidKey::OneLine)?;
            return Self::from_spki(&[&SPKI_PREFIX[..], &point].concat());
        }
        let der =
            SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).map_err(InvalidKey::Pem)?;
        Self::from_spki(&der)
    }

    /// Reads a key in its usual encoding (SPKI, DER).
    pub fn from_spki(der: &[u8]) -> Result<Self, InvalidKey> {
        let spki = SubjectPublicKeyInfoRef::from_der(der).map_err(InvalidKey::Der)?;
        let curve = spki.algorithm.parameters_oid().ok();
        let kind = match (spki.algorithm.oid, curve) {
            (ED25519_OID, None) => KeyKind::Ed25519,
            (EC_PUBLIC_KEY, Some(P256)) => KeyKind::EcdsaP256,
            (EC_PUBLIC_KEY, Some(P384)) => KeyKind::EcdsaP384,
            _ => return Err(InvalidKey::Unsupported),
        };
        let point = spki.subject_public_key.as_bytes().ok_or(InvalidKey::Unsupported)?;
        if kind == KeyKind::Ed25519 && point.len() != 32 {
            return Err(InvalidKey::Unsupported);
        }
        Ok(Self { kind, point: point.into(), spki: der.into() })
    }

    /// Returns the identity of the key.
    pub fn id(&self) -> KeyId {
        KeyId(Digest::of(&self.spki))
    }

    /// Writes the key in PEM form.
    pub fn to_pem(&self) -> String {
        pem("PUBLIC KEY", &self.spki)
    }

    /// Writes an Ed25519 key as one line, and any other in PEM form.
    pub fn to_line(&self) -> String {
        match self.kind {
            KeyKind::Ed25519 => format!("{ONE_LINE}{}", STANDARD.encode(&self.point)),
            KeyKind::EcdsaP256 | KeyKind::EcdsaP384 => self.to_pem(),
        }
    }

    /// Tells whether a signature over a message was made with the private key of this one.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &'static dyn VerificationAlgorithm = match self.kind {
            KeyKind::Ed25519 => &ED25519,
            KeyKind::EcdsaP256 => &ECDSA_P256_SHA256_ASN1,
            KeyKind::EcdsaP384 => &ECDSA_P384_SHA384_ASN1,
        };
        UnparsedPublicKey::new(algorithm, &self.point).verify(message, signature).is_ok()
    }
}

/// Writes bytes in PEM form.
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.push_str(std::str::from_utf8(line).unwrap_or_default());
        pem.push('\n');
    }
    pem + &format!("-----END {label}-----\n")
}
