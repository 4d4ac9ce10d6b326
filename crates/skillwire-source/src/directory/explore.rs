//! Finds the skills below a folder, one directory at a time.

use std::{
    ffi::OsStr,
    io,
    path::Component,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use skillwire_core::{Code, Finding, SKILL_FILE, is_ignored, repair::Repair};

use super::{
    handle::{DirEntry, DirHandle, FileKind},
    listing::{MAX_DEPTH, name_not_utf8, unreadable},
    scan_error::ScanStopped,
    stamp::FileStamp,
};
use crate::{location::join_path, source::InspectedSkill};

/// The most entries listed outside skills.
const MAX_ENTRIES: usize = 1_000_000;

/// The most entries listed of one directory, so that a single one does not use up the total.
const MAX_ENTRIES_EACH: usize = 250_000;

/// A directory to explore.
pub(super) struct DirTask {
    /// The directory around it; `None` for the root.
    pub(super) above: Option<Arc<DirHandle>>,
    /// The path relative to the root.
    pub(super) path: String,
}

/// A directory after it was listed.
pub(super) enum ExploredDir {
    /// A skill: the directory, its listing and the stamp it had before.
    Skill(DirHandle, Option<(Vec<DirEntry>, FileStamp)>),
    /// No skill: the findings, and the directories to explore next.
    Folder(FolderFindings),
}

/// What was found in a directory that is not a skill.
#[derive(Default)]
pub(super) struct FolderFindings {
    /// Set if the directory failed to be a skill.
    pub(super) odd: Option<InspectedSkill>,
    /// Findings that belong to no skill, with the path below the root that each is about.
    pub(super) findings: Vec<(String, Finding)>,
    /// The directories in it, in the order of their names.
    pub(super) tasks: Vec<DirTask>,
}

/// Explores directories; all threads of a scan share one.
pub(super) struct FolderExplorer<'a> {
    pub(super) root: &'a Arc<DirHandle>,
    pub(super) label: &'a str,
    left: AtomicUsize,
}

impl<'a> FolderExplorer<'a> {
    pub(super) fn new(root: &'a Arc<DirHandle>, label: &'a str) -> Self {
        Self { root, label, left: AtomicUsize::new(MAX_ENTRIES) }
    }

