//! A skill whose entry is complete, so that the user can approve it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use skillwire_core::{ContentSet, Digest, RelPath, ResourceUri, Resources, SkillEntry, SkillName};
use skillwire_dialects::{
    Dialect, FetchRoute, SkillArgument, SkillOffer,
    sep_2076::{self, ArgumentValues, InvalidArguments},
};

use crate::{
    integrity::{ApprovalBinding, Integrity},
    origin::{Origin, SkillId},
    record::Approval,
    refusal::{Reason, Refusal},
    remedy::Remedy,
};

/// The folder under which approvals hold what a server wrote for the arguments of a skill.
const VARIANTS: &str = ".arguments";

/// Why the host asked a server for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntrySource {
    /// The server listed it, or a caller named the skill.
    Named,
    /// A file did not match the previous entry. If a file does not match this entry either, the
    /// skill changes faster than the host can read it.
    Recovered,
    /// It is the one that the user approved, because the server cannot be asked.
    Remembered,
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

    /// Creates a skill that a listing of an older dialect mentions, with an entry that has no digests
    /// because the host has read nothing of it.
    pub(crate) fn mentioned(
        origin: Origin,
        entry: Arc<SkillEntry>,
        offer: Arc<SkillOffer>,
    ) -> Self {
        Self { offer: Some(offer), ..Self::new(origin, entry, EntrySource::Named) }
    }

    /// Creates a skill from its approval, for when the host cannot ask the server.
    pub fn remembered(origin: Origin, approval: &Approval) -> Self {
        let entry = Arc::new(approval.content.entry());
        match approval.binding {
            ApprovalBinding::Manifest => Self::new(origin, entry, EntrySource::Remembered),
            ApprovalBinding::FirstSeen(dialect) => {
                let offer = SkillOffer {
                    complete: true,
                    ..SkillOffer::new(dialect, FetchRoute::Resources)
                };
                Self::settled(origin, entry, Arc::new(offer), EntrySource::Remembered)
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
    /// It is kept only if [`Policy::keeps_entry_text`](crate::Policy::keeps_entry_text) says so, a
    /// server wrote an entry, and [`Self::entry`] would be written otherwise.
    pub fn text(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// Returns what the server and intermediaries say about the skill in `_meta`. Nothing vouches for
    /// it. The released extension has it in the entry's text.
    pub fn meta(&self) -> Option<Value> {
        let of_text = || {
            let entry: Value = serde_json::from_str(self.text.as_deref()?).ok()?;
            entry.get("_meta").filter(|meta| meta.is_object()).cloned()
        };
        let of_offer = self.offer.as_ref().and_then(|offer| offer.facts.meta().cloned());
        of_offer.or_else(of_text)
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

    /// Returns the path of every file besides `SKILL.md`, with its size where it is known; `None` if
    /// the server does not say which files there are.
    pub fn other_files(&self) -> Option<Vec<(RelPath, Option<u64>)>> {
        let listed = match &self.entry.resources {
            Resources::Listed(files) => files.as_slice(),
            Resources::Dynamic if self.offer.is_none() => return None,
            Resources::Dynamic => &[],
        };
        let promises = self.offer.iter().flat_map(|offer| &offer.promises);
        let named = promises.map(|(uri, promise)| (uri, promise.size));
        let listed = listed.iter().map(|file| (&file.uri, Some(file.size)));
        let mut files = BTreeMap::new();
        for (uri, size) in named.chain(listed) {
            let path = self.id.uri.below(uri).filter(|path| *path != RelPath::skill_file());
            if let Some(path) = path.filter(|path| path.segments().next() != Some(VARIANTS)) {
                files.insert(path, size);
            }
        }
        let names_files =
            |offer: &Arc<SkillOffer>| offer.names_files || offer.complete || !offer.first_seen;
        let tells = self.offer.as_ref().is_none_or(names_files);
        (tells || !files.is_empty()).then(|| files.into_iter().collect())
    }

    /// Returns the arguments that the skill's instructions take.
    pub fn arguments(&self) -> &[SkillArgument] {
        self.offer.as_ref().map_or(&[], |offer| offer.facts.arguments())
    }

    fn arguments_in_words(&self) -> String {
        let names = self.arguments().iter().map(|known| format!("`{}`", known.name.escape_debug()));
        match names.collect::<Vec<_>>().as_slice() {
            [] => "The skill takes no arguments.".to_owned(),
            [name] => format!("The skill takes the argument {name}."),
            names => format!("The skill takes the arguments {}.", names.join(", ")),
        }
    }

    /// Returns the values of its arguments that the skill is loaded with.
    pub fn argument_values(&self) -> Option<&ArgumentValues> {
        match &self.offer.as_ref()?.route {
            FetchRoute::SkillsGet { arguments, .. } if !arguments.is_empty() => Some(arguments),
            _ => None,
        }
    }

    /// Sets the values of the skill's arguments. Its server must need no other and know all of them.
    pub fn with_arguments(&self, values: &ArgumentValues) -> Result<Self, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(&self.id);
        sep_2076::check_arguments(self.arguments(), values).map_err(|invalid| match invalid {
            InvalidArguments::Missing(name) => refuse(Reason::ArgumentMissing)
                .expected(format!("a value for the argument `{}`", name.escape_debug()))
                .remedy(Remedy::GiveArgument(self.id.clone(), name.into())),
            invalid => {
                refuse(Reason::ArgumentUnknown).actual(invalid).hint(self.arguments_in_words())
            }
        })?;
        let Some(offer) = self.offer.as_ref().filter(|_| !values.is_empty()) else {
            return Ok(self.clone());
        };
        let mut offer = (**offer).clone();
        if let FetchRoute::SkillsGet { arguments, .. } = &mut offer.route {
            arguments.clone_from(values);
        }
        Ok(Self { offer: Some(Arc::new(offer)), ..self.clone() })
    }

    /// Returns the URI under which an approval holds the `SKILL.md` that the server wrote for the
    /// values of the skill's arguments. No server has such a file.
    pub fn variant(&self) -> Option<ResourceUri> {
        let values = serde_json::to_string(self.argument_values()?).ok()?;
        let digest = Digest::of(values.as_bytes()).to_string();
        let digest = digest.split(':').next_back().unwrap_or_default();
        let path = RelPath::parse(&format!("{VARIANTS}/{digest}")).ok()?;
        Some(self.id.uri.root().child(&path))
    }

    /// Replaces what the server promised, after it was asked for more.
    #[must_use]
    pub fn with_offer(self, offer: SkillOffer) -> Self {
        Self { offer: Some(Arc::new(offer)), ..self }
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

    /// Tells whether an approval covers this skill, or may cover it if a listing of an older dialect
    /// only mentions the skill: then the approval must agree with what the listing promises.
    ///
    /// This is no reason to load the skill: [`Self::is_covered_by`] decides after it was read.
    pub fn may_be_covered_by(&self, approval: &Approval) -> bool {
        let Some(offer) = self.offer.as_ref().filter(|_| self.content().is_none()) else {
            return self.is_covered_by(approval);
        };
        let approved = &approval.content;
        let described =
            !offer.dialect.lists_frontmatter() || *approved.frontmatter() == self.entry.frontmatter;
        let kept = offer.promises.iter().all(|(uri, promise)| match approved.file(uri) {
            Some(file) => {
                promise.digest.is_none_or(|digest| digest == file.digest)
                    && promise.size.is_none_or(|size| size == file.size)
            }
            // A file that nothing has read yet is pinned when it is read.
            None => approval.binding.first_seen_in().is_some(),
        });
        !approval.revoked && described && kept
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
        match &self.offer {
            Some(offer) if dynamic(offer) && self.content().is_some() => {
                let entry = SkillEntry { resources: Resources::Dynamic, ..(*self.entry).clone() };
                Self { entry: Arc::new(entry), integrity: Integrity::Dynamic, ..self }
            }
            _ => self,
        }
    }

    /// Adds every file that an earlier approval holds to its first bytes.
    #[must_use]
    pub fn with_pins(&self, pinned: &ContentSet) -> Self {
        Self { entry: Arc::new(pinned.entry()), ..self.clone() }
    }
}
