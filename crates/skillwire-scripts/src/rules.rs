//! Which scripts an operator lets run, and what they are granted.

use skillwire_core::path::RelPath;
use skillwire_sandbox::{job::Destination, limits::Limits};
use skillwire_source::PathPatterns;

/// Scripts that may run, all under the same conditions.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Patterns over the path of a skill and of its script together, such as `refunds/scripts/*.py`.
    pub scripts: PathPatterns,
    /// Variables they are granted, with their values.
    pub variables: Vec<(String, String)>,
    /// Destinations they may connect to.
    pub network: Vec<Destination>,
    /// What they may use.
    pub limits: Limits,
}

/// Rules in order; the first that fits holds, and what none fits is not run.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Takes rules in order.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// The rule for a script of a skill.
    pub fn find(&self, skill: &str, script: &RelPath) -> Option<&Rule> {
        let path = format!("{skill}/{script}");
        self.0.iter().find(|rule| rule.scripts.matches(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pattern: &str, seconds: u64) -> Rule {
        let limits = Limits { wall: std::time::Duration::from_secs(seconds), ..Limits::default() };
        let scripts = PathPatterns::parse([pattern]).unwrap();
        Rule { scripts, variables: Vec::new(), network: Vec::new(), limits }
    }

    #[test]
    fn the_first_rule_that_fits_holds_and_nothing_runs_without_one() {
        let rules = Rules::new(vec![rule("acme/refunds/scripts/*.py", 1), rule("acme/**", 2)]);
        let found = |skill: &str, script: &str| {
            let rule = rules.find(skill, &RelPath::parse(script).unwrap());
            rule.map(|rule| rule.limits.wall.as_secs())
        };
        assert_eq!(found("acme/refunds", "scripts/calc.py"), Some(1));
        assert_eq!(found("acme/refunds", "scripts/deep/calc.py"), Some(2));
        assert_eq!(found("acme/other", "run.sh"), Some(2));
        assert_eq!(found("refunds", "scripts/calc.py"), None);
        assert!(Rules::default().find("a", &RelPath::parse("b").unwrap()).is_none());
    }
}
