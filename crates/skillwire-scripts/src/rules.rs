//! The operator's rules: which scripts may run, and what they are granted.

use std::collections::BTreeSet;

use skillwire_core::RelPath;
use skillwire_sandbox::{NetworkDestination, RunLimits};
use skillwire_source::PathPatterns;

/// Scripts that may run, all with the same grants and limits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExecutionRule {
    /// Patterns over the path of a skill followed by the path of its script, such as
    /// `refunds/scripts/*.py`.
    pub scripts: PathPatterns,
    /// Environment variables that the scripts are granted, with their values.
    pub variables: Vec<(String, String)>,
    /// Destinations that the scripts may connect to.
    pub destinations: Vec<NetworkDestination>,
    /// The limits of each run.
    pub limits: RunLimits,
}

impl ExecutionRule {
    /// Lets scripts run that match the patterns, with default limits and without any grant.
    pub fn new(scripts: PathPatterns) -> Self {
        Self {
            scripts,
            variables: Vec::new(),
            destinations: Vec::new(),
            limits: RunLimits::default(),
        }
    }

    /// Grants environment variables.
    #[must_use]
    pub fn with_variables(mut self, variables: Vec<(String, String)>) -> Self {
        self.variables = variables;
        self
    }

    /// Grants connections to destinations.
    #[must_use]
    pub fn with_destinations(mut self, destinations: Vec<NetworkDestination>) -> Self {
        self.destinations = destinations;
        self
    }

    /// Replaces the limits of each run.
    #[must_use]
    pub fn with_limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// Rules in order. The first that matches a script applies; a script that none matches is not run.
#[derive(Debug, Clone, Default)]
pub struct ExecutionRules(Vec<ExecutionRule>);

impl ExecutionRules {
    /// Takes rules in order.
    pub fn new(rules: Vec<ExecutionRule>) -> Self {
        Self(rules)
    }

    /// The destinations that scripts may connect to, by any rule, without repetition.
    pub(crate) fn destinations(&self) -> Vec<String> {
        let all = self.0.iter().flat_map(|rule| &rule.destinations).map(ToString::to_string);
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The rule for a script of a skill, which is named by its path.
    pub fn find(&self, skill: &str, script: &RelPath) -> Option<&ExecutionRule> {
        let path = format!("{skill}/{script}");
        self.0.iter().find(|rule| rule.scripts.matches(&path))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rule(pattern: &str, seconds: u64) -> ExecutionRule {
        let limits = RunLimits::default().with_wall_time(Duration::from_secs(seconds));
        ExecutionRule::new(PathPatterns::parse([pattern]).unwrap()).with_limits(limits)
    }

    #[test]
    fn the_first_matching_rule_applies_and_nothing_runs_without_one() {
        let rules =
            ExecutionRules::new(vec![rule("acme/refunds/scripts/*.py", 1), rule("acme/**", 2)]);
        let found = |skill: &str, script: &str| {
            let rule = rules.find(skill, &RelPath::parse(script).unwrap());
            rule.map(|rule| rule.limits.wall_time.as_secs())
        };
        assert_eq!(found("acme/refunds", "scripts/calc.py"), Some(1));
        assert_eq!(found("acme/refunds", "scripts/deep/calc.py"), Some(2));
        assert_eq!(found("acme/other", "run.sh"), Some(2));
        assert_eq!(found("refunds", "scripts/calc.py"), None);
        assert!(ExecutionRules::default().find("a", &RelPath::parse("b").unwrap()).is_none());
    }
}
