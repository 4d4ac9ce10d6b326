//! What the scanner says, as rows of the page.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use skillwire_core::ContentId;
use skillwire_page::model::{
    EvidenceView, FilterChoice, FilterGroup, FindingRow, ReachRow, ScanResult, Severity,
};
use skillwire_source::Skill;

use super::listing::content_of;

/// The most results that are kept.
#[cfg(feature = "scan")]
const MAX_KEPT: usize = 20_000;

/// The worst findings of contents that were scanned as a whole. A content never changes, so a result
/// holds for as long as the program runs.
#[derive(Default)]
pub(crate) struct KnownScans(Mutex<HashMap<ContentId, Option<Severity>>>);

impl KnownScans {
    /// What a scan found in a content, if that is known.
    pub(crate) fn of(&self, content: ContentId) -> ScanResult {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&content).map_or(ScanResult::Unknown, |worst| (*worst).into())
    }

    /// What a scan found in what a skill has now, if that is known.
    pub(crate) fn of_skill(&self, skill: &Skill) -> ScanResult {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            // Identifying each content of a large catalogue would be for nothing.
            return ScanResult::Unknown;
        }
        content_of(skill).map_or(ScanResult::Unknown, |content| self.of(content))
    }

    /// Keeps what a scan of a whole content found.
    #[cfg(feature = "scan")]
    pub(crate) fn keep(&self, content: ContentId, found: &EvidenceView) {
        if !found.is_scanned {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(content, found.worst());
    }
}

/// A filter by the worst finding.
pub(crate) fn finding_filter() -> FilterGroup {
    let severities = [Severity::Critical, Severity::High, Severity::Medium, Severity::Low];
    let severities = severities
        .into_iter()
        .map(|severity| (severity.word().to_owned(), format!("{} or worse", severity.word())));
    let others = [("none", "no findings"), ("unscanned", "not scanned")];
    let others = others.map(|(value, label)| (value.to_owned(), label.to_owned()));
    let choices = severities.chain(others).map(|(value, label)| FilterChoice { value, label });
    FilterGroup { name: "finding", label: "Findings".to_owned(), choices: choices.collect() }
}

/// Tells whether the result of a scan fits the value of the filter.
pub(crate) fn fits_finding(wanted: &str, scan: ScanResult) -> bool {
    let severities = [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];
    match (wanted, scan) {
        ("unscanned", scan) => matches!(scan, ScanResult::NotScanned | ScanResult::Unknown),
        ("none", scan) => scan == ScanResult::NoFindings,
        (wanted, ScanResult::Worst(worst)) => {
            severities.into_iter().any(|severity| severity.word() == wanted && worst >= severity)
        }
        _ => false,
    }
}

/// What a scan says about a skill, and what is new in it since the user approved it.
#[derive(Default)]
pub(crate) struct SkillEvidence {
    pub(crate) view: EvidenceView,
    pub(crate) new_findings: Vec<FindingRow>,
    pub(crate) reach_added: Vec<ReachRow>,
    pub(crate) reach_removed: Vec<ReachRow>,
}

#[cfg(feature = "scan")]
pub(crate) use self::rows::compare;

/// From reports of the scanner to rows of the page.
#[cfg(feature = "scan")]
mod rows {
    use skillwire_page::model::{
        EvidenceLine, EvidenceView, FindingRow, ReachRow, Severity, UnseenFile,
    };
    use skillwire_scan::{
        Encoding, LedgerEntry, RuleSet, ScanFinding, ScanReport, SkillFiles, Usage, scan,
    };

    use super::SkillEvidence;

    /// Scans both versions.
    pub(crate) fn compare(now: &SkillFiles, before: Option<&SkillFiles>) -> SkillEvidence {
        if now.read().next().is_none() {
            return SkillEvidence::default();
        }
        let report = scan(now, RuleSet::built_in());
        let earlier = before.map(|before| scan(before, RuleSet::built_in()));
        let new: Vec<&ScanFinding> =
            earlier.iter().flat_map(|earlier| report.new_since(earlier)).collect();
        let is_new = |finding: &ScanFinding| new.iter().any(|new| std::ptr::eq(*new, finding));
        let reach = earlier.as_ref().map(|earlier| report.ledger.since(&earlier.ledger));
        let reach = reach.unwrap_or_default();
        let is_added = |entry: &LedgerEntry| {
            reach.added.iter().any(|it| it.kind == entry.kind && it.value == entry.value)
        };
        let ScanReport { findings, ledger, coverage } = &report;
        let unseen = coverage.unseen.iter().map(|unseen| UnseenFile {
            file: unseen.file.clone(),
            reason: unseen.reason.as_str().to_owned(),
        });
        SkillEvidence {
            view: EvidenceView {
                is_scanned: true,
                findings: findings.iter().map(|it| finding_row(it, is_new(it))).collect(),
                reach: ledger.all().iter().map(|it| reach_row(it, is_added(it))).collect(),
                reach_left_out: ledger.left_out(),
                unseen: unseen.collect(),
            },
            new_findings: new.iter().map(|it| finding_row(it, true)).collect(),
            reach_added: reach.added.iter().map(|it| reach_row(it, true)).collect(),
            reach_removed: reach.removed.iter().map(|it| reach_row(it, false)).collect(),
        }
    }

    fn severity(severity: skillwire_scan::Severity) -> Severity {
        match severity {
            skillwire_scan::Severity::Info => Severity::Info,
            skillwire_scan::Severity::Low => Severity::Low,
            skillwire_scan::Severity::Medium => Severity::Medium,
            skillwire_scan::Severity::High => Severity::High,
            skillwire_scan::Severity::Critical => Severity::Critical,
        }
    }

    fn finding_row(finding: &ScanFinding, is_new: bool) -> FindingRow {
        let evidence = finding.evidence.iter().map(|it| {
            let how: Vec<&str> = it.encodings.iter().copied().map(Encoding::as_str).collect();
            EvidenceLine {
                file: it.file.clone(),
                line: it.line,
                text: it.text.clone(),
                decoded: it.decoded.clone().map(|decoded| (how.join(", "), decoded)),
                step: it.step.clone(),
            }
        });
        FindingRow {
            rule: finding.rule.clone(),
            severity: severity(finding.severity),
            title: finding.title.clone(),
            is_mentioned: finding.usage == Usage::Mentioned,
            is_new,
            evidence: evidence.collect(),
            repeated: finding.repeated,
        }
    }

    fn reach_row(entry: &LedgerEntry, is_new: bool) -> ReachRow {
        ReachRow {
            kind: entry.kind.as_str(),
            value: entry.value.clone(),
            file: entry.file.clone(),
            line: entry.line,
            count: entry.count,
            is_new,
        }
    }
}
