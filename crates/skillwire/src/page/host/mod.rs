//! The page of this user's host: the skills of their servers and folders, and their decisions.

mod catalogue;
#[cfg(feature = "setup")]
mod connect;
mod evidence;
mod follow;
mod log;
mod review;
mod runs;
mod skill;
mod tables;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use bytes::Bytes;
use skillwire_core::{ResourceUri, SkillUri};
use skillwire_host::{Host, Listing, UndoableDecision};
use skillwire_page::{
    Filled, LiveState, PageProblem, PageProvider,
    model::{
        ActOutcome, CatalogueQuery, CatalogueView, ConnectView, DiffView, FileView, Image, PageAct,
        QueueView, ReviewView, Section, Site, SkillKey, SkillView, TableQuery, TableView,
    },
    random_secret, same_secret,
};
use skillwire_state::Configured;
use skillwire_trust::{KnownSkill, ListedSkill, Origin, Refusal, ServerLabel, SkillId};
use tokio::sync::watch;

use self::{catalogue::KnownSkills, evidence::Scans};
use crate::{failure::Failure, page::texts, remedies, session::Session, settings::HostSettings};

/// The most bytes of files without digests that are kept for the reader to look at.
const MAX_INSPECTED: usize = 16 << 20;

/// The most decisions that can be taken back.
const MAX_UNDO: usize = 200;

/// The sections of the page, in the order of its navigation.
const SECTIONS: [Section; 9] = [
    Section::Catalogue,
    Section::Review,
    Section::Approvals,
    Section::Context,
    Section::Runs,
    Section::Audit,
    Section::Servers,
    Section::Connect,
    Section::Settings,
];

/// The user of this machine; there is no other reader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner;

/// Fills the page of this user's host.
pub(crate) struct HostPage {
    host: Host,
    settings: HostSettings,
    configured: Configured,
    offline: bool,
    /// Exchanged for a cookie once.
    secret: Mutex<Option<String>>,
    known: Mutex<Arc<KnownSkills>>,
    listings: Mutex<BTreeMap<ServerLabel, ListingState>>,
    /// Files that were read and that no cache holds, because nothing says what they should be.
    inspected: Mutex<HashMap<(SkillId, ResourceUri), Bytes>>,
    scans: Scans,
    /// The names of the signers in the user's rules, which count as they were when the page began.
    signers: Vec<String>,
    undo: Mutex<BTreeMap<u64, UndoableDecision>>,
    /// Held while a decision is recorded: what is recorded by then is compared with what was shown.
    deciding: tokio::sync::Mutex<()>,
    next_undo: AtomicU64,
    live: watch::Sender<LiveState>,
    /// What the log was when it was looked at last.
    logged: Mutex<Option<(u64, SystemTime)>>,
    /// Told that the secret was used, so that the program can offer another one.
    used: tokio::sync::Notify,
    /// Told that the skills were looked at again.
    looked: tokio::sync::Notify,
    /// Told that the user had a server asked again, which may have another address since.
    asked_again: watch::Sender<()>,
}

/// What came of listing a server.
#[derive(Debug, Clone)]
enum ListingState {
    /// It has not answered yet.
    Asked,
    Listed {
        at: SystemTime,
        listing: Arc<Listing>,
        /// When it listed other skills than before, if it did since the page was opened.
        changed: Option<SystemTime>,
    },
    Failed {
        at: SystemTime,
        refusal: Refusal,
    },
}

