//! The skills of this machine's folders as a source, beside those of servers.

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;
use serde_json::Map;
use skillwire_core::{Digest, Finding, RelPath, Scheme, SkillUri};
use skillwire_host::Host;
use skillwire_source::{
    ChangeCallback, ChangeTracker, FileStore, FileStoreError, GroupKey, InspectedSkill,
    ScanRequest, SkillContent, SkillSource, SourceChange, SourceUnavailable,
};
use skillwire_trust::{ListedSkill, Origin, SkillId, UriMapping};

use crate::{
    followed::signal::ChangeSignal,
    passing_on::admission::{Admission, admitted},
    passing_on::entry::text_of,
    passing_on::files::{is_about_content, resource},
    passing_on::provenance::GatewayId,
    passing_on::skill::{files, inspected, skill},
};

/// The skills that a host found in folders, as a source; clones share one state.
///
/// This crate does not read folders. The program reads them, gives the skills to the host, and then
/// calls [`Self::reconsider`].
#[derive(Debug, Clone)]
pub struct FollowedFolders(Arc<FoldersInner>);

struct FoldersInner {
    host: Host,
    admission: Arc<dyn Admission>,
    gateway: GatewayId,
    mappings: [UriMapping; 2],
    reported: ChangeTracker,
    signal: ChangeSignal,
}

impl fmt::Debug for FoldersInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedFolders").finish_non_exhaustive()
    }
}

impl FollowedFolders {
    /// Creates a source of the skills that the host found in folders and `admission` admits, under
    /// URIs of `scheme`.
    pub fn new(
        host: Host,
        admission: Arc<dyn Admission>,
        gateway: GatewayId,
        scheme: &Scheme,
    ) -> Self {
        let mappings =
            [Origin::Local, Origin::Project].map(|origin| UriMapping::new(scheme.clone(), origin));
        Self(Arc::new(FoldersInner {
            host,
            admission,
            gateway,
            mappings,
            reported: ChangeTracker::default(),
            signal: ChangeSignal::default(),
        }))
    }

    /// Returns the mappings of the URIs of the user's folders and of the project's folders.
    pub fn mappings(&self) -> &[UriMapping] {
        &self.0.mappings
    }

    /// Has the source scanned again, because the folders or the admission changed.
    pub fn reconsider(&self) {
        self.0.signal.mark();
        self.0.signal.wake();
    }
}

impl SkillSource for FollowedFolders {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        // The mark is cleared before the host is asked. A change in between then marks the source
        // again; in the other order, its mark would be cleared without the change being reported.
        let is_marked = self.0.signal.take();
        if is_marked || look.forces_pathless_read() {
            self.0.report(report);
        }
        Ok(Vec::new())
    }

    fn on_change(&self, callback: ChangeCallback) {
        self.0.signal.on_change(callback);
    }
}

impl FoldersInner {
    /// Reports every skill that differs from what was reported before.
    fn report(&self, report: &mut (dyn FnMut(SourceChange) + Send)) {
        let found = self.host.in_folders();
        let sites: BTreeMap<GroupKey, &ListedSkill> = self
            .mappings
            .iter()
            .flat_map(|mapping| self.passed_on(&found, mapping.origin()))
            .map(|listed| (GroupKey(listed.id().uri.file().shared()), listed))
            .collect();
        let fingerprint = |listed: &&ListedSkill| Digest::of(text_of(listed).as_bytes());
        let now = sites.iter().map(|(key, listed)| (key.clone(), fingerprint(listed))).collect();
        let inspect = |key: &GroupKey| sites.get(key).map_or_else(Vec::new, |it| self.inspect(it));
        self.reported.report(&now, inspect, report);
    }

    /// The skills of one origin that are passed on.
    fn passed_on<'a>(&self, found: &'a [ListedSkill], origin: &Origin) -> Vec<&'a ListedSkill> {
        let of_origin = found.iter().filter(|listed| listed.id().origin == *origin);
        let all: BTreeMap<&SkillUri, &ListedSkill> =
            of_origin.map(|listed| (&listed.id().uri, listed)).collect();
        let admitted = admitted(&all, &*self.admission);
        admitted.into_iter().filter_map(|uri| all.get(uri).copied()).collect()
    }

    fn inspect(&self, listed: &ListedSkill) -> Vec<InspectedSkill> {
        let id = listed.id();
        let mapping = self.mappings.iter().find(|it| *it.origin() == id.origin);
        let store = FolderFiles {
            host: self.host.clone(),
            admission: Arc::clone(&self.admission),
            listed: listed.clone(),
        };
        let made = mapping.map(|mapping| {
            let content = SkillContent::Files(files(listed, Arc::new(store))?);
            skill(listed, content, mapping, &self.gateway, &Map::new())
        });
        made.map_or_else(Vec::new, |made| inspected(id, made))
    }
}

/// The files of one skill of a folder. The host compares each with the listing when it reads it.
struct FolderFiles {
    host: Host,
    admission: Arc<dyn Admission>,
    listed: ListedSkill,
}

impl fmt::Debug for FolderFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FolderFiles").field("skill", self.listed.id()).finish_non_exhaustive()
    }
}

impl FileStore for FolderFiles {
    fn read(&self, path: &RelPath, _size: u64) -> Result<Bytes, FileStoreError> {
        let file = resource(&self.listed, path).ok_or(FileStoreError::Changed)?;
        let id: &SkillId = self.listed.id();
        match self.host.read_from_folder(id, file) {
            Ok(_) if self.is_withdrawn() => Err(FileStoreError::Changed),
            Ok(verified) => Ok(verified.bytes().clone()),
            Err(refusal) if is_about_content(&refusal) => Err(FileStoreError::Changed),
            Err(refusal) => Err(FileStoreError::failed(refusal)),
        }
    }

    fn is_withdrawn(&self) -> bool {
        !self.admission.still_admits(&self.listed)
    }
}
