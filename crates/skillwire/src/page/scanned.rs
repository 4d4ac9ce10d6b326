//! What the scanner says, as rows of the page.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
#[cfg(feature = "scan")]
use std::{collections::VecDeque, sync::Arc};

use skillwire_core::ContentId;
use skillwire_page::model::{
    EvidenceView, FilterChoice, FilterGroup, FindingRow, ReachRow, ScanResult, Severity,
};
use skillwire_source::Skill;

use super::{listing::content_of, texts};

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

/// The most contents of which all evidence is kept.
#[cfg(feature = "scan")]
const MAX_CONTENTS: usize = 200;

/// The most findings, things reached out to and files left out that are kept in total.
#[cfg(feature = "scan")]
const MAX_ROWS: usize = 200_000;

/// What scans of whole contents found, for a page that everybody may open: each content is read and
/// scanned once, and one at a time, however many visitors ask.
#[cfg(feature = "scan")]
#[derive(Default)]
pub(crate) struct KeptEvidence {
    /// The oldest first.
    kept: Mutex<VecDeque<(ContentId, EvidenceView)>>,
    scanning: tokio::sync::Mutex<()>,
}

#[cfg(feature = "scan")]
impl KeptEvidence {
    /// Returns what a scan of a content found. `scan` also says whether it saw all files; only then is the
    /// result kept.
    pub(crate) async fn of(
        self: &Arc<Self>,
        content: Option<ContentId>,
        scan: impl Future<Output = (EvidenceView, bool)> + Send + 'static,
    ) -> EvidenceView {
        if let Some(kept) = self.get(content) {
            return kept;
        }
        let own = Arc::clone(self);
        // A task of its own: if it ended with its request, a visitor who leaves at once could start
        // another scan while this one still goes on.
        let scanned = tokio::spawn(async move {
            let _alone = own.scanning.lock().await;
            if let Some(kept) = own.get(content) {
                return kept;
            }
            let (found, is_whole) = scan.await;
            if let Some(content) = content.filter(|_| is_whole) {
                own.keep(content, found.clone());
            }
            found
        });
        scanned.await.unwrap_or_default()
    }

    fn get(&self, content: Option<ContentId>) -> Option<EvidenceView> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| Some(*known) == content).map(|(_, found)| found.clone())
    }

    fn keep(&self, content: ContentId, found: EvidenceView) {
        let rows =
            |found: &EvidenceView| found.findings.len() + found.reach.len() + found.unseen.len();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((content, found));
        let mut all: usize = kept.iter().map(|(_, found)| rows(found)).sum();
        while kept.len() > MAX_CONTENTS || all > MAX_ROWS {
            let Some((_, oldest)) = kept.pop_front() else { return };
            all -= rows(&oldest);
        }
    }
}

/// A filter by the worst finding.
pub(crate) fn finding_filter() -> FilterGroup {
    let severities = [Severity::Critical, Severity::High, Severity::Medium, Severity::Low];
    let severities = severities
        .into_iter()
        .map(|severity| (severity.word().to_owned(), texts::or_worse(severity.word())));
    let others = [("none", texts::NO_FINDINGS), ("unscanned", texts::NOT_SCANNED)];
    let others = others.map(|(value, label)| (value.to_owned(), label.to_owned()));
    let choices = severities.chain(others).map(|(value, label)| FilterChoice { value, label });
    FilterGroup { name: "finding", label: texts::FINDINGS.to_owned(), choices: choices.collect() }
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
#[cfg(all(feature = "scan", feature = "host"))]
pub(crate) use self::rows::worst;

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
    #[cfg(feature = "host")]
    use crate::commands::scan::ScanCache;

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

    /// The worst finding in some files, from the user's cache if they were scanned before.
    #[cfg(feature = "host")]
    pub(crate) fn worst(files: &SkillFiles, cache: &ScanCache) -> Option<Severity> {
        let report = cache.get_or(files, || scan(files, RuleSet::built_in()));
        report.findings.iter().map(|finding| severity(finding.severity)).max()
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

#[cfg(all(test, feature = "scan"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use skillwire_core::{Digest, RelPath};

    use super::*;

    fn content(text: &str) -> ContentId {
        let file =
            (RelPath::parse("SKILL.md").expect("it is a path"), Digest::of(text.as_bytes()), 1);
        ContentId::of([file]).expect("one file is no collision")
    }

    #[tokio::test]
    async fn a_content_is_scanned_once_however_many_visitors_ask() {
        let evidence = Arc::new(KeptEvidence::default());
        let scans = Arc::new(AtomicUsize::new(0));
        let visit = |of: &str, is_whole: bool| {
            let (evidence, scans, content) =
                (Arc::clone(&evidence), Arc::clone(&scans), content(of));
            tokio::spawn(async move {
                let scan = async move {
                    scans.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    (EvidenceView { is_scanned: true, ..EvidenceView::default() }, is_whole)
                };
                assert!(evidence.of(Some(content), scan).await.is_scanned);
            })
        };
        for visit in (0..20).map(|_| visit("a", true)).collect::<Vec<_>>() {
            visit.await.unwrap();
        }
        assert_eq!(scans.load(Ordering::SeqCst), 1);
        for _ in 0..2 {
            visit("changing while it is read", false).await.unwrap();
        }
        assert_eq!(scans.load(Ordering::SeqCst), 3, "half a result is not kept");
        for other in 0..MAX_CONTENTS {
            visit(&other.to_string(), true).await.unwrap();
        }
        assert_eq!(evidence.kept.lock().unwrap().len(), MAX_CONTENTS);
        assert!(evidence.get(Some(content("a"))).is_none(), "the oldest made room");
    }
}
