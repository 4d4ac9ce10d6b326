//! The host: every origin, the user's decisions, and the windows on loaded skills.

mod approving;
mod asking;
mod comparing;
mod deciding;
mod discovering;
mod exporting;
mod folders;
mod loading;
mod pinning;
mod reading;
mod relaying;
mod resources;
mod templates;
mod vouching;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use parking_lot::Mutex;
use skillwire_client::{ClientOptions, Endpoint};
use skillwire_core::Digest;
use skillwire_remote::{OriginAddress, Remote, RemoteSettings};
use skillwire_trust::{
    Action, Answer, ApprovedSkill, Audit, Cache, Clock, DecisionKeys, DialectMemory, Event,
    LockFile, LoggedContent, MemoryDialects, MemoryRecords, NoAudit, NoCache, NoPrompter, Origin,
    Policy, Prompter, Question, Reason, RecordStore, Refusal, Remedy, ServerLabel, SignatureCheck,
    SignatureRules, SkillId, StoreError,
};

use self::folders::Folders;
pub use self::{
    approving::{SkillDecision, UndoableDecision},
    comparing::FileComparison,
    discovering::Discovered,
    exporting::ExportedFile,
    loading::Loaded,
    reading::Inspected,
    relaying::{DirectoryChild, FreshEntry, FreshListing, Relay},
    resources::ResourceContent,
    templates::fill_template,
};
use crate::window::{Window, decision};

/// Connects to servers, remembers decisions and opens windows; clones are cheap.
#[derive(Clone)]
pub struct Host {
    inner: Arc<HostInner>,
}

struct HostInner {
    policy: Arc<Policy>,
    options: ClientOptions,
    clock: Arc<dyn Clock>,
    records: Arc<dyn RecordStore>,
    cache: Arc<dyn Cache>,
    dialects: Arc<dyn DialectMemory>,
    audit: Arc<dyn Audit>,
    prompter: Arc<dyn Prompter>,
    /// If there is a lock file, it alone decides what may be loaded from servers.
    lock: Option<LockFile>,
    offline: bool,
    folders: Mutex<Arc<Folders>>,
    remotes: Mutex<BTreeMap<ServerLabel, Arc<Remote>>>,
    windows: Mutex<Vec<Weak<Window>>>,
    next_window: AtomicU64,
    /// Contents whose `SKILL.md` agreed with the entry.
    compared: Mutex<HashSet<Digest>>,
    /// When the host asked the user about skills of each server, in this session.
    questions: Mutex<BTreeMap<String, Vec<SystemTime>>>,
    /// When forms about each skill were shown, in this session.
    forms: Mutex<HashMap<SkillId, Vec<SystemTime>>>,
    /// The content that was declined in a form, in this session.
    declined_forms: Mutex<HashMap<SkillId, Digest>>,
    /// The user's rules about signers; without rules, signatures are files like any other.
    signatures: Option<Arc<dyn SignatureRules>>,
    /// What checks of signatures found, by skill and content.
    signature_checks: Mutex<HashMap<(SkillId, Digest), SignatureCheck>>,
    /// The keys whose signed decisions the user takes instead of a question.
    decisions: Option<Arc<dyn DecisionKeys>>,
}

/// Builds a host; the default of every part keeps nothing and never asks the user.
pub struct HostBuilder {
    policy: Policy,
    options: ClientOptions,
    clock: Arc<dyn Clock>,
    records: Arc<dyn RecordStore>,
    cache: Arc<dyn Cache>,
    dialects: Arc<dyn DialectMemory>,
    audit: Arc<dyn Audit>,
    prompter: Arc<dyn Prompter>,
    lock: Option<LockFile>,
    offline: bool,
    signatures: Option<Arc<dyn SignatureRules>>,
    decisions: Option<Arc<dyn DecisionKeys>>,
}

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            options: ClientOptions::default(),
            clock: Arc::new(skillwire_trust::SystemClock::default()),
            records: Arc::new(MemoryRecords::default()),
            cache: Arc::new(NoCache),
            dialects: Arc::new(MemoryDialects::default()),
            audit: Arc::new(NoAudit),
            prompter: Arc::new(NoPrompter),
            lock: None,
            offline: false,
            signatures: None,
            decisions: None,
        }
    }
}

