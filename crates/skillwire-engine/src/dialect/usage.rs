//! One guide to a server's tools: `skill://server/usage`, and a sentence that points at it.

use std::sync::Arc;

use serde_json::Value;
use skillwire_source::Skill;

use super::{Dialect, alias_of};
use crate::engine::OwnedCall;

/// Which skill is the guide, and what the server is called in its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The first segment of the address.
    pub server: String,
    /// The path of the skill, such as `acme/crm-guide`.
    pub skill: String,
}

impl Usage {
    /// The address of the guide.
    pub fn uri(&self) -> String {
        format!("skill://{}/usage", self.server)
    }
}

/// The guide, where there is one and the caller may see it.
pub(crate) fn skill(call: &OwnedCall) -> Option<&Arc<Skill>> {
    let usage = call.config().usage.as_ref().filter(|_| call.speaks(Dialect::Usage))?;
    let mut schemes = call.snapshot.schemes();
    schemes.find_map(|scheme| {
        let path = skillwire_core::path::SkillPath::parse(&usage.skill).ok()?;
        let scheme = skillwire_core::uri::Scheme::parse(scheme).ok()?;
        let uri = skillwire_core::uri::SkillUri::new(&scheme, &path);
        call.snapshot.skill(uri.as_str())
    })
}

/// The guide as a resource.
pub(crate) fn resource(call: &OwnedCall) -> Option<Value> {
    let (usage, skill) = (call.config().usage.as_ref()?, skill(call)?);
    let mut resource = alias_of(&skill.uri);
    resource["uri"] = usage.uri().into();
    resource["name"] = format!("{}_skill", usage.server).into();
    resource["description"] = skill.description().into();
    resource["mimeType"] = "text/plain".into();
    Some(resource)
}

/// The sentence that makes models read the guide first.
pub(crate) fn sentence(call: &OwnedCall) -> Option<String> {
    let skill = skill(call)?;
    Some(format!(" Before using the tools of this server, read `{}`.", skill.uri))
}
