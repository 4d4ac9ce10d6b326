//! The files of a project: what it names, and what its lock file pins.

use std::{
    fs,
    path::{Path, PathBuf},
};

use skillwire_core::Digest;
use skillwire_install::{InvalidProject, NpxLock, ProjectFile, ProjectLock, ProjectSource};
use skillwire_trust::LockFile;

use super::super::PROJECT_FILE;
use crate::{
    exit::Exit, failure::Failure, regular_file, report::printable, session::warn,
    settings::HostSettings,
};

/// The lock file of a project.
pub(super) const LOCK: &str = "skillwire.lock";

/// The lock file of `npx skills`.
const NPX_LOCK: &str = "skills-lock.json";

/// The most bytes of each of these files.
const MOST_BYTES: u64 = 16 << 20;

/// A project as its files have it.
pub(super) struct ProjectFiles {
    root: PathBuf,
    file: ProjectFile,
    forge: String,
    /// The texts that the user is asked to trust.
    texts: Vec<(&'static str, String)>,
    lock_text: String,
    lock: ProjectLock,
    approvals: LockFile,
}

impl ProjectFiles {
    pub(super) fn read(root: &Path, settings: &HostSettings) -> Result<Self, Failure> {
        let mut texts = Vec::new();
        let mut read = |name: &'static str| -> Result<Option<String>, Failure> {
            let path = root.join(name);
            match regular_file::read(&path, MOST_BYTES) {
                Ok(text) => {
                    texts.push((name, text.clone()));
                    Ok(Some(text))
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => {
                    Err(Failure::usage(format!("`{}` cannot be read.", path.display()))
                        .because(error))
                }
            }
        };
        let project_text = read(PROJECT_FILE)?;
        let is_project = project_text.is_some();
        let mut file = match project_text {
            Some(text) => ProjectFile::parse(&text).map_err(|error| wrong(PROJECT_FILE, &error))?,
            None => ProjectFile::default(),
        };
        if let Some(text) = read(NPX_LOCK)? {
            let npx = NpxLock::parse(&text).map_err(|error| wrong(NPX_LOCK, &error))?;
            for (name, kind) in &npx.unreachable {
                warn(&format!(
                    "`{NPX_LOCK}` has `{}` from `{}`, which is left to `npx skills`.",
                    printable(name),
                    printable(kind)
                ))?;
            }
            add_npx(&mut file.sources, npx.sources);
        }
        let lock_text = read(LOCK)?.unwrap_or_default();
        let (lock, approvals) = if lock_text.is_empty() {
            (ProjectLock::default(), LockFile::default())
        } else {
            let lock = ProjectLock::parse(&lock_text).map_err(|error| wrong(LOCK, &error))?;
            let approvals = LockFile::parse(&lock_text)
                .map_err(|error| Failure::usage(format!("`{LOCK}` {error}.")))?;
            (lock, approvals)
        };
        // A project that names nothing any more still has what an earlier sync brought.
        let had_skills = is_project
            && (!lock.skills().is_empty() || super::brought::is_recorded(settings, root)?);
        if file.is_empty() && !had_skills {
            let message = format!("No `{PROJECT_FILE}` here or above names servers or sources.");
            return Err(Failure::new(Exit::NotFound, message).hint(format!(
                "Write `[[source]]` and `from = \"owner/repo\"` into `{PROJECT_FILE}`."
            )));
        }
        let forge = match &file.forge {
            Some(forge) => forge.clone(),
            None => settings.user()?.forge,
        };
        Ok(Self { root: root.to_owned(), file, forge, texts, lock_text, lock, approvals })
    }

    /// The folder of the project.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What the project names.
    pub(super) fn file(&self) -> &ProjectFile {
        &self.file
    }

    /// Where `owner/repo` is found.
    pub(super) fn forge(&self) -> &str {
        &self.forge
    }

    /// The pinned skills of sources.
    pub(super) fn lock(&self) -> &ProjectLock {
        &self.lock
    }

    /// The pinned skills of servers, under the labels of the project.
    pub(super) fn approvals(&self) -> &LockFile {
        &self.approvals
    }

    /// Pins what was found.
    pub(super) fn set_lock(&mut self, lock: ProjectLock) {
        self.lock = lock;
    }

    /// Pins what servers listed.
    pub(super) fn set_approvals(&mut self, approvals: LockFile) {
        self.approvals = approvals;
    }

    /// The lock file as it should be.
    fn lock_text(&self) -> String {
        if self.lock.skills().is_empty() {
            return self.approvals.to_string();
        }
        self.approvals.to_string() + &self.lock.to_string()
    }

    /// Writes the lock file, if it should be another one; returns whether it did.
    pub(super) fn write_lock(&mut self) -> Result<bool, Failure> {
        let text = self.lock_text();
        if text == self.lock_text {
            return Ok(false);
        }
        let path = self.root.join(LOCK);
        let new = self.root.join(format!("{LOCK}.new-{}", std::process::id()));
        fs::write(&new, &text).and_then(|()| fs::rename(&new, &path)).map_err(|error| {
            let _ = fs::remove_file(&new);
            Failure::usage(format!("`{}` cannot be written.", path.display())).because(error)
        })?;
        self.texts.retain(|(name, _)| *name != LOCK);
        self.texts.push((LOCK, text.clone()));
        self.lock_text = text;
        Ok(true)
    }

    /// Identifies what the user trusts: every byte of the files.
    pub(super) fn digest(&self) -> Digest {
        let parts = self.texts.iter().map(|(name, text)| format!("{name} {}\n{text}", text.len()));
        Digest::of(parts.collect::<Vec<_>>().concat().as_bytes())
    }
}

fn wrong(name: &str, error: &InvalidProject) -> Failure {
    Failure::usage(format!("`{name}` {error}."))
}

/// Adds sources of `npx skills`, but for skills that the project's own file names.
fn add_npx(sources: &mut Vec<ProjectSource>, npx: Vec<ProjectSource>) {
    let named: Vec<String> = sources.iter().flat_map(|source| source.skills.clone()).collect();
    for mut source in npx {
        source.skills.retain(|name| !named.contains(name));
        if !source.skills.is_empty() {
            sources.push(source);
        }
    }
}
