//! Upstreams that are no servers: folders and repositories, looked at again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;
use skillwire_core::SkillUri;
use skillwire_gateway::{GatewayId, passed_on_entry};
use skillwire_git::{GitError, GitOptions};
use skillwire_hub::{NamespaceName, UpstreamSource};
use skillwire_source::{
    DirectoryOptions, DirectorySource, GroupKey, HeldSkills, ScanRequest, Skill, SkillContent,
    SkillSource as _, SourceChange, SourceUnavailable,
};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

use crate::{
    fetching::OfferedSkill,
    follower::UpstreamStanding,
    gate::{MountKind, UpstreamSettings, provenance},
    repository::RepositoryReader,
};

/// How many times as long as a look took the next one is waited for, so that a large folder costs at most a small
/// part of a processor.
const REST: u32 = 20;

/// Why a folder or repository could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocalError {
    #[error("{0}")]
    Source(String),
    #[error(transparent)]
    Folder(#[from] SourceUnavailable),
    #[error(transparent)]
    Git(Box<GitError>),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("looking at it takes too long")]
    Timeout,
}

/// What reads the skills.
pub(crate) enum LocalReader {
    Folder(Arc<DirectorySource>, BTreeMap<GroupKey, Vec<Arc<Skill>>>),
    Repository(Box<RepositoryReader>),
}

impl LocalReader {
    pub(crate) fn new(source: &UpstreamSource, git: &GitOptions) -> Result<Self, LocalError> {
        match source {
            UpstreamSource::Folder { path } => {
                let source = DirectorySource::new(path, DirectoryOptions::default())?;
                Ok(Self::Folder(Arc::new(source), BTreeMap::new()))
            }
            UpstreamSource::Git { url, reference } => {
                let reader = RepositoryReader::new(url, reference.as_deref(), git.clone())?;
                Ok(Self::Repository(Box::new(reader)))
            }
            _ => Err(LocalError::Source("it is neither a folder nor a repository".to_owned())),
        }
    }

    /// Looks for changes. Returns all skills, or `None` if nothing changed.
    async fn look(&mut self) -> Result<Option<Vec<Arc<Skill>>>, LocalError> {
        match self {
            Self::Repository(reader) => reader.look().await,
            Self::Folder(source, groups) => {
                let scanned = Arc::clone(source);
                let scan = move || {
                    let mut changes = Vec::new();
                    let take = &mut |change| changes.push(change);
                    scanned.scan(&ScanRequest::everything(), take).map(|_| changes)
                };
                let changes = tokio::task::spawn_blocking(scan).await;
                let changes = changes.map_err(std::io::Error::other)??;
                let is_changed = !changes.is_empty();
                for change in changes {
                    match change {
                        SourceChange::Removed(key) => drop(groups.remove(&key)),
                        SourceChange::Updated(key, inspected) => {
                            let skills = inspected.into_iter().filter_map(|found| found.skill);
                            groups.insert(key, skills.collect());
                        }
                    }
                }
                Ok(is_changed.then(|| groups.values().flatten().cloned().collect()))
            }
        }
    }
}

/// The skills of a folder or repository, and the sources that show them.
pub(crate) struct LocalFeed {
    settings: UpstreamSettings,
    label: NamespaceName,
    gateway: GatewayId,
    skills: Mutex<BTreeMap<SkillUri, Arc<Skill>>>,
    standing: Mutex<UpstreamStanding>,
    /// What each mount shows now, and the source that shows it.
    shown: [(MountKind, HeldSkills, Mutex<BTreeSet<String>>); 2],
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) relook: Notify,
}

impl LocalFeed {
    pub(crate) fn new(settings: UpstreamSettings, gateway: GatewayId) -> Self {
        Self {
            label: settings.now().label.clone(),
            settings,
            gateway,
            skills: Mutex::default(),
            standing: Mutex::default(),
            shown: MountKind::ALL.map(|mount| (mount, HeldSkills::default(), Mutex::default())),
            changes: watch::Sender::new(0),
            relook: Notify::new(),
        }
    }

