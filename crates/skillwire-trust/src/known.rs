//! A skill as far as a listing tells: whole, mentioned by an older server, or contradictory.

use std::sync::Arc;

use skillwire_core::{ContentSet, Resources, SkillEntry, SkillName};
use skillwire_dialects::{Dialect, OfferedSkill, SkillOffer};

use crate::{
    integrity::Integrity,
    listed::{EntrySource, ListedSkill},
    origin::{Origin, SkillId},
    refusal::{Reason, Refusal},
};

/// A skill that a server lists in an older dialect and whose `SKILL.md` was not read yet.
///
/// The entry holds what the listing tells: at least name and description, never a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadSkill {
    id: SkillId,
    entry: Arc<SkillEntry>,
    offer: Arc<SkillOffer>,
}

impl UnreadSkill {
    /// A skill that an origin offers.
    pub fn new(origin: Origin, entry: Arc<SkillEntry>, offer: Arc<SkillOffer>) -> Self {
        Self { id: SkillId { origin, uri: entry.uri.clone() }, entry, offer }
    }

    /// A skill that a listing of an origin has.
    pub fn offered(origin: &Origin, skill: OfferedSkill) -> Self {
        let entry = Arc::new(skill.entry());
        Self::new(origin.clone(), entry, Arc::new(skill.offer))
    }

    /// What the skill is known by.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// The entry, as far as the listing tells.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        &self.entry
    }

    /// What its server promised.
    pub fn offer(&self) -> &Arc<SkillOffer> {
        &self.offer
    }

    /// The skill as it is passed on to other hosts: without digests, since nothing was read.
    pub fn passed_on(&self) -> ListedSkill {
        let entry = SkillEntry { resources: Resources::Dynamic, ..(*self.entry).clone() };
        ListedSkill::new(self.id.origin.clone(), Arc::new(entry), EntrySource::Named)
    }
}

/// A skill for which one listing had two different entries. Neither may be used: the server has to
/// be asked for the skill by its URI.
#[derive(Debug, Clone, PartialEq)]
pub struct ContradictedSkill(Box<KnownSkill>);

impl ContradictedSkill {
    /// The skill as the listing mentioned it first.
    pub fn first(&self) -> &KnownSkill {
        &self.0
    }
}

/// A skill as far as a listing tells.
#[derive(Debug, Clone, PartialEq)]
pub enum KnownSkill {
    /// The entry is whole, so that the skill can be approved.
    Listed(ListedSkill),
    /// An older server mentions the skill; its `SKILL.md` has to be read first.
    Unread(UnreadSkill),
    /// The listing contradicts itself; the server has to be asked again.
    Contradicted(ContradictedSkill),
}

impl KnownSkill {
    /// The same skill, after the listing had another entry for it.
    #[must_use]
    pub fn contradicted(self) -> Self {
        match self {
            Self::Contradicted(_) => self,
            first => Self::Contradicted(ContradictedSkill(Box::new(first))),
        }
    }

    /// What the skill is known by.
    pub fn id(&self) -> &SkillId {
        match self {
            Self::Listed(skill) => skill.id(),
            Self::Unread(skill) => skill.id(),
            Self::Contradicted(skill) => skill.first().id(),
        }
    }

    /// The entry, as far as the listing tells.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        match self {
            Self::Listed(skill) => skill.entry(),
            Self::Unread(skill) => skill.entry(),
            Self::Contradicted(skill) => skill.first().entry(),
        }
    }

    /// The skill's name, which other skills may have too.
    pub fn name(&self) -> &SkillName {
        self.entry().frontmatter.name()
    }

    /// The content the entry promises, unless it is dynamic or was not read yet.
    pub fn content(&self) -> Option<ContentSet> {
        ContentSet::of(self.entry())
    }

    /// What its server promised, where it came in an older dialect.
    pub fn offer(&self) -> Option<&Arc<SkillOffer>> {
        match self {
            Self::Listed(skill) => skill.offer(),
            Self::Unread(skill) => Some(skill.offer()),
            Self::Contradicted(skill) => skill.first().offer(),
        }
    }

    /// How its server offers it.
    pub fn dialect(&self) -> Dialect {
        self.offer().map_or(Dialect::V1, |offer| offer.dialect)
    }

    /// What the bytes of its files will be compared with.
    pub fn integrity(&self) -> Integrity {
        match self {
            Self::Listed(skill) => skill.integrity(),
            Self::Unread(skill) if skill.offer().first_seen => Integrity::FirstSeen,
            Self::Unread(_) => Integrity::Manifest,
            Self::Contradicted(skill) => skill.first().integrity(),
        }
    }

    /// The skill, if its entry can be used as it is.
    pub fn certain(&self) -> Result<&ListedSkill, Refusal> {
        match self {
            Self::Listed(skill) => Ok(skill),
            Self::Unread(skill) => Err(Refusal::new(Reason::NotApproved)
                .about(skill.id())
                .actual("a skill whose `SKILL.md` was not read yet")
                .hint("Ask the server for the skill by its URI.")),
            Self::Contradicted(skill) => Err(Refusal::new(Reason::EntryInconsistent)
                .about(skill.first().id())
                .hint("Ask the server for the skill by its URI.")),
        }
    }
}

impl From<ListedSkill> for KnownSkill {
    fn from(skill: ListedSkill) -> Self {
        Self::Listed(skill)
    }
}

impl From<UnreadSkill> for KnownSkill {
    fn from(skill: UnreadSkill) -> Self {
        Self::Unread(skill)
    }
}
