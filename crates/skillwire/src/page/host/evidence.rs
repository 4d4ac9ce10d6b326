//! What the scanner says about bytes that were read already.

#[cfg(feature = "scan")]
use std::collections::BTreeSet;
use std::{collections::HashMap, sync::Mutex};

use bytes::Bytes;
use skillwire_core::{Digest, Resources, SkillResource};
use skillwire_page::model::{ScanResult, Severity};
use skillwire_trust::{KnownSkill, ListedSkill, SkillId, Standing};

use super::{HostPage, lock};
use crate::{page::scanned::SkillEvidence, session::card};

/// The most results that are kept.
const MAX_KEPT: usize = 20_000;

/// The most bytes of one skill that are scanned before the user looks at it.
#[cfg(feature = "scan")]
const MAX_UNASKED_BYTES: u64 = 8 << 20;

/// The shortest pause between two passes over all skills.
#[cfg(feature = "scan")]
const SPACING: std::time::Duration = std::time::Duration::from_secs(1);

/// The worst finding of skills that were looked at.
#[derive(Default)]
pub(super) struct Scans {
    worst: Mutex<HashMap<SkillId, (Digest, Option<Severity>)>>,
}

impl Scans {
    /// What was found in a skill as it is now, if all of it was scanned.
    pub(super) fn result(&self, skill: &KnownSkill) -> ScanResult {
        let Some((content, worst)) = lock(&self.worst).get(skill.id()).copied() else {
            return ScanResult::NotScanned;
        };
        let is_now = skill.content().is_some_and(|now| now.fingerprint() == content);
        if is_now { worst.into() } else { ScanResult::NotScanned }
    }

    /// Tells whether one more result would take the place of another.
    #[cfg(feature = "scan")]
    fn is_full(&self) -> bool {
        lock(&self.worst).len() >= MAX_KEPT
    }

    fn keep(&self, skill: &SkillId, content: Digest, worst: Option<Severity>) {
        let mut kept = lock(&self.worst);
        if kept.len() >= MAX_KEPT
            && !kept.contains_key(skill)
            && let Some(other) = kept.keys().next().cloned()
        {
            kept.remove(&other);
        }
        kept.insert(skill.clone(), (content, worst));
    }
}

impl HostPage {
    /// Returns the bytes of a listed file that are on this machine.
    pub(super) fn bytes_of(&self, listed: &ListedSkill, file: &SkillResource) -> Option<Bytes> {
        let id = listed.id();
        if id.origin.server().is_none() {
            return self.host.read_from_folder(id, file).ok().map(|file| file.bytes().clone());
        }
        let cached = self.host.inspect_cached(id, file).map(|file| file.bytes);
        cached.or_else(|| lock(&self.inspected).get(&(id.clone(), file.uri.clone())).cloned())
    }

    /// Scans what was read of a skill. Nothing is fetched for it.
    #[cfg_attr(
        not(feature = "scan"),
        expect(
            clippy::unused_async,
            reason = "only a build with the scanner has work to wait for"
        )
    )]
    pub(super) async fn evidence(
        &self,
        listed: &ListedSkill,
        standing: &Standing,
    ) -> SkillEvidence {
        #[cfg(feature = "scan")]
        {
            let (now, complete) = self.files_now(listed);
            let before = self.files_before(listed, standing);
            let work = move || crate::page::scanned::compare(&now, before.as_ref());
            let Ok(evidence) = tokio::task::spawn_blocking(work).await else {
                return SkillEvidence::default();
            };
            if let (true, Some(content)) = (complete, listed.content()) {
                self.scans.keep(listed.id(), content.fingerprint(), evidence.view.worst());
            }
            evidence
        }
        #[cfg(not(feature = "scan"))]
        {
            let _ = (listed, standing);
            SkillEvidence::default()
        }
    }
}

