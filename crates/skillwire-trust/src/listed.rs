//! A skill that is known: listed by its origin, or confirmed by it.

use std::sync::Arc;

use skillwire_core::{
    content_set::ContentSet,
    entry::{Resources, SkillEntry},
    name::SkillName,
    uri::ResourceUri,
};
use skillwire_dialects::Dialect;

use crate::{
    offer::{FetchRoute, Offer},
    origin::{Origin, SkillId},
    record::Approval,
};

/// How an entry became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From a listing, or from `skills/get` because somebody named the skill.
    Named,
    /// From a listing that has two different entries for it; it must be confirmed before it is used.
    Inconsistent,
    /// From `skills/get` because content did not match.
    Recovered,
    /// From a listing that says too little; `SKILL.md` must be read before it is used.
    Provisional,
}

/// A skill as its origin lists it. Its content is unknown, unchecked and not approved.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    id: SkillId,
    entry: Arc<SkillEntry>,
    source: Source,
    /// What was promised, in an older dialect; the released one promises all in the entry.
    offer: Option<Arc<Offer>>,
    text: Option<Arc<str>>,
}

impl Listed {
    /// A skill of which this entry is known.
    pub fn new(origin: Origin, entry: Arc<SkillEntry>, source: Source) -> Self {
        Self {
            id: SkillId { origin, uri: entry.uri.clone() },
            entry,
            source,
            text: None,
            offer: None,
        }
    }

    /// A skill of which a server wrote an entry, with that text where the policy keeps it.
    pub fn received(
        origin: Origin,
        entry: Arc<SkillEntry>,
        text: Option<Arc<str>>,
        source: Source,
    ) -> Self {
        Self { text, ..Self::new(origin, entry, source) }
    }

    /// A skill of an older dialect, of which only the listing is known.
    pub fn offered(origin: Origin, entry: Arc<SkillEntry>, offer: Arc<Offer>) -> Self {
        Self { offer: Some(offer), ..Self::new(origin, entry, Source::Provisional) }
    }

    /// The same skill after its `SKILL.md` was read.
    #[must_use]
    pub fn settled(&self, entry: Arc<SkillEntry>, offer: Arc<Offer>, source: Source) -> Self {
        Self { offer: Some(offer), ..Self::new(self.id.origin.clone(), entry, source) }
    }

    /// A skill as it was approved in this dialect, for when nobody can be asked.
    pub fn remembered(origin: Origin, approval: &Approval) -> Self {
        let listed = Self::new(origin, Arc::new(approval.content.entry()), Source::Named);
        let offer = approval.first_seen.map(|dialect| {
            let offer = Offer::new(dialect, FetchRoute::Live);
            Arc::new(Offer { complete: true, ..offer })
        });
        Self { offer, ..listed }
    }

    /// How its server offers it.
    pub fn dialect(&self) -> Dialect {
        self.offer.as_ref().map_or(Dialect::V1, |offer| offer.dialect())
    }

    /// Tells whether some of its files have nothing to be compared with but what was seen first.
    pub fn is_first_seen(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.first_seen)
    }

    /// Tells whether it came in an older dialect.
    pub fn is_offered(&self) -> bool {
        self.offer.is_some()
    }

    /// What its server promised, where it came in an older dialect.
    pub fn offer(&self) -> Option<&Arc<Offer>> {
        self.offer.as_ref()
    }

    /// Tells whether a file that was not seen yet may be one of the skill.
    pub fn may_have(&self, file: &ResourceUri) -> bool {
        self.offer.as_ref().is_some_and(|offer| {
            offer.first_seen && (!offer.complete || offer.promises.contains_key(file))
        })
    }

    /// Tells whether an approval is of this skill as it is now.
    ///
    /// Where files are pinned one by one, those that were seen must be the same, and an approval
    /// that demands more than this dialect can show is of something else.
    pub fn is_covered_by(&self, approval: &Approval) -> bool {
        let Some(content) = self.content() else { return false };
        if approval.revoked || self.is_first_seen() != approval.first_seen.is_some() {
            return false;
        }
        if !self.is_first_seen() {
            return content == approval.content;
        }
        content.frontmatter() == approval.content.frontmatter()
            && content.files().iter().all(|file| approval.content.file(&file.uri) == Some(file))
    }

    /// The skill as it is told to others: without digests where its server gives none, where only
    /// an archive has one that nobody has to open to list the skill, or where `SKILL.md` is told
    /// with frontmatter that its bytes do not have.
    #[must_use]
    pub fn passed_on(self) -> Self {
        let dynamic = |offer: &Arc<Offer>| {
            offer.first_seen || offer.tells_frontmatter() || offer.described_elsewhere
        };
        if !self.offer.as_ref().is_some_and(dynamic) {
            return self;
        }
        let entry = SkillEntry { resources: Resources::Dynamic, ..(*self.entry).clone() };
        Self { entry: Arc::new(entry), offer: None, ..self }
    }

    /// The same skill with every file that was pinned before.
    #[must_use]
    pub fn with_pins(&self, pinned: &ContentSet) -> Self {
        Self { entry: Arc::new(pinned.entry()), ..self.clone() }
    }

    /// What the skill is known by.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// The entry, as the origin gave it.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        &self.entry
    }

    /// The entry as its server wrote it, with whatever it holds that nobody here knows of.
    ///
    /// It is there if [`Policy::keeps_entry_text`](crate::Policy::keeps_entry_text) says so
    /// and a server wrote an entry.
    pub fn text(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// Tells whether the origin gave two contents for the skill, so that it must be asked again.
    pub fn is_contradicted(&self) -> bool {
        self.source == Source::Inconsistent
    }

    /// The skill's name, which others may have too.
    pub fn name(&self) -> &SkillName {
        self.entry.frontmatter.name()
    }

    /// The content the entry promises, unless it is dynamic.
    pub fn content(&self) -> Option<ContentSet> {
        ContentSet::of(&self.entry)
    }

    /// Tells whether the skill's files have no digests.
    pub fn is_dynamic(&self) -> bool {
        self.offer.is_none() && self.entry.resources == Resources::Dynamic
    }

    /// How its entry became known.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The same skill, known in another way.
    #[must_use]
    pub fn with_source(self, source: Source) -> Self {
        Self { source, ..self }
    }
}
