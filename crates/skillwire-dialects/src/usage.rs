//! D10: `skill://SERVER/usage`, one guide to the tools of a server, and a sentence that points at
//! it.

use skillwire_core::SkillUri;

use crate::{
    AliasResource, Dialect, FetchRoute, ListedResource, OfferedSkill, RefusedEntry, SkillOffer,
    offer::{Claim, uri_of_name},
};

/// The media type that clients of a guide expect.
pub const MEDIA_TYPE: &str = "text/plain";

/// Which skill is the guide, and what the server is called in its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The first segment of the address.
    pub server: String,
    /// The path of the skill, such as `acme/crm-guide`.
    pub skill: String,
}

impl Usage {
    /// Returns the address of the guide.
    pub fn uri(&self) -> String {
        format!("skill://{}/usage", self.server)
    }

    /// Returns the guide as a resource.
    pub fn resource<'a>(&self, skill: &SkillUri, description: &'a str) -> AliasResource<'a> {
        let name = format!("{}_skill", self.server);
        AliasResource::new(skill, self.uri(), name, MEDIA_TYPE).description(description)
    }

    /// Returns the sentence that makes models read the guide first.
    pub fn sentence(skill: &SkillUri) -> String {
        format!(" Before using the tools of this server, read `{skill}`.")
    }
}

/// Takes a resource `skill://A/B` for a guide; other dialects must have passed it over.
pub fn offered(resource: &ListedResource) -> Option<Result<OfferedSkill, RefusedEntry>> {
    let (server, rest) = resource.uri.strip_prefix("skill://")?.split_once('/')?;
    let is_guide = !server.is_empty()
        && !rest.is_empty()
        && !rest.contains(['/', '.'])
        && !matches!(rest, "_manifest" | "documents");
    if !is_guide {
        return None;
    }
    let name = format!("{server}-{rest}");
    let claim = Claim {
        uri: &uri_of_name(&name),
        name: &name,
        description: resource.description.as_deref(),
        frontmatter: None,
    };
    let route = FetchRoute::SingleResource { uri: resource.uri.clone() };
    let offer = SkillOffer::new(Dialect::Usage, route);
    // The guide has no frontmatter, and the skill has no other file.
    Some(claim.offered(SkillOffer { described_elsewhere: true, complete: true, ..offer }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResourcePage, resource::json_text};

    #[test]
    fn a_guide_is_read_as_it_is_listed_d10() {
        let skill = SkillUri::parse("skill://acme/guide/SKILL.md").unwrap();
        let usage = Usage { server: "crm".to_owned(), skill: "acme/guide".to_owned() };
        let resource = json_text(&usage.resource(&skill, "How to use it."));
        let page = ResourcePage::read(&format!(r#"{{"resources":[{resource}]}}"#)).unwrap();
        let guide = offered(&page.resources[0]).unwrap().unwrap();
        assert_eq!(guide.frontmatter.name().as_str(), "crm-usage");
        let uri = "skill://crm/usage".to_owned();
        assert_eq!(guide.offer.route, FetchRoute::SingleResource { uri });
        assert_eq!(guide.description(), Some("How to use it."));
        let sentence = Usage::sentence(&skill);
        assert_eq!(crate::named_skills(&sentence), [skill]);
    }

    #[test]
    fn what_other_dialects_have_is_no_guide_d10() {
        for uri in [
            "skill://a/SKILL.md",
            "skill://a/_manifest",
            "skill://a/documents",
            "skill://a/",
            "skill://a",
            "skill://a/b/c",
            "file://a/b",
        ] {
            let resource = ListedResource {
                uri: uri.to_owned(),
                name: None,
                description: None,
                media_type: None,
            };
            assert!(offered(&resource).is_none(), "{uri}");
        }
    }
}