    pub(crate) fn source(&self, mount: MountKind) -> HeldSkills {
        let found = self.shown.iter().find(|(kind, ..)| *kind == mount);
        found.map_or_else(HeldSkills::default, |(_, source, _)| source.clone())
    }

    pub(crate) fn standing(&self) -> UpstreamStanding {
        self.standing.lock().clone()
    }

    pub(crate) fn offered(&self) -> Vec<OfferedSkill> {
        self.skills.lock().values().cloned().map(OfferedSkill::Local).collect()
    }

    /// Looks for changes for ever.
    pub(crate) async fn follow(&self, mut reader: LocalReader, pause: Duration) {
        loop {
            let started = Instant::now();
            let limits = self.settings.now().limits;
            let most = Duration::from_millis(limits.listing_ms);
            let found = timeout(most, reader.look()).await.unwrap_or(Err(LocalError::Timeout));
            match found {
                Ok(found) => self.take(found, usize::try_from(limits.skills).unwrap_or(usize::MAX)),
                Err(error) => self.fail(&error.to_string()),
            }
            tokio::select! {
                () = tokio::time::sleep(pause.max(started.elapsed() * REST)) => {}
                () = self.relook.notified() => {}
            }
        }
    }

    fn take(&self, found: Option<Vec<Arc<Skill>>>, most: usize) {
        let is_new = found.is_some();
        if let Some(found) = found {
            if found.len() > most {
                tracing::warn!(label = %self.label, most, "an upstream has too many skills");
            }
            let each = found.into_iter().take(most).map(|skill| (skill.uri.clone(), skill));
            *self.skills.lock() = each.collect();
        }
        let recovered = {
            let mut standing = self.standing.lock();
            let recovered = standing.failure.take().is_some();
            standing.listed_at = Some(SystemTime::now());
            standing.is_complete = true;
            standing.skills = self.skills.lock().len();
            recovered
        };
        if is_new || recovered {
            self.show();
            self.changes.send_modify(|count| *count += 1);
        }
    }

    pub(crate) fn fail(&self, reason: &str) {
        let is_new = {
            let mut standing = self.standing.lock();
            let is_new = standing.failure.as_deref() != Some(reason);
            standing.failure = Some(reason.to_owned());
            is_new
        };
        if is_new {
            tracing::warn!(label = %self.label, reason, "an upstream cannot be looked at");
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Shows the skills in the mounts, if the mode lets them through unreviewed.
    pub(crate) fn show(&self) {
        let upstream = self.settings.now();
        let skills = self.skills.lock();
        for (mount, source, shown) in &self.shown {
            let uris = mount.uris(&self.label).filter(|_| !upstream.mode.is_reviewed());
            let mut now = BTreeMap::new();
            for skill in uris.iter().flat_map(|_| skills.values()) {
                let Some(uris) = &uris else { continue };
                let content = OfferedSkill::Local(Arc::clone(skill)).content();
                let notes = provenance(&upstream, content);
                let entry = passed_on_entry(&skill.entry.text(), uris, &self.gateway, &notes);
                let made = entry.ok().and_then(|entry| {
                    let uri = uris.passed_on_skill(&skill.uri)?;
                    let content: SkillContent = skill.content.clone();
                    let entry = entry.into();
                    let made = Skill { uri, entry, content, listed: true, provenance: None };
                    Some(Arc::new(made.with_provenance(&notes)))
                });
                now.insert(skill.uri.to_string(), made);
            }
            let keys: BTreeSet<String> = now.keys().cloned().collect();
            let before = std::mem::replace(&mut *shown.lock(), keys);
            let gone = before.into_iter().filter(|key| !now.contains_key(key));
            let gone: Vec<_> = gone.map(|key| (key, None)).collect();
            source.set(now.into_iter().chain(gone));
        }
    }
}
