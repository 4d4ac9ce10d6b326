//! Builds a server from sources, callers, tools and options.

use std::{fmt, path::PathBuf, sync::Arc};

use arc_swap::ArcSwapOption;
use skillwire_catalog::{Catalog, CursorSeal, Refresher, SnapshotOptions, VisibleSkills};
use skillwire_core::{InvalidPath, Scheme, SkillPath, Strictness};
use skillwire_engine::{
    Config, Engine, ReadObserver, ServerIdentity,
    dialect::RunScripts,
    metrics::Metrics,
    offer::{DuplicateTool, Offers},
    tools::SKILL_TOOLS,
};
use skillwire_source::{
    DirectoryOptions, DirectorySource, EmbeddedSkill, GeneratedSource, InvalidEmbedded,
    MemorySource, ScanRequest, SingleSkillSource, SkillGenerator, SkillLookup, SkillLookups,
    SkillSource, SourceUnavailable, UriTemplate,
};

use crate::{
    following::FollowingThread,
    http::{Admission, TokenTable, Tokens, VerifyToken},
    live::{Notice, SourceFollower},
    skills::{Skills, SkillsInner},
};

type OnNotice = Box<dyn Fn(&Notice) + Send + Sync>;

/// Creates tools and prompts that use the catalogue of the server.
type MakeOffers = Box<dyn FnOnce(&Arc<Catalog>) -> Result<Offers, DuplicateTool>>;

/// Builds [`Skills`] from sources and options.
#[derive(Default)]
pub struct SkillsBuilder {
    sources: Vec<Box<dyn SkillSource>>,
    /// Whether any source can change while the program runs.
    changing: bool,
    config: Config,
    snapshot: SnapshotOptions,
    strictness: Strictness,
    on_notice: Option<OnNotice>,
    tokens: Option<Tokens>,
    verifier: Option<Arc<dyn VerifyToken>>,
    public: Option<VisibleSkills>,
    offers: Option<MakeOffers>,
    scripts: Option<Arc<dyn RunScripts>>,
    lookup: Option<Arc<dyn SkillLookup>>,
    reads: Option<Arc<dyn ReadObserver>>,
    metrics: Option<Arc<Metrics>>,
    /// The first error; later ones would often only follow from it.
    error: Option<BuildError>,
}

impl fmt::Debug for SkillsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillsBuilder").field("sources", &self.sources).finish_non_exhaustive()
    }
}

