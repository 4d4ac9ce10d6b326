//! Finds the skills below a folder, one directory at a time.

use std::{
    ffi::OsStr,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use skillwire_core::{Code, Finding, SKILL_FILE, is_ignored, repair::Repair};

use super::{
    file_store::RootDir,
    follow::{FollowedLink, LinkDestination, LinkFollower, LinkPlace, may_be_link},
    handle::{DirEntry, DirHandle, FileKind, is_gone},
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
    /// The link that it lies behind.
    pub(super) via: Option<Arc<FollowedLink>>,
    /// Whether it is itself a link, which is followed when its turn comes: a folder may have more
    /// links than a process can open directories.
    pub(super) is_link: bool,
}

/// A directory after it was listed.
pub(super) enum ExploredDir {
    /// A skill.
    Skill(ExploredSkill),
    /// No skill: the findings, and the directories to explore next.
    Folder(FolderFindings),
}

/// A directory with a `SKILL.md`.
pub(super) struct ExploredSkill {
    pub(super) dir: DirHandle,
    /// Its listing, and the stamp it had before.
    pub(super) listed: Option<(Vec<DirEntry>, FileStamp)>,
    /// The link that it lies behind, or is.
    pub(super) via: Option<Arc<FollowedLink>>,
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
    /// The link that it was reached through, if it is one.
    pub(super) link: Option<Arc<FollowedLink>>,
}

/// Explores directories; all threads of a scan share one.
pub(super) struct FolderExplorer<'a> {
    root: &'a Arc<DirHandle>,
    place: &'a RootDir,
    label: &'a str,
    follower: LinkFollower<'a>,
    left: AtomicUsize,
}

impl<'a> FolderExplorer<'a> {
    pub(super) fn new(
        root: &'a Arc<DirHandle>,
        place: &'a RootDir,
        label: &'a str,
        follower: LinkFollower<'a>,
    ) -> Self {
        Self { root, place, label, follower, left: AtomicUsize::new(MAX_ENTRIES) }
    }

