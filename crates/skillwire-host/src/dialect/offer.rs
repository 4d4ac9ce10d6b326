//! What a server promised about a skill of an older dialect, and where its bytes are.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};
use skillwire_archive::Format;
use skillwire_core::{
    digest::Digest,
    entry::{Resources, SkillEntry},
    frontmatter::Frontmatter,
    uri::{ResourceUri, SkillUri},
};

use super::Dialect;
use crate::{
    listed::Listed,
    origin::{Origin, SkillId},
    refusal::{Reason, Refusal},
};

/// What stands in for a description that a listing does not give.
const UNDESCRIBED: &str = "Described only in its SKILL.md.";

/// Where the bytes of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Road {
    /// Each file is a resource under its own URI.
    Live,
    /// Each file is a resource under its own URI, and a resource lists them.
    Manifest(String),
    /// `SKILL.md` is this resource, and there is nothing else.
    Alone(String),
    /// `SKILL.md` is the first resource, and all other files come together in the second.
    Collection(String, String),
    /// `SKILL.md` is the first resource, and the second lists the others.
    Documents(String, String),
    /// The server answers `skills/get` for this name.
    ByName(String),
    /// The server answers `skills/read` for this name.
    Page(String),
    /// There is only `SKILL.md`, at this address of the web.
    WebFile(String),
    /// Each file is below this address of the web.
    WebFolder(String),
    /// Everything is in one archive.
    Archive {
        /// Where the archive is read.
        url: String,
        /// What kind it is, where its entry says so; else the server says it.
        format: Option<Format>,
        /// What its bytes should be.
        digest: Option<Digest>,
    },
}

/// What was promised about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Promise {
    pub(crate) digest: Option<Digest>,
    pub(crate) size: Option<u64>,
}

/// What a server promised about a skill of an older dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub(crate) dialect: Dialect,
    pub(crate) road: Road,
    pub(crate) promises: BTreeMap<ResourceUri, Promise>,
    /// Whether a file without a promise is no file of the skill.
    pub(crate) complete: bool,
    /// Whether some file has nothing to be compared with but what was seen first.
    pub(crate) first_seen: bool,
    /// Whether name and description are not in the file but come from the listing.
    pub(crate) described_elsewhere: bool,
}

impl Offer {
    /// An offer about which nothing is promised.
    pub(crate) fn new(dialect: Dialect, road: Road) -> Self {
        Self {
            dialect,
            road,
            promises: BTreeMap::new(),
            complete: false,
            first_seen: true,
            described_elsewhere: false,
        }
    }

    /// Adds a promise about a file.
    #[must_use]
    pub(crate) fn promising(mut self, file: &ResourceUri, promise: Promise) -> Self {
        self.promises.insert(file.clone(), promise);
        self
    }

    /// Tells whether the listing had the whole frontmatter, so that nothing has to be read for it.
    pub(crate) fn tells_frontmatter(&self) -> bool {
        matches!(self.dialect, Dialect::Draft | Dialect::Index)
    }

    /// Tells whether servers of this dialect may have a `SKILL.md` without frontmatter.
    pub(crate) fn may_lack_frontmatter(&self) -> bool {
        matches!(self.dialect, Dialect::FastMcp | Dialect::Usage | Dialect::PlainResources)
    }

    /// How the skill is offered.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Compares bytes with what was promised about their file.
    pub(crate) fn check(
        &self,
        skill: &SkillId,
        file: &ResourceUri,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let Promise { digest, size } = self.promises.get(file).copied().unwrap_or_default();
        let refuse = |reason| Refusal::new(reason).skill(skill).file(file);
        let actual = bytes.len() as u64;
        if let Some(size) = size.filter(|size| *size != actual) {
            let refusal = refuse(Reason::SizeMismatch).expected(format!("{size} bytes"));
            return Err(refusal.actual(format!("{actual} bytes")));
        }
        let actual = Digest::of(bytes);
        match digest.filter(|digest| *digest != actual) {
            Some(digest) => Err(refuse(Reason::DigestMismatch).expected(digest).actual(actual)),
            None => Ok(()),
        }
    }
}

/// A skill as a reader found it, before it becomes a [`Listed`] one.
pub(super) struct Found<'a> {
    pub(super) uri: &'a str,
    pub(super) name: &'a str,
    pub(super) description: Option<&'a str>,
    pub(super) frontmatter: Option<Map<String, Value>>,
}

impl Found<'_> {
    /// Makes the skill known, or says why it cannot be one.
    pub(super) fn listed(self, origin: &Origin, offer: Offer) -> Result<Listed, Refusal> {
        let refuse = |reason| Refusal::new(reason).skill(origin).file(self.uri.escape_debug());
        let uri = SkillUri::parse(self.uri).map_err(|error| {
            refuse(Reason::UriInvalid)
                .expected("the URI of a `SKILL.md` in normal form")
                .actual(format!("one that {error}"))
        })?;
        let fields = self.frontmatter.unwrap_or_else(|| {
            let description = self.description.map(str::trim).filter(|text| !text.is_empty());
            let description = description.unwrap_or(UNDESCRIBED);
            let text = |text: &str| Value::from(text);
            [("name", text(self.name)), ("description", text(description))]
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect()
        });
        let frontmatter = Frontmatter::from_fields(fields).map_err(|error| {
            let about_name = error.about_name();
            let reason = if about_name { Reason::NameInvalid } else { Reason::FrontmatterInvalid };
            refuse(reason).expected(error.expected()).actual(error.actual())
        })?;
        // Only one draft let a path say something else than the name.
        let free = matches!(offer.dialect(), Dialect::ScopedList);
        if !free && frontmatter.name().as_str() != uri.root().name() {
            return Err(refuse(Reason::NameMismatch)
                .expected(format!("the name `{}`, as in the URI", uri.root().name()))
                .actual(format!("`{}`", frontmatter.name())));
        }
        let entry = SkillEntry { uri, frontmatter, resources: Resources::Dynamic };
        Ok(Listed::offered(origin.clone(), Arc::new(entry), Arc::new(offer)))
    }
}

/// The URI a skill is known by that its server addresses by name alone.
pub(super) fn uri_of_name(name: &str) -> String {
    format!("skill://{name}/SKILL.md")
}

/// A skill that the user named and no listing mentions.
pub(crate) fn unlisted(origin: &Origin, uri: &SkillUri) -> Result<Listed, Refusal> {
    let name = uri.root().name();
    let found = Found { uri: uri.as_str(), name: &name, description: None, frontmatter: None };
    found.listed(origin, Offer::new(Dialect::Templates, Road::Live))
}
