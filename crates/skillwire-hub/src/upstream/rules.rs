//! Rules that approve new content of an upstream without a reviewer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What inspecting a content shows, for reviewers and rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ContentFacts {
    /// Files that are not text.
    pub binaries: BTreeSet<String>,
    /// Files that are scripts or programs.
    pub scripts: BTreeSet<String>,
    /// Addresses and hosts that its files name.
    pub links: BTreeSet<String>,
    /// Packages that its files install or import.
    pub packages: BTreeSet<String>,
    /// What it asks a host for, such as entries of `allowed-tools`.
    pub requests: BTreeSet<String>,
    /// Signers whose signature over exactly this content is valid.
    pub signers: BTreeSet<String>,
    /// Codes of findings, the worst first.
    pub findings: Vec<String>,
    /// How bad the worst finding is, in the scanner's words; `None` if no scanner looked at it.
    pub worst: Option<String>,
}

/// The finding of a content whose facts are too many to be kept.
const TOO_MANY_FACTS: &str = "too-many-facts";

/// What stands before a tool that a skill names in `allowed-tools`, among its requests.
const TOOL_REQUEST: &str = "allowed-tools: ";

impl ContentFacts {
    /// Notes that a skill names a tool in `allowed-tools`.
    pub fn request_tool(&mut self, tool: &str) {
        self.requests.insert(format!("{TOOL_REQUEST}{tool}"));
    }

    /// Iterates over the tools that a skill names in `allowed-tools`.
    pub fn requested_tools(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().filter_map(|request| request.strip_prefix(TOOL_REQUEST))
    }

    /// What is kept of a content with too many facts. No rule approves it.
    pub fn too_many() -> Self {
        Self { findings: vec![TOO_MANY_FACTS.to_owned()], ..Self::default() }
    }

    /// Whether facts were left out.
    fn is_cut(&self) -> bool {
        self.findings.iter().any(|code| code == TOO_MANY_FACTS)
    }

    /// How bad the worst finding is: `none`, a word of the scanner, or `unknown` if no scanner looked.
    pub fn worst_finding(&self) -> &str {
        self.worst.as_deref().unwrap_or("unknown")
    }
}

/// Which new content of an upstream is approved without a reviewer.
///
/// Every condition that is switched on must hold. Without any, a reviewer decides about everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub struct ReviewRules {
    /// A signer of the content that was approved before has signed the new content too.
    pub same_signer: bool,
    /// Every file is text.
    pub text_only: bool,
    /// It names no address that the content approved before does not.
    pub no_new_links: bool,
    /// It has no script, installs no package and requests nothing that the content approved before does not.
    pub no_new_scripts: bool,
    /// The scanner looked and found nothing.
    pub no_findings: bool,
}

/// What rules say about a content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum RuleOutcome {
    /// Every condition holds.
    Approve {
        /// The conditions, for the reason of the decision.
        because: Vec<&'static str>,
    },
    /// A reviewer has to decide.
    Wait {
        /// What does not hold.
        because: Vec<&'static str>,
    },
}

