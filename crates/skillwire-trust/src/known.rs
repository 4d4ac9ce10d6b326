//! A skill as a listing describes it: complete, mentioned by an older server, or contradictory.

use std::sync::Arc;

use skillwire_core::{ContentSet, Resources, SkillEntry, SkillName, SkillResource};
use skillwire_dialects::{Dialect, OfferedSkill, SkillArgument, SkillOffer};

use crate::{
    integrity::Integrity,
    listed::ListedSkill,
    origin::{Origin, SkillId},
    record::Approval,
    refusal::{Reason, Refusal},
    run_grants::is_script,
};

/// A skill that a server lists in an older dialect and whose `SKILL.md` the host has not read yet.
///
/// The entry holds what the listing says: at least name and description, never a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadSkill {
    id: SkillId,
    entry: Arc<SkillEntry>,
    offer: Arc<SkillOffer>,
}

impl UnreadSkill {
    /// Creates a skill that an origin offers.
    pub fn new(origin: Origin, entry: Arc<SkillEntry>, offer: Arc<SkillOffer>) -> Self {
        Self { id: SkillId { origin, uri: entry.uri.clone() }, entry, offer }
    }

    /// Creates a skill from the listing of an origin.
    pub fn offered(origin: &Origin, skill: OfferedSkill) -> Self {
        let entry = Arc::new(skill.entry());
        Self::new(origin.clone(), entry, Arc::new(skill.offer))
    }

    /// Returns the id of the skill.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// Returns the entry, as far as the listing describes it.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        &self.entry
    }

    /// Returns what the server promised.
    pub fn offer(&self) -> &Arc<SkillOffer> {
        &self.offer
    }

    /// Returns the skill as a relay passes it on: without digests, since the host has read nothing.
    pub fn passed_on(&self) -> ListedSkill {
        let entry = SkillEntry { resources: Resources::Dynamic, ..(*self.entry).clone() };
        ListedSkill::mentioned(self.id.origin.clone(), Arc::new(entry), Arc::clone(&self.offer))
    }
}

/// A skill for which one listing had two different entries. The host uses neither: it has to ask
/// the server for the skill by its URI.
#[derive(Debug, Clone, PartialEq)]
pub struct ContradictedSkill(Box<KnownSkill>);

impl ContradictedSkill {
    /// Returns the skill as the listing mentioned it first.
    pub fn first(&self) -> &KnownSkill {
        &self.0
    }
}

/// A skill as a listing describes it.
#[derive(Debug, Clone, PartialEq)]
pub enum KnownSkill {
    /// The entry is complete, so the user can approve the skill.
    Listed(ListedSkill),
    /// An older server mentions the skill; the host has to read its `SKILL.md` first.
    Unread(UnreadSkill),
    /// The listing contradicts itself; the host has to ask the server again.
    Contradicted(ContradictedSkill),
}

impl KnownSkill {
    /// Marks the skill as contradicted, because the listing had another entry for it.
    #[must_use]
    pub fn contradicted(self) -> Self {
        match self {
            Self::Contradicted(_) => self,
            first => Self::Contradicted(ContradictedSkill(Box::new(first))),
        }
    }

    /// Returns the id of the skill.
    pub fn id(&self) -> &SkillId {
        match self {
            Self::Listed(skill) => skill.id(),
            Self::Unread(skill) => skill.id(),
            Self::Contradicted(skill) => skill.first().id(),
        }
    }

    /// Returns the entry, as far as the listing describes it.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        match self {
            Self::Listed(skill) => skill.entry(),
            Self::Unread(skill) => skill.entry(),
            Self::Contradicted(skill) => skill.first().entry(),
        }
    }

    /// Returns the skill's name, which other skills may share.
    pub fn name(&self) -> &SkillName {
        self.entry().frontmatter.name()
    }

    /// Returns the content that the entry promises, unless the skill is dynamic or unread.
    pub fn content(&self) -> Option<ContentSet> {
        ContentSet::of(self.entry())
    }

    /// Returns what the server promised, if it speaks an older dialect.
    pub fn offer(&self) -> Option<&Arc<SkillOffer>> {
        match self {
            Self::Listed(skill) => skill.offer(),
            Self::Unread(skill) => Some(skill.offer()),
            Self::Contradicted(skill) => skill.first().offer(),
        }
    }

    /// Tells whether the skill may have scripts: its entry names one, or its server is an older one
    /// whose listing need not name the files.
    pub fn may_have_scripts(&self) -> bool {
        let is_script = |file: &SkillResource| {
            self.entry().uri.below(&file.uri).is_some_and(|path| is_script(&path))
        };
        match &self.entry().resources {
            _ if self.offer().is_some() => true,
            Resources::Listed(files) => files.iter().any(is_script),
            Resources::Dynamic => false,
        }
    }

    /// Returns the arguments that the skill's instructions take.
    pub fn arguments(&self) -> &[SkillArgument] {
        self.offer().map_or(&[], |offer| offer.facts.arguments())
    }

    /// Tells whether the skill's instructions take arguments.
    pub fn takes_arguments(&self) -> bool {
        !self.arguments().is_empty()
    }

    /// Returns the dialect in which the server offers the skill.
    pub fn dialect(&self) -> Dialect {
        self.offer().map_or(Dialect::V1, |offer| offer.dialect)
    }

    /// Returns what the host will compare the bytes of its files with.
    pub fn integrity(&self) -> Integrity {
        match self {
            Self::Listed(skill) => skill.integrity(),
            Self::Unread(skill) if skill.offer().first_seen => Integrity::FirstSeen,
            Self::Unread(_) => Integrity::Manifest,
            Self::Contradicted(skill) => skill.first().integrity(),
        }
    }

    /// Tells whether an approval may cover the skill, as far as its listing tells.
    ///
    /// Most listings of older servers say nothing about the content of a skill. The host compares
    /// its `SKILL.md` with the approval when it reads it.
    pub fn may_be_covered_by(&self, approval: &Approval) -> bool {
        match self {
            Self::Listed(listed) => listed.may_be_covered_by(approval),
            Self::Unread(unread) => unread.passed_on().may_be_covered_by(approval),
            Self::Contradicted(skill) => match skill.first() {
                Self::Listed(first) => first.may_be_covered_by(approval),
                Self::Unread(_) | Self::Contradicted(_) => false,
            },
        }
    }

    /// Returns the skill as a relay passes it on; none if its server has to be asked for it first.
    ///
    /// An older server whose listing has the frontmatter need not be asked: the skill is passed on
    /// without digests.
    pub fn passed_on(&self) -> Option<ListedSkill> {
        match self {
            Self::Listed(listed) => Some(listed.clone()),
            Self::Unread(unread) if unread.offer().dialect.lists_frontmatter() => {
                Some(unread.passed_on())
            }
            Self::Unread(_) | Self::Contradicted(_) => None,
        }
    }

    /// Returns the skill if its entry can be used as it is.
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
