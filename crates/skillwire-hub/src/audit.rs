//! The audit log: append-only, each entry chained to the one before by a hash.
//!
//! The chain covers commitments to the actor and to the details, not their text: the hash over a random
//! salt and the text. A purge can therefore replace a person's name by a pseudonym and drop the salt,
//! and the chain still holds: it shows that nothing else was changed.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, Digest};

use crate::timestamp::Timestamp;

/// What an entry of the audit log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuditAction {
    /// A version was published.
    Publish,
    /// A version's state changed.
    Transition,
    /// A channel was promoted or rolled back, or `latest` followed.
    MoveChannel,
    /// A namespace was made or changed.
    ChangeNamespace,
    /// A role was granted or taken away.
    Grant,
    /// A token was made.
    CreateToken,
    /// A token was revoked.
    RevokeToken,
    /// Content was revoked everywhere.
    RevokeContent,
    /// A decision about content was taken.
    Decide,
    /// A version or a person was erased.
    Purge,
    /// Blobs that nothing names were deleted.
    CollectGarbage,
    /// A blob was found changed or missing.
    BlobDamaged,
    /// A file was read.
    Read,
    /// A trusted publisher was added or removed.
    TrustPublisher,
    /// The hub was restored or moved.
    Restore,
    /// An upstream was added, changed or removed.
    ChangeUpstream,
    /// An upstream offers other content than before.
    Offer,
    /// A tool or prompt of an upstream was called.
    Call,
}

impl AuditAction {
    /// Every action.
    pub const ALL: [Self; 18] = [
        Self::Publish,
        Self::Transition,
        Self::MoveChannel,
        Self::ChangeNamespace,
        Self::Grant,
        Self::CreateToken,
        Self::RevokeToken,
        Self::RevokeContent,
        Self::Decide,
        Self::Purge,
        Self::CollectGarbage,
        Self::BlobDamaged,
        Self::Read,
        Self::TrustPublisher,
        Self::Restore,
        Self::ChangeUpstream,
        Self::Offer,
        Self::Call,
    ];

    /// Returns the word for records; the same as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Transition => "transition",
            Self::MoveChannel => "move-channel",
            Self::ChangeNamespace => "change-namespace",
            Self::Grant => "grant",
            Self::CreateToken => "create-token",
            Self::RevokeToken => "revoke-token",
            Self::RevokeContent => "revoke-content",
            Self::Decide => "decide",
            Self::Purge => "purge",
            Self::CollectGarbage => "collect-garbage",
            Self::BlobDamaged => "blob-damaged",
            Self::Read => "read",
            Self::TrustPublisher => "trust-publisher",
            Self::Restore => "restore",
            Self::ChangeUpstream => "change-upstream",
            Self::Offer => "offer",
            Self::Call => "call",
        }
    }
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AuditAction {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|action| action.as_str() == text).ok_or(())
    }
}

/// A hash over a salt and a text, which shows later what the text was and hides it once the salt is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commitment(Digest);

impl Commitment {
    /// Commits to a text.
    pub fn to(salt: &[u8; 16], text: &str) -> Self {
        Self(Digest::of(&[salt.as_slice(), text.as_bytes()].concat()))
    }

    /// Takes a commitment that was kept.
    pub fn from_digest(digest: Digest) -> Self {
        Self(digest)
    }

    /// Returns the hash.
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

/// The hash of an entry, which covers every entry before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHash(Digest);

impl ChainHash {
    /// The hash before the first entry.
    pub fn genesis() -> Self {
        Self(Digest::of(b"skillwire hub audit 1"))
    }

    /// Takes a hash that was kept.
    pub fn from_digest(digest: Digest) -> Self {
        Self(digest)
    }

    /// Returns the hash.
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

/// An entry before it has a number and a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// What happened.
    pub action: AuditAction,
    /// What it happened to: a skill, a version, a namespace, a token.
    pub target: String,
    /// The content it is about.
    pub content: Option<ContentId>,
    /// More about it, as JSON.
    pub details: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number; the first is 1, and numbers have no gaps.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it; a pseudonym after a purge.
    pub actor: String,
    /// The salt of the actor's commitment; none after a purge.
    pub actor_salt: Option<[u8; 16]>,
    /// The commitment to the actor.
    pub actor_commitment: Commitment,
    /// What happened.
    pub action: AuditAction,
    /// What it happened to.
    pub target: String,
    /// The content it is about.
    pub content: Option<ContentId>,
    /// More about it, as JSON; empty after a purge.
    pub details: String,
    /// The salt of the details' commitment; none after a purge.
    pub details_salt: Option<[u8; 16]>,
    /// The commitment to the details.
    pub details_commitment: Commitment,
    /// The hash of this entry and all before it.
    pub hash: ChainHash,
}

impl AuditEntry {
    /// Chains a new entry to the hash of the one before. `salt` is random.
    pub fn chain(
        new: NewAuditEntry,
        number: u64,
        at: Timestamp,
        actor: &str,
        salt: [u8; 32],
        previous: ChainHash,
    ) -> Self {
        let (mut actor_salt, mut details_salt) = ([0; 16], [0; 16]);
        actor_salt.copy_from_slice(&salt[..16]);
        details_salt.copy_from_slice(&salt[16..]);
        let mut entry = Self {
            number,
            at,
            actor: actor.to_owned(),
            actor_salt: Some(actor_salt),
            actor_commitment: Commitment::to(&actor_salt, actor),
            action: new.action,
            target: new.target,
            content: new.content,
            details_commitment: Commitment::to(&details_salt, &new.details),
            details: new.details,
            details_salt: Some(details_salt),
            hash: previous,
        };
        entry.hash = entry.hash_after(previous);
        entry
    }

