//! One scan of a folder: what is there now, compared with the scan before.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    ops::Bound,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::MutexGuard;
use skillwire_core::{Code, Finding, SKILL_FILE, is_ignored};

use super::{
    DirectorySource,
    explore::{DirTask, ExploredDir, ExploredSkill, FolderExplorer, FolderFindings, depth},
    follow::{FollowedLink, LinkFollower},
    handle::DirHandle,
    index::{IndexUpdate, OldIndex},
    inspect::{ATTEMPTS, InspectedGroup, KnownState, SkillState, SkillVisit, VisitOutcome},
    listing::MAX_DEPTH,
    scan_error::ScanStopped,
    workers,
};
use crate::{
    location::join_path,
    source::{GroupKey, InspectedSkill, ScanRequest, SourceChange},
};

/// What a scan found at or below its starting points.
#[derive(Default)]
struct ScanFindings {
    skills: BTreeSet<Arc<str>>,
    /// Directories that failed to be skills.
    odd: BTreeMap<String, InspectedSkill>,
    /// Findings that belong to no skill.
    between: BTreeMap<String, Vec<Finding>>,
    /// The links that were followed, and where each leads.
    links: BTreeMap<String, PathBuf>,
}

impl ScanFindings {
    fn followed(&mut self, link: Option<&Arc<FollowedLink>>) {
        self.links.extend(link.map(|link| (link.path.clone(), link.real())));
    }

    fn add(&mut self, path: String, between: FolderFindings) {
        self.followed(between.link.as_ref());
        for (path, finding) in between.findings {
            self.between.entry(path).or_default().push(finding);
        }
        self.odd.extend(between.odd.map(|odd| (path, odd)));
    }
}

/// The result of one directory.
enum TaskResult {
    Skill(Arc<str>, VisitOutcome, Option<Arc<FollowedLink>>),
    Folder(String, FolderFindings),
}

/// One scan under way.
pub(super) struct Scan<'a> {
    pub(super) source: &'a DirectorySource,
    pub(super) root: Arc<DirHandle>,
    pub(super) started: SystemTime,
    pub(super) force_read: bool,
    pub(super) workers: usize,
    pub(super) old: OldIndex,
    /// Whether the scan covers everything and there is an index to write.
    pub(super) writes: bool,
}

/// The directories around a path below the root, the root included.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let parent = |path: &str| path.rfind('/').unwrap_or(0);
    let around = (!path.is_empty()).then(|| &path[..parent(path)]);
    std::iter::successors(around, move |at| (!at.is_empty()).then(|| &at[..parent(at)]))
}

/// The key of the group at a path.
///
/// A directory that failed to be a skill can have skills below it, and its path may be a skill in a
/// later scan. No path starts with a slash, so that the two kinds never share a key.
fn key(path: &str, odd: bool) -> GroupKey {
    GroupKey(if odd { format!("/{path}").into() } else { path.into() })
}

