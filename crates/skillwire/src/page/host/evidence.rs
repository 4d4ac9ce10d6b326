//! What the scanner says about bytes that were read already.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Mutex,
};

use bytes::Bytes;
use skillwire_core::{Digest, Resources, SkillResource};
use skillwire_page::model::{ScanResult, Severity};
use skillwire_trust::{KnownSkill, ListedSkill, SkillId, Standing};

use super::{HostPage, lock};
use crate::{page::scanned::SkillEvidence, session::card};

/// The most results that are kept.
const MAX_KEPT: usize = 20_000;

/// The worst finding and the signer of skills that were looked at.
#[derive(Default)]
pub(super) struct Scans {
    worst: Mutex<HashMap<SkillId, (Digest, Option<Severity>)>>,
    signers: Mutex<HashMap<SkillId, String>>,
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

    fn keep(&self, skill: &SkillId, content: Digest, worst: Option<Severity>) {
        let mut kept = lock(&self.worst);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(skill.clone(), (content, worst));
    }

    pub(super) fn signer(&self, skill: &SkillId) -> Option<String> {
        lock(&self.signers).get(skill).cloned()
    }

    pub(super) fn keep_signer(&self, skill: &SkillId, signer: &str) {
        lock(&self.signers).insert(skill.clone(), signer.to_owned());
    }

    /// Every signer that was seen.
    pub(super) fn signers(&self) -> BTreeSet<String> {
        lock(&self.signers).values().cloned().collect()
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
