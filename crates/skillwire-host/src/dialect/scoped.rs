//! Skills as the resources of the scope `skill://`.

use skillwire_core::SkillName;
use skillwire_trust::{FetchRoute, Offer, Origin, Refusal, UnreadSkill};

use super::{Dialect, found::Found, resources::Resource};

/// The scope that holds every skill.
pub(super) const SCOPE: &str = "skill://";

/// Takes the skills out of a scoped listing; a server that ignores the scope lists everything.
pub(super) fn read(origin: &Origin, resources: &[Resource]) -> Vec<Result<UnreadSkill, Refusal>> {
    resources.iter().filter_map(|resource| skill(origin, Dialect::ScopedList, resource)).collect()
}

/// A resource whose URI is one of a `SKILL.md`.
pub(super) fn skill(
    origin: &Origin,
    dialect: Dialect,
    resource: &Resource,
) -> Option<Result<UnreadSkill, Refusal>> {
    let Resource { uri, name: called, description, .. } = resource;
    let root = uri.strip_prefix(SCOPE)?.strip_suffix("/SKILL.md")?;
    let last = root.rsplit('/').next().unwrap_or(root);
    // One draft let a path end in something else, and then the resource is called by the name.
    let free = dialect == Dialect::ScopedList;
    let called = called.as_deref().filter(|name| free && SkillName::parse(name).is_ok());
    let name = called.unwrap_or(last);
    let description = description.as_deref();
    let found = Found { uri, name, description, frontmatter: None };
    Some(found.listed(origin, Offer::new(dialect, FetchRoute::Live)))
}
