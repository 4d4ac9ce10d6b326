//! Reads rules from TOML.

use std::collections::HashSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;
use skillwire_core::Digest;

use super::{
    Detector, FlowDetector, KnownNames, RuleSet, ScanRule, TextDetector, Window,
    examples::{ExampleSkill, RuleExamples},
};
use crate::{
    Severity,
    flow::{FlowKinds, FlowSource},
    pattern::Pattern,
    text::passage::PassageKind,
};

/// The files of the rules that come with the program.
pub(super) const BUILT_IN: [(&str, &str); 12] = [
    ("remote-code.toml", include_str!("../../rules/remote-code.toml")),
    ("exfiltration.toml", include_str!("../../rules/exfiltration.toml")),
    ("hidden.toml", include_str!("../../rules/hidden.toml")),
    ("persistence.toml", include_str!("../../rules/persistence.toml")),
    ("agent-tampering.toml", include_str!("../../rules/agent-tampering.toml")),
    ("obfuscation.toml", include_str!("../../rules/obfuscation.toml")),
    ("supply-chain.toml", include_str!("../../rules/supply-chain.toml")),
    ("names.toml", include_str!("../../rules/names.toml")),
    ("frontmatter.toml", include_str!("../../rules/frontmatter.toml")),
    ("injection.toml", include_str!("../../rules/injection.toml")),
    ("weakness.toml", include_str!("../../rules/weakness.toml")),
    ("flow.toml", include_str!("../../rules/flow.toml")),
];

