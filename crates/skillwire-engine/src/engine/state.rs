//! The state that all requests to an engine share.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Instant,
};

use bytes::Bytes;
use skillwire_catalog::{Catalog, CursorSeal};
use skillwire_core::RelPath;
use skillwire_protocol::Era;
use skillwire_source::{CachePolicy, FileRecord, FileStore, Skill, SkillLookup};

use super::{
    Engine,
    budget::AnswerBudget,
    contents::{ContentCache, ContentError, memory_for},
    paging::PageCache,
    permits::ReadPermits,
    result::{ResultStyle, server_info},
};
use crate::{
    caller::Caller,
    config::{CacheScope, Config},
    dialect::{Dialect, Projections, RunScripts, SkilljackOffer},
    metrics::Metrics,
    offer::{Offer, Offers},
    read_observer::ReadObserver,
    subscription::Feed,
    tools::SkillTools,
};

/// The most bytes of documents of older dialects that are cached.
const PROJECTION_BYTES: u64 = 16 * 1024 * 1024;

/// The least memory for large answers. The largest file that a skill may have is read and rendered in
/// less, so that it can be sent even when the cache holds all it may.
const LEAST_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// Everything that outlives one request; answers that take time hold a reference to it.
pub(crate) struct EngineState {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) config: Config,
    pub(crate) seal: CursorSeal,
    pub(crate) contents: ContentCache,
    pub(super) pages: PageCache,
    pub(crate) permits: ReadPermits,
    /// The memory for large answers, cached files included.
    pub(crate) budget: AnswerBudget,
    pub(crate) metrics: Arc<Metrics>,
    /// The caches of the dialects.
    pub(crate) projections: Projections,
    pub(crate) offers: Offers,
    /// Skills as tools and prompts, if the operator enabled that dialect.
    pub(crate) skilljack: Option<Arc<dyn Offer>>,
    /// Runs scripts of skills, if the program allows that.
    pub(crate) scripts: Option<Arc<dyn RunScripts>>,
    /// Looks for skills that the catalogue does not have.
    pub(crate) lookup: Option<Arc<dyn SkillLookup>>,
    /// Is told of every file that is sent.
    reads: Option<Arc<dyn ReadObserver>>,
    /// The start of the engine, from which the age of sealed request states is counted.
    pub(crate) start: Instant,
    /// The server's name and version, as a `_meta` object.
    server_info: Arc<str>,
}

impl fmt::Debug for EngineState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineState").field("config", &self.config).finish_non_exhaustive()
    }
}

impl EngineState {
    /// Returns the changes from now on that a caller may be notified of.
    pub(super) fn feed(&self, caller: &Caller) -> Feed {
        let feed = Feed::new(caller.view, self.catalog.changes());
        if self.offers.is_empty() { feed } else { feed.following(&self.offers, caller) }
    }

    /// Returns a file in the form it is sent, checked against the published digest.
    ///
    /// A large file waits for memory first, so that no more of them are in memory than the operator
    /// allows.
    pub(crate) async fn rendered(
        self: &Arc<Self>,
        store: Arc<dyn FileStore>,
        record: FileRecord,
    ) -> Result<Bytes, ContentError> {
        let memory = match memory_for(record.size) {
            None => None,
            Some(bytes) => {
                let memory = self.budget.take(bytes).await?;
                // Another request may have read the file while this one waited.
                if let Some(kept) = self.contents.kept(&store, &record) {
                    return Ok(kept);
                }
                Some(memory)
            }
        };
        if store.remote().is_some() {
            // Fetching blocks no thread, so it needs no permit for reading files from disk.
            return self.contents.fetch(&store, &record, memory).await;
        }
        let shared = Arc::clone(self);
        let read = self.permits.read(move || shared.contents.read(&store, &record, memory)).await;
        read.unwrap_or_else(|error| Err(ContentError::Failed(error.to_string())))
    }

    /// Tells the program that a caller gets a file.
    pub(crate) fn note_read(&self, caller: &Caller, skill: &Arc<Skill>, path: &RelPath) {
        if let Some(reads) = &self.reads {
            reads.file_read(caller, skill, path);
        }
    }

