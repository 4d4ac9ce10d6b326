//! What the hub serves of an upstream from its store. Of skills inside others, what is not approved is not served
//! as a part of another either.

use std::collections::BTreeMap;

use skillwire_core::{ContentId, RelPath, SKILL_FILE, SkillUri};
use skillwire_hub::{
    OfferState, Timestamp, UpstreamMode, UpstreamSkill, UpstreamSkillId, Verdict, VersionFile,
};
use skillwire_hub_store::{HubStore, OfferRecord, StoreError};

/// What is served of some skills of an upstream, and until when that holds.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServedOffers {
    /// The content of each, by the upstream's own URI.
    pub skills: BTreeMap<SkillUri, OfferRecord>,
    /// When the first approval ends.
    pub next_end: Option<Timestamp>,
}

/// Chooses what of the kept contents of an upstream is served. A skill around one that is rejected, or that waits, is
/// not: clients would read the files of the inner one among those of the outer one, under the same URIs.
pub async fn served_offers(
    store: &HubStore,
    offers: Vec<OfferRecord>,
    mode: UpstreamMode,
) -> Result<ServedOffers, StoreError> {
    let mut chosen = choose(offers, mode, store.now());
    without_denied_inside(store, &mut chosen).await?;
    Ok(chosen)
}

/// Chooses what of the kept contents is approved.
fn choose(offers: Vec<OfferRecord>, mode: UpstreamMode, now: Timestamp) -> ServedOffers {
    let mut known: BTreeMap<SkillUri, UpstreamSkill> = BTreeMap::new();
    let mut records = BTreeMap::new();
    let mut next_end = None;
    for offer in offers.into_iter().filter(|offer| !offer.revoked) {
        let uri = offer.skill.uri.clone();
        let skill =
            known.entry(uri.clone()).or_insert_with(|| UpstreamSkill::new(offer.skill.clone()));
        skill.kept.insert(offer.content);
        if offer.offered {
            skill.offered = Some(offer.content);
        }
        if let Some(decision) = &offer.decision {
            let end = decision.until.filter(|until| *until > now);
            next_end = [next_end, end].into_iter().flatten().min();
            skill.decisions.insert(offer.content, decision.clone());
        }
        records.insert((uri, offer.content), offer);
    }
    let skills = known.into_iter().filter_map(|(uri, skill)| {
        let content = skill.served(mode, now)?;
        let record = records.remove(&(uri.clone(), content))?;
        Some((uri, record))
    });
    ServedOffers { skills: skills.collect(), next_end }
}

/// Takes out approved skills that hold a skill which is rejected, or which waits for a decision.
async fn without_denied_inside(
    store: &HubStore,
    offers: &mut ServedOffers,
) -> Result<(), StoreError> {
    let mut nested: Vec<(SkillUri, SkillUri)> = Vec::new();
    for (uri, outer) in &offers.skills {
        let paths = outer.files.iter().map(|file| &file.path);
        nested.extend(skills_inside(uri, paths).map(|inner| (uri.clone(), inner)));
    }
    for (uri, inner) in nested {
        let Some(outer) = offers.skills.get(&uri) else { continue };
        if is_denied(store, outer, &inner).await? {
            tracing::info!(%uri, %inner, "a skill is hidden for one inside it");
            offers.skills.remove(&uri);
        }
    }
    Ok(())
}

/// Tells whether files of an approved skill belong to a skill inside it that is rejected or undecided.
async fn is_denied(
    store: &HubStore,
    outer: &OfferRecord,
    inner: &SkillUri,
) -> Result<bool, StoreError> {
    let files = files_of(outer, inner);
    let records = store.offers_of(&outer.skill.upstream, Some(inner)).await?;
    if let Some(state) = decided_state(&records, &files, store.now()) {
        return Ok(state != OfferState::Approved);
    }
    // Rejected content is no longer kept when the upstream moves on; what was decided stays.
    let listed = files.iter().map(|file| (file.path.clone(), file.digest, file.size));
    if let Ok(content) = ContentId::of(listed) {
        let place = UpstreamSkillId::new(outer.skill.upstream.clone(), inner.clone()).place();
        if let Some(decision) = store.decision(&place, &content).await? {
            return Ok(decision.verdict == Verdict::Reject);
        }
    }
    // What the upstream began to list as a skill of its own after the approval was approved as a part of this
    // one. An upstream could otherwise take away what is pinned.
    let approved_at = outer.decision.as_ref().map(|decision| decision.at);
    Ok(records.iter().any(|record| approved_at.is_none_or(|at| record.seen_at <= at)))
}

/// What was decided about contents of a skill that have all these files; an approval comes first.
fn decided_state(
    records: &[OfferRecord],
    files: &[VersionFile],
    now: Timestamp,
) -> Option<OfferState> {
    [OfferState::Approved, OfferState::Rejected].into_iter().find(|state| {
        let mut decided = records.iter().filter(|record| record.state(now) == *state);
        decided.any(|record| files.iter().all(|file| record.files.contains(file)))
    })
}

/// The files of a skill that lie in another one, as that one would list them.
fn files_of(outer: &OfferRecord, inner: &SkillUri) -> Vec<VersionFile> {
    let root = outer.skill.uri.root();
    let inside = outer.files.iter().filter_map(|file| {
        let path = inner.below(&root.child(&file.path))?;
        Some(VersionFile { path, ..file.clone() })
    });
    inside.collect()
}

/// The URIs of what may be skills among the files of a skill.
pub fn skills_inside<'a>(
    uri: &SkillUri,
    files: impl IntoIterator<Item = &'a RelPath>,
) -> impl Iterator<Item = SkillUri> {
    let own = RelPath::skill_file();
    let nested = files
        .into_iter()
        .filter(move |path| **path != own && path.as_str().rsplit('/').next() == Some(SKILL_FILE));
    nested.filter_map(move |path| SkillUri::parse(uri.root().child(path).as_str()).ok())
}