    /// Starts at a path, which is treated like an entry of the directory around it.
    ///
    /// If nothing exists at the path, there is nothing to explore.
    pub(super) fn begin(&self, path: &str) -> Result<ExploredDir, ScanStopped> {
        let mut between = FolderFindings::default();
        if path.is_empty() {
            between.tasks.push(DirTask { above: None, path: String::new() });
            return Ok(ExploredDir::Folder(between));
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.root.below(parent) {
            Ok(dir) => {
                let dir = Arc::new(dir);
                match dir.facts(OsStr::new(name)) {
                    Ok(facts) => {
                        self.enter(&dir, parent, OsStr::new(name), facts.kind, &mut between);
                    }
                    Err(error) if is_gone(&error) => {}
                    Err(error) => self.unreadable(path, error, &mut between)?,
                }
            }
            Err(error) if is_gone(&error) => {}
            Err(error) => self.unreadable(path, error, &mut between)?,
        }
        Ok(ExploredDir::Folder(between))
    }

    /// Lists a directory. The entries of one with a `SKILL.md` are left to the inspection.
    pub(super) fn explore(&self, task: &DirTask) -> Result<ExploredDir, ScanStopped> {
        let mut between = FolderFindings::default();
        let name = task.path.rsplit('/').next().unwrap_or_default();
        let opened = match &task.above {
            None => self.root.again(),
            Some(above) => above.directory(OsStr::new(name)),
        };
        let listed = opened.and_then(|dir| {
            let stamp = dir.own_facts()?.stamp;
            Ok((dir.entries(MAX_ENTRIES_EACH)?, dir, stamp))
        });
        match listed {
            Ok((Some(entries), dir, stamp)) if entries.iter().any(is_skill_file) => {
                return Ok(ExploredDir::Skill(dir, Some((entries, stamp))));
            }
            // It is far too large, and the inspection reports that as a finding of the skill.
            Ok((None, dir, _)) if dir.facts(OsStr::new(SKILL_FILE)).is_ok() => {
                return Ok(ExploredDir::Skill(dir, None));
            }
            Ok((entries, dir, _)) => match entries.filter(|entries| self.afford(entries.len())) {
                Some(entries) => {
                    self.look_through(&Arc::new(dir), &task.path, entries, &mut between);
                }
                None => self.too_many(&task.path, &mut between),
            },
            // The directory is gone, and so is any skill in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && task.above.is_some() => {}
            Err(error) if task.above.is_none() => return Err(ScanStopped::Root(error)),
            Err(error) => self.unreadable(&task.path, error, &mut between)?,
        }
        Ok(ExploredDir::Folder(between))
    }

    fn afford(&self, entries: usize) -> bool {
        let take = |left: usize| left.checked_sub(entries);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn look_through(
        &self,
        dir: &Arc<DirHandle>,
        path: &str,
        mut entries: Vec<DirEntry>,
        between: &mut FolderFindings,
    ) {
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut other_case = None;
        for DirEntry { name, kind } in entries {
            let kind = kind.or_else(|| Some(dir.facts(&name).ok()?.kind));
            let Some(kind) = kind else { continue };
            if kind != FileKind::Directory && name.eq_ignore_ascii_case(SKILL_FILE) {
                other_case.get_or_insert_with(|| name.to_string_lossy().into_owned());
            }
            self.enter(dir, path, &name, kind, between);
        }
        between.odd = other_case.map(|name| self.other_case(path, &name));
    }

    fn enter(
        &self,
        dir: &Arc<DirHandle>,
        path: &str,
        name: &OsStr,
        kind: FileKind,
        between: &mut FolderFindings,
    ) {
        let text = name.to_string_lossy();
        if is_ignored(&text) || !matches!(kind, FileKind::Directory | FileKind::Link) {
            return;
        }
        let inner = join_path(path, &text);
        let finding = if kind == FileKind::Link {
            if leads_to_file(dir, name) {
                return;
            }
            not_followed(self.name_of(&inner))
        } else if name.to_str().is_none() {
            name_not_utf8(self.name_of(&inner))
        } else if depth(path) == MAX_DEPTH {
            too_deep(self.name_of(&inner))
        } else {
            between.tasks.push(DirTask { above: Some(Arc::clone(dir)), path: inner });
            return;
        };
        between.findings.push((inner, finding));
    }

    fn unreadable(
        &self,
        path: &str,
        error: io::Error,
        between: &mut FolderFindings,
    ) -> Result<(), ScanStopped> {
        let error = ScanStopped::unless(error)?;
        between.findings.push((path.to_owned(), unreadable(&self.name_of(path), &error)));
        Ok(())
    }

    /// The finding about a `skill.md`, which some tools take for a skill.
    fn other_case(&self, path: &str, name: &str) -> InspectedSkill {
        let origin = self.name_of(path);
        let message = format!("The file must be called `{SKILL_FILE}`, in this case.");
        let finding = Finding::new(Code::SkillFileCase, join_path(&origin, name), message)
            .help(format!("Rename `{name}` to `{SKILL_FILE}`."))
            .repair(Repair::Rename(SKILL_FILE.to_owned()));
        InspectedSkill { origin, findings: vec![finding], skill: None }
    }

    fn too_many(&self, path: &str, between: &mut FolderFindings) {
        let message = format!(
            "There are more than {MAX_ENTRIES_EACH} files and directories in this folder, or more \
             than {MAX_ENTRIES} outside skills; it was not looked through."
        );
        let finding = Finding::new(Code::TooManyFiles, self.name_of(path), message)
            .help("Name the folders that hold the skills instead.");
        between.findings.push((path.to_owned(), finding));
    }

    fn name_of(&self, path: &str) -> String {
        join_path(self.label, path)
    }
}

/// The number of directories from the root to a path.
pub(super) fn depth(path: &str) -> usize {
    path.split('/').filter(|segment| !segment.is_empty()).count()
}

/// Tells whether a directory that was listed is no longer one.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_skill_file(entry: &DirEntry) -> bool {
    entry.name == SKILL_FILE
}

/// Tells whether a link leads to a file at or below its own directory, so that no skill is missed.
fn leads_to_file(dir: &DirHandle, name: &OsStr) -> bool {
    let Ok(target) = dir.read_link(name) else { return false };
    let mut parts = target.components().filter(|part| *part != Component::CurDir).peekable();
    let mut inner: Option<DirHandle> = None;
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else { return false };
        let at = inner.as_ref().unwrap_or(dir);
        if parts.peek().is_none() {
            return at.facts(part).is_ok_and(|facts| facts.kind == FileKind::File);
        }
        let Ok(next) = at.directory(part) else { return false };
        inner = Some(next);
    }
    false
}

/// The finding about a link that might lead to skills.
fn not_followed(shown: String) -> Finding {
    Finding::new(
        Code::SymlinkNotScanned,
        shown,
        "The symbolic link is not followed, so no skill behind it is served.",
    )
    .help("Name the folder it leads to as a further folder to serve.")
}

fn too_deep(shown: String) -> Finding {
    let message = format!("The directory is more than {MAX_DEPTH} directories deep.");
    Finding::new(Code::TooDeep, shown, message).help("Name a folder nearer to the skills in it.")
}
