//! The host: every origin, the user's decisions, and the way from one to the other.

mod approving;
mod comparing;
mod discovering;
mod exporting;
mod loading;
mod pinning;
mod reading;
mod relaying;

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use parking_lot::Mutex;
use skillwire_client::{ClientOptions, Endpoint};
use skillwire_core::Digest;
use skillwire_trust::{
    Action, Answer, ApprovedSkill, Audit, Cache, Clock, DialectMemory, Event, Lock, MemoryDialects,
    MemoryRecords, NoAudit, NoCache, NoPrompter, Origin, Policy, Prompter, Question, Reason,
    RecordStore, Refusal, Remedy, ServerLabel, SkillId, StoreError,
};

pub use self::{
    comparing::FileComparison,
    discovering::Discovered,
    exporting::ExportedFile,
    loading::Loaded,
    reading::{Inspected, ResourceContent},
    relaying::{DirectoryChild, FreshEntry, FreshListing, Relay},
};
use crate::{
    local::{Discovery, GatedSkill, LocalSkill},
    remote::Remote,
    system_clock::SystemClock,
    window::{Window, decision},
};

/// Connects to servers, remembers decisions and opens windows. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    policy: Arc<Policy>,
    options: ClientOptions,
    clock: Arc<dyn Clock>,
    records: Arc<dyn RecordStore>,
    cache: Arc<dyn Cache>,
    dialects: Arc<dyn DialectMemory>,
    audit: Arc<dyn Audit>,
    prompter: Arc<dyn Prompter>,
    /// When there is one, it alone says what may be loaded from servers.
    lock: Option<Lock>,
    offline: bool,
    folders: Mutex<Arc<Folders>>,
    remotes: Mutex<BTreeMap<ServerLabel, Arc<Remote>>>,
    windows: Mutex<Vec<Weak<Window>>>,
    next_window: AtomicU64,
    /// Contents whose `SKILL.md` was found to agree with the entry.
    compared: Mutex<HashSet<Digest>>,
    /// When the user was asked about skills of each server, in this session.
    questions: Mutex<BTreeMap<String, Vec<SystemTime>>>,
}

/// The skills of this machine's folders.
#[derive(Default)]
struct Folders {
    skills: BTreeMap<SkillId, LocalSkill>,
    gated: Vec<GatedSkill>,
}

/// Puts a host together; every part has a default that keeps nothing and never asks the user.
pub struct HostBuilder {
    policy: Policy,
    options: ClientOptions,
    clock: Arc<dyn Clock>,
    records: Arc<dyn RecordStore>,
    cache: Arc<dyn Cache>,
    dialects: Arc<dyn DialectMemory>,
    audit: Arc<dyn Audit>,
    prompter: Arc<dyn Prompter>,
    lock: Option<Lock>,
    offline: bool,
}

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            options: ClientOptions::default(),
            clock: Arc::new(SystemClock::default()),
            records: Arc::new(MemoryRecords::default()),
            cache: Arc::new(NoCache),
            dialects: Arc::new(MemoryDialects::default()),
            audit: Arc::new(NoAudit),
            prompter: Arc::new(NoPrompter),
            lock: None,
            offline: false,
        }
    }
}

impl HostBuilder {
    /// Sets the user's policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets how servers are talked to.
    #[must_use]
    pub fn client_options(self, options: ClientOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Sets where decisions are remembered.
    #[must_use]
    pub fn records(self, records: impl RecordStore + 'static) -> Self {
        Self { records: Arc::new(records), ..self }
    }

    /// Sets where verified files are kept.
    #[must_use]
    pub fn cache(self, cache: impl Cache + 'static) -> Self {
        Self { cache: Arc::new(cache), ..self }
    }

    /// Sets where it is remembered how servers offer their skills.
    #[must_use]
    pub fn dialects(self, dialects: impl DialectMemory + 'static) -> Self {
        Self { dialects: Arc::new(dialects), ..self }
    }

    /// Sets where events are logged.
    #[must_use]
    pub fn audit(self, audit: impl Audit + 'static) -> Self {
        Self { audit: Arc::new(audit), ..self }
    }

    /// Sets how the user is asked.
    #[must_use]
    pub fn prompter(self, prompter: impl Prompter + 'static) -> Self {
        Self { prompter: Arc::new(prompter), ..self }
    }

    /// Lets a lock file alone decide what may be loaded from servers, for agents that run without a user.
    #[must_use]
    pub fn lock(self, lock: Option<Lock>) -> Self {
        Self { lock, ..self }
    }

    /// Uses only what is remembered and cached.
    #[must_use]
    pub fn offline(self, offline: bool) -> Self {
        Self { offline, ..self }
    }

    /// Makes the host.
    pub fn build(self) -> Host {
        let inner = Inner {
            policy: Arc::new(self.policy),
            options: self.options,
            clock: self.clock,
            records: self.records,
            cache: self.cache,
            dialects: self.dialects,
            audit: self.audit,
            prompter: self.prompter,
            lock: self.lock,
            offline: self.offline,
            folders: Mutex::default(),
            remotes: Mutex::default(),
            windows: Mutex::default(),
            next_window: AtomicU64::new(1),
            compared: Mutex::default(),
            questions: Mutex::default(),
        };
        Host { inner: Arc::new(inner) }
    }
}

impl Host {
    /// Begins a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Makes a server known under a label of the user's choice; it is connected when needed.
    ///
    /// A server that had the label before is forgotten, but not what was decided about it.
    pub fn add_server(&self, label: ServerLabel, endpoint: Endpoint) {
        let (policy, clock) = (Arc::clone(&self.inner.policy), Arc::clone(&self.inner.clock));
        let options = self.inner.options.clone();
        let dialects = Arc::clone(&self.inner.dialects);
        let remote = Remote::new(label.clone(), endpoint, options, policy, clock, dialects);
        self.inner.remotes.lock().insert(label, Arc::new(remote));
    }