impl Scan<'_> {
    /// Scans everything, or the groups that the paths are, contain or lie in.
    pub(super) fn run(
        mut self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<(), ScanStopped> {
        let complete = std::mem::take(&mut self.memory().complete);
        let (starts, place) = match &request.paths {
            Some(paths) if complete => (self.starts(paths), None),
            _ => (BTreeSet::from([String::new()]), self.source.index.as_ref()),
        };
        self.writes = place.is_some();
        if !complete {
            self.old = OldIndex::load(place);
        }
        let mut new = IndexUpdate::at(place);
        let present = self.explore(&starts, &mut new, report)?;
        // If the folder was moved away during the scan, everything would seem to be removed.
        self.check_root()?;
        self.report_removed(&starts, present, report);
        // Only now, after everything was reported: a scan that stopped earlier leaves the memory
        // incomplete, and the next scan covers everything.
        let Self { source, old, writes, .. } = self;
        let mut memory = source.memory.lock();
        memory.complete = true;
        let error = new.finish(old, &mut memory);
        // A scan that does not write the index knows nothing about its state.
        if writes {
            *source.index_error.lock() = error.map(|error| error.to_string());
        }
        Ok(())
    }

    fn memory(&self) -> MutexGuard<'_, FolderMemory> {
        self.source.memory.lock()
    }

    /// The starting points for some paths, none inside another.
    fn starts(&self, paths: &BTreeSet<PathBuf>) -> BTreeSet<String> {
        let mut starts: BTreeSet<String> =
            paths.iter().filter_map(|path| self.start(path)).collect();
        starts.extend(self.memory().behind_links(paths));
        let is_inside = |start: &str| above(start).any(|around| starts.contains(around));
        starts.iter().filter(|start| !is_inside(start)).cloned().collect()
    }

    /// The starting point for a changed path: the outermost skill that it lies in, now or in the
    /// last scan, or else the nearest existing directory or file.
    fn start(&self, path: &Path) -> Option<String> {
        if self.source.root.path.starts_with(path) {
            return Some(String::new());
        }
        let mut at = String::new();
        let mut dir: Option<DirHandle> = None;
        let mut parts = path.strip_prefix(&self.source.root.path).ok()?.components();
        loop {
            let skill = dir.as_ref().unwrap_or(&self.root).facts(OsStr::new(SKILL_FILE)).is_ok();
            if skill || self.memory().is_whole(&at) || depth(&at) > MAX_DEPTH {
                return Some(at);
            }
            let Some(part) = parts.next() else { return Some(at) };
            let Component::Normal(part) = part else { return None };
            // A name that is not UTF-8 is reported by its directory.
            let Some(name) = part.to_str() else { return Some(at) };
            // Ignored names change nothing, and no file has a NUL in its name.
            if is_ignored(name) || name.contains('\0') {
                return None;
            }
            // A `skill.md` in any case concerns its directory.
            if name.eq_ignore_ascii_case(SKILL_FILE) {
                return Some(at);
            }
            at = join_path(&at, name);
            match dir.as_ref().unwrap_or(&self.root).directory(part) {
                Ok(next) => dir = Some(next),
                Err(_) => return Some(at),
            }
        }
    }

    /// Scans the starting points with everything below, and reports skills that are new or
    /// different.
    fn explore(
        &self,
        starts: &BTreeSet<String>,
        new: &mut IndexUpdate<'_>,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<ScanFindings, ScanStopped> {
        let Self { root, source, .. } = self;
        let follower = LinkFollower::new(&source.links, !source.reopen);
        let explorer = FolderExplorer::new(root, &source.root, &source.label, follower);
        let mut present = ScanFindings::default();
        let mut tasks = Vec::new();
        for start in starts.iter().rev() {
            let mut between = explorer.begin(start)?;
            tasks.append(&mut between.tasks);
            present.add(start.clone(), between);
        }
        workers::run(tasks, self.workers, &|task| self.work(&explorer, task), |came| match came {
            TaskResult::Folder(path, between) => present.add(path, between),
            TaskResult::Skill(path, outcome, link) => {
                present.followed(link.as_ref());
                present.skills.insert(self.record_skill(path, outcome, new, report));
            }
        })?;
        Ok(present)
    }

    /// Fails if the root that this scan opened is not the folder at its path any more.
    fn check_root(&self) -> Result<(), ScanStopped> {
        self.source.check_root().map_err(ScanStopped::Moved)?;
        if self.root.is_at(&self.source.root.path) { Ok(()) } else { Err(ScanStopped::Replaced) }
    }

    /// Scans one directory; returns the result and the directories to scan next.
    ///
    /// If a skill's directory is moved away while it is read, its path is explored again from the
    /// root, since directories around it may have been moved, too.
    fn work(
        &self,
        explorer: &FolderExplorer<'_>,
        mut task: DirTask,
    ) -> Result<(TaskResult, Vec<DirTask>), ScanStopped> {
        for _ in 0..ATTEMPTS {
            let skill = match explorer.explore(&task)? {
                ExploredDir::Folder(mut between) => {
                    let tasks = std::mem::take(&mut between.tasks);
                    return Ok((TaskResult::Folder(task.path, between), tasks));
                }
                ExploredDir::Skill(skill) => skill,
            };
            // Shared, since several collections hold the path and there may be a hundred thousand.
            let path = Arc::from(&*task.path);
            let via = skill.via.clone();
            match self.inspect(&path, skill)? {
                VisitOutcome::MovedAway => self.check_root()?,
                outcome => {
                    let link = via.filter(|via| *via.path == *path);
                    return Ok((TaskResult::Skill(path, outcome, link), Vec::new()));
                }
            }
            let mut between = explorer.begin(&task.path)?;
            let Some(again) = between.tasks.pop() else {
                return Ok((TaskResult::Folder(task.path, between), Vec::new()));
            };
            task = again;
        }
        let outcome = VisitOutcome::refuse_replaced(&self.source.place(&task.path));
        Ok((TaskResult::Skill(task.path.into(), outcome, None), Vec::new()))
    }

    fn inspect(
        &self,
        path: &Arc<str>,
        ExploredSkill { dir, listed, via }: ExploredSkill,
    ) -> Result<VisitOutcome, ScanStopped> {
        let before = if self.force_read { KnownState::default() } else { self.before(path) };
        let place = self.source.place(path);
        let visit = self.source.visit(path, &dir, &place, self.started);
        let outcome = match &via {
            None => visit.inspect(listed, &before)?,
            Some(via) => {
                let path = Arc::from(via.below_base(path));
                let (root, is_linked) = (&via.base, true);
                let visit = SkillVisit { root, path: &path, is_linked, ..visit };
                let outcome = visit.inspect(listed, &before)?;
                // What lies in the folder is listed at its own place.
                let again = Arc::ptr_eq(root, &self.source.root);
                if again { outcome.once_more() } else { outcome }
            }
        };
        if outcome.is_refused() {
            // If the folder was moved away during the scan, every skill would seem broken.
            self.check_root()?;
        }
        Ok(outcome)
    }

    /// What is known of a skill. If the index lacks a skill and this scan writes the index, nothing
    /// is known: the skill is read again, since its record was not kept.
    fn before(&self, path: &str) -> KnownState<'_> {
        let memory = self.memory();
        let unwritten = self.writes && memory.unwritten.contains(path);
        match memory.skills.get(path) {
            Some(remembered) => {
                KnownState { remembered: (!unwritten).then_some(*remembered), known: None }
            }
            None => KnownState { remembered: None, known: self.old.known(path) },
        }
    }

    /// Remembers the result of a skill and reports it if it is new or different.
    fn record_skill(
        &self,
        path: Arc<str>,
        outcome: VisitOutcome,
        new: &mut IndexUpdate<'_>,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Arc<str> {
        self.source.progress.add();
        let VisitOutcome::Changed(InspectedGroup { remembered, inspected, record }) = outcome
        else {
            return path;
        };
        let mut memory = self.memory();
        let before = memory.skills.insert(Arc::clone(&path), remembered);
        match record {
            None => self.old.count_unchanged(),
            // A later start would not trust a state that is not settled.
            Some(record) if remembered.settled && self.source.index.is_some() => {
                let differs = before.is_none_or(|before| before != remembered);
                if differs || memory.unwritten.contains(&path) {
                    memory.unwritten.insert(Arc::clone(&path));
                    new.put(&path, &remembered, &record);
                }
            }
            Some(_) => {}
        }
        drop(memory);
        if before.is_none_or(|before| !before.is_like(&remembered)) {
            report(SourceChange::Updated(GroupKey(Arc::clone(&path)), inspected));
        }
        path
    }

    /// Reports removed groups and directories that failed to be skills, and replaces the findings.
    fn report_removed(
        &self,
        starts: &BTreeSet<String>,
        mut present: ScanFindings,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) {
        for start in starts {
            let mut memory = self.memory();
            let memory = &mut *memory;
            for path in inside(&memory.skills, start) {
                if !present.skills.contains(&path) {
                    memory.skills.remove(&path);
                    memory.unwritten.remove(&path);
                    memory.stale = true;
                    report(SourceChange::Removed(key(&path, false)));
                }
            }
            for path in inside(&memory.odd, start) {
                if !present.odd.contains_key(&path) {
                    memory.odd.remove(&path);
                    report(SourceChange::Removed(key(&path, true)));
                }
            }
            for path in inside(&memory.between, start) {
                memory.between.remove(&path);
            }
            for path in inside(&memory.links, start) {
                memory.links.remove(&path);
            }
        }
        let mut memory = self.memory();
        memory.between.append(&mut present.between);
        memory.links.append(&mut present.links);
        for (path, odd) in present.odd {
            let before = memory.odd.insert(path.clone(), odd.findings.clone());
            if before.as_ref() != Some(&odd.findings) {
                report(SourceChange::Updated(key(&path, true), vec![odd]));
            }
        }
    }
}

