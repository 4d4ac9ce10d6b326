//! One look at a folder: what is there now against what was there before.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Component, Path, PathBuf},
    sync::{Arc, MutexGuard, PoisonError},
    time::SystemTime,
};

use skillwire_core::{Finding, SKILL_FILE, is_ignored};

use super::{
    DirectorySource, crew,
    explore::{Between, Explorer, Seen, Task, depth},
    handle::Handle,
    inspect::{Before, Found, Outcome},
    keep::{New, Old},
    memory::{Memory, inside},
    stopped::Stopped,
    walk::MAX_DEPTH,
};
use crate::{
    location::below,
    source::{GroupKey, InspectedSkill, ScanRequest, SourceChange},
};

/// What was found at or below the places a scan looked at.
#[derive(Default)]
struct Present {
    skills: BTreeSet<Arc<str>>,
    odd: BTreeMap<String, InspectedSkill>,
    between: BTreeMap<String, Vec<Finding>>,
}

impl Present {
    fn add(&mut self, path: String, between: Between) {
        for (path, finding) in between.findings {
            self.between.entry(path).or_default().push(finding);
        }
        self.odd.extend(between.odd.map(|odd| (path, odd)));
    }
}

/// What came of one directory.
enum Came {
    Skill(Arc<str>, Outcome),
    Between(String, Between),
}

/// One scan under way.
pub(super) struct Scan<'a> {
    pub(super) source: &'a DirectorySource,
    pub(super) root: Arc<Handle>,
    pub(super) started: SystemTime,
    pub(super) closely: bool,
    pub(super) workers: usize,
    pub(super) old: Old,
    /// Whether the scan looks at everything and there is an index to write.
    pub(super) writes: bool,
}

/// The directories around a path below the root, the root included.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let parent = |path: &str| path.rfind('/').unwrap_or(0);
    let around = (!path.is_empty()).then(|| &path[..parent(path)]);
    std::iter::successors(around, move |at| (!at.is_empty()).then(|| &at[..parent(at)]))
}

/// The name of the site at a path.
///
/// A directory can be an odd site and have skills below; no path begins with a slash, so the two
/// never share a name.
fn key(path: &str, odd: bool) -> GroupKey {
    GroupKey(if odd { format!("/{path}").into() } else { path.into() })
}

