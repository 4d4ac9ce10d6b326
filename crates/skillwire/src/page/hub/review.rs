//! What waits for a reviewer: versions in quarantine, and what upstreams offer.

use skillwire_hub::{Action, Caller, PageRequest};
use skillwire_page::{
    Filled, PageProblem,
    model::{
        AnswerKind, BatchAnswers, CatalogueQuery, DiffView, FilterChoice, FilterGroup, QueueItem,
        QueueView, ReviewView, ScanResult, Severity, SkillKey,
    },
};

use super::{HubPage, problem, shown::ShownContent};
use crate::page::listing::description;

/// The most versions, and the most offers, that a queue holds at once. Decided ones make room.
const MAX_WAITING: u32 = 500;

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
        if let Some(origin) = query.filter("origin") {
            waiting.retain(|shown| shown.origin() == origin);
        }
        let range = query.range();
        let items = waiting.iter().skip(range.start).take(range.len()).map(|shown| QueueItem {
            key: shown.key(),
            name: shown.name(),
            description: description(&shown.fields()),
            origin: format!("{}, {}", shown.origin(), shown.edition()),
            state: shown.state(self),
            scan: scan_of(shown),
            shown: shown.content().to_string(),
        });
        let choice = |name: String| FilterChoice { value: name.clone(), label: name };
        Ok(QueueView {
            items: items.collect(),
            total: waiting.len(),
            page: query.page,
            filters: vec![FilterGroup {
                name: "origin",
                label: "Origin".to_owned(),
                choices: origins.into_iter().map(choice).collect(),
            }],
            query: query.clone(),
            has_batch: true,
            batch: BatchAnswers(AnswerKind::Approve, AnswerKind::Reject),
            empty: Some(
                "Nothing waits for you. A version appears here when its namespace asks for a review, and \
                 an offer when an upstream lists new content."
                    .to_owned(),
            ),
        })
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
            cautions.push(format!("It is {} and waits for no decision.", shown.state(self).word));
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

/// What inspecting an offer showed; versions are scanned when they are looked at.
fn scan_of(shown: &ShownContent) -> ScanResult {
    let ShownContent::Offer(offer) = shown else { return ScanResult::NotScanned };
    let all = [Severity::Info, Severity::Low, Severity::Medium, Severity::High, Severity::Critical];
    let worst = offer.facts.worst.as_deref();
    worst.map_or(ScanResult::NotScanned, |word| {
        let severity = all.into_iter().find(|severity| severity.word() == word);
        severity.map_or(ScanResult::NotScanned, ScanResult::Worst)
    })
}
