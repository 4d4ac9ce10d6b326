//! Finding skill directories below a folder: by name only, within limits, and never outside the
//! base.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use skillwire_core::{Code, Finding, SKILL_FILE, is_ignored};

use super::SearchLimits;

/// The most entries of one directory; a larger one is not searched.
const MAX_ENTRIES: usize = 10_000;

/// A directory that has a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkillDirectory {
    /// The path, without symbolic links.
    pub(super) directory: PathBuf,
    /// The names on the way from the base, as they were found.
    pub(super) segments: Vec<String>,
}

/// Searches the folders of one base, a project or the user's home, for skill directories.
pub(super) struct SkillWalk<'a> {
    /// The base without symbolic links; links that lead outside are not followed.
    base: &'a Path,
    limits: SearchLimits,
    /// Directories that may still be visited in the current folder.
    left: usize,
    seen: BTreeSet<PathBuf>,
    pub(super) found: Vec<SkillDirectory>,
    /// The directories that links lead to, without symbolic links.
    pub(super) behind_links: BTreeSet<PathBuf>,
    pub(super) findings: Vec<Finding>,
    /// Whether the folders hold more than was looked at.
    pub(super) is_cut: bool,
}

impl<'a> SkillWalk<'a> {
    pub(super) fn new(base: &'a Path, limits: SearchLimits) -> Self {
        Self {
            base,
            limits,
            left: 0,
            seen: BTreeSet::new(),
            found: Vec::new(),
            behind_links: BTreeSet::new(),
            findings: Vec::new(),
            is_cut: false,
        }
    }

    /// Searches one folder, given relative to the base.
    pub(super) fn folder(&mut self, folder: &str) {
        let segments: Vec<String> = folder.split('/').map(str::to_owned).collect();
        let path = self.base.join(folder);
        if fs::symlink_metadata(&path).is_err() {
            return;
        }
        self.left = self.limits.directories;
        if let Some(directory) = self.inside(&path, &segments) {
            self.visit(&directory, &segments, 0);
        }
    }

    /// Returns the real path of a directory, if it is inside the base.
    fn inside(&mut self, path: &Path, segments: &[String]) -> Option<PathBuf> {
        let real = fs::canonicalize(path).ok().filter(|real| real.is_dir())?;
        if real.starts_with(self.base) {
            return Some(real);
        }
        self.findings.push(
            Finding::new(
                Code::SymlinkNotScanned,
                segments.join("/"),
                "The symbolic link leads out of the folder it is in, so it is not followed.",
            )
            .help("Copy the skill here, or move it below the project or your home folder."),
        );
        None
    }

    /// Searches a directory; returns whether the folder may be searched further.
    fn visit(&mut self, directory: &Path, segments: &[String], depth: usize) -> bool {
        if !self.seen.insert(directory.to_owned()) {
            return true;
        }
        let Some(left) = self.left.checked_sub(1) else {
            let message = format!(
                "The folder has more than {} directories; the rest was not looked at.",
                self.limits.directories
            );
            let finding = Finding::new(Code::TooManyFiles, segments.join("/"), message)
                .help("Remove what is no skill from the folder.");
            self.findings.push(finding);
            self.is_cut = true;
            return false;
        };
        self.left = left;
        if fs::symlink_metadata(directory.join(SKILL_FILE)).is_ok() {
            let (directory, segments) = (directory.to_owned(), segments.to_vec());
            self.found.push(SkillDirectory { directory, segments });
            return true;
        }
        self.names(directory, segments).into_iter().all(|name| {
            let path = directory.join(&name);
            let mut inner = segments.to_vec();
            inner.push(name);
            match self.inside(&path, &inner) {
                Some(_) if depth == self.limits.depth => {
                    self.too_deep(&inner);
                    true
                }
                Some(real) => {
                    if real != path {
                        self.behind_links.insert(real.clone());
                    }
                    self.visit(&real, &inner, depth + 1)
                }
                None => true,
            }
        })
    }

    fn too_deep(&mut self, segments: &[String]) {
        let message = format!("It is more than {} directories deep.", self.limits.depth);
        let finding = Finding::new(Code::TooDeep, segments.join("/"), message);
        self.findings.push(finding.help("Move the skills in it up."));
    }

    /// Returns the names of the subdirectories, then of the links, each sorted.
    fn names(&mut self, directory: &Path, segments: &[String]) -> Vec<String> {
        let shown = segments.join("/");
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("It cannot be read: {error}.");
                self.findings.push(Finding::new(Code::Unreadable, shown, message));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for (index, entry) in entries.flatten().enumerate() {
            if index == MAX_ENTRIES {
                let message = format!("It has more than {MAX_ENTRIES} entries.");
                self.findings.push(Finding::new(Code::TooManyFiles, shown, message));
                self.is_cut = true;
                return Vec::new();
            }
            let Ok(kind) = entry.file_type() else { continue };
            match entry.file_name().into_string() {
                Ok(name) if is_ignored(&name) || name == "node_modules" => {}
                Ok(name) if kind.is_dir() || kind.is_symlink() => {
                    names.push((kind.is_symlink(), name));
                }
                _ => {}
            }
        }
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }
}
