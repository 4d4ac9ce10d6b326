//! D4: `resources/list` below one URI, as drafts had it before there was an index.
//!
//! An answer is an ordinary page of resources ([`ResourcePage`](crate::ResourcePage)); a server
//! that ignores the scope lists everything it has.

use skillwire_core::SkillName;

use crate::{
    Dialect, FetchRoute, ListedResource, OfferedSkill, RefusedEntry, SkillOffer, offer::Claim,
};

/// The scope that holds every skill.
pub const SCOPE: &str = "skill://";

/// Takes the skills out of a listing, scoped or not.
pub fn offered(resources: &[ListedResource]) -> Vec<Result<OfferedSkill, RefusedEntry>> {
    resources.iter().filter_map(|resource| skill(Dialect::ScopedList, resource)).collect()
}

/// Takes a resource for a skill because its URI looks like one.
pub fn by_look(resource: &ListedResource) -> Option<Result<OfferedSkill, RefusedEntry>> {
    skill(Dialect::PlainResources, resource)
}

fn skill(
    dialect: Dialect,
    resource: &ListedResource,
) -> Option<Result<OfferedSkill, RefusedEntry>> {
    let ListedResource { uri, name: called, description, .. } = resource;
    let root = uri.strip_prefix(SCOPE)?.strip_suffix("/SKILL.md")?;
    let last = root.rsplit('/').next().unwrap_or(root);
    // Where a path may end in something else, the resource is called by the name.
    let free = dialect.name_rule().path_may_differ();
    let called = called.as_deref().filter(|name| free && SkillName::parse(name).is_ok());
    let claim = Claim {
        uri,
        name: called.unwrap_or(last),
        description: description.as_deref(),
        frontmatter: None,
    };
    Some(claim.offered(SkillOffer::new(dialect, FetchRoute::Resources)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResourcePage;

    fn page() -> ResourcePage {
        let resource = |uri: &str, name: &str| ListedResource {
            uri: uri.to_owned(),
            name: Some(name.to_owned()),
            description: Some("x".to_owned()),
            media_type: Some("text/markdown".to_owned()),
        };
        let resources = vec![
            resource("skill://acme/refunds/SKILL.md", "refunds"),
            resource("skill://acme/v2/SKILL.md", "invoices"),
            resource("skill://acme/plain/SKILL.md", "Not a name"),
            resource("skill://acme/refunds/email.md", "email"),
            resource("file:///etc/SKILL.md", "etc"),
        ];
        ResourcePage { resources, next: None }
    }

    fn names(skills: Vec<Result<OfferedSkill, RefusedEntry>>) -> Vec<String> {
        let name = |skill: OfferedSkill| skill.frontmatter.name().to_string();
        skills.into_iter().map(|skill| skill.map_or("refused".to_owned(), name)).collect()
    }

    #[test]
    fn a_path_may_end_in_another_name_than_the_skill_has_d4() {
        let page = ResourcePage::read(&page().write().to_string()).unwrap();
        assert_eq!(names(offered(&page.resources)), ["refunds", "invoices", "plain"]);
    }

    #[test]
    fn by_its_look_a_skill_is_called_as_its_path_ends() {
        let found = page().resources.iter().filter_map(by_look).collect();
        assert_eq!(names(found), ["refunds", "v2", "plain"]);
    }
}