/// The error when skills cannot be built.
///
/// A skill that cannot be served is not an error: the server leaves it out and reports the reason
/// to [`on_notice`](SkillsBuilder::on_notice).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A path is not a valid path of a skill.
    #[error("`{0}` cannot be the path of a skill: it {1}. Write it like `acme/billing/refunds`.")]
    Path(String, #[source] InvalidPath),
    /// A folder does not exist.
    #[error(transparent)]
    Unavailable(#[from] SourceUnavailable),
    /// A skill that is embedded in the program is malformed.
    #[error(transparent)]
    Embedded(#[from] InvalidEmbedded),
    /// Two tools have the same name.
    #[error("The tools cannot be offered: {0}.")]
    Tools(#[from] DuplicateTool),
    /// The system supplied no random numbers, without which clients could forge cursors.
    #[error("The system gives no random numbers: {0}.")]
    Random(#[source] getrandom::Error),
    /// The system could not start the thread that keeps skills up to date.
    #[error("A thread could not be started: {0}.")]
    Thread(#[from] std::io::Error),
}

impl SkillsBuilder {
    /// Adds the one skill in a folder, under a path such as `acme/billing/refunds`.
    ///
    /// The last segment of the path is the skill's name.
    #[must_use]
    pub fn skill(self, path: &str, folder: impl Into<PathBuf>) -> Self {
        let options = DirectoryOptions::default().strictness(self.strictness);
        let source = skill_path(path)
            .and_then(|path| Ok(SingleSkillSource::new(path, folder.into(), options)?));
        self.add(source, true)
    }

    /// Adds every skill in a folder, under its path within that folder.
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        let options = DirectoryOptions::default().strictness(self.strictness);
        let source = DirectorySource::new(folder, options).map_err(BuildError::from);
        self.add(source, true)
    }

    /// Adds skills that `embed_skills!` made part of the program.
    #[must_use]
    pub fn embedded(self, skills: &[EmbeddedSkill]) -> Self {
        let mut source = MemorySource::new("embedded").strictness(self.strictness);
        let added = skills.iter().try_for_each(|skill| source.add_embedded(skill));
        self.add(added.map(|()| source).map_err(BuildError::from), false)
    }

    /// Adds a skill whose files are generated each time a client reads them.
    ///
    /// Its entry says `"dynamic"` instead of listing files, so hosts cannot verify it, and some
    /// will not load it.
    #[must_use]
    pub fn dynamic(self, path: &str, generator: impl SkillGenerator + 'static) -> Self {
        let source = skill_path(path)
            .map(|path| GeneratedSource::new(path, Scheme::default(), Arc::new(generator)));
        self.add(source, true)
    }

    /// Adds a source of your own.
    #[must_use]
    pub fn source(self, source: impl SkillSource + 'static) -> Self {
        self.add(Ok(source), true)
    }

    /// Adds sources that are already boxed.
    #[must_use]
    pub fn sources(mut self, sources: impl IntoIterator<Item = Box<dyn SkillSource>>) -> Self {
        self.sources.extend(sources);
        self.changing = true;
        self
    }

    /// Admits only callers with one of these tokens over HTTP; each sees the skills that its line
    /// names.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Admits callers over HTTP whose token is valid by this check, besides those whose token is known.
    #[must_use]
    pub fn verifier(mut self, verifier: Arc<dyn VerifyToken>) -> Self {
        self.verifier = Some(verifier);
        self
    }

    /// Publishes the skills whose path matches under `/.well-known/`, where clients need no token.
    #[must_use]
    pub fn public(mut self, visible: impl Into<VisibleSkills>) -> Self {
        self.public = Some(visible.into());
        self
    }

    /// Offers tools and prompts besides the skills.
    #[must_use]
    pub fn offers(self, offers: Offers) -> Self {
        self.offers_from(|_| Ok(offers))
    }

    /// Offers tools and prompts that use the catalogue of this server.
    #[must_use]
    pub fn offers_from(
        mut self,
        make: impl FnOnce(&Arc<Catalog>) -> Result<Offers, DuplicateTool> + 'static,
    ) -> Self {
        self.offers = Some(Box::new(make));
        self
    }

    /// Lets clients of the "Skills" page run scripts of skills.
    #[must_use]
    pub fn scripts(mut self, scripts: Arc<dyn RunScripts>) -> Self {
        self.scripts = Some(scripts);
        self
    }

    /// Sets where to look for skills that no source reports; this also limits how long clients may
    /// reuse answers.
    #[must_use]
    pub fn lookup(mut self, lookup: Arc<dyn SkillLookup>) -> Self {
        self.lookup = Some(lookup);
        self
    }

    /// Sets what is told of every file that is sent, such as an audit log.
    #[must_use]
    pub fn reads(mut self, observer: Arc<dyn ReadObserver>) -> Self {
        self.reads = Some(observer);
        self
    }

    /// Counts in these metrics, which may be those of one of several mounts.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Names the tools of a server that these skills are attached to, so that skills may depend on
    /// them.
    #[must_use]
    pub fn host_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.config = self.config.host_tools(tools);
        self
    }

    /// Adds patterns of URIs, such as `skill://docs/{product}/SKILL.md`, for users who fill them
    /// in.
    #[must_use]
    pub fn templates(mut self, templates: impl IntoIterator<Item = UriTemplate>) -> Self {
        self.config = self.config.templates(templates);
        self
    }

    /// Sets the server's name and version, which clients show.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.config.identity.name = name.into();
        self.config.identity.version = version.into();
        self
    }

    /// Sets what the server says about itself: name, title, description, website, icons and
    /// instructions.
    #[must_use]
    pub fn identity(mut self, identity: ServerIdentity) -> Self {
        self.config.identity = identity;
        self
    }

    /// Sets whether clients get read-only tools that list, load and read skills, for clients that
    /// know tools and no skills.
    #[must_use]
    pub fn skill_tools(mut self, offered: bool) -> Self {
        self.config.skill_tools = offered;
        self
    }

    /// Sets how requests are answered, including the server's name and version.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the most bytes of large answers that wait for their clients to read them, besides what is
    /// cached, and how long a request waits for memory before it is refused.
    #[must_use]
    pub fn answer_memory(mut self, bytes: u64, wait: std::time::Duration) -> Self {
        self.config.answer_bytes = bytes;
        self.config.answer_wait = wait;
        self
    }

    /// Sets which skills and files are listed.
    #[must_use]
    pub fn listing(mut self, options: SnapshotOptions) -> Self {
        self.snapshot = options;
        self
    }

    /// Sets how strictly sources that are added after this call check the format.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets the callback for notices: skills that are left out, exceeded limits and other findings,
    /// now and while the program runs.
    ///
    /// Without a callback, notices that concern an operator go to the log.
    #[must_use]
    pub fn on_notice(mut self, tell: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.on_notice = Some(Box::new(tell));
        self
    }

    /// Reads all sources once, and keeps the skills up to date from then on.
    ///
    /// Blocks while files are read.
    #[tracing::instrument(skip_all, fields(sources = self.sources.len()))]
    pub fn build(self) -> Result<Skills, BuildError> {
        let changing = self.changing;
        let (engine, follower, admission) = self.assemble()?;
        follower.refresh(&ScanRequest::everything());
        engine.warm();
        for missing in engine.missing_dependencies() {
            tracing::warn!("{missing}");
        }
        let following = changing.then(|| FollowingThread::start(&follower)).transpose()?;
        Ok(Skills(Arc::new(SkillsInner { engine, follower, admission, _following: following })))
    }

    /// Builds the server without reading any source.
    ///
    /// Requests wait for the first [`refresh`](Skills::refresh) or [`SourceFollower::look`], which the
    /// program starts when it likes; [`SourceFollower::follow`] then keeps up with the sources.
    pub fn prepare(self) -> Result<Skills, BuildError> {
        let (engine, follower, admission) = self.assemble()?;
        Ok(Skills(Arc::new(SkillsInner { engine, follower, admission, _following: None })))
    }

    fn assemble(self) -> Result<(Arc<Engine>, Arc<SourceFollower>, Admission), BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(BuildError::Random)?;
        let catalog = Catalog::new(self.snapshot);
        let verifier = self.verifier;
        // Where an authorization server issues tokens, callers without one are not admitted.
        let tokens = self.tokens.or_else(|| verifier.is_some().then(Tokens::none));
        let tokens = tokens.map(|tokens| Arc::new(TokenTable::new(tokens, verifier, &catalog)));
        let public = self.public.map(|patterns| Arc::new(catalog.restrict(patterns)));
        let public = Arc::new(ArcSwapOption::new(public));
        let catalog = Arc::new(catalog);
        let with_skill_tools = self.config.skill_tools;
        let templates = self.sources.iter().flat_map(|source| source.templates());
        let config = self.config.templates(templates);
        let mut engine =
            Engine::builder(Arc::clone(&catalog), CursorSeal::new(secret)).config(config);
        if let Some(make) = self.offers {
            let offers = make(&catalog)?;
            let taken = SKILL_TOOLS.into_iter().find(|name| offers.has_tool(name));
            if let Some(name) = taken.filter(|_| with_skill_tools) {
                return Err(DuplicateTool(name.to_owned()).into());
            }
            engine = engine.offers(offers);
        }
        if let Some(scripts) = self.scripts {
            engine = engine.scripts(scripts);
        }
        let mut lookups: Vec<_> = self.sources.iter().filter_map(|it| it.lookup()).collect();
        lookups.extend(self.lookup);
        match lookups.len() {
            0 => {}
            1 => engine = engine.lookup(lookups.remove(0)),
            _ => engine = engine.lookup(Arc::new(SkillLookups(lookups))),
        }
        if let Some(reads) = self.reads {
            engine = engine.reads(reads);
        }
        if let Some(metrics) = self.metrics {
            engine = engine.metrics(metrics);
        }
        let engine = Arc::new(engine.build());
        let mut refresher = Refresher::new(catalog, self.sources);
        if self.strictness == Strictness::Strict {
            refresher = refresher.unique_names();
        }
        let on_notice = self.on_notice.unwrap_or_else(|| Box::new(log));
        let follower =
            SourceFollower::new(refresher, Arc::clone(&engine), self.strictness, on_notice);
        Ok((engine, Arc::new(follower), Admission { tokens, public }))
    }

    fn add(
        mut self,
        source: Result<impl SkillSource + 'static, BuildError>,
        changing: bool,
    ) -> Self {
        match source {
            Ok(source) => {
                self.sources.push(Box::new(source));
                self.changing |= changing;
            }
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
        self
    }
}

fn skill_path(path: &str) -> Result<SkillPath, BuildError> {
    SkillPath::parse(path).map_err(|error| BuildError::Path(path.to_owned(), error))
}

fn log(notice: &Notice) {
    if notice.over {
        tracing::info!("{notice}");
    } else if notice.concerns_operator() {
        tracing::warn!("{notice}");
    } else {
        tracing::debug!("{notice}");
    }
}