    /// Starts at a path, which is treated like an entry of the directory around it.
    ///
    /// If nothing exists at the path, there is nothing to explore.
    pub(super) fn begin(&self, path: &str) -> Result<FolderFindings, ScanStopped> {
        let mut between = FolderFindings::default();
        if path.is_empty() {
            let path = String::new();
            between.tasks.push(DirTask { above: None, path, via: None, is_link: false });
            return Ok(between);
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.reach(parent) {
            Ok((dir, via)) => match dir.facts(OsStr::new(name)) {
                Ok(facts) => {
                    let around = AroundEntry { dir: &dir, path: parent, via: via.as_ref() };
                    self.enter(&around, OsStr::new(name), facts.kind, &mut between);
                }
                Err(error) if is_gone(&error) => {}
                Err(error) => self.unreadable(path, error, &mut between)?,
            },
            Err(error) if is_gone(&error) => {}
            Err(error) => self.unreadable(path, error, &mut between)?,
        }
        Ok(between)
    }

    /// Opens a directory below the root, through the links that are followed on the way.
    fn reach(&self, path: &str) -> io::Result<(Arc<DirHandle>, Option<Arc<FollowedLink>>)> {
        match self.root.below(path) {
            Err(error) if may_be_link(&error) => {}
            opened => return opened.map(|dir| (Arc::new(dir), None)),
        }
        let (mut dir, mut via) = (Arc::clone(self.root), None);
        let mut at = String::new();
        for name in path.split('/') {
            let inner = join_path(&at, name);
            dir = match dir.directory(OsStr::new(name)) {
                Ok(next) => Arc::new(next),
                Err(error) if may_be_link(&error) => {
                    let around = AroundEntry { dir: &dir, path: &at, via: via.as_ref() };
                    match self.follow(&around, OsStr::new(name), &inner) {
                        LinkDestination::Directory(next, link) => {
                            via = Some(link);
                            Arc::new(next)
                        }
                        LinkDestination::File | LinkDestination::Nothing(_) => {
                            return Err(io::ErrorKind::NotFound.into());
                        }
                    }
                }
                Err(error) => return Err(error),
            };
            at = inner;
        }
        Ok((dir, via))
    }

    fn follow(&self, around: &AroundEntry<'_>, name: &OsStr, path: &str) -> LinkDestination {
        let place = LinkPlace {
            dir: around.dir,
            holder: self.real(around.path, around.via),
            name,
            path,
            outer: around.via,
        };
        self.follower.follow(&place, self.name_of(path))
    }

    /// The path of a directory without links.
    fn real(&self, path: &str, via: Option<&Arc<FollowedLink>>) -> PathBuf {
        via.map_or_else(|| self.place.join(path), |via| via.base.join(&via.below_base(path)))
    }

    /// Lists a directory. The entries of one with a `SKILL.md` are left to the inspection.
    pub(super) fn explore(&self, task: &DirTask) -> Result<ExploredDir, ScanStopped> {
        let mut between = FolderFindings::default();
        let (parent, name) = task.path.rsplit_once('/').unwrap_or(("", &task.path));
        let mut via = task.via.clone();
        let opened = match &task.above {
            None => self.root.again(),
            Some(above) if task.is_link => {
                let around = AroundEntry { dir: above, path: parent, via: via.as_ref() };
                match self.follow(&around, OsStr::new(name), &task.path) {
                    LinkDestination::Directory(dir, link) => {
                        between.link = Some(Arc::clone(&link));
                        via = Some(link);
                        Ok(dir)
                    }
                    LinkDestination::File => return Ok(ExploredDir::Folder(between)),
                    LinkDestination::Nothing(finding) => {
                        between.findings.push((task.path.clone(), *finding));
                        return Ok(ExploredDir::Folder(between));
                    }
                }
            }
            Some(above) => above.directory(OsStr::new(name)),
        };
        let listed = opened.and_then(|dir| {
            let stamp = dir.own_facts()?.stamp;
            Ok((dir.entries(MAX_ENTRIES_EACH)?, dir, stamp))
        });
        match listed {
            Ok((Some(entries), dir, stamp)) if entries.iter().any(is_skill_file) => {
                let listed = Some((entries, stamp));
                return Ok(ExploredDir::Skill(ExploredSkill { dir, listed, via }));
            }
            // It is far too large, and the inspection reports that as a finding of the skill.
            Ok((None, dir, _)) if dir.facts(OsStr::new(SKILL_FILE)).is_ok() => {
                return Ok(ExploredDir::Skill(ExploredSkill { dir, listed: None, via }));
            }
            Ok((entries, dir, _)) => match entries.filter(|entries| self.afford(entries.len())) {
                Some(entries) => {
                    let dir = Arc::new(dir);
                    let around = AroundEntry { dir: &dir, path: &task.path, via: via.as_ref() };
                    self.look_through(&around, entries, &mut between);
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
        around: &AroundEntry<'_>,
        mut entries: Vec<DirEntry>,
        between: &mut FolderFindings,
    ) {
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut other_case = None;
        for DirEntry { name, kind } in entries {
            let kind = kind.or_else(|| Some(around.dir.facts(&name).ok()?.kind));
            let Some(kind) = kind else { continue };
            if kind != FileKind::Directory && name.eq_ignore_ascii_case(SKILL_FILE) {
                other_case.get_or_insert_with(|| name.to_string_lossy().into_owned());
            }
            self.enter(around, &name, kind, between);
        }
        between.odd = other_case.map(|name| self.other_case(around.path, &name));
    }

    fn enter(
        &self,
        around: &AroundEntry<'_>,
        name: &OsStr,
        kind: FileKind,
        between: &mut FolderFindings,
    ) {
        let text = name.to_string_lossy();
        if is_ignored(&text) || !matches!(kind, FileKind::Directory | FileKind::Link) {
            return;
        }
        let inner = join_path(around.path, &text);
        let finding = if name.to_str().is_none() {
            name_not_utf8(self.name_of(&inner))
        } else if depth(around.path) == MAX_DEPTH {
            too_deep(self.name_of(&inner))
        } else {
            between.tasks.push(DirTask {
                above: Some(Arc::clone(around.dir)),
                path: inner,
                via: around.via.cloned(),
                is_link: kind == FileKind::Link,
            });
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

/// A directory whose entries are looked through.
struct AroundEntry<'a> {
    dir: &'a Arc<DirHandle>,
    /// Its path relative to the root.
    path: &'a str,
    /// The link that it lies behind.
    via: Option<&'a Arc<FollowedLink>>,
}

/// The number of directories from the root to a path.
pub(super) fn depth(path: &str) -> usize {
    path.split('/').filter(|segment| !segment.is_empty()).count()
}

fn is_skill_file(entry: &DirEntry) -> bool {
    entry.name == SKILL_FILE
}

fn too_deep(shown: String) -> Finding {
    let message = format!("The directory is more than {MAX_DEPTH} directories deep.");
    Finding::new(Code::TooDeep, shown, message).help("Name a folder nearer to the skills in it.")
}