#[cfg(feature = "scan")]
impl HostPage {
    /// Scans what is on this machine already, so that the list can be narrowed by findings: the skills of
    /// folders, and those of servers that were read. It scans one skill at a time, and fetches nothing.
    pub(crate) async fn scan_in_background(self: std::sync::Arc<Self>) {
        loop {
            self.looked.notified().await;
            let started = tokio::time::Instant::now();
            let page = std::sync::Arc::clone(&self);
            if tokio::task::spawn_blocking(move || page.scan_what_is_here()).await.is_err() {
                return;
            }
            // A server that announces changes without end costs at most a tenth of one core.
            tokio::time::sleep(SPACING.max(9 * started.elapsed())).await;
        }
    }

    fn scan_what_is_here(&self) {
        // The rules take memory, which a page of skills that were never read does without.
        let cache = std::cell::LazyCell::new(|| {
            crate::commands::scan::ScanCache::open(false, skillwire_scan::RuleSet::built_in())
        });
        let known = self.known();
        for (item, _) in known.all() {
            let Ok(listed) = item.skill.certain() else { continue };
            if self.scans.is_full() {
                return;
            }
            if self.scans.result(&item.skill) == ScanResult::NotScanned
                && let Some(files) = self.whole_files(listed)
                && let Some(content) = listed.content()
            {
                let worst = crate::page::scanned::worst(&files, &cache);
                self.scans.keep(listed.id(), content.fingerprint(), worst);
            }
        }
    }

    /// All files of a skill, if all of them are on this machine and they are not too large.
    fn whole_files(&self, listed: &ListedSkill) -> Option<skillwire_scan::SkillFiles> {
        let Resources::Listed(resources) = &listed.entry().resources else { return None };
        let bytes = resources.iter().try_fold(0, |sum: u64, file| sum.checked_add(file.size))?;
        if resources.is_empty() || bytes > MAX_UNASKED_BYTES {
            return None;
        }
        let uri = &listed.id().uri;
        resources.iter().try_fold(skillwire_scan::SkillFiles::new(), |files, resource| {
            Some(files.with(card::path(uri, resource), self.bytes_of(listed, resource)?))
        })
    }

    /// The files as they are listed, and whether all of them were read.
    fn files_now(&self, listed: &ListedSkill) -> (skillwire_scan::SkillFiles, bool) {
        let mut files = skillwire_scan::SkillFiles::new();
        let Resources::Listed(resources) = &listed.entry().resources else {
            let kept = lock(&self.inspected);
            for ((skill, uri), bytes) in kept.iter().filter(|((skill, _), _)| skill == listed.id())
            {
                let path = skill.uri.below(uri).map(|path| path.to_string()).unwrap_or_default();
                files.add(path, bytes.clone());
            }
            return (files, false);
        };
        let uri = &listed.id().uri;
        let mut complete = true;
        for resource in resources {
            let path = card::path(uri, resource);
            if let Some(bytes) = self.bytes_of(listed, resource) {
                files.add(path, bytes);
            } else {
                complete = false;
                let reason = skillwire_scan::UnseenReason::NotFetched;
                files.add_unread(path, Some(resource.size), reason);
            }
        }
        (files, complete)
    }

    /// The files that the user approved, as far as they are still on this machine; `None` if there was
    /// no other version.
    fn files_before(
        &self,
        listed: &ListedSkill,
        standing: &Standing,
    ) -> Option<skillwire_scan::SkillFiles> {
        let Standing::Changed(changes) = standing else { return None };
        let Resources::Listed(resources) = &listed.entry().resources else { return None };
        let uri = &listed.id().uri;
        let new: BTreeSet<&str> = changes
            .added
            .iter()
            .chain(changes.changed.iter().map(|(_, after)| after))
            .map(|file| file.uri.as_str())
            .collect();
        let kept = resources.iter().filter(|file| !new.contains(file.uri.as_str()));
        let earlier = changes.changed.iter().map(|(earlier, _)| earlier);
        let mut before = skillwire_scan::SkillFiles::new();
        for resource in kept.chain(earlier).chain(&changes.removed) {
            if let Some(bytes) = self.bytes_of(listed, resource) {
                before.add(card::path(uri, resource), bytes);
            }
        }
        Some(before)
    }
}
