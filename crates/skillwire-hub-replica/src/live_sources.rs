//! What upstreams show of their skills without a review, as one source of a mount.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use skillwire_core::{ContentId, Finding, SkillName, SkillUri};
use skillwire_hub::{NamespaceName, SkillFacts, SkillId, Timestamp};
use skillwire_hub_store::HubStore;
use skillwire_hub_upstreams::{UNREVIEWED, names_script};
use skillwire_source::{
    ChangeCallback, FileRecord, GroupKey, ScanRequest, Skill, SkillContent, SkillSource,
    SourceChange, SourceUnavailable,
};

use crate::classes::{ChannelClasses, KnownSkill};

/// The sources of several upstreams as one; they come and go while the mount is served. Clones share
/// everything.
///
/// What a policy may ask about a skill is noted before the skill is reported, so that none is shown before
/// it was decided about.
#[derive(Clone)]
pub(crate) struct LiveSources {
    classes: ChannelClasses,
    store: HubStore,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    sources: BTreeMap<NamespaceName, LiveSource>,
    /// The groups of sources that are gone, until a scan reports that.
    gone: BTreeMap<GroupKey, Box<[SkillUri]>>,
    /// Skills that the last scan reported as gone. They are forgotten by the next one: the catalogue has them
    /// until it was published, and a policy is not asked about a skill that is not known.
    leaving: BTreeSet<SkillUri>,
    callback: Option<ChangeCallback>,
    /// Counts sources, so that their groups have keys of their own.
    count: u64,
}

struct LiveSource {
    number: u64,
    source: Arc<dyn SkillSource>,
    reported: BTreeMap<GroupKey, Box<[SkillUri]>>,
    /// Since when it lists each content, from which the age of its skills follows.
    since: Since,
}

/// Since when a source lists each content, by the URIs of its mount.
pub(crate) type Since = BTreeMap<SkillUri, (Option<ContentId>, Timestamp)>;

impl fmt::Debug for LiveSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSources").finish_non_exhaustive()
    }
}

impl LiveSources {
    pub(crate) fn new(classes: ChannelClasses, store: HubStore) -> Self {
        Self { classes, store, state: Arc::default() }
    }

    /// Adds the source of an upstream, in place of the one before; `since` is what was seen before it was added.
    pub(crate) fn add(&self, label: &NamespaceName, source: Box<dyn SkillSource>, since: Since) {
        self.remove(label);
        let source: Arc<dyn SkillSource> = source.into();
        let callback = {
            let mut state = self.state.lock();
            state.count += 1;
            let number = state.count;
            let reported = BTreeMap::new();
            let live = LiveSource { number, source: Arc::clone(&source), reported, since };
            state.sources.insert(label.clone(), live);
            state.callback.clone()
        };
        // The callback may scan at once, and a scan takes the lock.
        if let Some(callback) = callback {
            source.on_change(callback);
        }
    }

    /// Takes out the source of an upstream; the next scan reports that its skills are gone.
    pub(crate) fn remove(&self, label: &NamespaceName) {
        let mut state = self.state.lock();
        if let Some(gone) = state.sources.remove(label) {
            state.gone.extend(gone.reported);
        }
    }

    fn forget(&self, uri: &SkillUri) {
        // A reviewed skill may have taken its place.
        self.classes.forget_if(uri, |known| known.facts.state == UNREVIEWED);
    }

    /// Notes what is known about a skill; tells whether a policy can be asked about it.
    fn know(&self, label: &NamespaceName, skill: &Skill, since: &mut Since) -> bool {
        let Ok(name) = SkillName::parse(skill.name()) else { return false };
        let content = content_of(skill);
        let since = match since.get(&skill.uri) {
            Some((before, since)) if *before == content => *since,
            // Other content is as young as content that was never seen.
            _ => {
                let now = self.store.now();
                since.insert(skill.uri.clone(), (content, now));
                now
            }
        };
        let mut facts = SkillFacts::new(SkillId::new(label.clone(), name));
        UNREVIEWED.clone_into(&mut facts.state);
        facts.origin = label.to_string();
        let files: &[FileRecord] = match &skill.content {
            SkillContent::Generated(_) => &[],
            SkillContent::Files(tree) => &tree.files,
        };
        facts.dynamic = matches!(skill.content, SkillContent::Generated(_));
        facts.has_scripts = files.iter().any(|file| names_script(&file.path));
        let paths = files.iter().map(|file| &file.path);
        self.classes.know(&skill.uri, KnownSkill { facts, since }, paths);
        true
    }
}

fn content_of(skill: &Skill) -> Option<ContentId> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let files = tree.files.iter().map(|file| (file.path.clone(), file.digest, file.size));
    ContentId::of(files).ok()
}

impl SkillSource for LiveSources {
    fn scan(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        // The lock is held throughout: a source that is removed meanwhile is then gone after its skills were
        // reported, and never before.
        let mut state = self.state.lock();
        let State { sources, gone, leaving, .. } = &mut *state;
        for uri in std::mem::take(leaving) {
            self.forget(&uri);
        }
        for (key, uris) in std::mem::take(gone) {
            leaving.extend(uris);
            report(SourceChange::Removed(key));
        }
        for (label, live) in sources {
            let LiveSource { number, source, reported, since } = live;
            let own = |key: GroupKey| GroupKey(format!("{number} {}", key.0).into());
            // A server that fails keeps what it listed before; its status says that it failed.
            let _ = source.scan(request, &mut |change| match change {
                SourceChange::Removed(key) => {
                    let key = own(key);
                    leaving.extend(reported.remove(&key).into_iter().flatten());
                    report(SourceChange::Removed(key));
                }
                SourceChange::Updated(key, mut inspected) => {
                    let key = own(key);
                    inspected.retain(|found| {
                        found.skill.as_ref().is_none_or(|skill| self.know(label, skill, since))
                    });
                    let skills = inspected.iter().filter_map(|found| found.skill.as_ref());
                    let uris: Box<[SkillUri]> = skills.map(|skill| skill.uri.clone()).collect();
                    let before = reported.insert(key.clone(), uris.clone());
                    leaving.extend(before.into_iter().flatten());
                    for uri in &uris {
                        leaving.remove(uri);
                    }
                    report(SourceChange::Updated(key, inspected));
                }
            });
        }
        Ok(Vec::new())
    }

    fn on_change(&self, callback: ChangeCallback) {
        let sources: Vec<Arc<dyn SkillSource>> = {
            let mut state = self.state.lock();
            state.callback = Some(Arc::clone(&callback));
            state.sources.values().map(|live| Arc::clone(&live.source)).collect()
        };
        for source in sources {
            source.on_change(Arc::clone(&callback));
        }
    }
}
