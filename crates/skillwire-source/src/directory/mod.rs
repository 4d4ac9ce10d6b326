//! Skills in directories.
//!
//! Everything is read through directory handles: the operating system follows no symbolic link, only
//! regular files are opened, and sizes are known before anything is read. A link between skills is
//! resolved in `follow`, step by step, and only as far as the operator lets it lead.
//!
//! A scan works in these steps. `explore` looks for directories with a `SKILL.md`, on several
//! threads (`workers`). For each one, `listing` lists the whole tree with the stamps of all files.
//! If the tree is as it was in the last scan, or as the `index` remembers it, nothing is read.
//! Otherwise `read_skill` reads the files, `read_file` compares each one's stamp before and after,
//! and `inspect` decides whether the result is one consistent state. `scan` compares the results
//! with the last scan and reports the differences.
//!
//! The order of writes matters in two places. The memory of a source is marked incomplete when a
//! scan starts and complete only when it ends: if a scan stops half-way, the next one covers
//! everything again, whatever it was asked for. The index is replaced last and with one rename, so
//! that a crash leaves either the old index or the new one, and a later start never trusts a state
//! that was not reported.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use skillwire_core::{Code, Digest, Exemption, Finding, RelPath, SKILL_FILE};

pub use self::options::DirectoryOptions;
use self::{
    file_store::RootDir,
    follow::LinkBounds,
    handle::DirHandle,
    index::OldIndex,
    inspect::{ATTEMPTS, NoHooks, ScanHooks, SkillVisit},
    scan::{FolderMemory, Scan},
    scan_error::ScanStopped,
};
use crate::{
    location::{SkillLocation, join_path},
    progress::ScanProgress,
    rules::ServingRules,
    source::{ScanRequest, SkillSource, SourceChange, SourceUnavailable},
};

mod explore;
mod file_store;
mod follow;
mod handle;
mod index;
mod inspect;
mod links;
mod listing;
mod options;
mod read_file;
mod read_skill;
mod scan;
mod scan_error;
mod scan_parts;
pub(crate) mod stamp;
mod workers;

#[cfg(all(test, unix))]
mod tests;

/// A source of the skills in a folder; the folder may itself be a skill.
#[derive(Debug)]
pub struct DirectorySource {
    /// The root as it was given, made absolute.
    given: PathBuf,
    /// Where the root was when the source was made.
    root: Arc<RootDir>,
    /// How far links between skills may lead.
    links: LinkBounds,
    label: String,
    prefix: Vec<String>,
    rules: ServingRules,
    reopen: bool,
    index: Option<index::IndexLocation>,
    index_error: Mutex<Option<String>>,
    steps: Arc<dyn ScanHooks>,
    /// The number of threads that scan.
    workers: usize,
    /// What the last scan found. Locked only for short accesses during a scan.
    memory: Mutex<FolderMemory>,
    /// Held during a scan, so that scans run one after the other: each one reports differences to
    /// the one before.
    scan_lock: Mutex<()>,
    progress: ScanProgress,
}

impl DirectorySource {
    /// Makes a source of a folder.
    ///
    /// If the path later leads to another folder, the source is unavailable and does not follow.
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
            follow_links,
            brief,
            reopen,
            index,
            progress,
        } = options;
        let label = if label.is_empty() { root.display().to_string() } else { label };
        let unavailable = |reason: String| SourceUnavailable::new(&label, reason);
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
        let (given, canonical) = located.map_err(|error| {
            unavailable(format!("{error}. Name a folder that exists.")).caused_by(error)
        })?;
        if !canonical.is_dir() {
            return Err(unavailable("It is not a folder. Name the folder around it.".to_owned()));
        }
        let rules = ServingRules { scheme, strictness, allow_secret, single_link, brief };
        let index = index.map(|file| {
            let about = |revision| about(revision, &canonical, &label, &prefix, &rules);
            index::IndexLocation {
                file,
                about: about(REVISION),
                about_without_exemptions: about(REVISION_WITHOUT_EXEMPTIONS),
            }
        });
        let root = Arc::new(RootDir::new(canonical));
        Ok(Self {
            given,
            links: LinkBounds::of(&root, follow_links),
            root,
            label,
            prefix,
            rules,
            reopen,
            index,
            index_error: Mutex::default(),
            steps: Arc::new(NoHooks),
            workers: workers::all_cores(),
            memory: Mutex::default(),
            scan_lock: Mutex::default(),
            progress,
        })
    }

    /// The path of the folder, without symbolic links.
    pub fn canonical_root(&self) -> &Path {
        &self.root.path
    }

    /// The error of the last scan that could not read or write the index, if there was one.
    pub fn last_index_error(&self) -> Option<String> {
        self.index_error.lock().clone()
    }

    fn unavailable(&self, reason: impl Into<String>) -> SourceUnavailable {
        SourceUnavailable::new(&self.label, reason)
    }

    /// Opens the root, if it is where it was when the source was made.
    ///
    /// The path is resolved before and after opening: if a directory above the root is replaced by
    /// a symbolic link in between, the scan does not follow it elsewhere.
    fn open_root(&self) -> Result<DirHandle, SourceUnavailable> {
        self.check_root()?;
        let root = DirHandle::open(&self.root.path)
            .map_err(|error| self.unavailable(format!("{error}.")).caused_by(error))?;
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self
                .unavailable(
                    "The folder is gone. It is served again once it is back at the same place.",
                )
                .caused_by(error)),
            Err(error) => Err(self.unavailable(format!("{error}.")).caused_by(error)),
        }
    }

    /// Prepares the inspection of the outermost skill at a path below the root.
    fn visit<'a>(
        &'a self,
        path: &'a Arc<str>,
        dir: &'a DirHandle,
        place: &'a SkillLocation,
        started: SystemTime,
    ) -> SkillVisit<'a> {
        let (root, rules, steps) = (&self.root, &self.rules, &*self.steps);
        SkillVisit { root, path, is_linked: false, dir, place, rules, started, steps }
    }

    fn place(&self, path: &str) -> SkillLocation {
        let own_name = || self.root.path.file_name().and_then(|name| name.to_str());
        let mut segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let last = segments.pop();
        let above = self.prefix.iter().map(String::as_str).chain(segments);
        SkillLocation {
            origin: join_path(&self.label, path),
            above: above.map(str::to_owned).collect(),
            directory: last.or_else(own_name).map(str::to_owned),
            alone: last.is_none(),
        }
    }
}

