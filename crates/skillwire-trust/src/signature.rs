//! Who vouches for the content of a skill, and the user's rules about that.

use std::time::SystemTime;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use skillwire_core::{ContentSet, Digest, SkillResource};

use crate::origin::SkillId;

/// A trusted signer that vouches for some content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Voucher {
    /// What the user calls the signer.
    pub name: Box<str>,
    /// The key, certificate or identity; the same text means the same signer.
    pub signer: Box<str>,
    /// Identifies what the user trusts under that name: the key, or the root with the identity. If
    /// the user changes that, what was decided because of it is decided again.
    #[serde(skip)]
    pub trusted: Digest,
    /// When the signer's word ends; a signature over files has no end.
    #[serde(skip)]
    pub until: Option<SystemTime>,
}

impl Voucher {
    /// Tells whether the signer's word still counts.
    pub fn holds(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|end| now < end)
    }
}

/// The user's rule about one skill, by the names of trusted signers. Every list is one of
/// alternatives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SignatureRule {
    /// The skill is loaded only if one of these vouches for it.
    pub required: Vec<Box<str>>,
    /// If one of these vouches for it, the user is not asked whether it may be loaded.
    pub instead_of_asking: Vec<Box<str>>,
    /// The user is shown whether one of these vouches for it.
    pub shown: Vec<Box<str>>,
}

impl SignatureRule {
    /// Sets the signers of whom one must vouch for the skill.
    #[must_use]
    pub fn with_required(self, required: Vec<Box<str>>) -> Self {
        Self { required, ..self }
    }

    /// Sets the signers who spare the user the question whether the skill may be loaded.
    #[must_use]
    pub fn with_instead_of_asking(self, instead_of_asking: Vec<Box<str>>) -> Self {
        Self { instead_of_asking, ..self }
    }

    /// Sets the signers whom the user is shown.
    #[must_use]
    pub fn with_shown(self, shown: Vec<Box<str>>) -> Self {
        Self { shown, ..self }
    }
}

impl SignatureRule {
    /// Tells whether the rule says nothing.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.instead_of_asking.is_empty() && self.shown.is_empty()
    }

    /// Tells whether a decision depends on the signature, so that it is worth reading from a server.
    pub fn decides(&self) -> bool {
        !self.required.is_empty() || !self.instead_of_asking.is_empty()
    }

    /// Returns the names of every signer in the rule, each once.
    pub fn names(&self) -> Vec<&str> {
        let all = self.required.iter().chain(&self.instead_of_asking).chain(&self.shown);
        let mut names: Vec<&str> = all.map(AsRef::as_ref).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// What is known about the signature of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SignatureCheck {
    /// No rule of the user is about this skill.
    #[default]
    NotAsked,
    /// The skill has no signature.
    Unsigned,
    /// The skill has a signature that was not read: nothing is fetched only to show a signer.
    NotRead,
    /// The signature does not vouch for this content; the text continues "the signature".
    Refused(Box<str>),
    /// These trusted signers vouch for exactly this content; there is at least one.
    Vouched(Vec<Voucher>),
}

impl SignatureCheck {
    /// Returns the first signer of these names that vouches for the content.
    pub fn by_one_of(&self, names: &[Box<str>]) -> Option<&Voucher> {
        self.vouchers().iter().find(|voucher| names.contains(&voucher.name))
    }

    /// Returns the signers that vouch for the content.
    pub fn vouchers(&self) -> &[Voucher] {
        match self {
            Self::Vouched(vouchers) => vouchers,
            Self::NotAsked | Self::Unsigned | Self::NotRead | Self::Refused(_) => &[],
        }
    }

    /// Returns one word for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::Unsigned => "unsigned",
            Self::NotRead => "not_read",
            Self::Refused(_) => "refused",
            Self::Vouched(_) => "vouched",
        }
    }
}

impl Serialize for SignatureCheck {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", self.word())?;
        if let Self::Refused(problem) = self {
            map.serialize_entry("problem", &format!("the signature {problem}"))?;
        }
        if let Self::Vouched(vouchers) = self {
            map.serialize_entry("signers", vouchers)?;
        }
        map.end()
    }
}

/// The user's rules about signers, and the check of a signature by them.
pub trait SignatureRules: Send + Sync {
    /// Returns the rule about a skill.
    fn rule(&self, skill: &SkillId) -> SignatureRule;

    /// Returns the names of files at a skill's root in which a signature is looked for, in order.
    fn file_names(&self) -> &[&'static str];

    /// Returns the largest signature that is read.
    fn most_bytes(&self) -> u64;

    /// Checks a signature that lies in the skill, by each signer of the rule. The error continues
    /// "the signature".
    fn verify(
        &self,
        rule: &SignatureRule,
        content: &ContentSet,
        file: &SkillResource,
        signature: &[u8],
        now: SystemTime,
    ) -> Result<Vec<Voucher>, String>;

    /// Tells whether the user still trusts the same signer under the same name.
    fn trusts(&self, voucher: &Voucher) -> bool;
}
