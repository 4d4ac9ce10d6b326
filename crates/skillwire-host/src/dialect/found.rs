//! From what a reader of a dialect found to a listed skill.

use std::sync::Arc;

use serde_json::{Map, Value};
use skillwire_core::{Frontmatter, Resources, SkillEntry, SkillUri};
use skillwire_dialects::Dialect;
use skillwire_trust::{FetchRoute, Offer, Origin, Reason, Refusal, UnreadSkill};

/// What stands in for a description that a listing does not give.
const UNDESCRIBED: &str = "Described only in its SKILL.md.";

/// A skill as a reader found it, before it becomes a [`Listed`] one.
pub(super) struct Found<'a> {
    pub(super) uri: &'a str,
    pub(super) name: &'a str,
    pub(super) description: Option<&'a str>,
    pub(super) frontmatter: Option<Map<String, Value>>,
}

impl Found<'_> {
    /// Makes the skill known, or says why it cannot be one.
    pub(super) fn listed(self, origin: &Origin, offer: Offer) -> Result<UnreadSkill, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(origin).file(self.uri.escape_debug());
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
        Ok(UnreadSkill::new(origin.clone(), Arc::new(entry), Arc::new(offer)))
    }
}

/// The URI a skill is known by that its server addresses by name alone.
pub(super) fn uri_of_name(name: &str) -> String {
    format!("skill://{name}/SKILL.md")
}

/// A skill that the user named and no listing mentions.
pub(crate) fn unlisted(origin: &Origin, uri: &SkillUri) -> Result<UnreadSkill, Refusal> {
    let name = uri.root().name();
    let found = Found { uri: uri.as_str(), name: &name, description: None, frontmatter: None };
    found.listed(origin, Offer::new(Dialect::Templates, FetchRoute::Live))
}