impl SkillSource for DirectorySource {
    #[tracing::instrument(
        level = "debug",
        skip_all,
        fields(
            folder = %self.root.path.display(),
            paths = request.paths.as_ref().map(BTreeSet::len),
            force_read = request.force_read,
        )
    )]
    fn scan(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let scanned = self.try_scan(request, report);
        if scanned.is_err() {
            // Some directories were not scanned, so the next scan covers all of them.
            self.memory.lock().complete = false;
        }
        scanned
    }

    fn watched_directories(&self) -> Vec<PathBuf> {
        let behind = self.memory.lock().directories_behind_links(&self.root.path);
        std::iter::once(self.root.path.clone()).chain(behind).collect()
    }

    fn scan_parts(&self) -> Vec<BTreeSet<PathBuf>> {
        self.divide()
    }
}

impl DirectorySource {
    fn try_scan(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let _scan_lock = self.scan_lock.lock();
        let mut attempt = 1;
        loop {
            match self.scan_once(request, report) {
                // The folder at the path is another one now, and what is in it is not known.
                Err(ScanStopped::Replaced) if attempt < ATTEMPTS => attempt += 1,
                scanned => break scanned.map_err(|stopped| stopped.unavailable(&self.label))?,
            }
        }
        let memory = self.memory.lock();
        let mut findings = memory.findings();
        if let Some(error) = self.last_index_error() {
            findings.push(index_not_kept(&self.label, &error));
        }
        if memory.skills.is_empty() && memory.odd.is_empty() {
            findings.push(no_skill(&self.label));
        }
        Ok(findings)
    }

    fn scan_once(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<(), ScanStopped> {
        let started = SystemTime::now();
        let root = Arc::new(self.open_root().map_err(ScanStopped::Moved)?);
        self.links.release();
        if !self.reopen {
            self.root.hold(&root);
        }
        let scan = Scan {
            source: self,
            root,
            started,
            force_read: request.force_read,
            workers: self.workers,
            old: OldIndex::default(),
            writes: false,
        };
        scan.run(request, report)
    }
}

fn index_not_kept(label: &str, error: &str) -> Finding {
    let message = format!("What was read cannot be remembered for the next start: {error}.");
    Finding::new(Code::IndexNotKept, label, message)
        .help("Make the cache folder writable.")
        .exempt_by(Exemption::NoIndex)
}

/// A number that changes with what is reported of the same files, so that an index from before the
/// change is built again.
const REVISION: u32 = 3;

/// The last revision that wrote findings without exemptions. Its records are read all the same, but for
/// those that hold a finding with other words by now.
const REVISION_WITHOUT_EXEMPTIONS: u32 = 2;

/// A digest of everything besides the files that decides what is reported.
fn about(
    revision: u32,
    canonical: &Path,
    label: &str,
    prefix: &[String],
    rules: &ServingRules,
) -> Digest {
    let version = env!("CARGO_PKG_VERSION");
    let mut about =
        format!("{version} {revision}\n{label:?}\n{prefix:?}\n{rules:?}\n").into_bytes();
    about.extend_from_slice(canonical.as_os_str().as_encoded_bytes());
    Digest::of(&about)
}

fn no_skill(label: &str) -> Finding {
    let message = format!("No `{SKILL_FILE}` was found here or in any folder below.");
    Finding::new(Code::NoSkillFound, label, message)
        .help("Name a folder that is a skill or holds skills, or create a skill first.")
}
