//! One outermost skill with everything inside it, from listing to judgement.
//!
//! Nothing here is shared between skills, so that they can be inspected side by side.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    time::SystemTime,
};

use cap_std::fs::Dir;
use skillwire_core::{
    finding::{Code, Finding},
    limits::MAX_BYTES,
    path::SKILL_FILE,
};

use super::{
    read::{ReadError, read},
    stamp::Stamp,
    steps::Steps,
    stopped::Stopped,
    walk::{unreadable, walk},
};
use crate::{
    assemble::{Assembly, Blob, Head},
    place::{Place, below},
    rules::Rules,
    source::Inspected,
    survey::{Survey, survey},
    tree::{Node, Problem, Tree},
};

/// How often a skill is read before what keeps changing is given up.
const ATTEMPTS: usize = 3;

/// What a scan leaves behind for the next one.
#[derive(Debug)]
pub(super) struct Remembered {
    tree: Tree,
    files: BTreeMap<String, Kept>,
    /// Whether an equal tree means an equal outcome.
    settled: bool,
    /// The outcome.
    pub(super) inspected: Vec<Inspected>,
}

impl Remembered {
    /// A skill whose directory cannot be opened.
    pub(super) fn unreadable(place: &Place, error: &io::Error) -> Self {
        let origin = place.origin.clone();
        let findings = vec![unreadable(&origin, error)];
        Self {
            tree: Tree::default(),
            files: BTreeMap::new(),
            settled: false,
            inspected: vec![Inspected { origin, findings, skill: None }],
        }
    }
}

/// A file that was read, and the stamp it had.
#[derive(Debug, Clone)]
struct Kept {
    blob: Blob,
    stamp: Stamp,
    settled: bool,
}

/// An outermost skill about to be inspected.
pub(super) struct Visit<'a> {
    pub(super) dir: &'a Dir,
    /// The directory's path without symbolic links.
    pub(super) absolute: &'a Path,
    /// How many directories below the root it is.
    pub(super) depth: usize,
    pub(super) place: &'a Place,
    pub(super) rules: &'a Rules,
    /// When the scan began.
    pub(super) started: SystemTime,
    pub(super) steps: &'a dyn Steps,
}

impl Visit<'_> {
    /// Reads and judges the skill; nothing is done when nothing changed.
    ///
    /// The files of a skill cannot be read all at once. The directory is therefore listed again
    /// after reading, and when anything differs, everything that differs is read again: what is
    /// served stood in the directory as a whole at one time.
    pub(super) fn inspect(&self, previous: Option<&Remembered>) -> Result<Outcome, Stopped> {
        let mut older = previous.map_or_else(BTreeMap::new, |previous| previous.files.clone());
        let mut attempt = 1;
        loop {
            let walk = walk(self.dir, self.absolute, self.depth)?;
            let same = previous.is_some_and(|p| p.settled && p.tree == walk.tree);
            if same && walk.disturbed.is_none() {
                return Ok(Outcome::Unchanged);
            }
            self.steps.listed();
            let surveys = survey(&walk.tree, self.rules);
            let mut reading = Reading::new(self, &walk.tree, &older);
            reading.read_all(&surveys)?;
            reading.changed.extend(walk.disturbed);
            if reading.fresh {
                reading.changed.extend(self.differences(&walk.tree)?);
            }
            if reading.changed.is_empty() || attempt == ATTEMPTS {
                let (inspected, files, settled) = reading.finish(&surveys);
                let tree = walk.tree;
                return Ok(Outcome::New(Remembered { tree, files, settled, inspected }));
            }
            older.extend(reading.files);
            attempt += 1;
        }
    }

    /// The paths that are not as they were listed.
    fn differences(&self, before: &Tree) -> Result<Vec<String>, Stopped> {
        let after = walk(self.dir, self.absolute, self.depth)?;
        let differs = |one: &Tree, other: &Tree| -> Vec<String> {
            let nodes =
                one.nodes.iter().filter(|(path, node)| other.nodes.get(*path) != Some(node));
            let problems = one.problems.iter().filter(|problem| !other.problems.contains(problem));
            let paths = nodes.map(|(path, _)| path.clone());
            paths.chain(problems.map(|problem| problem.path.clone())).collect()
        };
        let mut changed = differs(before, &after.tree);
        changed.extend(differs(&after.tree, before));
        changed.extend(after.disturbed);
        Ok(changed)
    }
}

/// What an inspection found.
pub(super) enum Outcome {
    /// Everything is as it is remembered.
    Unchanged,
    /// Something is new.
    New(Remembered),
}

