//! Rules as data: what to look for, what it means, and examples that keep them honest.

mod examples;
mod file;

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde::Serialize;
use skillwire_core::Digest;

pub use self::{
    examples::{BrokenExample, ExampleKind},
    file::InvalidRules,
};
use crate::{Severity, flow::FlowKinds, pattern::Pattern, text::passage::PassageKind};

/// One rule.
#[derive(Debug, Clone, Serialize)]
pub struct ScanRule {
    /// Its identifier: the family and the name.
    pub id: String,
    /// Its family, such as `remote-code`.
    pub family: String,
    /// How much a match matters if the skill does it.
    pub severity: Severity,
    /// What was found, as a sentence.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// What a reviewer should ask.
    pub ask: String,
    /// Identifiers of the OWASP Agentic Skills Top 10.
    pub owasp: Vec<String>,
    #[serde(skip)]
    pub(crate) detector: Detector,
    #[serde(skip)]
    pub(crate) examples: examples::RuleExamples,
}

impl ScanRule {
    /// How many examples the rule has that must match, and how many that must not.
    pub fn examples(&self) -> (usize, usize) {
        (self.examples.matches.len(), self.examples.passes.len())
    }
}

/// How a rule finds what it is about.
#[derive(Debug, Clone)]
pub(crate) enum Detector {
    /// Texts in a passage.
    Text(Box<TextDetector>),
    /// Data that travels from one of these kinds of sources to one of these kinds of sinks.
    Flow(FlowDetector),
    /// A check that is written in Rust.
    BuiltIn,
}

/// What a rule looks for in the ways that data takes.
#[derive(Debug, Clone)]
pub(crate) struct FlowDetector {
    /// It travels from one of these kinds of sources
    pub(crate) from: Vec<String>,
    /// to one of these kinds of sinks,
    pub(crate) to: Vec<String>,
    /// and the skill says of itself what these match.
    pub(crate) claims: Vec<Pattern>,
}

/// What a rule looks for in text.
#[derive(Debug, Clone)]
pub(crate) struct TextDetector {
    /// One of these must match: it is the place of the finding.
    pub(crate) any: Vec<Pattern>,
    /// Matches what one of `any` matches, if these are several: most texts have none of them.
    pub(crate) gate: Option<Pattern>,
    /// Each of these must match near it.
    pub(crate) with: Vec<Pattern>,
    /// How near.
    pub(crate) within: Window,
    /// None of these may match in the same passage.
    pub(crate) unless: Vec<Pattern>,
    /// The kinds of passages to look at.
    pub(crate) kinds: Vec<PassageKind>,
    /// Whether only text that was hidden by an encoding is looked at.
    pub(crate) decoded_only: bool,
    /// Whether words around a match cannot turn it into a quotation.
    pub(crate) firm: bool,
}

/// How near texts must be to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Line,
    Passage,
    Section,
    File,
    Skill,
}

/// All rules of a scan.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) rules: Vec<ScanRule>,
    /// Finds the texts without which a rule cannot match.
    pub(crate) needed: AhoCorasick,
    /// The rule that each text of `needed` belongs to.
    pub(crate) needed_by: Vec<usize>,
    pub(crate) flow: FlowKinds,
    pub(crate) names: KnownNames,
    digest: Digest,
}

/// Names that others imitate.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownNames {
    pub(crate) skills: Vec<String>,
    pub(crate) packages: Vec<String>,
}

static BUILT_IN: LazyLock<RuleSet> = LazyLock::new(|| {
    RuleSet::build(&[]).expect("the tests compile the rules that the program is built with")
});

impl RuleSet {
    /// The rules that come with the program.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// The rules that come with the program, and those of more files: their names and their text.
    pub fn with_files(files: &[(String, String)]) -> Result<Self, InvalidRules> {
        Self::build(files)
    }

    fn build(more: &[(String, String)]) -> Result<Self, InvalidRules> {
        let built_in = file::BUILT_IN.iter().map(|(name, text)| (*name, *text));
        let more = more.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let mut parsed = file::ParsedRules::default();
        let mut hashed = Vec::new();
        for (name, text) in built_in.chain(more) {
            parsed.add(name, text)?;
            hashed.extend_from_slice(text.as_bytes());
        }
        parsed.finish(Digest::of(&hashed))
    }

    /// Every rule.
    pub fn rules(&self) -> &[ScanRule] {
        &self.rules
    }

    /// The rule with an identifier.
    pub fn rule(&self, id: &str) -> Option<&ScanRule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// A digest of the rules and of the version of the scanner: results are the same while it and
    /// the skill's content are the same.
    pub fn version(&self) -> String {
        format!("{}-{}", env!("CARGO_PKG_VERSION"), self.digest)
    }

    /// Every example of every rule that does not do what its rule promises.
    pub fn check_examples(&self) -> Vec<BrokenExample> {
        self.rules.iter().flat_map(|rule| examples::check(self, rule)).collect()
    }
}
