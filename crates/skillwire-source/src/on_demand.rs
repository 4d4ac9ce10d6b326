//! Skills that are fetched when a client asks for one by its URI, for catalogues too large to list.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;
use skillwire_core::{Finding, RelPath, ResourceUri, Scheme, SkillPath, SkillUri};

use crate::{
    file_store::BoxFuture,
    lookup::{LookupOutcome, SkillLookup},
    memory::inspect_files,
    skill::path_of,
    source::{ChangeCallback, GroupKey, ScanRequest, SkillSource, SourceChange, SourceUnavailable},
    uri_template::UriTemplate,
};

/// How many skills are kept unless the program says otherwise.
const MOST_KEPT: usize = 1_000;

/// The files of a skill, each with its path.
pub type FetchedFiles = Vec<(RelPath, Bytes)>;

/// Fetches skills one by one, such as from a git host or an object store.
pub trait FetchSkill: Send + Sync + fmt::Debug {
    /// Fetches the files of the skill at a path; `None` if there is no such skill.
    ///
    /// The path is one that a client sent: a valid path with as many segments as skills of this
    /// source have, and nothing more is known of it.
    fn fetch(&self, path: &SkillPath)
    -> BoxFuture<Result<Option<FetchedFiles>, SourceUnavailable>>;

    /// Returns patterns of the URIs of its skills, for users who fill them in.
    fn templates(&self) -> Vec<UriTemplate> {
        Vec::new()
    }

    /// Returns values for a variable of one of its patterns, best first; `known` has the variables
    /// that are filled in already.
    fn complete(
        &self,
        _variable: &str,
        _typed: &str,
        _known: &BTreeMap<String, String>,
    ) -> BoxFuture<Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// Serves skills that a [`FetchSkill`] has, without listing them.
///
/// A skill that a client asked for is kept, so that its files need not be fetched again; the skill
/// that was asked for longest ago makes room for the next one.
#[derive(Debug)]
pub struct OnDemandSource(Arc<OnDemandSkills>);

struct OnDemandSkills {
    origin: String,
    scheme: Scheme,
    /// The segments that every path begins with.
    prefix: Vec<String>,
    /// How many segments follow the prefix.
    depth: usize,
    most_kept: usize,
    fetcher: Arc<dyn FetchSkill>,
    state: Mutex<OnDemandState>,
}

#[derive(Default)]
struct OnDemandState {
    /// When each skill was asked for last, by a clock that counts requests.
    used: HashMap<GroupKey, u64>,
    clock: u64,
    /// What the next scan reports.
    unreported: Vec<SourceChange>,
    on_change: Option<ChangeCallback>,
}

impl fmt::Debug for OnDemandSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDemandSkills").field("fetcher", &self.fetcher).finish_non_exhaustive()
    }
}

impl OnDemandSource {
    /// Serves the skills of a fetcher at paths that begin with `prefix`, which may be empty, and
    /// have `depth` more segments.
    pub fn new(prefix: &str, depth: usize, fetcher: impl FetchSkill + 'static) -> Self {
        let segments = prefix.split('/').filter(|segment| !segment.is_empty());
        Self(Arc::new(OnDemandSkills {
            origin: if prefix.is_empty() { "on demand".to_owned() } else { prefix.to_owned() },
            scheme: Scheme::default(),
            prefix: segments.map(str::to_owned).collect(),
            depth,
            most_kept: MOST_KEPT,
            fetcher: Arc::new(fetcher),
            state: Mutex::default(),
        }))
    }

    /// Sets how many skills are kept.
    #[must_use]
    pub fn most_kept(self, skills: usize) -> Self {
        let Self(inner) = self;
        let changed = match Arc::try_unwrap(inner) {
            Ok(inner) => OnDemandSkills { most_kept: skills.max(1), ..inner },
            // A lookup already has a clone: the source is in use, and its size is decided.
            Err(shared) => return Self(shared),
        };
        Self(Arc::new(changed))
    }
}

impl SkillSource for OnDemandSource {
    fn scan(
        &self,
        _: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let unreported = std::mem::take(&mut self.0.state.lock().unreported);
        unreported.into_iter().for_each(report);
        Ok(Vec::new())
    }

