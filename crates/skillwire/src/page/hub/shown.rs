//! What a reader looks at: a version of the hub, or what an upstream offers.

use bytes::Bytes;
use serde_json::{Map, Value};
use skillwire_core::ContentId;
use skillwire_hub::{
    Caller, OfferState, SkillId, VersionFile, VersionRecord, VersionRef, VersionState,
};
use skillwire_hub_store::OfferRecord;
use skillwire_page::{
    Filled, PageProblem,
    model::{SkillKey, SkillState, Tone},
};

use super::{HubPage, problem};
use crate::page::{listing::fields_of, texts};

/// The beginning of the key of an offer.
const OFFER: &str = "offer:";

/// A content that a reader may see.
#[derive(Debug, Clone)]
pub(super) enum ShownContent {
    Version(VersionRecord),
    Offer(OfferRecord),
}

impl ShownContent {
    pub(super) fn key(&self) -> SkillKey {
        match self {
            Self::Version(record) => version_key(record),
            Self::Offer(offer) => SkillKey::new(format!("{OFFER}{}", offer.id)),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Version(record) => record.skill.name.to_string(),
            Self::Offer(offer) => {
                let segments = offer.skill.uri.root().segments();
                segments.last().map_or_else(|| offer.skill.uri.to_string(), ToString::to_string)
            }
        }
    }

    /// Where it comes from, in words.
    pub(super) fn origin(&self) -> String {
        match self {
            Self::Version(record) => texts::of_namespace(&record.skill.namespace),
            Self::Offer(offer) => texts::of_upstream(&offer.skill.upstream),
        }
    }

    /// Which of several contents it is, in words.
    pub(super) fn edition(&self) -> String {
        match self {
            Self::Version(record) => texts::of_version(&record.version),
            Self::Offer(offer) => texts::first_seen(offer.seen_at),
        }
    }

    pub(super) fn content(&self) -> ContentId {
        match self {
            Self::Version(record) => record.content,
            Self::Offer(offer) => offer.content,
        }
    }

    pub(super) fn files(&self) -> &[VersionFile] {
        match self {
            Self::Version(record) => &record.files,
            Self::Offer(offer) => &offer.files,
        }
    }

    pub(super) fn fields(&self) -> Map<String, Value> {
        match self {
            Self::Version(record) => fields_of(&record.entry),
            Self::Offer(offer) => fields_of(&offer.entry),
        }
    }

    /// The signers that the operator trusts and that vouch for it, as they were when it was fetched.
    pub(super) fn signers(&self) -> impl Iterator<Item = String> + '_ {
        let signers = match self {
            Self::Version(_) => None,
            Self::Offer(offer) => Some(&offer.facts.signers),
        };
        signers.into_iter().flatten().cloned()
    }

    /// Whether its bytes must not be shown.
    pub(super) fn is_refused(&self) -> bool {
        match self {
            Self::Version(record) => record.purged || record.state == VersionState::Revoked,
            Self::Offer(offer) => offer.revoked,
        }
    }

    pub(super) fn state(&self, page: &HubPage) -> SkillState {
        match self {
            Self::Version(record) => {
                let state = version_state(record.state);
                match &record.reason {
                    Some(reason) if !reason.is_empty() => state.detail(reason),
                    _ => state,
                }
            }
            Self::Offer(offer) => match offer.state(page.store().now()) {
                OfferState::Approved => SkillState::new(texts::OFFER_APPROVED, Tone::Good),
                OfferState::Rejected => SkillState::new(texts::OFFER_REJECTED, Tone::Bad),
                OfferState::Waiting => SkillState::new(texts::OFFER_WAITING, Tone::Waiting),
            },
        }
    }

    /// Whether it waits for a decision.
    pub(super) fn is_waiting(&self, page: &HubPage) -> bool {
        match self {
            Self::Version(record) => record.state == VersionState::Quarantined,
            Self::Offer(offer) => {
                offer.offered && offer.state(page.store().now()) == OfferState::Waiting
            }
        }
    }
}

pub(super) fn version_key(record: &VersionRecord) -> SkillKey {
    SkillKey::new(VersionRef::new(record.skill.clone(), record.version.clone()).to_string())
}

pub(super) fn version_state(state: VersionState) -> SkillState {
    let tone = match state {
        VersionState::Quarantined => Tone::Waiting,
        VersionState::Approved => Tone::Good,
        VersionState::Deprecated | VersionState::Yanked => Tone::Warning,
        VersionState::Rejected | VersionState::Revoked => Tone::Bad,
    };
    SkillState::new(state.as_str(), tone)
}

impl HubPage {
    /// Finds what a key names, if the caller may see it.
    pub(super) async fn shown(&self, caller: &Caller, key: &SkillKey) -> Filled<ShownContent> {
        let text = key.as_str();
        if let Some(offer) = text.strip_prefix(OFFER) {
            let id = offer.parse().map_err(|_| PageProblem::NotFound)?;
            let offer = self.store().offer(caller, id).await.map_err(problem)?;
            return Ok(ShownContent::Offer(offer));
        }
        let (skill, number) = match text.parse::<VersionRef>() {
            Ok(version) => (version.skill, Some(version.version)),
            Err(_) => (text.parse::<SkillId>().map_err(|_| PageProblem::NotFound)?, None),
        };
        let record = self.readers().version(caller, &skill, number.as_ref()).await;
        Ok(ShownContent::Version(record.map_err(problem)?))
    }

    /// Finds what came before: the last approved content of the same skill.
    pub(super) async fn earlier(
        &self,
        caller: &Caller,
        shown: &ShownContent,
    ) -> Filled<Option<ShownContent>> {
        match shown {
            ShownContent::Version(record) => {
                let all = self.readers().versions(caller, &record.skill).await.map_err(problem)?;
                let older = all.into_iter().filter(|other| {
                    other.published_at < record.published_at
                        && !other.purged
                        && other.version != record.version
                });
                let older: Vec<VersionRecord> = older.collect();
                let readable = older.iter().find(|other| other.state.is_readable()).cloned();
                Ok(readable.map(ShownContent::Version))
            }
            ShownContent::Offer(offer) => {
                let id = &offer.skill;
                let all = self.store().offers_of(&id.upstream, Some(&id.uri)).await;
                let now = self.store().now();
                let mut older = all.map_err(problem)?.into_iter().rev().filter(|other| {
                    other.id != offer.id && other.state(now) == OfferState::Approved
                });
                Ok(older.next().map(ShownContent::Offer))
            }
        }
    }

    /// Reads a file of a content. Reading is recorded where the hub records reads.
    pub(super) async fn bytes_at(
        &self,
        caller: &Caller,
        shown: &ShownContent,
        path: &str,
    ) -> Filled<Bytes> {
        let file = shown.files().iter().find(|file| file.path.as_str() == path);
        let file = file.ok_or(PageProblem::NotFound)?;
        if let ShownContent::Version(record) = shown {
            self.readers().note_read(caller, record, &file.path);
        }
        self.bytes(shown, file).await
    }

    pub(super) async fn bytes(&self, shown: &ShownContent, file: &VersionFile) -> Filled<Bytes> {
        if shown.is_refused() {
            let text = texts::CONTENT_REVOKED;
            return Err(PageProblem::Refused(text.to_owned()));
        }
        self.store().read_blob(&file.digest, file.size).await.map_err(problem)
    }
}
