//! What becomes of a listing: nothing, a record, or content that is fetched for its review.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use skillwire_core::{ContentId, SkillUri};
use skillwire_hub::{RuleOutcome, Upstream, UpstreamMode, UpstreamSkillId};
use skillwire_hub_store::{HubStore, NewJob, NewOffer, StoreError, UploadedFile, last_approved};

use crate::{facts::facts_of, fetching::OfferedSkill, follower::UpstreamState};

/// How long one replica has the fetching of an upstream to itself; it is extended with each skill.
const LEASE: Duration = Duration::from_mins(2);

/// The most bytes of the reason why something could not be fetched.
const MOST_REASON: usize = 300;

/// How long to wait before a listing is looked at again of which something could not be done.
const AGAIN: Duration = Duration::from_secs(10);

impl UpstreamState {
    /// Looks at every listing for ever.
    pub(crate) async fn review_for_ever(&self) {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            let again = match self.review().await {
                Ok(again) => again,
                Err(error) => {
                    let label = &self.settings.now().label;
                    tracing::warn!(%label, %error, "what an upstream lists could not be recorded");
                    Some(AGAIN)
                }
            };
            let again = async {
                match again {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                next = changes.changed() => if next.is_err() { return },
                () = self.reconsider.notified() => {}
                () = again => {}
            }
        }
    }

    /// Looks at the listing of now; returns when to do so again even if it stays the same.
    async fn review(&self) -> Result<Option<Duration>, StoreError> {
        let upstream = self.settings.now();
        let standing = self.standing();
        if standing.listed_at.is_none() || standing.failure.is_some() {
            // What was offered stays offered, so that a short outage takes no skill away.
            return Ok(None);
        }
        let offered: BTreeMap<SkillUri, (ContentId, OfferedSkill)> = self
            .offered()
            .into_iter()
            .filter_map(|skill| Some((skill.uri().clone(), (skill.content()?, skill))))
            .collect();
        let listed = offered.iter().map(|(uri, (content, _))| (uri.clone(), *content)).collect();
        let records = upstream.mode == UpstreamMode::Observe;
        if !upstream.mode.is_reviewed() {
            self.unfetched.lock().clear();
        }
        match upstream.mode {
            UpstreamMode::Passthrough | UpstreamMode::Observe => {
                // Policies ask how long a skill is there, and count on after a restart.
                let all = self.offered();
                let seen = all.iter().map(|skill| (skill.uri().clone(), skill.listed())).collect();
                let new = self.store.observe_listing(&upstream.label, &seen, records).await?;
                if new > 0 {
                    tracing::info!(label = %upstream.label, new, "an upstream lists new content");
                }
                Ok(None)
            }
            UpstreamMode::Admit | UpstreamMode::Pin => {
                let complete = standing.is_complete;
                let missing =
                    self.store.compare_listing(&upstream.label, &listed, complete).await?;
                self.unfetched.lock().retain(|uri, _| missing.contains(uri));
                if missing.is_empty() {
                    return Ok(None);
                }
                let mut missing: Vec<_> =
                    missing.iter().filter_map(|uri| offered.get(uri)).collect();
                // Skills inside others come first. A rule may approve the outer one at once, and nothing
                // would tell yet that the inner one waits.
                missing.sort_by_key(|(_, skill)| Reverse(skill.uri().root().segments().len()));
                self.fetch_alone(&upstream, missing).await
            }
        }
    }

    /// Fetches content, unless another replica does; then it is looked at again.
    async fn fetch_alone(
        &self,
        upstream: &Upstream,
        missing: Vec<&(ContentId, OfferedSkill)>,
    ) -> Result<Option<Duration>, StoreError> {
        let kind = format!("fetch-upstream:{}", upstream.label);
        let job = NewJob {
            kind: kind.clone(),
            payload: String::new(),
            unique_key: Some(kind.clone()),
            run_at: self.store.now(),
        };
        self.store.enqueue(job).await?;
        let Some(job) = self.store.lease_job(&kind, &self.worker, LEASE).await? else {
            return Ok(Some(Duration::from_secs(1)));
        };
        let mut failed = false;
        for (content, skill) in missing {
            if self.settings.now().mode != upstream.mode {
                break;
            }
            failed |= !self.note(upstream, skill, self.fetch(upstream, *content, skill).await?);
            if !self.store.renew_job(job.id, &self.worker, LEASE).await? {
                return Ok(Some(AGAIN));
            }
        }
        self.store.finish_job(job.id, &self.worker).await?;
        Ok(failed.then_some(AGAIN))
    }

    /// Notes why a skill could not be fetched, for those who look at the upstream; tells whether it was.
    fn note(&self, upstream: &Upstream, skill: &OfferedSkill, failed: Option<String>) -> bool {
        let mut unfetched = self.unfetched.lock();
        let Some(mut reason) = failed else {
            unfetched.remove(skill.uri());
            return true;
        };
        reason.truncate(reason.floor_char_boundary(MOST_REASON));
        if unfetched.get(skill.uri()) != Some(&reason) {
            let (label, uri) = (&upstream.label, skill.uri());
            tracing::warn!(%label, %uri, reason, "new content could not be fetched");
            unfetched.insert(uri.clone(), reason);
        }
        false
    }

    /// Fetches one content and keeps it for its review; returns why not, if it could not.
    async fn fetch(
        &self,
        upstream: &Upstream,
        content: ContentId,
        skill: &OfferedSkill,
    ) -> Result<Option<String>, StoreError> {
        let (label, uri) = (&upstream.label, skill.uri());
        let fetched = match skill.fetch(self.server(), upstream.limits.skill_bytes).await {
            Ok(fetched) => fetched,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let inspector = self.inspector.clone();
        // Inspecting large content takes seconds, in which this thread has clients to answer.
        let inspected = tokio::task::spawn_blocking(move || {
            let facts = facts_of(&fetched.files, &fetched.frontmatter, inspector.as_deref());
            (fetched, facts)
        });
        let (fetched, facts) = match inspected.await {
            Ok(inspected) => inspected,
            Err(error) => return Ok(Some(format!("inspecting it broke: {error}"))),
        };
        let id = UpstreamSkillId::new(label.clone(), uri.clone());
        let before = approved_before(&self.store, &id).await?;
        let outcome = upstream.rules.decide(&facts, before.as_ref());
        let files = fetched.files.into_iter().map(|(path, bytes)| UploadedFile {
            path,
            bytes,
            claimed: None,
        });
        let offer = NewOffer::new(uri.clone(), files.collect(), fetched.entry).with_facts(facts);
        match self.store.keep_offers(label, vec![offer]).await {
            Ok(_) => {}
            // The store says what is wrong with it, such as too many files; another listing may be better.
            Err(error) if error.refusal().is_some() => return Ok(Some(error.to_string())),
            Err(error) => return Err(error),
        }
        if let RuleOutcome::Approve { because } = outcome {
            self.store.approve_by_rules(&id, &content, &because).await?;
        }
        Ok(None)
    }
}

/// What the content of a skill shows that was approved last.
async fn approved_before(
    store: &HubStore,
    id: &UpstreamSkillId,
) -> Result<Option<skillwire_hub::ContentFacts>, StoreError> {
    let offers = store.offers_of(&id.upstream, Some(&id.uri)).await?;
    Ok(last_approved(&offers, id, None, store.now()).map(|offer| offer.facts.clone()))
}
