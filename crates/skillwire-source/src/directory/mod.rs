//! Skills in directories.
//!
//! Everything is read through directory handles that cannot be left: no symbolic link is followed,
//! nothing but regular files is opened, and sizes are known before anything is read.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use cap_fs_ext::DirExt;
use cap_std::{ambient_authority, fs::Dir};
use skillwire_core::{
    finding::{Code, Finding, Strictness},
    path::{RelPath, SKILL_FILE},
    uri::Scheme,
};

use self::{
    inspect::{Outcome, Remembered, Visit},
    steps::{Steps, Undisturbed},
    stopped::Stopped,
};
use crate::{
    place::{Place, below},
    rules::{Rules, SecretAllowList},
    source::{Inspected, Scan, Source, Unavailable},
};

mod discover;
#[cfg(all(test, unix))]
mod disturbed;
mod inspect;
mod links;
mod read;
pub(crate) mod stamp;
mod steps;
mod stopped;
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
}

/// A folder that is a skill or holds skills.
#[derive(Debug)]
pub struct DirectorySource {
    /// The root as it was given, made absolute.
    given: PathBuf,
    /// Where the root was when the source was made, without symbolic links.
    canonical: PathBuf,
    label: String,
    prefix: Vec<String>,
    rules: Rules,
    steps: Arc<dyn Steps>,
    /// What the last scan read, by the segments of each outermost skill.
    remembered: Mutex<Memory>,
}

type Memory = BTreeMap<Vec<String>, Arc<Remembered>>;

impl DirectorySource {
    /// Makes a source of a folder, which stays the same folder from now on.
    pub fn new(root: impl Into<PathBuf>, options: DirectoryOptions) -> Result<Self, Unavailable> {
        let root = root.into();
        let DirectoryOptions { label, prefix, scheme, strictness, allow_secret, single_link } =
            options;
        let label = if label.is_empty() { root.display().to_string() } else { label };
        let unavailable = |reason: String| Unavailable { origin: label.clone(), reason };
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
        Ok(Self {
            given,
            canonical,
            label,
            prefix,
            rules: Rules { scheme, strictness, allow_secret, single_link },
            steps: Arc::new(Undisturbed),
            remembered: Mutex::default(),
        })
    }

    /// Where the folder is, without symbolic links.
    pub fn canonical_root(&self) -> &Path {
        &self.canonical
    }

    /// Lets the next scan read every file, whatever the file system says about changes.
    pub fn forget(&self) {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn unavailable(&self, reason: impl Into<String>) -> Unavailable {
        Unavailable { origin: self.label.clone(), reason: reason.into() }
    }

    /// Opens the root, if it is where it was when the source was made.
    ///
    /// The path is looked at before and after opening, so that a directory above the root that is
    /// replaced by a symbolic link does not lead the scan elsewhere.
    fn open_root(&self) -> Result<Dir, Unavailable> {
        self.check_root()?;
        let root = Dir::open_ambient_dir(&self.canonical, ambient_authority())
            .map_err(|error| self.unavailable(format!("{error}.")))?;
        self.check_root()?;
        Ok(root)
    }

    fn check_root(&self) -> Result<(), Unavailable> {
        match std::fs::canonicalize(&self.given) {
            Ok(now) if now == self.canonical => Ok(()),
            Ok(now) => Err(self.unavailable(format!(
                "It was at `{}` when the server started and now leads to `{}`. \
                 Restart the server to serve the other folder.",
                self.canonical.display(),
                now.display()
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.unavailable(
                "The folder is gone. It is served again once it is back at the same place.",
            )),
            Err(error) => Err(self.unavailable(format!("{error}."))),
        }
    }

    /// Inspects one outermost skill; nothing when its directory is gone by now.
    fn inspect(
        &self,
        root: &Dir,
        segments: &[String],
        previous: Option<&Arc<Remembered>>,
        started: SystemTime,
    ) -> Result<Option<Arc<Remembered>>, Stopped> {
        let place = self.place(segments);
        let dir = match open_below(root, segments) {
            Ok(dir) => dir,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => {
                let error = Stopped::unless(error)?;
                return Ok(Some(Arc::new(Remembered::unreadable(&place, &error))));
            }
        };
        let visit = Visit {
            dir: &dir,
            absolute: &segments.iter().fold(self.canonical.clone(), |path, part| path.join(part)),
            depth: segments.len(),
            place: &place,
            rules: &self.rules,
            started,
            steps: &*self.steps,
        };
        Ok(match visit.inspect(previous.map(|previous| &**previous))? {
            Outcome::New(remembered) => Some(Arc::new(remembered)),
            Outcome::Unchanged => previous.cloned(),
        })
    }

    fn place(&self, segments: &[String]) -> Place {
        let own_name = || self.canonical.file_name().and_then(|name| name.to_str());
        let (last, parents) = segments.split_last().map_or((None, segments), |(l, p)| (Some(l), p));
        Place {
            origin: below(&self.label, &segments.join("/")),
            above: self.prefix.iter().chain(parents).cloned().collect(),
            directory: last.map(String::as_str).or_else(own_name).map(str::to_owned),
        }
    }
}

impl Source for DirectorySource {
    fn scan(&self) -> Result<Scan, Unavailable> {
        let started = SystemTime::now();
        let root = self.open_root()?;
        let stopped = |stopped: Stopped| self.unavailable(stopped.reason());
        let found = discover::discover(&root, &self.label).map_err(stopped)?;
        let before = self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut now = Memory::new();
        for segments in found.skills {
            let seen = self.inspect(&root, &segments, before.get(&segments), started);
            if let Some(remembered) = seen.map_err(stopped)? {
                now.insert(segments, remembered);
            }
        }
        // What was found in a folder that went away in between would not be all there is.
        self.check_root()?;
        let mut scan = Scan { inspected: found.inspected, findings: found.findings };
        scan.inspected.extend(now.values().flat_map(|skill| skill.inspected.iter().cloned()));
        scan.inspected.sort_by(|a: &Inspected, b: &Inspected| a.origin.cmp(&b.origin));
        *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = now;
        if scan.inspected.is_empty() {
            scan.findings.push(no_skill(&self.label));
        }
        Ok(scan)
    }
}

fn open_below(root: &Dir, segments: &[String]) -> io::Result<Dir> {
    let mut dir = root.try_clone()?;
    for segment in segments {
        dir = dir.open_dir_nofollow(segment)?;
    }
    Ok(dir)
}

/// Tells whether a directory that was listed is no longer one.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn no_skill(label: &str) -> Finding {
    let message = format!("No `{SKILL_FILE}` was found here or in any folder below.");
    Finding::new(Code::NoSkillFound, label, message)
        .help("Name a folder that is a skill or holds skills, or make one with `skillwire new`.")
}
