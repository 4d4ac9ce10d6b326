//! The skills of a server as the source of one catalogue.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};
use skillwire_core::{Digest, Finding, SkillUri};
use skillwire_source::{
    BoxFuture, ChangeCallback, ChangeTracker, GroupKey, LookupOutcome, ScanRequest, SkillSource,
    SourceChange, SourceUnavailable,
};
use skillwire_trust::{ListedSkill, RefusalClass, UriMapping};

use crate::{
    followed::server_state::ServerState,
    followed::signal::ChangeSignal,
    followed::skills::PassedOnSkill,
    passing_on::admission::Admission,
    passing_on::skill::{inspected, serve},
};

/// Says more about a skill in the `_meta` of its entry than where it comes from.
pub trait EntryNotes: Send + Sync + fmt::Debug {
    /// Returns the members to add; they replace what the server wrote under the same names.
    fn notes(&self, skill: &ListedSkill) -> Map<String, Value>;
}

/// How the skills of a server are passed on to one catalogue.
#[derive(Debug, Clone)]
pub struct PassingRules {
    /// The URIs under which they are passed on.
    pub(crate) uris: UriMapping,
    /// Which of them are.
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) notes: Option<Arc<dyn EntryNotes>>,
}

impl PassingRules {
    /// Passes on what an admission admits, under mapped URIs.
    pub fn new(uris: UriMapping, admission: Arc<dyn Admission>) -> Self {
        Self { uris, admission, notes: None }
    }

    /// Says more about each skill in its entry.
    #[must_use]
    pub fn notes(self, notes: Arc<dyn EntryNotes>) -> Self {
        Self { notes: Some(notes), ..self }
    }

    /// What is said about a skill.
    pub(crate) fn notes_of(&self, skill: &ListedSkill) -> Map<String, Value> {
        self.notes.as_ref().map(|notes| notes.notes(skill)).unwrap_or_default()
    }
}

/// The skills of a server as the source of one catalogue; clones share one state.
///
/// A scan only reports what the task that follows the server has found, and never waits for the server.
#[derive(Debug, Clone)]
pub struct ServerSource(pub(crate) Arc<SourceState>);

pub(crate) struct SourceState {
    pub(crate) shared: Arc<ServerState>,
    pub(crate) rules: PassingRules,
    /// The skills that the last scan reported, by fingerprint.
    reported: ChangeTracker,
    pub(crate) signal: ChangeSignal,
}

impl fmt::Debug for SourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSource").field("server", &self.shared).finish_non_exhaustive()
    }
}

impl ServerSource {
    pub(crate) fn new(shared: &Arc<ServerState>, rules: PassingRules) -> Self {
        let state = Arc::new(SourceState {
            shared: Arc::clone(shared),
            rules,
            reported: ChangeTracker::default(),
            signal: ChangeSignal::default(),
        });
        // What was listed before is reported by the first scan.
        state.signal.mark();
        shared.add_source(&state);
        Self(state)
    }

    /// Returns the mapping between the server's own URIs and those that clients see.
    pub fn uris(&self) -> &UriMapping {
        &self.0.rules.uris
    }

    /// Has the source scanned again, because the admission decides differently now.
    pub fn reconsider(&self) {
        self.0.signal.mark();
        self.0.signal.wake();
    }

    /// Asks the server for a skill by the server's own URI of it.
    pub fn find(&self, uri: SkillUri) -> BoxFuture<LookupOutcome> {
        let state = Arc::clone(&self.0);
        let asked = self.0.shared.runtime.spawn(async move { state.find(&uri).await });
        Box::pin(async move { asked.await.unwrap_or(LookupOutcome::Failed) })
    }
}

impl SkillSource for ServerSource {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let state = &self.0;
        // The mark is cleared before the skills are read. A change in between then marks the source
        // again; in the other order, its mark would be cleared without the change being reported.
        let is_marked = state.signal.take();
        if is_marked || look.forces_pathless_read() {
            state.report(report);
        }
        let failure = state.shared.skills().failure().map(str::to_owned);
        match failure {
            None => Ok(Vec::new()),
            Some(reason) => {
                let origin = format!("The server `{}`", state.shared.relay.label());
                Err(SourceUnavailable::new(origin, reason))
            }
        }
    }

    fn on_change(&self, callback: ChangeCallback) {
        self.0.signal.on_change(callback);
    }
}

impl SourceState {
    /// Reports every skill that differs from what was reported before.
    fn report(self: &Arc<Self>, report: &mut (dyn FnMut(SourceChange) + Send)) {
        let passed = self.shared.skills().passed_on(&*self.rules.admission);
        let sites: BTreeMap<GroupKey, PassedOnSkill> = passed
            .into_iter()
            .map(|passed| (GroupKey(passed.skill.id().uri.file().shared()), passed))
            .collect();
        let now =
            sites.iter().map(|(key, passed)| (key.clone(), self.fingerprint(passed))).collect();
        let inspect = |key: &GroupKey| {
            let passed = sites.get(key);
            passed.map_or_else(Vec::new, |it| inspected(it.skill.id(), serve(self, it)))
        };
        self.reported.report(&now, inspect, report);
    }

    /// Changes with the skill and with what is said about it.
    fn fingerprint(&self, passed: &PassedOnSkill) -> Digest {
        if self.rules.notes.is_none() {
            return passed.fingerprint;
        }
        let notes = Value::Object(self.rules.notes_of(&passed.skill));
        Digest::of(format!("{} {notes}", passed.fingerprint).as_bytes())
    }

    /// Asks the server for a skill, and passes it on if the admission allows that. A skill that the
    /// admission denies is reported as not found, so that a client cannot learn that it exists.
    async fn find(&self, uri: &SkillUri) -> LookupOutcome {
        let shared = &self.shared;
        match shared.asked(shared.relay.get(uri)).await {
            Ok(entry) => {
                let lifetime = entry.lifetime.unwrap_or(shared.options.min_pause);
                let known = {
                    let mut skills = shared.skills();
                    skills.name(entry.listed, lifetime, shared.options.named_for);
                    skills.passes_on(uri, &*self.rules.admission)
                };
                shared.announce();
                if known { LookupOutcome::Found } else { LookupOutcome::NotFound }
            }
            Err(refusal) => {
                tracing::info!("{refusal}");
                match refusal.class() {
                    RefusalClass::NotFound
                    | RefusalClass::Verification
                    | RefusalClass::Declined => LookupOutcome::NotFound,
                    _ => LookupOutcome::Failed,
                }
            }
        }
    }
}
