//! Opaque cursors: each holds the last key of a page, sealed.
//!
//! A cursor names a key, not a position, so it stays valid when the catalogue changes. The seal
//! binds it to the listing and the caller it was made for, so the server remembers nothing per
//! client.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const SEAL_BYTES: usize = 16;

/// The longest cursor that is opened; a key is a URI and much shorter.
const MAX_CURSOR_BYTES: usize = 16_384;

/// A secret that seals cursors.
#[derive(Clone)]
pub struct CursorSeal([u8; 64]);

impl std::fmt::Debug for CursorSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorSeal(..)")
    }
}

/// The error for a cursor that this server did not make for this listing and this caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor was not made for this listing")]
pub struct InvalidCursor;

impl CursorSeal {
    /// Creates a seal from 32 random bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        // HMAC pads a short key with zeros to its block size. Doing that here fixes the key's
        // length in its type, so that creating the HMAC cannot fail.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&secret);
        Self(block)
    }

    /// Creates the cursor that continues after `key`; `scope` tells listings and callers apart.
    pub fn seal(&self, scope: &[&str], key: &str) -> String {
        let mac = self.mac(scope, key).finalize().into_bytes();
        let mut bytes = Vec::with_capacity(SEAL_BYTES + key.len());
        bytes.extend_from_slice(&mac[..SEAL_BYTES]);
        bytes.extend_from_slice(key.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads back the key of a cursor made by [`seal`](Self::seal) with the same scope.
    pub fn open(&self, scope: &[&str], cursor: &str) -> Result<String, InvalidCursor> {
        if cursor.len() > MAX_CURSOR_BYTES {
            return Err(InvalidCursor);
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
        let (seal, key) = bytes.split_at_checked(SEAL_BYTES).ok_or(InvalidCursor)?;
        let key = std::str::from_utf8(key).map_err(|_| InvalidCursor)?;
        self.mac(scope, key).verify_truncated_left(seal).map_err(|_| InvalidCursor)?;
        Ok(key.to_owned())
    }

    fn mac(&self, scope: &[&str], key: &str) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&self.0.into());
        for part in scope.iter().chain([&key]) {
            // The lengths keep ("a", "bc") apart from ("ab", "c").
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAL: CursorSeal = CursorSeal([7; 64]);

    #[test]
    fn cursors_open_only_for_their_own_listing_and_caller_srv_57() {
        let cursor = SEAL.seal(&["skills/list", "alice"], "skill://a/SKILL.md");
        assert_eq!(SEAL.open(&["skills/list", "alice"], &cursor).unwrap(), "skill://a/SKILL.md");
        assert!(SEAL.open(&["skills/list", "bob"], &cursor).is_err());
        assert!(SEAL.open(&["resources/list", "alice"], &cursor).is_err());
        assert!(CursorSeal::new([8; 32]).open(&["skills/list", "alice"], &cursor).is_err());
        assert!(SEAL.open(&["skills/listalice"], &cursor).is_err());
    }

    #[test]
    fn every_flipped_bit_and_cut_is_refused_v_07() {
        let scope = ["skills/list", ""];
        let cursor = SEAL.seal(&scope, "skill://a/SKILL.md");
        for length in 0..cursor.len() {
            assert!(SEAL.open(&scope, &cursor[..length]).is_err(), "{length}");
        }
        for at in 0..cursor.len() {
            for bit in 0..7 {
                let mut bytes = cursor.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                if let Ok(text) = String::from_utf8(bytes) {
                    assert!(SEAL.open(&scope, &text).is_err(), "{text}");
                }
            }
        }
        assert!(SEAL.open(&scope, &"A".repeat(1_000_000)).is_err());
    }
}
