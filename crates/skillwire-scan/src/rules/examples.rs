//! Examples of rules: skills that a rule must find something in, and skills that it must leave alone.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{RuleSet, ScanRule};
use crate::{SkillFiles, Usage, scan};

/// The examples of one rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleExamples {
    pub(super) matches: Vec<ExampleSkill>,
    pub(super) passes: Vec<ExampleSkill>,
}

/// A skill as an example: the body of its `SKILL.md`, or its files by path.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum ExampleSkill {
    Body(String),
    Files(BTreeMap<String, String>),
}

/// An example that does not do what its rule promises.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenExample {
    /// The rule.
    pub rule: String,
    /// What the example was to show.
    pub kind: ExampleKind,
    /// Its text.
    pub text: String,
}

/// What an example shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleKind {
    /// The rule must match, at its own severity or above.
    Match,
    /// The rule must not match, or must see that the skill only speaks of it.
    Pass,
}

impl ExampleSkill {
    fn files(&self) -> SkillFiles {
        const TOP: &str = "---\nname: example\ndescription: An example.\n---\n\n";
        match self {
            Self::Body(body) => SkillFiles::new().with("SKILL.md", format!("{TOP}{body}\n")),
            Self::Files(files) => {
                let mut skill = SkillFiles::new();
                if !files.contains_key("SKILL.md") {
                    skill.add("SKILL.md", format!("{TOP}An example.\n"));
                }
                for (path, text) in files {
                    skill.add(path, text.clone());
                }
                skill
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Body(body) => body.clone(),
            Self::Files(files) => format!("{files:?}"),
        }
    }
}

pub(super) fn check(rules: &RuleSet, rule: &ScanRule) -> Vec<BrokenExample> {
    let found = |example: &ExampleSkill| {
        let report = scan(&example.files(), rules);
        let used = |finding: &crate::ScanFinding| {
            finding.rule == rule.id
                && finding.usage == Usage::Used
                && finding.severity >= rule.severity
        };
        report.findings.iter().any(used)
    };
    let broken = |kind, example: &ExampleSkill| BrokenExample {
        rule: rule.id.clone(),
        kind,
        text: example.text(),
    };
    let matches = rule.examples.matches.iter();
    let matches = matches.filter(|it| !found(it)).map(|it| broken(ExampleKind::Match, it));
    let passes = rule.examples.passes.iter();
    let passes = passes.filter(|it| found(it)).map(|it| broken(ExampleKind::Pass, it));
    matches.chain(passes).collect()
}