/// Locks a mutex; a panic elsewhere leaves nothing half done in it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostPage {
    /// Makes the page of a session; nothing is asked of any server yet.
    pub(crate) fn new(session: &Session, offline: bool) -> Result<Self, Failure> {
        let settings = HostSettings::resolve()?;
        let signers = settings.signer_names()?;
        let unusable = session.unusable_servers().map(|(label, refusal)| {
            let failed = ListingState::Failed { at: SystemTime::now(), refusal: refusal.clone() };
            (label.clone(), failed)
        });
        Ok(Self {
            host: session.host().clone(),
            configured: session.configured().clone(),
            settings,
            offline,
            secret: Mutex::default(),
            known: Mutex::default(),
            listings: Mutex::new(unusable.collect()),
            inspected: Mutex::default(),
            scans: Scans::default(),
            signers,
            undo: Mutex::default(),
            deciding: tokio::sync::Mutex::default(),
            next_undo: AtomicU64::new(1),
            live: watch::Sender::new(LiveState::default()),
            logged: Mutex::default(),
            used: tokio::sync::Notify::new(),
            looked: tokio::sync::Notify::new(),
            asked_again: watch::Sender::new(()),
        })
    }

    /// Makes a secret that signs in once, in place of the one before.
    pub(crate) fn new_secret(&self) -> Result<String, getrandom::Error> {
        let secret = random_secret()?;
        *lock(&self.secret) = Some(secret.clone());
        Ok(secret)
    }

    /// Waits until the secret was used.
    pub(crate) async fn secret_used(&self) {
        self.used.notified().await;
    }

    /// Takes over what the host knows by now, and tells open pages if that is something else.
    async fn look_again(&self) {
        let found = self.host.known();
        let host = self.host.clone();
        let before = self.known();
        let look = move || {
            let now = KnownSkills::new(&host, found).with_index_of(&before);
            let is_news = !now.is_like(&before);
            (now, is_news)
        };
        let Ok((known, is_news)) = tokio::task::spawn_blocking(look).await else { return };
        let waiting = known.waiting();
        *lock(&self.known) = Arc::new(known);
        self.looked.notify_one();
        self.live.send_modify(|live| {
            live.skills += u64::from(is_news);
            live.waiting = waiting;
        });
    }

    /// Compares all skills with the records again, which another process may have changed.
    async fn look_at_records(&self) {
        let host = self.host.clone();
        let known = self.known();
        let before = known.clone();
        let now = tokio::task::spawn_blocking(move || known.with_standings(&host)).await;
        let Ok(now) = now else { return };
        let changed = !now.has_states_of(&before);
        let waiting = now.waiting();
        *lock(&self.known) = Arc::new(now);
        self.looked.notify_one();
        self.live.send_modify(|live| {
            live.skills += u64::from(changed);
            live.waiting = waiting;
        });
    }

    fn known(&self) -> Arc<KnownSkills> {
        Arc::clone(&lock(&self.known))
    }

    /// Finds a skill that the host knows.
    fn find(&self, key: &SkillKey) -> Filled<KnownSkill> {
        let id = id_of(key).ok_or(PageProblem::NotFound)?;
        self.known().find(&id).cloned().ok_or(PageProblem::NotFound)
    }

    /// Finds a skill whose entry is complete.
    fn listed(&self, key: &SkillKey) -> Filled<ListedSkill> {
        self.find(key)?.certain().cloned().map_err(|refusal| refused(&refusal))
    }

    fn keep_undo(&self, decision: UndoableDecision) -> u64 {
        let token = self.next_undo.fetch_add(1, Ordering::Relaxed);
        let mut undo = lock(&self.undo);
        undo.insert(token, decision);
        while undo.len() > MAX_UNDO {
            undo.pop_first();
        }
        token
    }

    /// Keeps bytes that nothing can be compared with, for the reader to look at.
    fn keep_inspected(&self, skill: &SkillId, uri: ResourceUri, bytes: Bytes) {
        let mut inspected = lock(&self.inspected);
        let held: usize = inspected.values().map(Bytes::len).sum();
        if held + bytes.len() > MAX_INSPECTED {
            inspected.clear();
        }
        inspected.insert((skill.clone(), uri), bytes);
    }
}

/// The key of a skill.
fn key_of(id: &SkillId) -> SkillKey {
    SkillKey::new(id.to_string())
}

/// What a search for words looks at: a skill's address, and how it is usually named.
fn searched_text(id: &SkillId) -> String {
    let address = id.to_string().to_lowercase();
    let name = address.replace("skill://", "").replace("/skill.md", "");
    format!("{address} {name}")
}

/// The skill that a key names.
fn id_of(key: &SkillKey) -> Option<SkillId> {
    let (label, uri) = key.as_str().split_once(':')?;
    let origin = Origin::parse(label).ok()?;
    Some(SkillId { origin, uri: SkillUri::parse(uri).ok()? })
}

