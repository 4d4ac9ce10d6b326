//! What a scan found in a skill, and what the skill reaches out to.

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Rarely matters.
    Low,
    /// Look at it.
    Medium,
    /// Look at it before anything else.
    High,
    /// Do not use the skill before it is explained.
    Critical,
}

impl Severity {
    /// The word in addresses and on the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What is known about a skill as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScanResult {
    /// The provider does not know, so that nothing is said.
    #[default]
    Unknown,
    /// No scan was made, or not of all of it.
    NotScanned,
    /// Nothing was found.
    NoFindings,
    /// The worst that was found.
    Worst(Severity),
}

impl From<Option<Severity>> for ScanResult {
    fn from(worst: Option<Severity>) -> Self {
        worst.map_or(Self::NoFindings, Self::Worst)
    }
}

/// What a scan found.
#[derive(Debug, Clone, Default)]
pub struct EvidenceView {
    /// Whether this build scans, and something was read that could be scanned.
    pub is_scanned: bool,
    /// The findings, worst first.
    pub findings: Vec<FindingRow>,
    /// What the skill reaches out to.
    pub reach: Vec<ReachRow>,
    /// How many more things it reaches out to than are listed.
    pub reach_left_out: usize,
    /// What the scan did not look at.
    pub unseen: Vec<UnseenFile>,
}

impl EvidenceView {
    /// The worst severity of a finding.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// One finding.
#[derive(Debug, Clone)]
pub struct FindingRow {
    /// The rule.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, as a sentence.
    pub title: String,
    /// Whether the skill only speaks of it.
    pub is_mentioned: bool,
    /// Whether the approved version did not have it.
    pub is_new: bool,
    /// The places that it rests on.
    pub evidence: Vec<EvidenceLine>,
    /// How many more places there are.
    pub repeated: usize,
}

/// One place that a finding rests on.
#[derive(Debug, Clone)]
pub struct EvidenceLine {
    /// The file.
    pub file: String,
    /// The line, counted from one.
    pub line: Option<usize>,
    /// The text as the file has it.
    pub text: String,
    /// How the text was encoded, and what it decodes to.
    pub decoded: Option<(String, String)>,
    /// What happens here, for data that travels.
    pub step: Option<String>,
}

/// One thing that a skill reaches out to.
#[derive(Debug, Clone)]
pub struct ReachRow {
    /// The kind, such as `host`.
    pub kind: &'static str,
    /// Its name.
    pub value: String,
    /// The first file that names it.
    pub file: String,
    /// The first line.
    pub line: usize,
    /// How often it is named.
    pub count: usize,
    /// Whether the approved version did not reach out to it.
    pub is_new: bool,
}

/// Something that a scan did not look at.
#[derive(Debug, Clone)]
pub struct UnseenFile {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}