    fn on_change(&self, callback: ChangeCallback) {
        let has_news = {
            let mut state = self.0.state.lock();
            state.on_change = Some(Arc::clone(&callback));
            !state.unreported.is_empty()
        };
        if has_news {
            callback();
        }
    }

    fn lookup(&self) -> Option<Arc<dyn SkillLookup>> {
        Some(Arc::new(OnDemandLookup(Arc::clone(&self.0))))
    }

    fn templates(&self) -> Vec<UriTemplate> {
        self.0.fetcher.templates()
    }
}

/// Looks up the skills of an [`OnDemandSource`].
#[derive(Debug)]
struct OnDemandLookup(Arc<OnDemandSkills>);

impl SkillLookup for OnDemandLookup {
    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        let path = self.0.path_of(uri)?;
        let skills = Arc::clone(&self.0);
        let fetching = skills.fetcher.fetch(&path);
        Some(Box::pin(async move {
            match fetching.await {
                Ok(Some(files)) => skills.found(&path, files),
                Ok(None) => LookupOutcome::NotFound,
                Err(_) => LookupOutcome::Failed,
            }
        }))
    }

    fn skill_of(&self, uri: &ResourceUri) -> Option<SkillUri> {
        let segments = uri.segments();
        let length = self.0.prefix.len() + self.0.depth;
        let root = segments.get(..length).filter(|_| segments.len() > length)?;
        let path = SkillPath::parse(&root.join("/")).ok()?;
        let skill = SkillUri::new(&self.0.scheme, &path);
        (uri.scheme() == self.0.scheme.as_str() && self.0.path_of(&skill).is_some())
            .then_some(skill)
    }

    fn complete(
        &self,
        template: &str,
        variable: &str,
        typed: &str,
        known: &BTreeMap<String, String>,
    ) -> Option<BoxFuture<Vec<String>>> {
        let fetcher = &self.0.fetcher;
        let templates = fetcher.templates();
        let own = templates.iter().find(|own| own.uri == template)?;
        own.has_variable(variable).then(|| fetcher.complete(variable, typed, known))
    }
}

impl OnDemandSkills {
    /// Returns the path of a URI at which this source may have a skill.
    fn path_of(&self, uri: &SkillUri) -> Option<SkillPath> {
        let path = SkillPath::parse(&path_of(uri)).ok()?;
        let segments: Vec<&str> = path.segments().collect();
        let is_below = segments.len() == self.prefix.len() + self.depth
            && self.prefix.iter().zip(&segments).all(|(own, asked)| own == asked);
        (is_below && uri.root().scheme() == self.scheme.as_str()).then_some(path)
    }

    /// Takes a skill in, and lets the one go that was asked for longest ago.
    fn found(&self, path: &SkillPath, files: FetchedFiles) -> LookupOutcome {
        let path = path.to_string();
        let named = files.into_iter().map(|(path, bytes)| (path.to_string(), bytes));
        let mut inspected = inspect_files(&self.origin, &path, named);
        let mut is_served = false;
        for skill in inspected.iter_mut().filter_map(|inspected| inspected.skill.as_mut()) {
            is_served = true;
            // There are too many to list, and which of them were asked for concerns no one else.
            Arc::make_mut(skill).listed = false;
        }
        if !is_served {
            return LookupOutcome::NotFound;
        }
        let key = GroupKey(path.into());
        let callback = {
            let mut state = self.state.lock();
            state.clock += 1;
            let now = state.clock;
            state.used.insert(key.clone(), now);
            state.unreported.push(SourceChange::Updated(key, inspected));
            if state.used.len() > self.most_kept {
                let oldest = state.used.iter().min_by_key(|(_, used)| **used);
                if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                    state.used.remove(&oldest);
                    state.unreported.push(SourceChange::Removed(oldest));
                }
            }
            state.on_change.clone()
        };
        // The lock is released by now: the receiver may scan at once.
        if let Some(callback) = callback {
            callback();
        }
        LookupOutcome::Found
    }
}
