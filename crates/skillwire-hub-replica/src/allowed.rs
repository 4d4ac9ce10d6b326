//! What of an upstream's tools, prompts and resources is passed on, and to whom.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Weak},
};

use arc_swap::ArcSwap;
use skillwire_core::SkillUri;
use skillwire_gateway::{ToolAdmission, enclosing_skills, hands_out_skills};
use skillwire_hub::Upstream;
use skillwire_hub_upstreams::{FollowedUpstream, MountKind};
use skillwire_server::{Caller, Catalog, PathPatterns};
use skillwire_trust::ServerLabel;

/// What is allowed of one upstream now, on every mount.
#[derive(Debug, Default)]
pub(crate) struct AllowedOffers(ArcSwap<AllowedNow>);

#[derive(Debug, Default)]
struct AllowedNow {
    /// The tools and prompts that the operator names.
    tools: PathPatterns,
    /// The resources that the operator names.
    resources: PathPatterns,
    /// The tools that skills name which are approved and served, and these skills.
    named: BTreeMap<String, BTreeSet<SkillUri>>,
    /// The skills that are served from the store.
    held: BTreeSet<SkillUri>,
}

impl AllowedOffers {
    /// Allows what the operator names and what skills name that are approved and served. Tells whether
    /// callers may see other tools than before although the same are passed on, as other skills name them.
    ///
    /// A skill names a tool as its server does, or as clients do: `mcp__<label>__<tool>`.
    pub(crate) fn replace(
        &self,
        upstream: &Upstream,
        named_by: &BTreeMap<SkillUri, Vec<String>>,
        held: &BTreeSet<SkillUri>,
    ) -> bool {
        let compile = |patterns: Vec<&str>| {
            PathPatterns::parse(patterns).unwrap_or_else(|error| {
                let label = &upstream.label;
                tracing::error!(%label, %error, "nothing is named, as a pattern cannot be used");
                PathPatterns::default()
            })
        };
        let client_prefix = format!("mcp__{}__", upstream.label);
        let mut named: BTreeMap<String, BTreeSet<SkillUri>> = BTreeMap::new();
        for (skill, tool) in
            named_by.iter().flat_map(|(skill, tools)| tools.iter().map(move |tool| (skill, tool)))
        {
            let own = tool.strip_prefix(&client_prefix).unwrap_or(tool);
            if hands_out_skills(own) {
                continue;
            }
            named.entry(own.to_owned()).or_default().insert(skill.clone());
        }
        let now = AllowedNow {
            tools: compile(upstream.tools.iter().collect()),
            resources: compile(upstream.resources.iter().collect()),
            named,
            held: held.clone(),
        };
        let before = self.0.swap(Arc::new(now));
        before.named != self.0.load().named
    }

    /// Tells whether nothing at all is allowed, so that the upstream need not be asked.
    pub(crate) fn is_empty(&self) -> bool {
        let now = self.0.load();
        now.tools.is_empty() && now.resources.is_empty() && now.named.is_empty()
    }

    /// Tells whether skills name tools, which other callers see than those that the operator names.
    pub(crate) fn names_in_skills(&self) -> bool {
        !self.0.load().named.is_empty()
    }
}

/// What is passed on to callers of one mount.
///
/// A tool that hands out skills is never passed on, as it would hand out what no reviewer saw, and what a
/// policy hides from the caller. The hub has tools of its own for that.
///
/// A caller uses what the operator names if its view shows skills of the upstream at all, and a tool that
/// skills name if it shows one of these skills. A tool would otherwise tell of a skill that is hidden.
pub(crate) struct MountAdmission {
    pub(crate) allowed: Arc<AllowedOffers>,
    pub(crate) followed: Weak<FollowedUpstream>,
    pub(crate) mount: MountKind,
    pub(crate) catalog: Arc<Catalog>,
    /// The URI of a skill of this upstream that is not known.
    pub(crate) any_skill: SkillUri,
}

impl fmt::Debug for MountAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MountAdmission").field("mount", &self.mount).finish_non_exhaustive()
    }
}

impl MountAdmission {
    /// Tells whether a caller may use what the operator names.
    pub(crate) fn shows_upstream(&self, caller: &Caller) -> bool {
        self.catalog.would_show(caller.view, &self.any_skill)
    }

    /// Tells whether a caller sees one of the skills that name a tool.
    fn shows_namer(&self, caller: &Caller, tool: &str) -> bool {
        let Some(followed) = self.followed.upgrade() else { return false };
        let Some(uris) = self.mount.uris(&followed.upstream().label) else { return false };
        let allowed = self.allowed.0.load();
        allowed.named.get(tool).is_some_and(|skills| {
            let mut shown = skills.iter().filter_map(|own| uris.passed_on_skill(own));
            shown.any(|skill| self.catalog.would_show(caller.view, &skill))
        })
    }
}

impl ToolAdmission for MountAdmission {
    fn admits_tool(&self, _upstream: &ServerLabel, tool: &str) -> bool {
        let allowed = self.allowed.0.load();
        !hands_out_skills(tool) && (allowed.tools.matches(tool) || allowed.named.contains_key(tool))
    }

    /// A prompt that is called like a skill returns its text in servers that offer skills as prompts.
    fn admits_prompt(&self, _upstream: &ServerLabel, prompt: &str) -> bool {
        self.allowed.0.load().tools.matches(prompt)
            && !hands_out_skills(prompt)
            && self.followed.upgrade().is_some_and(|followed| !followed.has_skill_named(prompt))
    }

    fn admits_resources(&self) -> bool {
        !self.allowed.0.load().resources.is_empty()
    }

    /// Files of skills are passed on with their skill or not at all, whatever the patterns say.
    fn admits_resource(&self, _upstream: &ServerLabel, uri: &str) -> bool {
        let allowed = self.allowed.0.load();
        allowed.resources.matches(uri)
            && !enclosing_skills(uri).iter().any(|skill| allowed.held.contains(skill))
            && self.followed.upgrade().is_some_and(|followed| !followed.has_skill_around(uri))
    }

    fn differs_by_caller(&self) -> bool {
        self.allowed.names_in_skills()
    }

    fn admits_caller(&self, caller: &Caller, _upstream: &ServerLabel, name: &str) -> bool {
        let is_named_by_operator = self.allowed.0.load().tools.matches(name);
        (is_named_by_operator && self.shows_upstream(caller)) || self.shows_namer(caller, name)
    }
}
