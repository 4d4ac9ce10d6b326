//! Everything that a scan says about one skill.

use serde::{Deserialize, Serialize};

use crate::{ReachLedger, ScanCoverage, ScanFinding, Severity, Usage};

/// The result of a scan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScanReport {
    /// What a reviewer should see, worst first.
    pub findings: Vec<ScanFinding>,
    /// What the skill reaches out to.
    pub ledger: ReachLedger,
    /// What was looked at, and what was not.
    pub coverage: ScanCoverage,
}

impl ScanReport {
    /// The worst severity of a finding, if there is one.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The findings of a severity or worse.
    pub fn at_least(&self, severity: Severity) -> impl Iterator<Item = &ScanFinding> {
        self.findings.iter().filter(move |finding| finding.severity >= severity)
    }

    /// The findings that an earlier report of the same skill does not have: another rule, another
    /// text, or a place that only spoke of it before.
    pub fn new_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = &'a ScanFinding> {
        let known = |finding: &ScanFinding| {
            earlier.findings.iter().any(|before| {
                before.rule == finding.rule
                    && before.severity >= finding.severity
                    && before.evidence.first().map(|it| &it.text)
                        == finding.evidence.first().map(|it| &it.text)
            })
        };
        self.findings.iter().filter(move |finding| !known(finding))
    }

    pub(crate) fn sort(&mut self) {
        self.findings.sort_by(|a, b| {
            let place = |it: &ScanFinding| (it.file().to_owned(), it.line());
            b.severity
                .cmp(&a.severity)
                .then_with(|| (a.usage == Usage::Mentioned).cmp(&(b.usage == Usage::Mentioned)))
                .then_with(|| place(a).cmp(&place(b)))
                .then_with(|| a.rule.cmp(&b.rule))
        });
    }
}