/// A refusal as a sentence for the page.
fn sentence(refusal: &Refusal) -> String {
    let worded = remedies::worded(refusal);
    let mut parts = vec![worded.reason.meaning().to_owned()];
    parts.extend(worded.expected.map(|expected| texts::expected(&expected)));
    parts.extend(worded.actual.map(|actual| texts::found(&actual)));
    parts.extend(worded.hint.map(String::from));
    parts.join(" ")
}

fn refused(refusal: &Refusal) -> PageProblem {
    PageProblem::Refused(sentence(refusal))
}

impl PageProvider for HostPage {
    type Reader = Owner;

    async fn sign_in(&self, secret: &str) -> Option<Owner> {
        let mut waiting = lock(&self.secret);
        let fits = waiting.as_deref().is_some_and(|own| same_secret(own, secret));
        if !fits {
            return None;
        }
        *waiting = None;
        self.used.notify_one();
        Some(Owner)
    }

    async fn site(&self, _: &Owner) -> Site {
        Site {
            name: texts::SITE.to_owned(),
            place: texts::PLACE.to_owned(),
            sections: SECTIONS.to_vec(),
            live: *self.live.borrow(),
            reader: None,
        }
    }

    async fn catalogue(&self, _: &Owner, query: &CatalogueQuery) -> Filled<CatalogueView> {
        Ok(self.catalogue_page(query))
    }

    async fn skill(&self, _: &Owner, key: &SkillKey) -> Filled<SkillView> {
        self.skill_view(&self.find(key)?).await
    }

    async fn file(&self, _: &Owner, key: &SkillKey, path: &str) -> Filled<FileView> {
        self.file_view(&self.listed(key)?, path)
    }

    async fn image(&self, _: &Owner, key: &SkillKey, path: &str) -> Filled<Image> {
        let bytes = self.read_bytes(&self.listed(key)?, path).ok_or(PageProblem::NotFound)?;
        Image::of(&bytes).ok_or(PageProblem::NotFound)
    }

    async fn diff(
        &self,
        _: &Owner,
        key: &SkillKey,
        _since: Option<&str>,
        path: Option<&str>,
    ) -> Filled<DiffView> {
        self.diff_view(&self.listed(key)?, path).await?.ok_or(PageProblem::NotFound)
    }

    async fn queue(&self, _: &Owner, query: &CatalogueQuery) -> Filled<QueueView> {
        Ok(self.queue_page(query))
    }

    async fn review(&self, _: &Owner, key: &SkillKey) -> Filled<ReviewView> {
        self.review_view(key).await
    }

    async fn table(&self, _: &Owner, section: Section, query: &TableQuery) -> Filled<TableView> {
        self.section_table(section, query)
    }

    async fn export(
        &self,
        _: &Owner,
        section: Section,
        query: &TableQuery,
        format: &str,
    ) -> Filled<String> {
        self.export_log(section, query, format)
    }

    async fn connect(&self, _: &Owner) -> Filled<ConnectView> {
        #[cfg(feature = "setup")]
        return connect::view();
        #[cfg(not(feature = "setup"))]
        Err(PageProblem::NotFound)
    }

    async fn act(&self, _: &Owner, act: PageAct) -> Filled<ActOutcome> {
        let outcome = self.carry_out(act).await;
        // What the reader did themselves is no news to them.
        self.note_log();
        outcome
    }

    async fn live(&self, _: &Owner) -> Option<watch::Receiver<LiveState>> {
        Some(self.live.subscribe())
    }
}

/// How often the page looks whether another process changed something.
const LOOK: std::time::Duration = std::time::Duration::from_secs(1);

impl HostPage {
    /// Follows what other processes do: decisions, loads and runs, which all end up in the log.
    pub(crate) async fn follow_log(&self) {
        self.note_log();
        loop {
            tokio::time::sleep(LOOK).await;
            if self.note_log() {
                self.look_at_records().await;
            }
        }
    }

    /// Tells open pages if something was logged, and returns whether something was.
    fn note_log(&self) -> bool {
        let now = self.stamp();
        let mut before = lock(&self.logged);
        let is_new = *before != now;
        *before = now;
        if is_new {
            self.live.send_modify(|live| live.events += 1);
        }
        is_new
    }

    /// What changes whenever something is logged.
    fn stamp(&self) -> Option<(u64, SystemTime)> {
        let log = self.settings.state().join("audit.jsonl").metadata().ok()?;
        Some((log.len(), log.modified().ok()?))
    }
}