impl Scan<'_> {
    /// Looks at everything, or at what the paths are, contain or are part of.
    pub(super) fn run(
        mut self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<(), Stopped> {
        let complete = std::mem::take(&mut self.memory().complete);
        let (starts, place) = match &look.paths {
            Some(paths) if complete => (self.starts(paths), None),
            _ => (BTreeSet::from([String::new()]), self.source.index.as_ref()),
        };
        self.writes = place.is_some();
        if !complete {
            self.old = Old::load(place);
        }
        let mut new = New::at(place);
        let present = self.explore(&starts, &mut new, report)?;
        // In a folder that went away meanwhile everything would seem to be gone.
        self.source.check_root().map_err(Stopped::Moved)?;
        self.settle(&starts, present, report);
        // Only now: a scan that was stopped left places unseen, and the next one sees them all.
        let Self { source, old, writes, .. } = self;
        let mut memory = source.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.complete = true;
        let error = new.finish(old, &mut memory);
        // A scan that leaves the index alone does not know how it is.
        if writes {
            *source.index_error.lock().unwrap_or_else(PoisonError::into_inner) =
                error.map(|error| error.to_string());
        }
        Ok(())
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.source.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places to look at for some paths, none inside another.
    fn starts(&self, paths: &BTreeSet<PathBuf>) -> BTreeSet<String> {
        let starts: BTreeSet<String> = paths.iter().filter_map(|path| self.start(path)).collect();
        let is_inside = |start: &str| above(start).any(|around| starts.contains(around));
        starts.iter().filter(|start| !is_inside(start)).cloned().collect()
    }

    /// The place a changed path makes us look at: the outermost skill it is in, now or before, or
    /// else the nearest thing that is there.
    fn start(&self, path: &Path) -> Option<String> {
        if self.source.root.path.starts_with(path) {
            return Some(String::new());
        }
        let mut at = String::new();
        let mut dir: Option<Handle> = None;
        let mut parts = path.strip_prefix(&self.source.root.path).ok()?.components();
        loop {
            let skill = dir.as_ref().unwrap_or(&self.root).facts(OsStr::new(SKILL_FILE)).is_ok();
            if skill || self.memory().is_whole(&at) || depth(&at) > MAX_DEPTH {
                return Some(at);
            }
            let Some(part) = parts.next() else { return Some(at) };
            let Component::Normal(part) = part else { return None };
            // What cannot be named is told by the directory it is in.
            let Some(name) = part.to_str() else { return Some(at) };
            // Whatever happens to litter changes nothing, and no file has a NUL in its name.
            if is_ignored(name) || name.contains('\0') {
                return None;
            }
            // A `skill.md` is a matter of its directory.
            if name.eq_ignore_ascii_case(SKILL_FILE) {
                return Some(at);
            }
            at = below(&at, name);
            match dir.as_ref().unwrap_or(&self.root).directory(part) {
                Ok(next) => dir = Some(next),
                Err(_) => return Some(at),
            }
        }
    }

    /// Looks at some places and all that is below them, and reports the skills that are new or
    /// different.
    fn explore(
        &self,
        starts: &BTreeSet<String>,
        new: &mut New<'_>,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Present, Stopped> {
        let explorer = Explorer::new(&self.root, &self.source.label);
        let mut present = Present::default();
        let mut tasks = Vec::new();
        for start in starts.iter().rev() {
            if let Seen::Between(mut between) = explorer.begin(start)? {
                tasks.append(&mut between.tasks);
                present.add(start.clone(), between);
            }
        }
        crew::work(tasks, self.workers, &|task| self.work(&explorer, task), |came| match came {
            Came::Between(path, between) => present.add(path, between),
            Came::Skill(path, outcome) => {
                present.skills.insert(self.hear(path, outcome, new, report));
            }
        })?;
        Ok(present)
    }

    /// Looks into one directory; says what came of it and where to look next.
    fn work(&self, explorer: &Explorer<'_>, task: Task) -> Result<(Came, Vec<Task>), Stopped> {
        match explorer.look(&task)? {
            Seen::Between(mut between) => {
                let tasks = std::mem::take(&mut between.tasks);
                Ok((Came::Between(task.path, between), tasks))
            }
            Seen::Skill(dir, listed) => {
                // Remembered in several places, and there may be a hundred thousand.
                let path = Arc::from(task.path);
                let before = if self.closely { Before::default() } else { self.before(&path) };
                let place = self.source.place(&path);
                let visit = self.source.visit(&path, &dir, &place, self.started);
                let outcome = visit.inspect(listed, &before)?;
                if outcome.is_refused() {
                    // In a folder that went away meanwhile every skill would seem to be broken.
                    self.source.check_root().map_err(Stopped::Moved)?;
                }
                Ok((Came::Skill(path, outcome), Vec::new()))
            }
        }
    }

    /// What is known of a skill; one that the index lacks is read again when it can be written.
    fn before(&self, path: &str) -> Before<'_> {
        let memory = self.memory();
        let unwritten = self.writes && memory.unwritten.contains(path);
        match memory.skills.get(path) {
            Some(remembered) => {
                Before { remembered: (!unwritten).then_some(*remembered), known: None }
            }
            None => Before { remembered: None, known: self.old.known(path) },
        }
    }

    /// Remembers what came of a skill and reports it when it is new or different.
    fn hear(
        &self,
        path: Arc<str>,
        outcome: Outcome,
        new: &mut New<'_>,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Arc<str> {
        self.source.progress.add();
        let Outcome::New(Found { remembered, inspected, record }) = outcome else { return path };
        let mut memory = self.memory();
        let before = memory.skills.insert(Arc::clone(&path), remembered);
        match record {
            None => self.old.recall(),
            // What is not settled would not be believed.
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

    /// Reports what is no longer there, and what is noteworthy between skills.
    fn settle(
        &self,
        starts: &BTreeSet<String>,
        mut present: Present,
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
        }
        let mut memory = self.memory();
        memory.between.append(&mut present.between);
        for (path, odd) in present.odd {
            let before = memory.odd.insert(path.clone(), odd.findings.clone());
            if before.as_ref() != Some(&odd.findings) {
                report(SourceChange::Updated(key(&path, true), vec![odd]));
            }
        }
    }
}
