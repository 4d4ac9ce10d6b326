//! Upstreams: other servers, repositories, folders and web sites whose skills the hub passes on.

mod limits;
mod mode;
mod offers;
mod rules;
mod source;
mod tools;

pub use self::{
    limits::UpstreamLimits,
    mode::UpstreamMode,
    offers::{OfferChange, OfferState, UpstreamSkill, UpstreamSkillId},
    rules::{ContentFacts, ReviewRules, RuleOutcome},
    source::UpstreamSource,
    tools::{ResourcePatterns, ToolPatterns},
};
use crate::{name::NamespaceName, refusal::Refusal};

/// An upstream: where its skills come from, and how they are passed on.
///
/// Its label is also the namespace of its skills. Roles in that namespace decide who reads them and who
/// reviews them, and on the aggregate mount the label is the first segment of their URIs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Upstream {
    /// The operator's name of it.
    pub label: NamespaceName,
    /// Where its skills come from.
    pub source: UpstreamSource,
    /// How they are passed on.
    pub mode: UpstreamMode,
    /// The most that it may cost.
    #[serde(default)]
    pub limits: UpstreamLimits,
    /// Which new content is approved without a reviewer.
    #[serde(default)]
    pub rules: ReviewRules,
    /// Which of its tools and prompts clients may use, besides tools that approved skills name.
    #[serde(default)]
    pub tools: ToolPatterns,
    /// Which of its resources that belong to no skill clients may read.
    #[serde(default)]
    pub resources: ResourcePatterns,
}

/// Labels that stand for the folders of a host's own machine.
const RESERVED: [&str; 2] = ["local", "project"];

impl Upstream {
    /// Makes an upstream; refuses a source that cannot be used.
    pub fn new(
        label: NamespaceName,
        source: UpstreamSource,
        mode: UpstreamMode,
    ) -> Result<Self, Refusal> {
        if RESERVED.contains(&label.as_str()) {
            let reason = format!("the label `{label}` stands for folders of a client's machine");
            return Err(Refusal::BadUpstream(reason));
        }
        source.check()?;
        let (limits, rules) = (UpstreamLimits::default(), ReviewRules::default());
        let (tools, resources) = (ToolPatterns::default(), ResourcePatterns::default());
        Ok(Self { label, source, mode, limits, rules, tools, resources })
    }

    /// Sets the most that it may cost; refuses limits that allow nothing or anything.
    pub fn with_limits(mut self, limits: UpstreamLimits) -> Result<Self, Refusal> {
        limits.check()?;
        self.limits = limits;
        Ok(self)
    }

    /// Sets which new content is approved without a reviewer.
    #[must_use]
    pub fn with_rules(mut self, rules: ReviewRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets which of its tools and prompts clients may use.
    #[must_use]
    pub fn with_tools(mut self, tools: ToolPatterns) -> Self {
        self.tools = tools;
        self
    }

    /// Sets which of its resources that belong to no skill clients may read.
    #[must_use]
    pub fn with_resources(mut self, resources: ResourcePatterns) -> Self {
        self.resources = resources;
        self
    }

    /// Changes the mode. Leaving `pin` replaces approved bytes by what the upstream offers now, so the
    /// caller must say so.
    pub fn change_mode(&mut self, mode: UpstreamMode, leave_pin: bool) -> Result<(), Refusal> {
        self.require_unpinned(leave_pin || mode == UpstreamMode::Pin)?;
        self.mode = mode;
        Ok(())
    }

    /// Refuses to give up a pin unless the caller said so.
    pub fn require_unpinned(&self, leave_pin: bool) -> Result<(), Refusal> {
        if self.mode == UpstreamMode::Pin && !leave_pin {
            return Err(Refusal::LeavesPin(self.label.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(label: &str, mode: UpstreamMode) -> Result<Upstream, Refusal> {
        let source = UpstreamSource::mcp("https://docs.example/mcp");
        Upstream::new(label.parse().unwrap(), source, mode)
    }

    #[test]
    fn leaving_pin_is_an_explicit_act() {
        use UpstreamMode::{Admit, Observe, Passthrough, Pin};
        for to in [Passthrough, Observe, Admit] {
            let mut pinned = upstream("docs", Pin).unwrap();
            assert_eq!(
                pinned.change_mode(to, false),
                Err(Refusal::LeavesPin(pinned.label.clone()))
            );
            assert_eq!(pinned.mode, Pin);
            pinned.change_mode(to, true).unwrap();
            assert_eq!(pinned.mode, to);
            pinned.change_mode(Pin, false).unwrap();
        }
        let mut pinned = upstream("docs", Pin).unwrap();
        pinned.change_mode(Pin, false).unwrap();
        assert!(pinned.require_unpinned(false).is_err());
    }

    #[test]
    fn labels_of_a_clients_folders_are_refused_gw_24() {
        for label in RESERVED {
            assert!(upstream(label, UpstreamMode::Admit).is_err(), "{label}");
        }
    }
}
