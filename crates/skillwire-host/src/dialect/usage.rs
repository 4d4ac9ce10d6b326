//! One resource that says how a server's tools are used, and no other skill.

use skillwire_trust::{FetchRoute, Offer, Origin, Refusal, UnreadSkill};

use super::{
    Dialect,
    found::{Found, uri_of_name},
    resources::Resource,
};

/// Takes a resource `skill://A/B` that no other dialect claims.
pub(super) fn guide(origin: &Origin, resource: &Resource) -> Option<Result<UnreadSkill, Refusal>> {
    let (server, rest) = resource.uri.strip_prefix("skill://")?.split_once('/')?;
    let is_guide = !server.is_empty()
        && !rest.is_empty()
        && !rest.contains(['/', '.'])
        && !matches!(rest, "_manifest" | "documents");
    if !is_guide {
        return None;
    }
    let name = format!("{server}-{rest}");
    let uri = uri_of_name(&name);
    let description = resource.description.as_deref();
    let found = Found { uri: &uri, name: &name, description, frontmatter: None };
    let offer = Offer::new(Dialect::Usage, FetchRoute::Alone(resource.uri.clone()));
    // The file has no frontmatter, and nothing else.
    Some(found.listed(origin, Offer { described_elsewhere: true, complete: true, ..offer }))
}
