//! Versions that clients name: `skill://NAMESPACE/_v/VERSION/NAME/SKILL.md`, read and never listed.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use skillwire_core::{ResourceUri, Scheme, SkillName, SkillPath, SkillUri};
use skillwire_hub::{NamespaceName, SkillId, VersionRef, parse_version};
use skillwire_source::{BoxFuture, HeldSkills, LookupOutcome, SkillLookup, path_of};
use tokio::sync::RwLock;

use crate::{
    freshness::Freshness,
    skill::{PINNED, ServedAt, SkillMaker},
};

/// The most versions that are kept; the one that was asked for first makes room.
const MOST_KEPT: usize = 1_000;

/// How many segments the path of such a skill has.
const SEGMENTS: usize = 4;

/// Looks up versions by number.
#[derive(Clone)]
pub(crate) struct PinnedVersions(Arc<Inner>);

struct Inner {
    maker: SkillMaker,
    source: HeldSkills,
    kept: Mutex<Kept>,
    /// Held while a version is looked up and taken in, and exclusively while changes are applied.
    /// Otherwise a version that is revoked between the two would be taken in after it was taken out.
    applying: Arc<RwLock<()>>,
    freshness: Arc<Freshness>,
}

#[derive(Default)]
struct Kept {
    order: VecDeque<VersionRef>,
    keys: BTreeMap<SkillId, Vec<VersionRef>>,
}

impl PinnedVersions {
    pub(crate) fn new(
        maker: SkillMaker,
        applying: Arc<RwLock<()>>,
        freshness: Arc<Freshness>,
    ) -> Self {
        let (source, kept) = (HeldSkills::default(), Mutex::default());
        Self(Arc::new(Inner { maker, source, kept, applying, freshness }))
    }

    /// The source that reports the versions that were looked up.
    pub(crate) fn source(&self) -> HeldSkills {
        self.0.source.clone()
    }

    /// Takes out the versions of a skill that changed; the next request looks them up again.
    pub(crate) fn forget(&self, skill: &SkillId) {
        let gone = {
            let mut kept = self.0.kept.lock();
            let gone = kept.keys.remove(skill).unwrap_or_default();
            kept.order.retain(|version| version.skill != *skill);
            gone
        };
        self.0.source.set(gone.iter().map(|version| (version.to_string(), None)));
    }

    /// Takes out everything.
    pub(crate) fn forget_all(&self) {
        let gone = std::mem::take(&mut *self.0.kept.lock()).order;
        self.0.source.set(gone.iter().map(|version| (version.to_string(), None)));
    }
}

impl std::fmt::Debug for PinnedVersions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedVersions").finish_non_exhaustive()
    }
}

impl Inner {
    async fn find(&self, version: VersionRef) -> LookupOutcome {
        // The lock and the database would both keep the client waiting for as long as a statement
        // may take.
        if !self.freshness.is_reachable() {
            return LookupOutcome::Failed;
        }
        let _applying = self.applying.read().await;
        let served = match self.maker.store().pinned(&version).await {
            Ok(Some(served)) => served,
            Ok(None) => return LookupOutcome::NotFound,
            Err(error) => {
                tracing::warn!(%version, %error, "a version could not be looked up");
                return LookupOutcome::Failed;
            }
        };
        match self.maker.make(&served, ServedAt::Pinned) {
            Some(skill) => {
                self.keep(version, skill);
                LookupOutcome::Found
            }
            None => LookupOutcome::Failed,
        }
    }

    fn keep(&self, version: VersionRef, skill: Arc<skillwire_source::Skill>) {
        let mut changes = vec![(version.to_string(), Some(skill))];
        {
            let mut kept = self.kept.lock();
            let versions = kept.keys.entry(version.skill.clone()).or_default();
            if !versions.contains(&version) {
                versions.push(version.clone());
                kept.order.push_back(version);
            }
            if kept.order.len() > MOST_KEPT
                && let Some(oldest) = kept.order.pop_front()
            {
                if let Some(versions) = kept.keys.get_mut(&oldest.skill) {
                    versions.retain(|version| *version != oldest);
                }
                changes.push((oldest.to_string(), None));
            }
        }
        self.source.set(changes);
    }
}

impl SkillLookup for PinnedVersions {
    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        let version = version_of(uri)?;
        let inner = Arc::clone(&self.0);
        Some(Box::pin(async move { inner.find(version).await }))
    }

    fn skill_of(&self, uri: &ResourceUri) -> Option<SkillUri> {
        let segments = uri.segments();
        let root = segments.get(..SEGMENTS).filter(|_| segments.len() > SEGMENTS)?;
        let path = SkillPath::parse(&root.join("/")).ok()?;
        let skill = SkillUri::new(&Scheme::default(), &path);
        (uri.scheme() == Scheme::default().as_str() && version_of(&skill).is_some())
            .then_some(skill)
    }
}

/// The version that a URI names, if it has the form of one.
fn version_of(uri: &SkillUri) -> Option<VersionRef> {
    if uri.root().scheme() != Scheme::default().as_str() {
        return None;
    }
    let path = path_of(uri);
    let segments: Vec<&str> = path.split('/').collect();
    let [namespace, PINNED, version, name] = segments[..] else { return None };
    let parsed = parse_version(version).ok()?;
    // Only the full form is a name: each version has one URI.
    if parsed.to_string() != version {
        return None;
    }
    let skill = SkillId::new(NamespaceName::parse(namespace).ok()?, SkillName::parse(name).ok()?);
    Some(VersionRef::new(skill, parsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_full_form_names_a_version() {
        let version = |text: &str| version_of(&SkillUri::parse(text).unwrap());
        let found = version("skill://acme/_v/1.2.0/refunds/SKILL.md").unwrap();
        assert_eq!(found.to_string(), "acme/refunds@1.2.0");
        for other in [
            "skill://acme/refunds/SKILL.md",
            "skill://acme/_v/1.2/refunds/SKILL.md",
            "skill://acme/_v/latest/refunds/SKILL.md",
            "skill://acme/x/_v/1.2.0/refunds/SKILL.md",
            "other://acme/_v/1.2.0/refunds/SKILL.md",
        ] {
            assert_eq!(version(other), None, "{other}");
        }
    }
}