    /// Returns how results of a caller's request are written.
    pub(crate) fn style(&self, caller: &Caller, era: Era) -> ResultStyle {
        let CachePolicy { max_age, private, .. } =
            self.lookup.as_ref().map_or_else(CachePolicy::default, |e| e.cache_policy());
        let own = private || caller.is_distinguished();
        // Whole seconds, so that a cached page serves more than one request.
        let max_age = max_age.map_or(u64::MAX, |time| time.as_secs().saturating_mul(1_000));
        ResultStyle {
            era,
            ttl_ms: self.config.ttl_ms.min(max_age),
            scope: if own { CacheScope::Private } else { self.config.cache_scope },
            server_info: Arc::clone(&self.server_info),
        }
    }
}

/// Builds an [`Engine`].
pub struct EngineBuilder {
    catalog: Arc<Catalog>,
    seal: CursorSeal,
    config: Config,
    offers: Offers,
    scripts: Option<Arc<dyn RunScripts>>,
    lookup: Option<Arc<dyn SkillLookup>>,
    reads: Option<Arc<dyn ReadObserver>>,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl EngineBuilder {
    pub(super) fn new(catalog: Arc<Catalog>, seal: CursorSeal) -> Self {
        let config = Config::default();
        let offers = Offers::default();
        Self {
            catalog,
            seal,
            config,
            offers,
            scripts: None,
            lookup: None,
            reads: None,
            metrics: Arc::default(),
        }
    }

    /// Sets how requests are answered.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Adds tools and prompts.
    #[must_use]
    pub fn offers(mut self, offers: Offers) -> Self {
        self.offers = offers;
        self
    }

    /// Lets clients of the "Skills" page run scripts of skills.
    #[must_use]
    pub fn scripts(mut self, scripts: Arc<dyn RunScripts>) -> Self {
        self.scripts = Some(scripts);
        self
    }

    /// Sets where to look for skills that the catalogue does not have; this also limits how long
    /// clients may reuse answers.
    #[must_use]
    pub fn lookup(mut self, lookup: Arc<dyn SkillLookup>) -> Self {
        self.lookup = Some(lookup);
        self
    }

    /// Sets what is told of every file that is sent.
    #[must_use]
    pub fn reads(mut self, observer: Arc<dyn ReadObserver>) -> Self {
        self.reads = Some(observer);
        self
    }

    /// Counts in these metrics, which may be those of one of several mounts.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Builds the engine.
    pub fn build(self) -> Engine {
        let Self { catalog, seal, config, offers, scripts, lookup, reads, metrics } = self;
        let cache_bytes = config.cache_bytes;
        // The dialect answers from the state that contains it. A strong reference would be a cycle,
        // and the engine would never be dropped.
        let state = Arc::new_cyclic(|state: &Weak<EngineState>| EngineState {
            server_info: server_info(&config),
            contents: ContentCache::new(cache_bytes),
            // Holds all pages of a hundred thousand skills, if clients request them repeatedly.
            pages: PageCache::new(cache_bytes),
            permits: ReadPermits::default(),
            // Cached files hold memory as well, so that they keep it when the cache drops them while they
            // are being sent. The cache can never use up what is for answers.
            budget: AnswerBudget::new(
                config.answer_bytes.max(LEAST_ANSWER_BYTES).saturating_add(cache_bytes),
                config.answer_wait,
            ),
            metrics,
            projections: Projections::new(PROJECTION_BYTES.min(cache_bytes / 2)),
            skilljack: skilljack(&config, state),
            start: Instant::now(),
            offers: if config.skill_tools {
                offers.behind(Arc::new(SkillTools::new(Weak::clone(state))))
            } else {
                offers
            },
            catalog,
            config,
            seal,
            scripts,
            lookup,
            reads,
        });
        Engine { state }
    }
}

/// Creates the offer of skills as tools and prompts, for legacy clients that know no other form.
fn skilljack(config: &Config, state: &Weak<EngineState>) -> Option<Arc<dyn Offer>> {
    let spoken = config.dialects.on(Dialect::Skilljack, Era::Legacy);
    spoken.then(|| Arc::new(SkilljackOffer::new(Weak::clone(state))) as Arc<dyn Offer>)
}
