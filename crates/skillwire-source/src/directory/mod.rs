//! Skills in directories.
//!
//! Everything is read through directory handles that cannot be left: no symbolic link is followed,
//! nothing but regular files is opened, and sizes are known before anything is read.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use skillwire_core::{Code, Digest, Finding, RelPath, SKILL_FILE, Scheme, Strictness};

use self::{
    handle::Handle,
    inspect::Visit,
    keep::Old,
    memory::Memory,
    scan::Scan,
    steps::{Steps, Undisturbed},
    store::Root,
};
use crate::{
    location::{Place, below},
    progress::ScanProgress,
    rules::{Rules, SecretAllowList},
    source::{ScanRequest, SkillSource, SourceChange, SourceUnavailable},
};

mod bytes;
#[cfg(target_os = "linux")]
mod cached;
mod crew;
#[cfg(all(test, unix))]
mod disturbed;
mod explore;
mod handle;
mod index;
mod inspect;
mod keep;
mod links;
mod memory;
mod parts;
mod read;
mod reading;
mod record;
#[cfg(all(test, unix))]
mod reread;
mod scan;
pub(crate) mod stamp;
mod steps;
mod stopped;
mod store;
mod walk;

/// How a folder of skills is served.
#[derive(Debug, Clone, Default)]
pub struct DirectoryOptions {
    /// The folder as the operator wrote it, for findings; its path when empty.
    pub label: String,
    /// Path segments put before the path of every skill.
    pub prefix: Vec<String>,
    /// The scheme of the skills' URIs.
    pub scheme: Scheme,
    /// How forgiving the source is about skills that break the format.
    pub strictness: Strictness,
    /// Files that are served although their name says that they hold a secret.
    pub allow_secret: SecretAllowList,
    /// Whether a file with more than one hard link keeps its skill from being served.
    ///
    /// A hard link to a file outside the skill cannot be told from an ordinary file. Where someone
    /// who may write skills must not read all files on the same disk, this refuses both. Only
    /// Unix tells the number of links before a file is opened.
    pub single_link: bool,
    /// Whether findings that never keep a skill from being served are left out, which saves a
    /// server the work of looking for them.
    pub brief: bool,
    /// Whether the folder is opened anew for each file that a client reads, instead of being held open
    /// from the first scan on. That takes longer, and lets somebody have a source for each of many
    /// folders.
    pub reopen: bool,
    /// A file in which the source keeps what it found, so that the next start opens no unchanged
    /// file. It is made when it is missing and ignored when it is damaged or about something else.
    pub index: Option<PathBuf>,
    /// Where scans count what they have looked at.
    pub progress: ScanProgress,
}

/// A folder that is a skill or holds skills.
#[derive(Debug)]
pub struct DirectorySource {
    /// The root as it was given, made absolute.
    given: PathBuf,
    /// Where the root was when the source was made.
    root: Arc<Root>,
    label: String,
    prefix: Vec<String>,
    rules: Rules,
    reopen: bool,
    index: Option<index::Place>,
    index_error: Mutex<Option<String>>,
    steps: Arc<dyn Steps>,
    /// How many threads look at skills.
    workers: usize,
    memory: Mutex<Memory>,
    /// Held by the one scan that is under way.
    turn: Mutex<()>,
    progress: ScanProgress,
}

impl DirectorySource {
    /// Makes a source of a folder, which stays the same folder from now on.
    pub fn new(
        root: impl Into<PathBuf>,
        options: DirectoryOptions,
    ) -> Result<Self, SourceUnavailable> {
        let root = root.into();
        let DirectoryOptions {
            label,
            prefix,
            scheme,
            strictness,
            allow_secret,
            single_link,
            brief,
            reopen,
            index,
            progress,
        } = options;
        let label = if label.is_empty() { root.display().to_string() } else { label };
        let unavailable = |reason: String| SourceUnavailable { origin: label.clone(), reason };
        for segment in &prefix {
            if segment.contains('/') || RelPath::parse(segment).is_err() {
                return Err(unavailable(format!(
                    "`{segment}` cannot stand before a path. Choose another prefix."
                )));
            }
        }
        if single_link && !cfg!(unix) {
            let reason = "Hard links cannot be counted on this system. Serve without that check.";
            return Err(unavailable(reason.to_owned()));
        }
        let located = std::path::absolute(&root)
            .and_then(|given| std::fs::canonicalize(&given).map(|canonical| (given, canonical)));
        let (given, canonical) =
            located.map_err(|error| unavailable(format!("{error}. Name a folder that exists.")))?;
        if !canonical.is_dir() {
            return Err(unavailable("It is not a folder. Name the folder around it.".to_owned()));
        }
        let rules = Rules { scheme, strictness, allow_secret, single_link, brief };
        let index = index.map(|file| {
            let about = about(&canonical, &label, &prefix, &rules);
            index::Place { file, about }
        });
        Ok(Self {
            given,
            root: Arc::new(Root::new(canonical)),
            label,
            prefix,
            rules,
            reopen,
            index,
            index_error: Mutex::default(),
            steps: Arc::new(Undisturbed),
            workers: crew::all_cores(),
            memory: Mutex::default(),
            turn: Mutex::default(),
            progress,
        })
    }

