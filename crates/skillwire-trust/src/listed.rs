//! A skill whose entry is complete, so that the user can approve it.

use std::sync::Arc;

use skillwire_core::{ContentSet, ResourceUri, Resources, SkillEntry, SkillName};
use skillwire_dialects::{Dialect, FetchRoute, SkillOffer};

use crate::{
    integrity::{ApprovalBinding, Integrity},
    origin::{Origin, SkillId},
    record::Approval,
};

/// Why the host asked a server for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntrySource {
    /// The server listed it, or a caller named the skill.
    Named,
    /// A file did not match the previous entry. If a file does not match this entry either, the
    /// skill changes faster than the host can read it.
    Recovered,
}

/// A skill as its origin lists it. Its content is unread, unverified and not approved.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSkill {
    id: SkillId,
    entry: Arc<SkillEntry>,
    source: EntrySource,
    integrity: Integrity,
    /// What the server promised in an older dialect; the released one promises everything in the
    /// entry.
    offer: Option<Arc<SkillOffer>>,
    text: Option<Arc<str>>,
}

impl ListedSkill {
    /// Creates a skill with an entry of the released extension, or of a folder on this machine.
    pub fn new(origin: Origin, entry: Arc<SkillEntry>, source: EntrySource) -> Self {
        let integrity = match entry.resources {
            Resources::Listed(_) => Integrity::Manifest,
            Resources::Dynamic => Integrity::Dynamic,
        };
        let id = SkillId { origin, uri: entry.uri.clone() };
        Self { id, entry, source, integrity, offer: None, text: None }
    }

    /// Adds the JSON text that the server wrote, for policies that keep it.
    #[must_use]
    pub fn with_text(self, text: Option<Arc<str>>) -> Self {
        Self { text, ..self }
    }

    /// Creates a skill of an older dialect, with an entry that the host built after reading
    /// `SKILL.md`.
    pub fn settled(
        origin: Origin,
        entry: Arc<SkillEntry>,
        offer: Arc<SkillOffer>,
        source: EntrySource,
    ) -> Self {
        let listed = Self::new(origin, entry, source);
        let integrity = if offer.first_seen { Integrity::FirstSeen } else { listed.integrity };
        Self { integrity, offer: Some(offer), ..listed }
    }

    /// Creates a skill from its approval, for when the host cannot ask the server.
    pub fn remembered(origin: Origin, approval: &Approval) -> Self {
        let entry = Arc::new(approval.content.entry());
        match approval.binding {
            ApprovalBinding::Manifest => Self::new(origin, entry, EntrySource::Named),
            ApprovalBinding::FirstSeen(dialect) => {
                let offer = SkillOffer {
                    complete: true,
                    ..SkillOffer::new(dialect, FetchRoute::Resources)
                };
                Self::settled(origin, entry, Arc::new(offer), EntrySource::Named)
            }
        }
    }

    /// Returns the id of the skill.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// Returns the entry, as the origin gave it.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        &self.entry
    }

    /// Returns the skill's name, which other skills may share.
    pub fn name(&self) -> &SkillName {
        self.entry.frontmatter.name()
    }

    /// Returns the entry as its server wrote it, with members that this program does not know.
    ///
    /// It is kept only if [`Policy::keeps_entry_text`](crate::Policy::keeps_entry_text) says so and
    /// a server wrote an entry.
    pub fn text(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// Returns the content that the entry promises, unless the skill is dynamic.
    pub fn content(&self) -> Option<ContentSet> {
        ContentSet::of(&self.entry)
    }

    /// Returns what the host compares the bytes of its files with.
    pub fn integrity(&self) -> Integrity {
        self.integrity
    }

    /// Returns the dialect in which the server offers the skill.
    pub fn dialect(&self) -> Dialect {
        self.offer.as_ref().map_or(Dialect::V1, |offer| offer.dialect)
    }

    /// Returns what the server promised, if it speaks an older dialect.
    pub fn offer(&self) -> Option<&Arc<SkillOffer>> {
        self.offer.as_ref()
    }

    /// Returns why the host asked for the entry.
    pub fn source(&self) -> EntrySource {
        self.source
    }

    /// Tells whether a file that the host has not read yet may belong to the skill.
    pub fn may_have(&self, file: &ResourceUri) -> bool {
        let Some(offer) = self.offer.as_ref().filter(|_| self.integrity.is_first_seen()) else {
            return false;
        };
        !offer.complete || offer.promises.contains_key(file)
    }

    /// Tells whether an approval covers this skill as it is now.
    ///
    /// If the host holds files to the bytes it read first, the files it has read must be the same.
    /// An approval of a whole manifest never covers such a skill: it demands more than the dialect
    /// can show.
    pub fn is_covered_by(&self, approval: &Approval) -> bool {
        let Some(content) = self.content() else { return false };
        let bound_to_first_seen = approval.binding.first_seen_in().is_some();
        if approval.revoked || self.integrity.is_first_seen() != bound_to_first_seen {
            return false;
        }
        if !bound_to_first_seen {
            return content == approval.content;
        }
        content.frontmatter() == approval.content.frontmatter()
            && content.files().iter().all(|file| approval.content.file(&file.uri) == Some(file))
    }

    /// Returns what an approval of this skill is bound to; `None` for a skill without digests.
    pub fn binding(&self) -> Option<ApprovalBinding> {
        match self.integrity {
            Integrity::Manifest => Some(ApprovalBinding::Manifest),
            Integrity::FirstSeen => Some(ApprovalBinding::FirstSeen(self.dialect())),
            Integrity::Dynamic => None,
        }
    }

    /// Returns the skill as a relay passes it on to other hosts.
    ///
    /// It becomes dynamic if its server gives no digests, if only an archive has one that would
    /// have to be opened to list the skill, or if `SKILL.md` lacks the frontmatter of the entry.
    #[must_use]
    pub fn passed_on(self) -> Self {
        let dynamic = |offer: &Arc<SkillOffer>| {
            offer.first_seen || offer.dialect.lists_frontmatter() || offer.described_elsewhere
        };
        if !self.offer.as_ref().is_some_and(dynamic) {
            return self;
        }
        let entry = SkillEntry { resources: Resources::Dynamic, ..(*self.entry).clone() };
        Self::new(self.id.origin, Arc::new(entry), self.source)
    }

    /// Adds every file that an earlier approval holds to its first bytes.
    #[must_use]
    pub fn with_pins(&self, pinned: &ContentSet) -> Self {
        Self { entry: Arc::new(pinned.entry()), ..self.clone() }
    }
}
