//! What upstreams list that nobody reviews: since when, and what policies may ask about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, SkillUri};
use skillwire_hub::{AuditAction, NamespaceName, NewAuditEntry, Timestamp, UpstreamSkillId};

use crate::{
    error::StoreError,
    hub_subject,
    records::time_of,
    sql::args,
    store::{HubStore, WriteTx, from_json, to_json},
    upstreams::require_upstream,
};

/// What an upstream lists of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedContent {
    /// The identity of its files; `None` without digests.
    pub content: Option<ContentId>,
    /// Whether it has files that can be run.
    pub has_scripts: bool,
}

impl ListedContent {
    /// A content, and whether it has files that can be run.
    pub fn new(content: Option<ContentId>, has_scripts: bool) -> Self {
        Self { content, has_scripts }
    }
}

/// What an upstream was seen to list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observation {
    /// What it listed when it was looked at last.
    pub listed: ListedContent,
    /// Since when it lists that.
    pub since: Timestamp,
}

/// The facts of an observation as they are kept. Rows without facts are of upstreams in `observe`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptFacts {
    #[serde(default)]
    has_scripts: bool,
    /// Whether the audit log names the content.
    #[serde(default = "recorded")]
    recorded: bool,
}

fn recorded() -> bool {
    true
}

impl HubStore {
    /// Keeps what an upstream lists without a review. Returns how many contents are new in the audit log,
    /// which names them if `records` is set.
    #[tracing::instrument(skip_all, fields(%label, skills = listed.len()))]
    pub async fn observe_listing(
        &self,
        label: &NamespaceName,
        listed: &BTreeMap<SkillUri, ListedContent>,
        records: bool,
    ) -> Result<usize, StoreError> {
        let known = self.kept_observations(label).await?;
        let mut changes = Vec::new();
        for (uri, now) in listed {
            let before = known.get(uri);
            let is_same = before.is_some_and(|(before, _)| before.listed.content == now.content);
            let was_recorded = is_same && before.is_some_and(|(_, kept)| kept.recorded);
            // Content without digests has nothing by which the log could name it.
            let is_news = records && !was_recorded && now.content.is_some();
            let recorded = was_recorded || is_news;
            let facts = KeptFacts { has_scripts: now.has_scripts, recorded };
            if !is_same || before.is_none_or(|(_, kept)| *kept != facts) {
                let since = before.filter(|_| is_same).map(|(before, _)| before.since);
                changes.push((uri, now, facts, since, is_news));
            }
        }
        let news = changes.iter().filter(|(.., is_news)| *is_news).count();
        if changes.is_empty() {
            return Ok(news);
        }
        let hub = hub_subject()?;
        let mut tx = self.begin_write(&hub).await?;
        let result = async {
            require_upstream(tx.tx(), label).await?;
            for (uri, now, facts, since, is_news) in &changes {
                keep(&mut tx, label, uri, now, facts, *since).await?;
                if *is_news {
                    let id = UpstreamSkillId::new(label.clone(), (*uri).clone());
                    tx.audit(NewAuditEntry {
                        action: AuditAction::Offer,
                        target: id.to_string(),
                        content: now.content,
                        details: serde_json::json!({"observed": true}).to_string(),
                    })
                    .await?;
                }
            }
            Ok(news)
        }
        .await;
        tx.finish(result).await
    }

    /// What an upstream was seen to list without a review, by its own URIs.
    pub async fn observations(
        &self,
        label: &NamespaceName,
    ) -> Result<BTreeMap<SkillUri, Observation>, StoreError> {
        let kept = self.kept_observations(label).await?;
        Ok(kept.into_iter().map(|(uri, (observation, _))| (uri, observation)).collect())
    }

    async fn kept_observations(
        &self,
        label: &NamespaceName,
    ) -> Result<BTreeMap<SkillUri, (Observation, KeptFacts)>, StoreError> {
        let select = "SELECT uri, content, seen_at, facts FROM observations WHERE upstream = $1";
        let mut known = BTreeMap::new();
        for row in self.database().rows(select, args![label.as_str()]).await? {
            let uri = SkillUri::parse(&row.text(0)?)
                .map_err(|_| StoreError::corrupt("the URI of a listed skill"))?;
            let content = match row.text(1)?.as_str() {
                "" => None,
                _ => Some(row.parsed(1, "content")?),
            };
            let facts: KeptFacts = from_json(&row.text(3)?, "facts of a listed skill")?;
            let listed = ListedContent::new(content, facts.has_scripts);
            known.insert(uri, (Observation { listed, since: time_of(&row, 2)? }, facts));
        }
        Ok(known)
    }
}

async fn keep(
    tx: &mut WriteTx,
    label: &NamespaceName,
    uri: &SkillUri,
    now: &ListedContent,
    facts: &KeptFacts,
    since: Option<Timestamp>,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO observations (upstream, uri, content, seen_at, facts)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (upstream, uri) DO UPDATE
        SET content = excluded.content, seen_at = excluded.seen_at, facts = excluded.facts";
    let content = now.content.map(|content| content.to_string()).unwrap_or_default();
    let since = since.unwrap_or(tx.now).as_millis();
    let values = args![label.as_str(), uri.as_str(), content, since, to_json(facts)?];
    tx.execute(insert, values).await.map(|_| ())
}
