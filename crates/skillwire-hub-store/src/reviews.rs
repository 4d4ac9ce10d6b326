//! One queue for reviewers: versions that wait, and what upstreams offer.
//!
//! Keys are unique within a hub, so that the number of a review names a version or an offer and never both.

use std::collections::BTreeSet;

use skillwire_core::{ContentId, SkillUri};
use skillwire_hub::{
    Action, Caller, Cursor, NamespaceName, OfferState, Page, PageRequest, Refusal, Timestamp,
    Transition, UpstreamSkillId, Verdict, VersionFile, VersionRecord, VersionRef, VersionState,
};

use crate::{
    error::StoreError,
    lifecycle::{TransitionNote, check_stated_reason, commit_transition},
    namespaces::load_required,
    offers::{OfferDecision, OfferRecord, commit_decision, load_offer, load_offers},
    records::{version_columns, version_of},
    sql::{Tx, args},
    store::{HubStore, number},
};

/// The column of a version's key in `version_columns!`.
const KEY: usize = 14;

/// Something that a reviewer decides about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReviewRecord {
    /// A version that was published in the hub.
    Version {
        /// The number by which reviewers name it.
        id: u64,
        /// The version.
        version: Box<VersionRecord>,
    },
    /// A content that an upstream offers.
    Offer(Box<OfferRecord>),
}

impl ReviewRecord {
    /// Returns the number by which reviewers name it.
    pub fn id(&self) -> u64 {
        match self {
            Self::Version { id, .. } => *id,
            Self::Offer(offer) => offer.id,
        }
    }

    /// Returns the namespace or the label whose reviewers decide.
    pub fn namespace(&self) -> &NamespaceName {
        match self {
            Self::Version { version, .. } => &version.skill.namespace,
            Self::Offer(offer) => &offer.skill.upstream,
        }
    }

    /// Returns the identity of the files.
    pub fn content(&self) -> ContentId {
        match self {
            Self::Version { version, .. } => version.content,
            Self::Offer(offer) => offer.content,
        }
    }

    /// Returns the files, in order of their paths.
    pub fn files(&self) -> &[VersionFile] {
        match self {
            Self::Version { version, .. } => &version.files,
            Self::Offer(offer) => &offer.files,
        }
    }

    /// Returns when it was published, or first seen.
    pub fn since(&self) -> Timestamp {
        match self {
            Self::Version { version, .. } => version.published_at,
            Self::Offer(offer) => offer.seen_at,
        }
    }

    /// Returns where it stands at a moment.
    pub fn state(&self, now: Timestamp) -> OfferState {
        match self {
            Self::Offer(offer) => offer.state(now),
            Self::Version { version, .. } => match version.state {
                VersionState::Quarantined => OfferState::Waiting,
                VersionState::Rejected | VersionState::Revoked => OfferState::Rejected,
                VersionState::Approved | VersionState::Deprecated | VersionState::Yanked => {
                    OfferState::Approved
                }
            },
        }
    }
}

/// Which reviews a list has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReviewFilter {
    /// Only those of this upstream; versions are of none.
    pub upstream: Option<NamespaceName>,
    /// Where they stand.
    pub state: OfferState,
}

impl Default for ReviewFilter {
    fn default() -> Self {
        Self { upstream: None, state: OfferState::Waiting }
    }
}

impl HubStore {
    /// Lists what the caller reviews, the oldest first.
    pub async fn reviews(
        &self,
        caller: &Caller,
        filter: &ReviewFilter,
        page: &PageRequest,
    ) -> Result<Page<ReviewRecord>, StoreError> {
        let after = match &page.after {
            Some(cursor) => cursor.number("reviews")?,
            None => 0,
        };
        let wanted = page.limit() as usize + 1;
        let mut reviewed = self.reviewed_namespaces(caller).await?;
        let mut found = Vec::new();
        match &filter.upstream {
            Some(label) => reviewed.retain(|name| name == label),
            None => found = self.versions_after(&reviewed, filter.state, after, wanted).await?,
        }
        let offers = self.offers_after(&reviewed, filter.state, after, wanted).await?;
        found.extend(offers.into_iter().map(|offer| ReviewRecord::Offer(Box::new(offer))));
        found.sort_by_key(ReviewRecord::id);
        found.truncate(wanted);
        Ok(Page::cut(found, page.limit(), |last: &ReviewRecord| {
            Cursor::new("reviews", &[&last.id().to_string()])
        }))
    }

    /// Returns something that the caller reviews.
    pub async fn review(&self, caller: &Caller, id: u64) -> Result<ReviewRecord, StoreError> {
        let mut tx = self.begin_read().await?;
        let found = require_review(&mut tx, caller, id).await;
        tx.commit().await?;
        found
    }

