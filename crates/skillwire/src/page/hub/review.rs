//! What waits for a reviewer: versions in quarantine, and what upstreams offer.

use std::time::Duration;

use skillwire_hub::{Action, Caller, PageRequest};
use skillwire_page::{
    Filled, PageProblem,
    model::{
        AnswerKind, BatchAnswers, CatalogueQuery, DiffView, FilterChoice, FilterGroup, QueueItem,
        QueueView, ReviewView, ScanResult, Severity, SkillKey,
    },
};

use super::{HubPage, problem, shown::ShownContent};
use crate::page::{
    listing::description,
    scanned::{finding_filter, fits_finding},
    texts,
};

/// The most versions, and the most offers, that a queue holds at once. Decided ones make room.
const MAX_WAITING: u32 = 500;

/// How long a queue waits for scans of what it shows.
const SCAN_TIME: Duration = Duration::from_millis(400);

impl HubPage {
    /// Everything that waits for a caller, the longest waiting first; versions before offers.
    pub(super) async fn waiting(&self, caller: &Caller) -> Filled<Vec<ShownContent>> {
        let page = PageRequest::first(MAX_WAITING);
        let versions = self.store().waiting(caller, &page).await.map_err(problem)?;
        let offers = self.store().waiting_offers(caller, None, &page).await.map_err(problem)?;
        let versions = versions.items.into_iter().map(ShownContent::Version);
        Ok(versions.chain(offers.items.into_iter().map(ShownContent::Offer)).collect())
    }

    pub(super) async fn queue_page(
        &self,
        caller: &Caller,
        query: &CatalogueQuery,
    ) -> Filled<QueueView> {
        if !self.reviews_anything(caller).await? {
            return Err(PageProblem::NotFound);
        }
        let mut waiting = self.waiting(caller).await?;
        let mut origins: Vec<String> = waiting.iter().map(ShownContent::origin).collect();
        origins.sort();
        origins.dedup();
        let mut signers: Vec<String> = waiting.iter().flat_map(ShownContent::signers).collect();
        signers.sort();
        signers.dedup();
        if let Some(origin) = query.filter("origin") {
            waiting.retain(|shown| shown.origin() == origin);
        }
        if let Some(signer) = query.filter("signer") {
            waiting.retain(|shown| shown.signers().any(|name| name == signer));
        }
        if let Some(finding) = query.filter("finding") {
            waiting.retain(|shown| fits_finding(finding, self.scan_of(shown)));
        }
        let range = query.range();
        let start = range.start.min(waiting.len());
        let page = &waiting[start..range.end.min(waiting.len())];
        self.scan_unknown(page).await;
        let items = page.iter().map(|shown| QueueItem {
            key: shown.key(),
            name: shown.name(),
            description: description(&shown.fields()),
            origin: format!("{}, {}", shown.origin(), shown.edition()),
            state: shown.state(self),
            scan: self.scan_of(shown),
            shown: shown.content().to_string(),
        });
        let choice = |name: String| FilterChoice { value: name.clone(), label: name };
        let group = |name, label: &str, values: Vec<String>| {
            let choices = values.into_iter().map(choice).collect();
            FilterGroup { name, label: label.to_owned(), choices }
        };
        Ok(QueueView {
            items: items.collect(),
            total: waiting.len(),
            page: query.page,
            filters: vec![
                group("origin", texts::ORIGIN, origins),
                finding_filter(),
                group("signer", texts::SIGNER, signers),
            ],
            query: query.clone(),
            has_batch: true,
            batch: BatchAnswers(AnswerKind::Approve, AnswerKind::Reject),
            empty: Some(texts::HUB_QUEUE_EMPTY.to_owned()),
        })
    }

    /// What is known of the findings in a content.
    fn scan_of(&self, shown: &ShownContent) -> ScanResult {
        match (self.scans().of(shown.content()), shown) {
            (ScanResult::Unknown, ShownContent::Offer(offer)) => {
                offer.facts.worst.as_deref().map_or(ScanResult::Unknown, inspected)
            }
            (known, _) => known,
        }
    }

    /// Scans contents of which nothing is known, one after the other. What takes long goes on after this
    /// returned, and is there when the reader looks again.
    async fn scan_unknown(&self, contents: &[ShownContent]) {
        let is_unknown = |shown: &&ShownContent| {
            self.scan_of(shown) == ScanResult::Unknown && !shown.is_refused()
        };
        let unknown: Vec<ShownContent> = contents.iter().filter(is_unknown).cloned().collect();
        if unknown.is_empty() || !cfg!(feature = "scan") {
            return;
        }
        let page = self.clone();
        let scanning = tokio::spawn(async move {
            let Ok(_only) = page.0.scanning.try_lock() else { return };
            for shown in unknown {
                page.evidence(&shown, None).await;
            }
        });
        let _ = tokio::time::timeout(SCAN_TIME, scanning).await;
    }

    /// Tells whether a caller decides about a content.
    pub(super) async fn may_decide(&self, caller: &Caller, shown: &ShownContent) -> Filled<bool> {
        let home = match shown {
            ShownContent::Version(record) => &record.skill.namespace,
            ShownContent::Offer(offer) => &offer.skill.upstream,
        };
        let all = self.store().all_namespaces().await.map_err(problem)?;
        let home = all.iter().find(|namespace| namespace.name == *home);
        Ok(home.is_some_and(|home| caller.may(Action::Review, home)))
    }

    pub(super) async fn review_view(
        &self,
        caller: &Caller,
        shown: &ShownContent,
    ) -> Filled<ReviewView> {
        if !self.may_decide(caller, shown).await? {
            return Err(PageProblem::NotFound);
        }
        let before = self.earlier(caller, shown).await?;
        let evidence = self.evidence(shown, before.as_ref()).await;
        let diff = match &before {
            Some(before) => {
                let diff = self.diff_with(before, shown, &evidence, None).await?;
                // All findings follow, with the new ones marked.
                Some(DiffView { findings: Vec::new(), ..diff })
            }
            None => None,
        };
        let keys: Vec<SkillKey> =
            self.waiting(caller).await?.iter().map(ShownContent::key).collect();
        let at = keys.iter().position(|key| *key == shown.key());
        let next = at.and_then(|at| keys.get(at + 1)).or(keys.first());
        let is_waiting = shown.is_waiting(self);
        let mut cautions = Vec::new();
        if !is_waiting {
            cautions.push(texts::waits_for_nothing(&shown.state(self).word));
        }
        Ok(ReviewView {
            skill: self.filled_view(caller, shown, evidence).await?,
            diff,
            shown: shown.content().to_string(),
            answers: if is_waiting {
                vec![AnswerKind::Approve, AnswerKind::Reject]
            } else {
                Vec::new()
            },
            can_grant: false,
            can_run: false,
            cautions,
            asked_before: 0,
            next: next.filter(|key| **key != shown.key()).cloned(),
            waiting: keys.len(),
        })
    }
}

/// What inspecting an offer showed.
fn inspected(worst: &str) -> ScanResult {
    let all = [Severity::Info, Severity::Low, Severity::Medium, Severity::High, Severity::Critical];
    let severity = all.into_iter().find(|severity| severity.word() == worst);
    match severity {
        Some(severity) => ScanResult::Worst(severity),
        None if worst == "none" => ScanResult::NoFindings,
        None => ScanResult::Unknown,
    }
}
