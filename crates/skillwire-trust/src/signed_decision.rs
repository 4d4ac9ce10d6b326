//! Decisions that a server carries and signed, and the keys that the user trusts for them.

use std::{collections::BTreeMap, time::SystemTime};

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;
use skillwire_core::ContentSet;

use crate::{
    origin::{Origin, SkillId},
    signature::Voucher,
};

/// A decision that a skill may be loaded with exactly its content, by a key that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDecision {
    /// The key that decided; its word ends with the decision.
    pub voucher: Voucher,
    /// The rule that decided, in the signer's words.
    pub policy: Box<str>,
    /// When the content was admitted.
    pub decided_at: SystemTime,
    /// Where the signer says the content comes from, by words such as `origin` and `version`.
    pub provenance: BTreeMap<String, String>,
}

/// What is known about the signed decision of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DecisionCheck {
    /// The user trusts no key for decisions about skills of this server.
    #[default]
    NotAsked,
    /// The server carries no decision about the skill.
    None,
    /// The server carries something that lets nothing be loaded; the text continues "the decision".
    Refused(Box<str>),
    /// A trusted key lets exactly this content be loaded.
    Decided(Box<SignedDecision>),
}

impl DecisionCheck {
    /// Returns the decision, if it counts.
    pub fn decided(&self) -> Option<&SignedDecision> {
        match self {
            Self::Decided(decision) => Some(decision),
            Self::NotAsked | Self::None | Self::Refused(_) => None,
        }
    }

    /// Returns one word for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::None => "none",
            Self::Refused(_) => "refused",
            Self::Decided(_) => "decided",
        }
    }
}

impl Serialize for DecisionCheck {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", self.word())?;
        match self {
            Self::NotAsked | Self::None => {}
            Self::Refused(problem) => {
                map.serialize_entry("problem", &format!("the decision {problem}"))?;
            }
            Self::Decided(decision) => {
                let time = |time| humantime::format_rfc3339_seconds(time).to_string();
                map.serialize_entry("key", &decision.voucher.signer)?;
                map.serialize_entry("policy", &decision.policy)?;
                map.serialize_entry("decided_at", &time(decision.decided_at))?;
                map.serialize_entry("until", &decision.voucher.until.map(time))?;
                map.serialize_entry("provenance", &decision.provenance)?;
            }
        }
        map.end()
    }
}

/// The keys whose signed decisions the user takes instead of a question, by server.
pub trait DecisionKeys: Send + Sync {
    /// Tells whether the user trusts a key for decisions about skills of this origin.
    fn has_key_for(&self, origin: &Origin) -> bool;

    /// Returns the member of an entry's `_meta` that carries a decision.
    fn member(&self) -> &'static str;

    /// Checks a decision that a skill's server carries. The error continues "the decision".
    fn verify(
        &self,
        skill: &SkillId,
        content: &ContentSet,
        carried: &Value,
        now: SystemTime,
    ) -> Result<SignedDecision, String>;

    /// Tells whether the user still trusts the key for skills of this origin.
    fn trusts(&self, origin: &Origin, voucher: &Voucher) -> bool;
}