/// A file of rules that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{file}`{}: {problem}", rule.as_deref().map(|rule| format!(", rule `{rule}`")).unwrap_or_default())]
#[non_exhaustive]
pub struct InvalidRules {
    /// The file.
    pub file: String,
    /// The rule.
    pub rule: Option<String>,
    /// What is wrong with it.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleFile {
    /// The name of the family; a file with sources and sinks has none.
    family: Option<String>,
    #[serde(default)]
    owasp: Vec<String>,
    #[serde(default)]
    rule: Vec<RuleEntry>,
    #[serde(default)]
    source: Vec<FlowSource>,
    #[serde(default)]
    sink: Vec<FlowSource>,
    #[serde(default)]
    known_skills: Vec<String>,
    #[serde(default)]
    known_packages: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleEntry {
    name: String,
    severity: Severity,
    title: String,
    why: String,
    ask: String,
    owasp: Option<Vec<String>>,
    #[serde(default)]
    built_in: bool,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    within: Option<WindowName>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    r#in: Vec<KindName>,
    #[serde(default)]
    firm: bool,
    flow: Option<FlowEntry>,
    #[serde(default, rename = "match")]
    matches: Vec<ExampleSkill>,
    #[serde(default)]
    pass: Vec<ExampleSkill>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowEntry {
    from: Vec<String>,
    to: Vec<String>,
    /// What the frontmatter of the skill must say.
    #[serde(default)]
    claims: Vec<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum WindowName {
    Line,
    Passage,
    Section,
    File,
    Skill,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum KindName {
    Frontmatter,
    Prose,
    Code,
    Comment,
    Script,
    Data,
    /// Text that was hidden by an encoding.
    Decoded,
}

#[derive(Default)]
pub(super) struct ParsedRules {
    rules: Vec<ScanRule>,
    ids: HashSet<String>,
    needed: Vec<String>,
    needed_by: Vec<usize>,
    flow: FlowKinds,
    names: KnownNames,
}

impl ParsedRules {
    pub(super) fn add(&mut self, file: &str, text: &str) -> Result<(), InvalidRules> {
        let invalid = |rule: Option<&str>, problem: String| InvalidRules {
            file: file.to_owned(),
            rule: rule.map(ToOwned::to_owned),
            problem,
        };
        let parsed: RuleFile =
            toml::from_str(text).map_err(|error| invalid(None, error.to_string()))?;
        self.names.skills.extend(parsed.known_skills);
        self.names.packages.extend(parsed.known_packages);
        let flow = self.flow.add(parsed.source, parsed.sink);
        flow.map_err(|problem| invalid(None, problem))?;
        for entry in parsed.rule {
            let Some(family) = &parsed.family else {
                return Err(invalid(Some(&entry.name), "the file has no `family`".to_owned()));
            };
            let name = entry.name.clone();
            let id = format!("{family}/{name}");
            if !self.ids.insert(id.clone()) {
                return Err(invalid(Some(&name), format!("`{id}` is there already")));
            }
            let rule = entry.compile(family, id, &parsed.owasp);
            let (rule, needed) = rule.map_err(|problem| invalid(Some(&name), problem))?;
            self.needed_by.extend(needed.iter().map(|_| self.rules.len()));
            self.needed.extend(needed);
            self.rules.push(rule);
        }
        Ok(())
    }

    pub(super) fn finish(self, digest: Digest) -> Result<RuleSet, InvalidRules> {
        let needed = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&self.needed);
        let needed = needed.map_err(|error| InvalidRules {
            file: "all files".to_owned(),
            rule: None,
            problem: error.to_string(),
        })?;
        let Self { mut rules, needed_by, mut flow, names, .. } = self;
        // Kinds may stand in a later file than the rules that name them.
        for rule in &mut rules {
            let Detector::Flow(flow_of_rule) = &rule.detector else { continue };
            let named = flow_of_rule.from.iter().chain(&flow_of_rule.to);
            let unknown = named.into_iter().find(|kind| !flow.knows(kind));
            if let Some(kind) = unknown {
                return Err(InvalidRules {
                    file: rule.family.clone(),
                    rule: Some(rule.id.clone()),
                    problem: format!("no source or sink has the kind `{kind}`"),
                });
            }
        }
        flow.finish().map_err(|problem| InvalidRules {
            file: "sources and sinks".to_owned(),
            rule: None,
            problem,
        })?;
        Ok(RuleSet { rules, needed, needed_by, flow, names, digest })
    }
}

impl RuleEntry {
    fn compile(
        self,
        family: &str,
        id: String,
        owasp: &[String],
    ) -> Result<(ScanRule, Vec<String>), String> {
        let sorts = usize::from(self.built_in)
            + usize::from(self.flow.is_some())
            + usize::from(!self.any.is_empty());
        if sorts != 1 {
            return Err("it needs exactly one of `any`, `flow` and `built-in`".to_owned());
        }
        if !self.any.is_empty() && self.needs.is_empty() {
            return Err("`needs` must name texts, one of which every match has".to_owned());
        }
        let detector = if self.built_in {
            Detector::BuiltIn
        } else if let Some(FlowEntry { from, to, claims }) = self.flow {
            Detector::Flow(FlowDetector { from, to, claims: patterns(&claims)? })
        } else {
            Detector::Text(Box::new(TextDetector {
                any: patterns(&self.any)?,
                gate: gate(&self.any),
                with: patterns(&self.with)?,
                within: self.within.map_or(Window::Passage, WindowName::window),
                unless: patterns(&self.unless)?,
                kinds: self.r#in.iter().filter_map(|kind| kind.kind()).collect(),
                decoded_only: self.r#in.iter().any(|kind| matches!(kind, KindName::Decoded)),
                firm: self.firm,
            }))
        };
        let rule = ScanRule {
            id,
            family: family.to_owned(),
            severity: self.severity,
            title: self.title,
            why: self.why,
            ask: self.ask,
            owasp: self.owasp.unwrap_or_else(|| owasp.to_vec()),
            detector,
            examples: RuleExamples { matches: self.matches, passes: self.pass },
        };
        Ok((rule, self.needs))
    }
}

fn patterns(written: &[String]) -> Result<Vec<Pattern>, String> {
    written.iter().map(|pattern| Pattern::of_rule(pattern)).collect()
}

/// One pattern for several; none if it would be too large.
fn gate(written: &[String]) -> Option<Pattern> {
    let groups: Vec<_> = written.iter().map(|pattern| format!("(?:{pattern})")).collect();
    (groups.len() > 1).then(|| Pattern::of_rule(&groups.join("|")).ok()).flatten()
}

impl WindowName {
    fn window(self) -> Window {
        match self {
            Self::Line => Window::Line,
            Self::Passage => Window::Passage,
            Self::Section => Window::Section,
            Self::File => Window::File,
            Self::Skill => Window::Skill,
        }
    }
}

impl KindName {
    fn kind(self) -> Option<PassageKind> {
        let kind = match self {
            Self::Frontmatter => PassageKind::Frontmatter,
            Self::Prose => PassageKind::Prose,
            Self::Code => PassageKind::Code,
            Self::Comment => PassageKind::Comment,
            Self::Script => PassageKind::Script,
            Self::Data => PassageKind::Data,
            Self::Decoded => return None,
        };
        Some(kind)
    }
}