    /// Decides about a version or an offer. A decision about content that is not there any more is refused
    /// with the content that is.
    #[tracing::instrument(skip_all, fields(id))]
    pub async fn decide_review(
        &self,
        caller: &Caller,
        id: u64,
        decision: OfferDecision,
    ) -> Result<ReviewRecord, StoreError> {
        check_stated_reason(&decision.reason)?;
        if let Some(at) = decision.until.filter(|until| *until <= self.now()) {
            return Err(Refusal::InThePast { what: "approval", at }.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let record = match require_review(tx.tx(), caller, id).await {
                Ok(record) => record,
                Err(error) => {
                    return Err(match decision.seen {
                        Some(seen) => moved(tx.tx(), caller, seen).await?.unwrap_or(error),
                        None => error,
                    });
                }
            };
            match &record {
                ReviewRecord::Offer(offer) => {
                    commit_decision(&mut tx, &caller.subject, offer, decision).await?;
                    let after = load_offer(tx.tx(), id).await?;
                    Ok(after.map_or(record, |offer| ReviewRecord::Offer(Box::new(offer))))
                }
                ReviewRecord::Version { version, .. } => {
                    let transition = match decision.verdict {
                        Verdict::Approve => Transition::Approve,
                        Verdict::Reject => Transition::Reject,
                    };
                    let note = TransitionNote::because(decision.reason)
                        .with_seen(decision.seen)
                        .with_until(decision.until)
                        .with_open_findings(decision.open_findings);
                    let named = VersionRef::new(version.skill.clone(), version.version.clone());
                    let after =
                        commit_transition(&mut tx, caller, &named, transition, &note).await?;
                    Ok(ReviewRecord::Version { id, version: Box::new(after) })
                }
            }
        }
        .await;
        tx.finish(result).await
    }

    /// Returns the offer of a content that an upstream offers now, if the caller reviews it.
    pub async fn offer_with(
        &self,
        caller: &Caller,
        content: &ContentId,
    ) -> Result<Option<u64>, StoreError> {
        let reviewed = self.reviewed_namespaces(caller).await?;
        let select = "SELECT id, upstream FROM offers WHERE content = $1 AND offered = 1
            ORDER BY id LIMIT 100";
        for row in self.database().rows(select, args![content.to_string()]).await? {
            if reviewed.contains(&row.parsed(1, "upstream")?) {
                return Ok(Some(row.count(0)?));
            }
        }
        Ok(None)
    }

    /// The namespaces in which the caller reviews.
    pub async fn reviewed_namespaces(
        &self,
        caller: &Caller,
    ) -> Result<BTreeSet<NamespaceName>, StoreError> {
        let all = self.all_namespaces().await?;
        let mine = all.into_iter().filter(|namespace| caller.may(Action::Review, namespace));
        Ok(mine.map(|namespace| namespace.name).collect())
    }

    /// Returns the first versions after a key that stand somewhere.
    async fn versions_after(
        &self,
        reviewed: &BTreeSet<NamespaceName>,
        state: OfferState,
        after: u64,
        wanted: usize,
    ) -> Result<Vec<ReviewRecord>, StoreError> {
        let select = concat!(
            "SELECT ",
            version_columns!(),
            " FROM versions v JOIN skills s ON s.key = v.skill
            WHERE v.state = $1 AND v.key > $2 ORDER BY v.key LIMIT 200"
        );
        let state = match state {
            OfferState::Waiting => VersionState::Quarantined,
            OfferState::Approved => VersionState::Approved,
            OfferState::Rejected => VersionState::Rejected,
        };
        let (mut after, mut found) = (number(after), Vec::new());
        while found.len() < wanted && !reviewed.is_empty() {
            let rows = self.database().rows(select, args![state.as_str(), after]).await?;
            let Some(last) = rows.last() else { break };
            after = last.int(KEY)?;
            for row in &rows {
                let version = Box::new(version_of(row)?);
                if reviewed.contains(&version.skill.namespace) {
                    found.push(ReviewRecord::Version { id: row.count(KEY)?, version });
                }
            }
        }
        Ok(found)
    }
}

/// Loads a review; one that the caller may not take is unknown to it.
async fn require_review(tx: &mut Tx, caller: &Caller, id: u64) -> Result<ReviewRecord, StoreError> {
    let unknown =
        || StoreError::from(Refusal::UnknownRecord { what: "review", id: id.to_string() });
    let record = if let Some(offer) = load_offer(tx, id).await? {
        ReviewRecord::Offer(Box::new(offer))
    } else {
        let select = concat!(
            "SELECT ",
            version_columns!(),
            " FROM versions v JOIN skills s ON s.key = v.skill WHERE v.key = $1"
        );
        let row = tx.row(select, args![number(id)]).await?.ok_or_else(unknown)?;
        ReviewRecord::Version { id, version: Box::new(version_of(&row)?) }
    };
    match load_required(tx, caller, record.namespace(), Action::Review).await {
        Ok(_) => Ok(record),
        Err(error) if error.refusal().is_some_and(Refusal::is_unknown) => Err(unknown()),
        Err(error) => Err(error),
    }
}

/// Says where an upstream went that offered a content before. Content that was never approved is not kept
/// when it moves, so that the log is what is left of it.
async fn moved(
    tx: &mut Tx,
    caller: &Caller,
    seen: ContentId,
) -> Result<Option<StoreError>, StoreError> {
    let select = "SELECT target FROM audit WHERE content = $1 AND action = 'offer'
        ORDER BY number DESC LIMIT 1";
    let Some(row) = tx.row(select, args![seen.to_string()]).await? else { return Ok(None) };
    let target = row.text(0)?;
    let Some(skill) = target.split_once(':').and_then(|(label, uri)| {
        Some(UpstreamSkillId::new(label.parse().ok()?, SkillUri::parse(uri).ok()?))
    }) else {
        return Ok(None);
    };
    if load_required(tx, caller, &skill.upstream, Action::Review).await.is_err() {
        return Ok(None);
    }
    let offers = load_offers(tx, &skill.upstream, Some(&skill.uri)).await?;
    let offered = offers.into_iter().find(|offer| offer.offered && offer.content != seen);
    Ok(offered.map(|now| Refusal::ContentMoved { decided: seen, actual: now.content }.into()))
}
