//! Putting skills together.

use std::{fmt, path::PathBuf, sync::Arc};

use skillwire_catalog::{
    catalog::Catalog, cursor::CursorSeal, refresh::Refresher, snapshot::SnapshotOptions,
};
use skillwire_core::{InvalidPath, Scheme, SkillPath, Strictness};
use skillwire_source::{
    DirectoryOptions, DirectorySource, EmbeddedSkill, GeneratedSource, InvalidEmbedded,
    MemorySource, ScanRequest, SingleSkillSource, SkillGenerator, SkillSource, SourceUnavailable,
};

use super::{Following, Inner, Skills};
use crate::live::{Keeper, Notice};
use skillwire_engine::{Config, Engine};

type Tell = Box<dyn Fn(&Notice) + Send + Sync>;

/// Sources of skills, and how they are served.
#[derive(Default)]
pub struct SkillsBuilder {
    sources: Vec<Box<dyn SkillSource>>,
    /// Whether any source can change while the program runs.
    changing: bool,
    config: Config,
    snapshot: SnapshotOptions,
    strictness: Strictness,
    tell: Option<Tell>,
    /// The first thing that went wrong; the others would often follow from it.
    error: Option<BuildError>,
}

impl fmt::Debug for SkillsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillsBuilder").field("sources", &self.sources).finish_non_exhaustive()
    }
}

/// Skills that cannot be put together.
///
/// A skill that cannot be served is none of these: it is left out, and
/// [`on_notice`](SkillsBuilder::on_notice) says why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A path is not that of a skill.
    #[error("`{0}` cannot be the path of a skill: it {1}. Write it like `acme/billing/refunds`.")]
    Path(String, InvalidPath),
    /// A folder is not there.
    #[error(transparent)]
    Unavailable(#[from] SourceUnavailable),
    /// A skill that is part of the program is malformed.
    #[error(transparent)]
    Embedded(#[from] InvalidEmbedded),
    /// The system gave no random numbers, without which cursors could be forged.
    #[error("The system gives no random numbers: {0}.")]
    Random(String),
    /// The system gave no thread to keep skills up to date with.
    #[error("A thread could not be started: {0}.")]
    Thread(#[from] std::io::Error),
}

impl SkillsBuilder {
    /// Adds the one skill in a folder, at a path such as `acme/billing/refunds`.
    ///
    /// The path ends in the skill's name.
    #[must_use]
    pub fn skill(self, path: &str, folder: impl Into<PathBuf>) -> Self {
        let options = DirectoryOptions { strictness: self.strictness, ..Default::default() };
        let source = skill_path(path)
            .and_then(|path| Ok(SingleSkillSource::new(path, folder.into(), options)?));
        self.add(source, true)
    }

    /// Adds every skill in a folder, at the path it has there.
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        let options = DirectoryOptions { strictness: self.strictness, ..Default::default() };
        let source = DirectorySource::new(folder, options).map_err(BuildError::from);
        self.add(source, true)
    }

    /// Adds skills that are part of the program, as `embed_skills!` makes them.
    #[must_use]
    pub fn embedded(self, skills: &[EmbeddedSkill]) -> Self {
        let mut source = MemorySource::new("embedded").strictness(self.strictness);
        let added = skills.iter().try_for_each(|skill| source.add_embedded(skill));
        self.add(added.map(|()| source).map_err(BuildError::from), false)
    }

    /// Adds a skill whose files are made each time they are read.
    ///
    /// Its entry says `"dynamic"` instead of listing files, so hosts cannot verify it and some will
    /// not load it.
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

    /// Sets the server's name and version, which clients show.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.config.name = name.into();
        self.config.version = version.into();
        self
    }

    /// Sets how requests are answered; this sets the name and version as well.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets what is listed.
    #[must_use]
    pub fn listing(mut self, options: SnapshotOptions) -> Self {
        self.snapshot = options;
        self
    }

    /// Sets how forgiving the sources that are added after this are about the format.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets who is told of skills that are left out, limits that are exceeded and everything else
    /// that was found, now and while the program runs.
    ///
    /// Without this, what concerns an operator goes to the log.
    #[must_use]
    pub fn on_notice(mut self, tell: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// Reads everything once, and keeps it up to date from then on.
    ///
    /// Blocks while files are read.
    pub fn build(self) -> Result<Skills, BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| BuildError::Random(error.to_string()))?;
        let catalog = Arc::new(Catalog::new(self.snapshot));
        let seal = CursorSeal::new(secret);
        let engine =
            Arc::new(Engine::builder(Arc::clone(&catalog), seal).config(self.config).build());
        let refresher = Refresher::new(catalog, self.sources);
        let tell = self.tell.unwrap_or_else(|| Box::new(log));
        let keeper = Keeper::new(refresher, Arc::clone(&engine), self.strictness, tell);
        let keeper = Arc::new(keeper);
        keeper.refresh(&ScanRequest::everything());
        engine.warm();
        for missing in engine.missing_dependencies() {
            tracing::warn!("{missing}");
        }
        let following = self.changing.then(|| Following::start(&keeper)).transpose()?;
        Ok(Skills(Arc::new(Inner { engine, keeper, _following: following })))
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
