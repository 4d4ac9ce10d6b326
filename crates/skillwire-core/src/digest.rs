//! SHA-256 digests in the one form the Skills extension knows.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of a file's raw bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Takes 32 bytes that a SHA-256 hasher made.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 64 lower-case hexadecimal digits, without the prefix.
    pub fn hex(&self) -> String {
        DigestText::of(self).as_str()[PREFIX.len()..].to_owned()
    }

    /// Returns the 32 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DigestText::of(self).as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(DigestText::of(self).as_str())
    }
}

const PREFIX: &str = "sha256:";

/// A digest as it is written, made at once: there are hundreds of thousands in a large listing.
struct DigestText([u8; PREFIX.len() + 64]);

impl DigestText {
    fn of(digest: &Digest) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; PREFIX.len() + 64];
        let (prefix, hex) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for (byte, pair) in digest.0.iter().zip(hex.chunks_exact_mut(2)) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Self(text)
    }

    fn as_str(&self) -> &str {
        // Made of ASCII alone, so there is always a text.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The text is not `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct InvalidDigest;

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let hex = text.strip_prefix(PREFIX).ok_or(InvalidDigest)?.as_bytes();
        if hex.len() != 64 {
            return Err(InvalidDigest);
        }
        let nibble = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidDigest),
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn digest_is_sha256_and_64_lowercase_hex_srv_45() {
        assert_eq!(Digest::of(b"").to_string(), EMPTY);
        assert_eq!(format!("{:?}", Digest::of(b"")), EMPTY);
        assert_eq!(EMPTY.parse::<Digest>().unwrap(), Digest::of(b""));
        for bad in [
            EMPTY.to_uppercase(),
            EMPTY.replace("sha256", "SHA256"),
            EMPTY.replace("sha256", "sha512"),
            EMPTY[..EMPTY.len() - 1].to_owned(),
            format!("{EMPTY} "),
            EMPTY.replace("e3b0", "E3B0"),
            EMPTY.trim_start_matches("sha256:").to_owned(),
            EMPTY.replace("e3b0", "éb0"),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
