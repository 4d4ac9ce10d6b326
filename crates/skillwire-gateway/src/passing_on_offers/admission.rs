//! Decides which tools, prompts and resources are passed on.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use arc_swap::ArcSwap;
use skillwire_core::Frontmatter;
use skillwire_engine::Caller;
use skillwire_source::PathPatterns;
use skillwire_trust::{ServerLabel, requested_tools};

/// Decides which tools, prompts and resources of a server are passed on.
///
/// A client that names a denied one gets the same answer as for one that does not exist.
pub trait ToolAdmission: Send + Sync + fmt::Debug {
    /// Tells whether a tool may be passed on.
    fn admits_tool(&self, upstream: &ServerLabel, tool: &str) -> bool;

    /// Tells whether a prompt may be passed on.
    fn admits_prompt(&self, upstream: &ServerLabel, prompt: &str) -> bool;

    /// Tells whether any resource may be passed on, so that it is worth listing them.
    fn admits_resources(&self) -> bool {
        false
    }

    /// Tells whether a resource that belongs to no skill may be passed on, by the server's own URI or
    /// template. It need not exist.
    fn admits_resource(&self, _upstream: &ServerLabel, _uri: &str) -> bool {
        false
    }

    /// Tells whether [`Self::admits_caller`] has to be asked about tools and prompts.
    fn differs_by_caller(&self) -> bool {
        false
    }

    /// Tells whether a caller may use a tool or prompt that is passed on to others.
    fn admits_caller(&self, _caller: &Caller, _upstream: &ServerLabel, _name: &str) -> bool {
        true
    }
}

/// Admits what an operator named, and the tools that approved skills of the same server name.
///
/// Patterns of the operator match the label and the server's own name: `docs/read_*`, `*/search`.
#[derive(Debug)]
pub struct AllowedTools {
    patterns: ArcSwap<NamedByOperator>,
    of_skills: ArcSwap<BTreeMap<ServerLabel, BTreeSet<String>>>,
}

#[derive(Debug, Default)]
struct NamedByOperator {
    tools: PathPatterns,
    prompts: PathPatterns,
}

impl AllowedTools {
    /// Admits tools that match patterns.
    pub fn matching(tools: PathPatterns) -> Self {
        let allowed = Self { patterns: ArcSwap::default(), of_skills: ArcSwap::default() };
        allowed.replace_patterns(tools, PathPatterns::default());
        allowed
    }

    /// Admits prompts that match patterns too.
    #[must_use]
    pub fn with_prompts(self, prompts: PathPatterns) -> Self {
        let tools = self.patterns.load().tools.clone();
        self.replace_patterns(tools, prompts);
        self
    }

    /// Replaces what the operator named.
    pub fn replace_patterns(&self, tools: PathPatterns, prompts: PathPatterns) {
        self.patterns.store(Arc::new(NamedByOperator { tools, prompts }));
    }

    /// Replaces the tools that skills of a server name in `allowed-tools`. Give it the skills that were
    /// approved and no others, as a skill could otherwise let its own tools in.
    ///
    /// A skill names a tool as its server does, or as clients do: `mcp__<label>__<tool>`.
    pub fn name_in_skills<'a>(
        &self,
        upstream: &ServerLabel,
        approved: impl IntoIterator<Item = &'a Frontmatter>,
    ) {
        self.name_tools(upstream, approved.into_iter().flat_map(requested_tools));
    }

    /// Replaces the tools that approved skills of a server name, as [`Self::name_in_skills`] does.
    pub fn name_tools(&self, upstream: &ServerLabel, named: impl IntoIterator<Item = String>) {
        let client_prefix = format!("mcp__{upstream}__");
        let named = named.into_iter();
        let own = named.map(|tool| match tool.strip_prefix(&client_prefix) {
            Some(own) => own.to_owned(),
            None => tool,
        });
        let own: BTreeSet<String> = own.collect();
        self.of_skills.rcu(|of_skills| {
            let mut of_skills = BTreeMap::clone(of_skills);
            of_skills.insert(upstream.clone(), own.clone());
            Arc::new(of_skills)
        });
    }
}

impl ToolAdmission for AllowedTools {
    fn admits_tool(&self, upstream: &ServerLabel, tool: &str) -> bool {
        let of_skills = self.of_skills.load();
        self.patterns.load().tools.matches(&format!("{upstream}/{tool}"))
            || of_skills.get(upstream).is_some_and(|named| named.contains(tool))
    }

    fn admits_prompt(&self, upstream: &ServerLabel, prompt: &str) -> bool {
        self.patterns.load().prompts.matches(&format!("{upstream}/{prompt}"))
    }
}
