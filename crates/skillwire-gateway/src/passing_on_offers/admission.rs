//! Decides which tools and prompts are passed on.

use std::{collections::BTreeSet, fmt, sync::Arc};

use arc_swap::ArcSwap;
use skillwire_core::Frontmatter;
use skillwire_engine::Caller;
use skillwire_source::PathPatterns;
use skillwire_trust::{ServerLabel, requested_tools};

/// Decides which tools and prompts of a server are passed on.
///
/// A client that names a denied one gets the same answer as for one that does not exist.
pub trait ToolAdmission: Send + Sync + fmt::Debug {
    /// Tells whether a tool may be passed on.
    fn admits_tool(&self, upstream: &ServerLabel, tool: &str) -> bool;

    /// Tells whether a prompt may be passed on.
    fn admits_prompt(&self, upstream: &ServerLabel, prompt: &str) -> bool;

    /// Tells whether [`Self::admits_caller`] has to be asked.
    fn differs_by_caller(&self) -> bool {
        false
    }

    /// Tells whether a caller may use a tool or prompt that is passed on to others.
    fn admits_caller(&self, _caller: &Caller, _upstream: &ServerLabel, _name: &str) -> bool {
        true
    }
}

/// Admits what an operator named, and the tools that approved skills of the same server name.
#[derive(Debug)]
pub struct AllowedTools {
    patterns: PathPatterns,
    prompts: PathPatterns,
    of_skills: ArcSwap<BTreeSet<String>>,
}

impl AllowedTools {
    /// Admits tools whose names match patterns, such as `read_*`.
    pub fn matching(tools: PathPatterns) -> Self {
        Self { patterns: tools, prompts: PathPatterns::default(), of_skills: ArcSwap::default() }
    }

    /// Admits prompts whose names match patterns too.
    #[must_use]
    pub fn with_prompts(self, prompts: PathPatterns) -> Self {
        Self { prompts, ..self }
    }

    /// Replaces the tools that skills name in `allowed-tools`. Give it the skills that were
    /// approved and no others, as a skill could otherwise let its own tools in.
    ///
    /// A skill names a tool as its server does, or as clients do: `mcp__<label>__<tool>`.
    pub fn name_in_skills<'a>(
        &self,
        upstream: &ServerLabel,
        approved: impl IntoIterator<Item = &'a Frontmatter>,
    ) {
        let client_prefix = format!("mcp__{upstream}__");
        let named = approved.into_iter().flat_map(requested_tools);
        let own = named.map(|tool| match tool.strip_prefix(&client_prefix) {
            Some(own) => own.to_owned(),
            None => tool,
        });
        self.of_skills.store(Arc::new(own.collect()));
    }
}

impl ToolAdmission for AllowedTools {
    fn admits_tool(&self, _upstream: &ServerLabel, tool: &str) -> bool {
        self.patterns.matches(tool) || self.of_skills.load().contains(tool)
    }

    fn admits_prompt(&self, _upstream: &ServerLabel, prompt: &str) -> bool {
        self.prompts.matches(prompt)
    }
}
