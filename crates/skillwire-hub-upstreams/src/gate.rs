//! What of an upstream reaches which mount, by its mode of now.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::{Map, Value, json};
use skillwire_core::{ContentId, Resources, Scheme};
use skillwire_gateway::{Admission, EntryNotes, UriMapping};
use skillwire_hub::{NamespaceName, Upstream, UpstreamMode};
use skillwire_trust::{ListedSkill, Origin};

use crate::PROVENANCE_META;

/// A mount that shows skills of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MountKind {
    /// The mount of this upstream alone, with its own URIs.
    Own,
    /// The mount of the whole hub, with the upstream's label in front of each URI.
    Aggregate,
}

impl MountKind {
    /// Both mounts.
    pub const ALL: [Self; 2] = [Self::Own, Self::Aggregate];

    /// Returns the URIs that clients of the mount see; `None` if the label cannot name an origin.
    pub fn uris(self, label: &NamespaceName) -> Option<UriMapping> {
        let origin = Origin::parse(label.as_str()).ok()?;
        Some(match self {
            Self::Own => UriMapping::unchanged(origin),
            Self::Aggregate => UriMapping::new(Scheme::default(), origin),
        })
    }

    /// Whether skills without digests are shown. Among those of other upstreams, nothing would tell their
    /// content apart from that of another.
    pub fn shows_dynamic(self) -> bool {
        self == Self::Own
    }
}

/// The upstream as it is set now; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamSettings(Arc<ArcSwap<Upstream>>);

impl UpstreamSettings {
    pub(crate) fn new(upstream: Upstream) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(upstream)))
    }

    pub(crate) fn now(&self) -> Arc<Upstream> {
        self.0.load_full()
    }

    pub(crate) fn replace(&self, upstream: Upstream) {
        self.0.store(Arc::new(upstream));
    }

    pub(crate) fn mode(&self) -> UpstreamMode {
        self.0.load().mode
    }
}

/// Passes skills of a server on to one mount while the mode lets them through unreviewed.
#[derive(Debug)]
pub(crate) struct MountGate {
    pub(crate) settings: UpstreamSettings,
    pub(crate) mount: MountKind,
}

impl Admission for MountGate {
    fn admits(&self, skill: &ListedSkill) -> bool {
        let is_dynamic = matches!(skill.clone().passed_on().entry().resources, Resources::Dynamic);
        !self.settings.mode().is_reviewed() && (self.mount.shows_dynamic() || !is_dynamic)
    }

    /// A mode that reviews takes effect at once, also for reads that are under way.
    fn still_admits(&self, _skill: &ListedSkill) -> bool {
        !self.settings.mode().is_reviewed()
    }
}

impl EntryNotes for MountGate {
    fn notes(&self, skill: &ListedSkill) -> Map<String, Value> {
        let upstream = self.settings.now();
        provenance(&upstream, content_of(skill))
    }
}

/// What the hub says about a skill that it passes on unreviewed.
pub(crate) fn provenance(upstream: &Upstream, content: Option<ContentId>) -> Map<String, Value> {
    let mut claims = json!({"origin": upstream.label, "mode": upstream.mode});
    if let Some(content) = content {
        claims["contentId"] = json!(content);
    }
    Map::from_iter([(PROVENANCE_META.to_owned(), claims)])
}

/// The identity of the files that an entry lists; `None` without digests.
pub(crate) fn content_of(skill: &ListedSkill) -> Option<ContentId> {
    let Resources::Listed(files) = &skill.entry().resources else { return None };
    let uri = &skill.id().uri;
    let files: Option<Vec<_>> =
        files.iter().map(|file| Some((uri.below(&file.uri)?, file.digest, file.size))).collect();
    ContentId::of(files?).ok()
}