/// One attempt at reading the files of a tree.
struct Reading<'a> {
    visit: &'a Visit<'a>,
    tree: &'a Tree,
    older: &'a BTreeMap<String, Kept>,
    files: BTreeMap<String, Kept>,
    heads: BTreeMap<&'a str, Head>,
    failures: Vec<Problem>,
    gone: Vec<String>,
    changed: BTreeSet<String>,
    /// Whether anything was read from the file system.
    fresh: bool,
}

impl<'a> Reading<'a> {
    fn new(visit: &'a Visit<'a>, tree: &'a Tree, older: &'a BTreeMap<String, Kept>) -> Self {
        Self {
            visit,
            tree,
            older,
            files: BTreeMap::new(),
            heads: BTreeMap::new(),
            failures: Vec::new(),
            gone: Vec::new(),
            changed: BTreeSet::new(),
            fresh: false,
        }
    }

    /// Reads each `SKILL.md`, and then the other files of the skills that can be served.
    fn read_all(&mut self, surveys: &BTreeMap<&'a str, Survey<'a>>) -> Result<(), Stopped> {
        for dir in surveys.keys() {
            let path = below(dir, SKILL_FILE);
            self.take(&path)?;
            if let Some(kept) = self.files.get(&path) {
                self.heads.insert(dir, Head::check(&kept.blob.bytes));
            }
        }
        for (dir, survey) in surveys {
            let usable = self.heads.get(dir).is_some_and(Head::is_usable);
            if usable && !survey.is_refused(self.visit.rules.strictness) {
                survey.files.iter().try_for_each(|(_, holder)| self.take(holder))?;
            }
        }
        Ok(())
    }

    /// Makes sure that a regular file is there, from memory when it did not change.
    fn take(&mut self, path: &str) -> Result<(), Stopped> {
        let Some(Node::File(node)) = self.tree.nodes.get(path) else { return Ok(()) };
        // A single file above the limit of a whole skill is never read.
        let Some(stamp) = node.stamp.filter(|_| node.size <= MAX_BYTES) else { return Ok(()) };
        if self.files.contains_key(path) {
            return Ok(());
        }
        if let Some(kept) = self.older.get(path).filter(|k| k.settled && k.stamp == stamp) {
            self.files.insert(path.to_owned(), kept.clone());
            return Ok(());
        }
        self.fresh = true;
        match read(self.visit.dir, path, &stamp, self.visit.steps) {
            Ok(bytes) => {
                let settled = stamp.is_settled(self.visit.started);
                let kept = Kept { blob: Blob::new(bytes), stamp, settled };
                self.files.insert(path.to_owned(), kept);
            }
            Err(ReadError::Gone) => {
                self.gone.push(path.to_owned());
                self.changed.insert(path.to_owned());
            }
            Err(ReadError::Changed) => {
                self.changed.insert(path.to_owned());
            }
            Err(ReadError::Failed(error)) => {
                let error = Stopped::unless(error)?;
                self.failures.push(Problem::new(unreadable(path, &error)));
            }
        }
        Ok(())
    }

    /// Judges what was read; what changed to the last is a reason to refuse.
    fn finish(
        mut self,
        surveys: &BTreeMap<&'a str, Survey<'a>>,
    ) -> (Vec<Inspected>, BTreeMap<String, Kept>, bool) {
        for path in &self.changed {
            let finding = if self.gone.contains(path) {
                unreadable(path, &io::ErrorKind::NotFound.into())
            } else {
                unstable(path)
            };
            self.failures.push(Problem::new(finding));
        }
        let settled = self.failures.is_empty() && self.files.values().all(|kept| kept.settled);
        let assembly = Assembly {
            place: self.visit.place,
            rules: self.visit.rules,
            surveys,
            heads: &self.heads,
            failures: &self.failures,
            blob: &|path| self.files.get(path).map(|kept| &kept.blob),
        };
        let mut inspected = assembly.run();
        inspected.extend(self.unlisted());
        (inspected, self.files, settled)
    }

    /// The skill itself, when its directory could not be listed and nothing else tells of it.
    fn unlisted(&self) -> Option<Inspected> {
        let origin = &self.visit.place.origin;
        let whole = self.tree.problems.iter().filter(|problem| problem.path.is_empty());
        let findings: Vec<_> = whole
            .map(|problem| Finding { file: origin.clone(), ..problem.finding.clone() })
            .collect();
        let told = findings.is_empty() || self.tree.skill_file("").is_some();
        (!told).then(|| Inspected { origin: origin.clone(), findings, skill: None })
    }
}

fn unstable(path: &str) -> Finding {
    Finding::new(Code::Unstable, path, "It kept changing while the skill was read.")
        .help("Write it elsewhere and rename it into place, or move it out of the skill.")
}