impl ReviewRules {
    /// Whether no condition is switched on.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Decides about a content, given what the content approved before shows, if there is one.
    ///
    /// Conditions that compare need something to compare with: the first content of a skill waits for a
    /// reviewer if one of them is switched on.
    pub fn decide(&self, new: &ContentFacts, before: Option<&ContentFacts>) -> RuleOutcome {
        let within = |of: fn(&ContentFacts) -> &BTreeSet<String>| {
            before.is_some_and(|before| of(new).is_subset(of(before)))
        };
        let same_signer = before.is_some_and(|before| !before.signers.is_disjoint(&new.signers));
        let no_new_scripts =
            within(|it| &it.scripts) && within(|it| &it.packages) && within(|it| &it.requests);
        let is_clean = new.worst.is_some() && new.findings.is_empty();
        let finding = if new.worst.is_none() { "not scanned to the end" } else { "a finding" };
        let conditions = [
            (self.same_signer, same_signer, "same signer", "no signer of the approved content"),
            (self.text_only, new.binaries.is_empty(), "text only", "a file is not text"),
            (self.no_new_links, within(|it| &it.links), "no new link", "a new link"),
            (self.no_new_scripts, no_new_scripts, "no new script", "a new script or request"),
            (self.no_findings, is_clean, "no finding", finding),
        ];
        let asked = conditions.iter().filter(|(asked, ..)| *asked);
        let failed: Vec<_> =
            asked.clone().filter(|(_, holds, ..)| !holds).map(|(.., failed)| *failed).collect();
        let held: Vec<_> = asked.map(|(_, _, held, _)| *held).collect();
        if held.is_empty() {
            RuleOutcome::Wait { because: vec!["no rule"] }
        } else if new.is_cut() {
            RuleOutcome::Wait { because: vec!["too many facts to keep"] }
        } else if failed.is_empty() {
            RuleOutcome::Approve { because: held }
        } else {
            RuleOutcome::Wait { because: failed }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn facts() -> ContentFacts {
        ContentFacts {
            links: set(&["https://docs.example"]),
            scripts: set(&["scripts/run.py"]),
            signers: set(&["key:a"]),
            worst: Some("none".into()),
            ..ContentFacts::default()
        }
    }

    const ALL: ReviewRules = ReviewRules {
        same_signer: true,
        text_only: true,
        no_new_links: true,
        no_new_scripts: true,
        no_findings: true,
    };

    #[test]
    fn without_rules_everything_waits_for_a_reviewer() {
        let outcome = ReviewRules::default().decide(&facts(), Some(&facts()));
        assert!(matches!(outcome, RuleOutcome::Wait { .. }));
    }

    #[test]
    fn every_condition_that_is_switched_on_must_hold() {
        let approved = |new: &ContentFacts| {
            matches!(ALL.decide(new, Some(&facts())), RuleOutcome::Approve { .. })
        };
        assert!(approved(&facts()));
        for changed in [
            ContentFacts { signers: set(&["key:b"]), ..facts() },
            ContentFacts { binaries: set(&["a.bin"]), ..facts() },
            ContentFacts { links: set(&["https://evil.example"]), ..facts() },
            ContentFacts { scripts: set(&["scripts/run.py", "x.sh"]), ..facts() },
            ContentFacts { packages: set(&["npm:left-pad"]), ..facts() },
            ContentFacts { requests: set(&["Bash"]), ..facts() },
            ContentFacts { findings: vec!["SW-1".into()], ..facts() },
            ContentFacts { worst: None, ..facts() },
        ] {
            assert!(!approved(&changed), "{changed:?}");
        }
        // Leaving a link out is nothing new.
        assert!(approved(&ContentFacts { links: set(&[]), ..facts() }));
    }

    #[test]
    fn conditions_that_compare_do_not_hold_for_a_first_content() {
        let text_only = ReviewRules { text_only: true, ..ReviewRules::default() };
        assert!(matches!(text_only.decide(&facts(), None), RuleOutcome::Approve { .. }));
        let links = ReviewRules { no_new_links: true, ..ReviewRules::default() };
        assert!(matches!(links.decide(&ContentFacts::default(), None), RuleOutcome::Wait { .. }));
    }

    #[test]
    fn no_rule_approves_what_no_scanner_saw_or_of_which_facts_were_left_out() {
        let rules = ReviewRules { no_findings: true, ..ReviewRules::default() };
        let unscanned = ContentFacts { worst: None, ..facts() };
        assert_eq!(unscanned.worst_finding(), "unknown");
        let because = vec!["not scanned to the end"];
        assert_eq!(rules.decide(&unscanned, None), RuleOutcome::Wait { because });
        let text_only = ReviewRules { text_only: true, ..ReviewRules::default() };
        let outcome = text_only.decide(&ContentFacts::too_many(), None);
        assert!(matches!(outcome, RuleOutcome::Wait { .. }), "{outcome:?}");
    }
}