/// What a source remembers of its folder between scans; all paths are relative to the root.
#[derive(Debug, Default)]
pub(super) struct FolderMemory {
    /// The outermost skills.
    pub(super) skills: BTreeMap<Arc<str>, SkillState>,
    /// Directories that failed to be skills, with the findings about each.
    pub(super) odd: BTreeMap<String, Vec<Finding>>,
    /// Findings that belong to no skill.
    pub(super) between: BTreeMap<String, Vec<Finding>>,
    /// The links that were followed, and the directory without links that each leads to.
    pub(super) links: BTreeMap<String, PathBuf>,
    /// Whether the last scan ended. If not, the next scan covers everything.
    pub(super) complete: bool,
    /// Skills whose current state is not in the index.
    pub(super) unwritten: BTreeSet<Arc<str>>,
    /// Whether the index has skills that no longer exist.
    pub(super) stale: bool,
}

impl FolderMemory {
    /// All findings that belong to no skill.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.between.values().flatten().cloned().collect()
    }

    /// The starting points for changed paths that lie behind links: the outermost skill that each
    /// lies in, or else the link.
    fn behind_links(&self, paths: &BTreeSet<PathBuf>) -> BTreeSet<String> {
        let mut starts = BTreeSet::new();
        for (link, real) in &self.links {
            for path in paths {
                if real.starts_with(path) {
                    starts.insert(link.clone());
                }
                let Ok(inside) = path.strip_prefix(real) else { continue };
                let names = inside.iter().map(|name| name.to_string_lossy());
                let around = names.scan(link.clone(), |at, name| {
                    *at = join_path(at, &name);
                    Some(at.clone())
                });
                let known = around.into_iter().find(|at| self.skills.contains_key(at.as_str()));
                starts.insert(known.unwrap_or_else(|| link.clone()));
            }
        }
        starts
    }

    /// The directories behind links that lie outside a folder, none inside another.
    pub(super) fn directories_behind_links(&self, root: &Path) -> BTreeSet<PathBuf> {
        let outside: BTreeSet<&PathBuf> =
            self.links.values().filter(|real| !real.starts_with(root)).collect();
        let is_outermost =
            |real: &PathBuf| !real.ancestors().skip(1).any(|a| outside.contains(&a.to_path_buf()));
        outside.iter().filter(|real| is_outermost(real)).map(|real| (*real).clone()).collect()
    }

    /// Tells whether a path is scanned as a whole: a skill, or a folder with too many files.
    pub(super) fn is_whole(&self, path: &str) -> bool {
        let too_many = |finding: &Finding| finding.code == Code::TooManyFiles;
        self.skills.contains_key(path)
            || self.between.get(path).is_some_and(|findings| findings.iter().any(too_many))
    }
}

/// The keys of a map at or below a path.
pub(super) fn inside<K: Ord + Clone + std::borrow::Borrow<str>, V>(
    map: &BTreeMap<K, V>,
    path: &str,
) -> Vec<K> {
    if path.is_empty() {
        return map.keys().cloned().collect();
    }
    // `0` follows `/` in ASCII, so this range is exactly the paths that begin with `path/`.
    let (from, to) = (format!("{path}/"), format!("{path}0"));
    let bounds = (Bound::Included(from.as_str()), Bound::Excluded(to.as_str()));
    let below = map.range::<str, _>(bounds);
    map.get_key_value(path).into_iter().chain(below).map(|(key, _)| key.clone()).collect()
}
