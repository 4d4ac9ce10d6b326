//! What a policy may ask about the skills of upstreams, as the store knows them.

use std::collections::BTreeMap;

use skillwire_core::{SkillName, SkillUri};
use skillwire_hub::{NamespaceName, OfferState, SkillFacts, SkillId, Timestamp, UpstreamMode};
use skillwire_hub_store::{HubStore, Observation, OfferRecord, StoreError, UpstreamRecord};

/// The state of a skill that no reviewer has seen, as policies know it.
pub const UNREVIEWED: &str = "unreviewed";

/// The milliseconds of a day, the unit of a skill's age.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Returns what is known about the served skills of an upstream. In the modes without a review these are
/// the skills that it was seen to list, also those that it lists no more.
pub async fn upstream_facts(
    store: &HubStore,
    record: &UpstreamRecord,
) -> Result<Vec<SkillFacts>, StoreError> {
    let (now, mode) = (store.now(), record.upstream.mode);
    if !mode.is_reviewed() {
        let label = &record.upstream.label;
        let seen = store.observations(label).await?;
        return Ok(seen
            .iter()
            .filter_map(|(uri, seen)| seen_facts(label, uri, seen, now))
            .collect());
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
    let mut facts = facts_from(&offer.skill.upstream, &offer.skill.uri)?;
    facts.signed_by.clone_from(&offer.facts.signers);
    facts.has_scripts = !offer.facts.scripts.is_empty();
    offer.facts.worst_finding().clone_into(&mut facts.worst_finding);
    let since = offer.decision.as_ref().map_or(offer.seen_at, |decision| decision.at);
    facts.age = days_between(since, now);
    Some(facts)
}

/// What a policy may ask about a content without a review; its age follows from when it was seen first.
fn seen_facts(
    label: &NamespaceName,
    uri: &SkillUri,
    seen: &Observation,
    now: Timestamp,
) -> Option<SkillFacts> {
    let mut facts = facts_from(label, uri)?;
    UNREVIEWED.clone_into(&mut facts.state);
    facts.has_scripts = seen.listed.has_scripts;
    facts.dynamic = seen.listed.content.is_none();
    facts.age = days_between(seen.since, now);
    Some(facts)
}

fn facts_from(label: &NamespaceName, uri: &SkillUri) -> Option<SkillFacts> {
    let name = SkillName::parse(&uri.root().name()).ok()?;
    let mut facts = SkillFacts::new(SkillId::new(label.clone(), name));
    facts.origin = label.to_string();
    Some(facts)
}

fn days_between(since: Timestamp, now: Timestamp) -> u64 {
    let age = now.as_millis().saturating_sub(since.as_millis()).max(0) / DAY;
    age.unsigned_abs()
}
