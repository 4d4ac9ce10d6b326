//! D10: one guide to a server's tools, and a sentence that points at it.

use std::{borrow::Cow, sync::Arc};

use skillwire_core::{Scheme, SkillPath, SkillUri};
use skillwire_dialects::usage::Usage;
use skillwire_source::Skill;

use super::Dialect;
use crate::engine::{OwnedCall, item};

/// Returns the guide, if there is one and the caller may see it.
pub(crate) fn skill(call: &OwnedCall) -> Option<&Arc<Skill>> {
    let usage = call.config().usage.as_ref().filter(|_| call.speaks(Dialect::Usage))?;
    let path = SkillPath::parse(&usage.skill).ok()?;
    let mut schemes = call.snapshot.schemes();
    schemes.find_map(|scheme| {
        let uri = SkillUri::new(&Scheme::parse(scheme).ok()?, &path);
        call.snapshot.skill(uri.as_str())
    })
}

/// Describes the guide as a resource.
pub(crate) fn resource(call: &OwnedCall) -> Option<Cow<'static, str>> {
    let usage = call.config().usage.as_ref()?;
    let skill = skill(call)?;
    Some(item(&usage.resource(&skill.uri, &skill.description())))
}

/// Returns the sentence that asks models to read the guide first.
pub(crate) fn sentence(call: &OwnedCall) -> Option<String> {
    skill(call).map(|skill| Usage::sentence(&skill.uri))
}