    /// Lets all resources of a server be looked through for skills of older dialects.
    ///
    /// Without this, only what a server declares is asked for.
    pub fn allow_legacy_discovery(&self, label: &ServerLabel) -> Result<(), Refusal> {
        self.remote(label)?.allow_legacy();
        Ok(())
    }

    /// Makes a server known and connects to it.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn connect(&self, label: ServerLabel, endpoint: Endpoint) -> Result<(), Refusal> {
        self.add_server(label.clone(), endpoint);
        self.remote(&label)?.client().await.map(|_| ())
    }

    /// Forgets a server together with its cached files and every decision about its skills.
    ///
    /// Windows of its skills stay open and enforced, but nothing more can be fetched.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn remove_server(&self, label: &ServerLabel) -> Result<Removed, Refusal> {
        self.inner.remotes.lock().remove(label);
        let origin = Origin::Server(label.clone());
        let files = self.inner.cache.remove_origin(&origin).map_err(unusable)?;
        let records = self.inner.records.remove_origin(&origin).map_err(unusable)?;
        // It is worth some requests and no more, so it keeps nothing else from being forgotten.
        if let Err(error) = self.inner.dialects.forget(label) {
            tracing::warn!("How server {label} offers its skills is still remembered: {error}.");
        }
        self.append(&Event {
            time: self.inner.clock.now(),
            skill: None,
            label: label.to_string(),
            content: None,
            action: Action::Remove,
            decision: skillwire_trust::Decision::Allowed,
            reason: None,
            detail: None,
        });
        Ok(Removed { files, records })
    }

    /// Takes over what was found in the folders of this machine, in the place of what was known.
    pub fn set_folders(&self, found: Discovery) {
        let skills = found.skills.into_iter().map(|skill| (skill.id().clone(), skill)).collect();
        *self.inner.folders.lock() = Arc::new(Folders { skills, gated: found.gated });
    }

    /// The labels of all servers.
    pub fn servers(&self) -> Vec<ServerLabel> {
        self.inner.remotes.lock().keys().cloned().collect()
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Every window that is open.
    pub fn open_windows(&self) -> Vec<Arc<Window>> {
        let mut windows = self.inner.windows.lock();
        windows.retain(|window| window.upgrade().is_some_and(|window| window.is_open()));
        windows.iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn remote(&self, label: &ServerLabel) -> Result<Arc<Remote>, Refusal> {
        let remote = self.inner.remotes.lock().get(label).cloned();
        remote.ok_or_else(|| {
            Refusal::new(Reason::ServerUnknown).about(label).remedy(Remedy::ListServers)
        })
    }

    /// Where a skill is on this machine, if it is one of a folder.
    pub fn directory_of(&self, skill: &SkillId) -> Option<PathBuf> {
        self.folders().skills.get(skill).map(|skill| skill.directory().to_owned())
    }

    fn folders(&self) -> Arc<Folders> {
        Arc::clone(&self.inner.folders.lock())
    }

    pub(crate) async fn ask(&self, question: &Question) -> Answer {
        self.inner.prompter.ask(question).await
    }

    fn open_window(&self, window: impl FnOnce(u64) -> Window) -> Arc<Window> {
        let id = self.inner.next_window.fetch_add(1, Ordering::Relaxed);
        let window = Arc::new(window(id));
        self.inner.windows.lock().push(Arc::downgrade(&window));
        window
    }

    pub(crate) fn log(
        &self,
        approved: &ApprovedSkill,
        action: Action,
        outcome: Result<(), Reason>,
        detail: Option<&str>,
    ) {
        self.log_skill(approved.id(), approved.fingerprint(), action, outcome, detail);
    }

    fn log_skill(
        &self,
        skill: &SkillId,
        content: Option<Digest>,
        action: Action,
        outcome: Result<(), Reason>,
        detail: Option<&str>,
    ) {
        let (decision, reason) = decision(outcome);
        self.append(&Event {
            time: self.inner.clock.now(),
            skill: Some(skill.clone()),
            label: skill.origin.to_string(),
            content,
            action,
            decision,
            reason,
            detail: detail.map(str::to_owned),
        });
    }

    /// Appends to the log; a log that cannot be written must not stop the user.
    fn append(&self, event: &Event) {
        if let Err(error) = self.inner.audit.append(event) {
            tracing::warn!("The audit log cannot be written: {error}.");
        }
    }
}

/// What went away with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Cached files.
    pub files: usize,
    /// Remembered decisions.
    pub records: usize,
}

/// State that cannot be used is never taken for consent.
fn unusable(error: StoreError) -> Refusal {
    Refusal::new(Reason::StateUnusable)
        .file(&error.place)
        .actual(error.problem)
        .hint("Make the file readable, or remove it and decide again.")
}
