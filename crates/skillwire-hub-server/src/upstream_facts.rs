//! What a policy may ask about the skills of upstreams that the hub serves from its store.

use std::collections::BTreeMap;

use skillwire_core::{SkillName, SkillUri};
use skillwire_hub::{OfferState, SkillFacts, SkillId, Timestamp, UpstreamMode};
use skillwire_hub_store::{HubStore, OfferRecord, StoreError, UpstreamRecord};

use crate::api::worst_finding;

/// The milliseconds of a day, the unit of a skill's age.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Returns what is known about the served skills of an upstream. In the modes without a review the store
/// holds nothing, so that nothing is known.
pub(crate) async fn served_offers(
    store: &HubStore,
    record: &UpstreamRecord,
) -> Result<Vec<SkillFacts>, StoreError> {
    let (now, mode) = (store.now(), record.upstream.mode);
    if !mode.is_reviewed() {
        return Ok(Vec::new());
    }
    let mut served: BTreeMap<SkillUri, OfferRecord> = BTreeMap::new();
    for offer in store.offers_of(&record.upstream.label, None).await? {
        let is_served = offer.state(now) == OfferState::Approved
            && (mode == UpstreamMode::Pin || offer.offered);
        let decided = |offer: &OfferRecord| offer.decision.as_ref().map(|decision| decision.at);
        let before = served.get(&offer.skill.uri);
        if is_served && before.is_none_or(|before| decided(before) < decided(&offer)) {
            served.insert(offer.skill.uri.clone(), offer);
        }
    }
    Ok(served.values().filter_map(|offer| facts_of(offer, now)).collect())
}

/// What a policy may ask about an approved content; its age follows from when it was approved.
fn facts_of(offer: &OfferRecord, now: Timestamp) -> Option<SkillFacts> {
    let label = &offer.skill.upstream;
    let name = SkillName::parse(&offer.skill.uri.root().name()).ok()?;
    let mut facts = SkillFacts::new(SkillId::new(label.clone(), name));
    facts.origin = label.to_string();
    facts.signed_by.clone_from(&offer.facts.signers);
    facts.has_scripts = !offer.facts.scripts.is_empty();
    facts.worst_finding = worst_finding(&offer.facts);
    let since = offer.decision.as_ref().map_or(offer.seen_at, |decision| decision.at);
    let age = now.as_millis().saturating_sub(since.as_millis()).max(0) / DAY;
    facts.age = age.unsigned_abs();
    Some(facts)
}
