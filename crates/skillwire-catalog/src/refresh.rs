//! Brings a catalogue up to date with its sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
};

use skillwire_core::Finding;
use skillwire_source::{
    ChangeCallback, GroupId, InspectedSkill, ScanRequest, Skill, SkillSource, SourceChange,
    SourceUnavailable, UriNamespace, servable, shared_name_finding,
};

use crate::{
    catalog::{Catalog, CatalogChanges},
    snapshot::CatalogDelta,
};

/// Reads sources into a catalogue; skills of a source that cannot be read stay as they were.
#[derive(Debug)]
pub struct Refresher {
    catalog: Arc<Catalog>,
    sources: Vec<Box<dyn SkillSource>>,
    namespace: UriNamespace<Arc<Skill>>,
    published_once: bool,
    unique_names: bool,
}

/// Describes what one refresh found.
#[derive(Debug, Default)]
pub struct Refreshed {
    /// Sites that are new or different, as they are served; the first refresh lists every site.
    pub sites: Vec<(GroupId, Vec<InspectedSkill>)>,
    /// Sites that are gone.
    pub gone: Vec<GroupId>,
    /// The disputes about each URI that was looked at: the origin of each skill that claims it but
    /// is not served there, and the reason.
    ///
    /// The list is empty when no other skill claims the URI. The first refresh includes only
    /// disputed URIs.
    pub disputes: BTreeMap<Arc<str>, Vec<(String, Finding)>>,
    /// Findings that belong to no site, from the sources that were read.
    pub findings: Vec<Finding>,
    /// Sources that could not be read; their earlier skills are still served.
    pub unavailable: Vec<SourceUnavailable>,
    /// The changes that were published.
    pub changes: Arc<CatalogChanges>,
}

impl Refreshed {
    /// Iterates over each new or different place that is, or was meant to be, a skill.
    pub fn inspected(&self) -> impl Iterator<Item = &InspectedSkill> {
        self.sites.iter().flat_map(|(_, inspected)| inspected)
    }
}

impl Refresher {
    /// Connects sources to a catalogue.
    pub fn new(catalog: Arc<Catalog>, sources: Vec<Box<dyn SkillSource>>) -> Self {
        Self {
            catalog,
            sources,
            namespace: UriNamespace::default(),
            published_once: false,
            unique_names: false,
        }
    }

    /// Serves one skill of each name only: a skill whose name another one has is refused.
    #[must_use]
    pub fn unique_names(mut self) -> Self {
        self.namespace.unique_names();
        self.unique_names = true;
        self
    }

    /// Returns the catalogue that is kept up to date.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Returns the directories whose changes matter.
    pub fn watched(&self) -> Vec<PathBuf> {
        self.sources.iter().flat_map(|source| source.watched_directories()).collect()
    }

    /// Splits a scan of everything into parts; returns none if one scan does not take long.
    ///
    /// The part for sources without paths is an empty set.
    pub fn parts(&self) -> Vec<BTreeSet<PathBuf>> {
        let parts: Vec<_> = self.sources.iter().map(|source| source.scan_parts()).collect();
        if parts.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let all = self.sources.iter().zip(parts).flat_map(|(source, parts)| {
            let whole =
                parts.is_empty().then(|| source.watched_directories().into_iter().collect());
            parts.into_iter().chain(whole)
        });
        let mut empty = false;
        all.filter(|part| !part.is_empty() || !std::mem::replace(&mut empty, true)).collect()
    }

    /// Gives every source that detects changes by itself a callback to report them.
    pub fn on_change(&self, wake: &ChangeCallback) {
        for source in &self.sources {
            source.on_change(Arc::clone(wake));
        }
    }

    /// Scans every source and publishes what differs as one snapshot.
    #[tracing::instrument(
        level = "debug",
        skip_all,
        fields(paths = look.paths.as_ref().map(BTreeSet::len), force_read = look.force_read)
    )]
    pub fn refresh(&mut self, look: &ScanRequest) -> Refreshed {
        let mut refreshed = Refreshed::default();
        let mut touched = BTreeSet::new();
        for (index, source) in self.sources.iter().enumerate() {
            let namespace = &mut self.namespace;
            let mut hear = |report| match report {
                SourceChange::Updated(key, mut inspected) => {
                    // The list mostly holds one skill in space for four, and there may be a hundred
                    // thousand lists.
                    inspected.shrink_to_fit();
                    let site = (index, key);
                    touched.extend(namespace.replace(&site, servable(&inspected)));
                    refreshed.sites.push((site, inspected));
                }
                SourceChange::Removed(key) => {
                    let site = (index, key);
                    touched.extend(namespace.replace(&site, []));
                    refreshed.gone.push(site);
                }
            };
            // Changes that a source reported before it panicked are published all the same, because
            // the source will not report them again.
            let scanned = catch_unwind(AssertUnwindSafe(|| source.scan(look, &mut hear)));
            match scanned.unwrap_or_else(|_| Err(broken(index))) {
                Ok(findings) => refreshed.findings.extend(findings),
                Err(unavailable) => refreshed.unavailable.push(unavailable),
            }
        }
        let delta = self.resolve(&touched, &mut refreshed);
        self.judge(&mut refreshed);
        self.namespace.settle();
        if !self.published_once || !touched.is_empty() {
            refreshed.changes = self.catalog.publish(&delta);
            self.published_once = true;
        }
        refreshed
    }

    /// Decides which skill is served at each touched URI.
    fn resolve(&self, touched: &BTreeSet<Arc<str>>, refreshed: &mut Refreshed) -> CatalogDelta {
        let mut delta = CatalogDelta::default();
        for uri in touched {
            let disputes = self.namespace.conflicts(uri).into_iter();
            let disputes: Vec<_> =
                disputes.map(|(origin, finding)| (origin.to_owned(), finding)).collect();
            // An empty list of disputes is news only where there may have been a dispute before.
            if self.published_once || !disputes.is_empty() {
                refreshed.disputes.insert(Arc::clone(uri), disputes);
            }
            match self.namespace.holder(uri) {
                Some(skill) => delta.placed.push(Arc::clone(skill)),
                None => delta.removed.push(Arc::clone(uri)),
            }
        }
        delta
    }

    /// Records the decisions of the namespace in the reported sites.
    fn judge(&self, refreshed: &mut Refreshed) {
        let disputes = &refreshed.disputes;
        for inspected in refreshed.sites.iter_mut().flat_map(|(_, inspected)| inspected) {
            let Some(skill) = inspected.skill.clone() else { continue };
            let holder = self.namespace.holder(skill.uri.as_str());
            if holder.is_none_or(|holder| !Arc::ptr_eq(holder, &skill)) {
                let against = disputes.get(skill.uri.as_str()).into_iter().flatten();
                let own = against.filter(|(origin, _)| *origin == inspected.origin);
                inspected.findings.extend(own.map(|(_, finding)| finding.clone()));
                inspected.skill = None;
            } else if !self.unique_names {
                let shared = shared_name_finding(&inspected.origin, &skill, &self.namespace);
                inspected.findings.extend(shared);
            }
        }
    }
}

/// Returns the error for a source that panicked; the panic message is on standard error already.
fn broken(index: usize) -> SourceUnavailable {
    let origin = format!("Source {}", index + 1);
    SourceUnavailable::new(origin, "Looking at it broke. This is a fault of the program.")
}