    /// The hash that the entry must have after the one before it.
    fn hash_after(&self, previous: ChainHash) -> ChainHash {
        // Lengths precede texts, so that no two entries have the same bytes.
        let content = self.content.map(|content| content.to_string()).unwrap_or_default();
        let line = format!(
            "{} {} {} {} {} {} {}:{} {}",
            previous.0,
            self.number,
            self.at.as_millis(),
            self.action,
            self.actor_commitment.0,
            self.details_commitment.0,
            self.target.len(),
            self.target,
            content,
        );
        ChainHash(Digest::of(line.as_bytes()))
    }

    /// Whether a text that is still there is the one that was committed to.
    fn commitments_hold(&self) -> bool {
        let holds = |salt: Option<[u8; 16]>, text: &str, commitment: Commitment| {
            salt.is_none_or(|salt| Commitment::to(&salt, text) == commitment)
        };
        holds(self.actor_salt, &self.actor, self.actor_commitment)
            && holds(self.details_salt, &self.details, self.details_commitment)
    }
}

/// The first entry at which the chain does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The audit log was changed: entry {number} does not follow from the entries before it.")]
pub struct BrokenChain {
    /// The number that was expected.
    pub number: u64,
}

/// Checks entries that follow `previous`, the number and hash of the last entry that was checked.
pub fn verify_chain<'a>(
    previous: (u64, ChainHash),
    entries: impl IntoIterator<Item = &'a AuditEntry>,
) -> Result<(u64, ChainHash), BrokenChain> {
    let mut last = previous;
    for entry in entries {
        let number = last.0 + 1;
        let follows = entry.number == number
            && entry.hash == entry.hash_after(last.1)
            && entry.commitments_hold();
        if !follows {
            return Err(BrokenChain { number });
        }
        last = (number, entry.hash);
    }
    Ok(last)
}

/// Which entries of the audit log a caller wants to see; what is not set does not limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditFilter {
    /// Entries about this content.
    pub content: Option<ContentId>,
    /// Entries of this actor.
    pub actor: Option<String>,
    /// Entries about this target; for a skill also those about its versions.
    pub target: Option<String>,
    /// Entries with this action.
    pub action: Option<AuditAction>,
    /// Entries from this moment on.
    pub since: Option<Timestamp>,
    /// Entries before this moment.
    pub until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Vec<AuditEntry> {
        let mut entries: Vec<AuditEntry> = Vec::new();
        for number in 1..=4 {
            let previous = entries.last().map_or(ChainHash::genesis(), |entry| entry.hash);
            let new = NewAuditEntry {
                action: AuditAction::Publish,
                target: format!("acme/skill-{number}"),
                content: None,
                details: r#"{"reason":"first"}"#.into(),
            };
            let at = Timestamp::from_millis(1_000);
            entries.push(AuditEntry::chain(new, number, at, "ana", [9; 32], previous));
        }
        entries
    }

    fn check(entries: &[AuditEntry]) -> Result<u64, BrokenChain> {
        verify_chain((0, ChainHash::genesis()), entries).map(|(number, _)| number)
    }

    #[test]
    fn an_entry_that_was_changed_removed_or_moved_breaks_the_chain() {
        assert_eq!(check(&log()), Ok(4));
        let broken = |change: fn(&mut Vec<AuditEntry>)| {
            let mut entries = log();
            change(&mut entries);
            check(&entries).map_err(|broken| broken.number)
        };
        assert_eq!(broken(|log| log[1].target = "acme/other".into()), Err(2));
        assert_eq!(broken(|log| log[2].actor = "eve".into()), Err(3));
        assert_eq!(broken(|log| log[0].details = "{}".into()), Err(1));
        assert_eq!(broken(|log| drop(log.remove(1))), Err(2));
        assert_eq!(broken(|log| log.swap(2, 3)), Err(3));
    }

    #[test]
    fn a_person_is_erased_without_breaking_the_chain() {
        let mut entries = log();
        for entry in &mut entries {
            entry.actor = "erased-1".into();
            entry.actor_salt = None;
            entry.details = String::new();
            entry.details_salt = None;
        }
        assert_eq!(check(&entries), Ok(4));
    }
}