impl HostBuilder {
    /// Sets the user's policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets the options of connections to servers.
    #[must_use]
    pub fn client_options(self, options: ClientOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Sets the store of the user's decisions.
    #[must_use]
    pub fn records(self, records: impl RecordStore + 'static) -> Self {
        Self { records: Arc::new(records), ..self }
    }

    /// Sets the cache of verified files.
    #[must_use]
    pub fn cache(self, cache: impl Cache + 'static) -> Self {
        Self { cache: Arc::new(cache), ..self }
    }

    /// Sets the memory of servers' dialects.
    #[must_use]
    pub fn dialects(self, dialects: impl DialectMemory + 'static) -> Self {
        Self { dialects: Arc::new(dialects), ..self }
    }

    /// Sets the audit log.
    #[must_use]
    pub fn audit(self, audit: impl Audit + 'static) -> Self {
        Self { audit: Arc::new(audit), ..self }
    }

    /// Sets the prompter that asks the user.
    #[must_use]
    pub fn prompter(self, prompter: impl Prompter + 'static) -> Self {
        Self { prompter: Arc::new(prompter), ..self }
    }

    /// Lets a lock file alone decide what may be loaded from servers, for agents that run without a
    /// user.
    #[must_use]
    pub fn lock(self, lock: Option<LockFile>) -> Self {
        Self { lock, ..self }
    }

    /// Sets the user's rules about signers.
    #[must_use]
    pub fn signatures(self, signatures: Option<Arc<dyn SignatureRules>>) -> Self {
        Self { signatures, ..self }
    }

    /// Sets the keys whose signed decisions the user takes instead of a question.
    #[must_use]
    pub fn decisions(self, decisions: Option<Arc<dyn DecisionKeys>>) -> Self {
        Self { decisions, ..self }
    }

    /// Makes the host use only remembered and cached content.
    #[must_use]
    pub fn offline(self, offline: bool) -> Self {
        Self { offline, ..self }
    }

    /// Builds the host.
    pub fn build(self) -> Host {
        let inner = HostInner {
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
            forms: Mutex::default(),
            declined_forms: Mutex::default(),
            signatures: self.signatures,
            signature_checks: Mutex::default(),
            decisions: self.decisions,
        };
        Host { inner: Arc::new(inner) }
    }
}

impl Host {
    /// Returns a builder with defaults.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Adds a server under a label of the user's choice; the host connects to it when needed.
    ///
    /// A server that had the label before is replaced, but the decisions about its skills stay.
    pub fn add_server(&self, label: ServerLabel, address: impl Into<OriginAddress>) {
        let mut policy = Arc::clone(&self.inner.policy);
        if self.takes_decisions_of(&label) {
            // Entries carry decisions in members that the host does not understand itself.
            Arc::make_mut(&mut policy).keeps_entry_text = true;
        }
        let settings = RemoteSettings::default()
            .with_options(self.inner.options.clone())
            .with_policy(policy)
            .with_clock(Arc::clone(&self.inner.clock))
            .with_dialects(Arc::clone(&self.inner.dialects));
        let remote = Remote::new(label.clone(), address.into(), settings);
        self.inner.remotes.lock().insert(label, Arc::new(remote));
    }

    /// Stops using a server. The decisions about its skills and its cached files stay.
    pub fn forget_server(&self, label: &ServerLabel) {
        self.inner.remotes.lock().remove(label);
    }

    /// Allows the host to search all resources of a server for skills of older dialects.
    ///
    /// Without this, the host asks a server only for what it declares.
    pub fn allow_legacy_discovery(&self, label: &ServerLabel) -> Result<(), Refusal> {
        self.remote(label)?.allow_legacy();
        Ok(())
    }

    /// Adds a server and connects to it.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn connect(&self, label: ServerLabel, endpoint: Endpoint) -> Result<(), Refusal> {
        self.add_server(label.clone(), endpoint);
        self.remote(&label)?.client().await.map(|_| ())
    }

    /// Removes a server with its cached files and every decision about its skills.
    ///
    /// Windows of its skills stay open and enforced, but fetch nothing more.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn remove_server(&self, label: &ServerLabel) -> Result<Removed, Refusal> {
        self.inner.remotes.lock().remove(label);
        let origin = Origin::Server(label.clone());
        let files = self.inner.cache.remove_origin(&origin).map_err(unusable)?;
        let records = self.inner.records.remove_origin(&origin).map_err(unusable)?;
        // A remembered dialect only saves requests, so a failure must not stop the rest of the
        // removal.
        if let Err(error) = self.inner.dialects.forget(label) {
            tracing::warn!("How server {label} offers its skills is still remembered: {error}.");
        }
        self.append(&Event {
            time: self.inner.clock.now(),
            skill: None,
            label: label.to_string(),
            content: None,
            content_id: None,
            action: Action::Remove,
            decision: skillwire_trust::Decision::Allowed,
            reason: None,
            detail: None,
        });
        Ok(Removed { files, records })
    }

    /// Returns the labels of all servers.
    pub fn servers(&self) -> Vec<ServerLabel> {
        self.inner.remotes.lock().keys().cloned().collect()
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Returns every open window.
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
        self.log_skill(approved.id(), approved.logged_content(), action, outcome, detail);
    }

    fn log_skill(
        &self,
        skill: &SkillId,
        content: Option<LoggedContent>,
        action: Action,
        outcome: Result<(), Reason>,
        detail: Option<&str>,
    ) {
        let (decision, reason) = decision(outcome);
        self.append(&Event {
            time: self.inner.clock.now(),
            skill: Some(skill.clone()),
            label: skill.origin.to_string(),
            content: content.map(|content| content.fingerprint),
            content_id: content.and_then(|content| content.id),
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

/// What was removed with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// The number of cached files.
    pub files: usize,
    /// The number of remembered decisions.
    pub records: usize,
}

/// Refuses because state cannot be used: unreadable state never counts as consent.
fn unusable(error: StoreError) -> Refusal {
    Refusal::new(Reason::StateUnusable)
        .file(&error.place)
        .actual(error.problem)
        .hint("Make the file readable, or remove it and decide again.")
}
