//! Algorithms of signatures, and the keys that each belongs to.

use std::{fmt, str::FromStr};

use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// A signature algorithm. `none` and those with shared secrets do not exist here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// RSA (PKCS #1) with SHA-256.
    Rs256,
    /// RSA (PSS) with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

/// The text names no algorithm that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an algorithm is one of `RS256`, `PS256`, `ES256`, `ES384` and `EdDSA`")]
pub struct UnknownAlgorithm;

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 5] = [Self::Rs256, Self::Ps256, Self::Es256, Self::Es384, Self::EdDsa];

    /// Returns the name in the header of a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or(UnknownAlgorithm)
    }
}

/// A public key, as bytes.
#[derive(Debug, Clone)]
pub(crate) enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point in its uncompressed form.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// Whether signatures of this algorithm are made with keys of this kind.
    pub(crate) fn suits(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa { .. } => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
            Self::P256(_) => algorithm == Algorithm::Es256,
            Self::P384(_) => algorithm == Algorithm::Es384,
            Self::Ed25519(_) => algorithm == Algorithm::EdDsa,
        }
    }

    pub(crate) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.suits(algorithm) {
            return false;
        }
        let plain = |algorithm: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match self {
            Self::Rsa { modulus, exponent } => {
                let parameters: &RsaParameters = match algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, message, signature).is_ok()
            }
            Self::P256(point) => plain(&signature::ECDSA_P256_SHA256_FIXED, point),
            Self::P384(point) => plain(&signature::ECDSA_P384_SHA384_FIXED, point),
            Self::Ed25519(point) => plain(&signature::ED25519, point),
        }
    }
}