    /// Where the folder is, without symbolic links.
    pub fn canonical_root(&self) -> &Path {
        &self.root.path
    }

    /// What kept the last scan that used the index from reading or writing it, if anything did.
    pub fn last_index_error(&self) -> Option<String> {
        self.index_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn unavailable(&self, reason: impl Into<String>) -> SourceUnavailable {
        SourceUnavailable { origin: self.label.clone(), reason: reason.into() }
    }

    /// Opens the root, if it is where it was when the source was made.
    ///
    /// The path is looked at before and after opening, so that a directory above the root that is
    /// replaced by a symbolic link does not lead the scan elsewhere.
    fn open_root(&self) -> Result<Handle, SourceUnavailable> {
        self.check_root()?;
        let root =
            Handle::open(&self.root.path).map_err(|error| self.unavailable(format!("{error}.")))?;
        self.check_root()?;
        Ok(root)
    }

    fn check_root(&self) -> Result<(), SourceUnavailable> {
        match std::fs::canonicalize(&self.given) {
            Ok(now) if now == self.root.path => Ok(()),
            Ok(now) => Err(self.unavailable(format!(
                "It was at `{}` when the server started and now leads to `{}`. \
                 Restart the server to serve the other folder.",
                self.root.path.display(),
                now.display()
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.unavailable(
                "The folder is gone. It is served again once it is back at the same place.",
            )),
            Err(error) => Err(self.unavailable(format!("{error}."))),
        }
    }

    /// Prepares the inspection of the outermost skill at a path below the root.
    fn visit<'a>(
        &'a self,
        path: &'a Arc<str>,
        dir: &'a Handle,
        place: &'a Place,
        started: SystemTime,
    ) -> Visit<'a> {
        let (root, rules, steps) = (&self.root, &self.rules, &*self.steps);
        Visit { root, path, dir, place, rules, started, steps }
    }

    fn place(&self, path: &str) -> Place {
        let own_name = || self.root.path.file_name().and_then(|name| name.to_str());
        let mut segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let last = segments.pop();
        let above = self.prefix.iter().map(String::as_str).chain(segments);
        Place {
            origin: below(&self.label, path),
            above: above.map(str::to_owned).collect(),
            directory: last.or_else(own_name).map(str::to_owned),
        }
    }
}

impl SkillSource for DirectorySource {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let scanned = self.try_scan(look, report);
        if scanned.is_err() {
            // Places were left unseen, so the next scan looks at all of them.
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).complete = false;
        }
        scanned
    }

    fn watched_directories(&self) -> Vec<PathBuf> {
        vec![self.root.path.clone()]
    }

    fn scan_parts(&self) -> Vec<BTreeSet<PathBuf>> {
        self.divide()
    }
}

impl DirectorySource {
    fn try_scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let started = SystemTime::now();
        let root = Arc::new(self.open_root()?);
        if !self.reopen {
            self.root.keep(&root);
        }
        let (closely, workers) = (look.force_read, self.workers);
        let old = Old::default();
        let scan = Scan { source: self, root, started, closely, workers, old, writes: false };
        scan.run(look, report).map_err(|stopped| self.unavailable(stopped.reason()))?;
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut findings = memory.findings();
        if let Some(error) = self.last_index_error() {
            findings.push(index_not_kept(&self.label, &error));
        }
        if memory.skills.is_empty() && memory.odd.is_empty() {
            findings.push(no_skill(&self.label));
        }
        Ok(findings)
    }
}

fn index_not_kept(label: &str, error: &str) -> Finding {
    let message = format!("What was read cannot be remembered for the next start: {error}.");
    Finding::new(Code::IndexNotKept, label, message)
        .help("Make the cache folder writable, or serve with `--no-index`.")
}

/// A digest of everything besides the files that what is reported depends on.
fn about(canonical: &Path, label: &str, prefix: &[String], rules: &Rules) -> Digest {
    let version = env!("CARGO_PKG_VERSION");
    let mut about = format!("{version}\n{label:?}\n{prefix:?}\n{rules:?}\n").into_bytes();
    about.extend_from_slice(canonical.as_os_str().as_encoded_bytes());
    Digest::of(&about)
}

fn no_skill(label: &str) -> Finding {
    let message = format!("No `{SKILL_FILE}` was found here or in any folder below.");
    Finding::new(Code::NoSkillFound, label, message)
        .help("Name a folder that is a skill or holds skills, or make one with `skillwire new`.")
}
