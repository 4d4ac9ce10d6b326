//! A resource `skill://NAME` with the `SKILL.md`, and `skill://NAME/` with all other files.

use skillwire_trust::{FetchRoute, Offer, Origin, Refusal, UnreadSkill};

use super::{
    Dialect,
    found::{Found, uri_of_name},
    resources::Resource,
};

/// Takes a skill whose collection is listed as well.
pub(super) fn skill(
    origin: &Origin,
    resource: &Resource,
    all: &[Resource],
) -> Option<Result<UnreadSkill, Refusal>> {
    let name = bare_name(&resource.uri)?;
    let collection = format!("{}/", resource.uri);
    all.iter().find(|other| other.uri == collection)?;
    let route = FetchRoute::Collection(resource.uri.clone(), collection);
    let description = resource.description.as_deref();
    let uri = uri_of_name(name);
    let found = Found { uri: &uri, name, description, frontmatter: None };
    Some(found.listed(origin, Offer::new(Dialect::Skilljack, route)))
}

/// The name in a URI that has nothing but a name.
pub(super) fn bare_name(uri: &str) -> Option<&str> {
    uri.strip_prefix("skill://").filter(|name| !name.is_empty() && !name.contains('/'))
}
