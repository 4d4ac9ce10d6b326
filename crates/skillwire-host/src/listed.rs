//! A skill that is known: listed by its origin, or confirmed by it.

use std::sync::Arc;

use skillwire_core::{
    content_set::ContentSet,
    entry::{Resources, SkillEntry},
    name::SkillName,
};

use crate::{
    origin::{Origin, SkillId},
    page::ReceivedEntry,
};

/// How an entry became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// From a listing, or from `skills/get` because somebody named the skill.
    Named,
    /// From a listing that has two different entries for it; it must be confirmed before it is used.
    Inconsistent,
    /// From `skills/get` because content did not match.
    Recovered,
}

/// A skill as its origin lists it. Its content is unknown, unchecked and not approved.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    id: SkillId,
    entry: Arc<SkillEntry>,
    source: Source,
    text: Option<Arc<str>>,
}

impl Listed {
    pub(crate) fn new(origin: Origin, entry: Arc<SkillEntry>, source: Source) -> Self {
        Self { id: SkillId { origin, uri: entry.uri.clone() }, entry, source, text: None }
    }

    pub(crate) fn received(origin: Origin, received: ReceivedEntry, source: Source) -> Self {
        Self { text: received.text, ..Self::new(origin, received.entry, source) }
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
    /// It is there if [`Policy::keeps_entry_text`](crate::policy::Policy::keeps_entry_text) says so
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
        self.entry.resources == Resources::Dynamic
    }

    pub(crate) fn source(&self) -> Source {
        self.source
    }

    pub(crate) fn with_source(self, source: Source) -> Self {
        Self { source, ..self }
    }
}
