//! Static tokens: 256 random bits, of which the hub keeps only a hash.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use skillwire_core::Digest;

use crate::{
    access::{Caller, Scope},
    name::{NamespaceName, Subject},
    timestamp::Timestamp,
};

/// What every token begins with, so that scanners for leaked secrets find it.
const PREFIX: &str = "swhub_";

/// A token as its user holds it. It masks itself when it is printed for debugging.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret([u8; 32]);

/// The text is not a token of a hub. It does not say more, so that nothing of a secret is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token of a hub is `swhub_` and 64 hexadecimal digits")]
pub struct InvalidToken;

impl TokenSecret {
    /// Takes 32 bytes from the system's random source.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the text for the user, which is shown once.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", Digest::from_bytes(self.0).hex())
    }

    /// Returns the hash that the hub keeps: that of the text, as callers send it.
    ///
    /// A plain hash is enough: a secret of 256 random bits cannot be guessed, so nothing has to slow the
    /// guesses down.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Digest::of(self.expose().as_bytes()))
    }
}

impl FromStr for TokenSecret {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let hex = text.strip_prefix(PREFIX).ok_or(InvalidToken)?;
        let digest: Digest = format!("sha256:{hex}").parse().map_err(|_| InvalidToken)?;
        Ok(Self(*digest.as_bytes()))
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}…")
    }
}

/// The hash of a token, under which it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash(Digest);

impl TokenHash {
    /// Takes a hash that was kept.
    pub fn from_digest(digest: Digest) -> Self {
        Self(digest)
    }

    /// Returns the hash.
    pub fn digest(&self) -> &Digest {
        &self.0
    }

    /// Returns the text under which the hub keeps it.
    pub fn hex(&self) -> String {
        self.0.hex()
    }
}

/// A token as the hub keeps and lists it; without its secret and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenRecord {
    /// Its number.
    pub id: u64,
    /// What its owner calls it.
    pub name: String,
    /// Who acts when it is used.
    pub subject: Subject,
    /// Whether it administers the hub.
    pub administrator: bool,
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// The namespaces it is limited to; none is every namespace.
    pub namespaces: Option<BTreeSet<NamespaceName>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: Subject,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl TokenRecord {
    /// A token for a subject that reads, without an end and without limits.
    pub fn new(name: String, subject: Subject, at: Timestamp, created_by: Subject) -> Self {
        Self {
            id: 0,
            name,
            subject,
            administrator: false,
            scopes: BTreeSet::from([Scope::Read]),
            namespaces: None,
            created_at: at,
            created_by,
            expires_at: None,
            revoked_at: None,
        }
    }

    /// Whether it can be used at a moment.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Returns the caller that uses it.
    pub fn caller(&self) -> Caller {
        let mut caller = Caller::new(self.subject.clone()).with_scopes(self.scopes.iter().copied());
        caller.administrator = self.administrator;
        caller.namespaces.clone_from(&self.namespaces);
        caller
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_masks_itself() {
        let secret = TokenSecret::from_random([7; 32]);
        assert_eq!(secret.expose().parse(), Ok(secret.clone()));
        assert!(!format!("{secret:?}").contains("07"));
        assert_ne!(secret.hash().hex(), Digest::from_bytes([7; 32]).hex());
        for bad in ["", "swhub_", "swhub_07", &secret.expose().to_uppercase()] {
            assert!(bad.parse::<TokenSecret>().is_err());
        }
    }

    #[test]
    fn a_token_ends_at_its_moment_and_when_it_is_revoked() {
        let at = Timestamp::from_millis(1_000);
        let who: Subject = "ana".parse().unwrap();
        let mut token = TokenRecord::new("ci".into(), who.clone(), at, who);
        assert!(token.is_valid(at));
        token.expires_at = Some(at);
        assert!(!token.is_valid(at));
        assert!(token.is_valid(Timestamp::from_millis(999)));
        token.revoked_at = Some(at);
        assert!(!token.is_valid(Timestamp::from_millis(999)));
    }
}
