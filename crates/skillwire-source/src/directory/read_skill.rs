//! Reads the files of a skill, in one attempt.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    io,
};

use bytes::Bytes;
use skillwire_core::{Code, Finding, SKILL_FILE, limits::MAX_BYTES};

use super::{
    inspect::SkillVisit,
    listing::{SkillListing, unreadable},
    read_file::{ReadError, read, read_opened},
    scan_error::ScanStopped,
    stamp::FileStamp,
};
use crate::{
    assemble::{FileBlob, ParsedSkillFile, SkillAssembly},
    location::join_path,
    source::InspectedSkill,
    survey::SkillSurvey,
    tree::{SkillTree, TreeNode, TreeProblem},
};

/// A file that was read, and the stamp it had.
#[derive(Debug, Clone)]
pub(super) struct ReadFile {
    blob: FileBlob,
    stamp: FileStamp,
    settled: bool,
}

/// One attempt at reading the files of a tree.
pub(super) struct ReadAttempt<'a> {
    visit: &'a SkillVisit<'a>,
    walk: &'a SkillListing,
    tree: &'a SkillTree,
    older: &'a BTreeMap<String, ReadFile>,
    pub(super) files: BTreeMap<String, ReadFile>,
    heads: BTreeMap<&'a str, ParsedSkillFile>,
    failures: Vec<TreeProblem>,
    gone: Vec<String>,
    pub(super) changed: BTreeSet<String>,
    /// Whether anything was read from the file system.
    pub(super) fresh: bool,
}

impl<'a> ReadAttempt<'a> {
    pub(super) fn new(
        visit: &'a SkillVisit<'a>,
        walk: &'a SkillListing,
        older: &'a BTreeMap<String, ReadFile>,
    ) -> Self {
        Self {
            visit,
            walk,
            tree: &walk.tree,
            older,
            files: BTreeMap::new(),
            heads: BTreeMap::new(),
            failures: Vec::new(),
            gone: Vec::new(),
            changed: BTreeSet::new(),
            fresh: false,
        }
    }

    /// Reads each `SKILL.md`, and then the other files of skills that can be served, or of all
    /// skills if every finding is wanted.
    pub(super) fn read_all(
        &mut self,
        surveys: &BTreeMap<&'a str, SkillSurvey<'a>>,
    ) -> Result<(), ScanStopped> {
        for dir in surveys.keys() {
            let path = join_path(dir, SKILL_FILE);
            self.take(&path)?;
            if let Some(kept) = self.files.get(&path) {
                self.heads.insert(dir, ParsedSkillFile::check(&kept.blob.bytes));
            }
        }
        for (dir, survey) in surveys {
            let usable = self.heads.get(dir).is_some_and(ParsedSkillFile::is_usable);
            let rules = self.visit.rules;
            let servable = usable && !survey.is_refused(rules.strictness);
            if servable || (!rules.brief && survey.is_within_limits()) {
                survey.files.iter().try_for_each(|(_, holder)| self.take(holder))?;
            }
        }
        Ok(())
    }

    /// Reads a regular file, unless an earlier attempt read it and it did not change.
    fn take(&mut self, path: &str) -> Result<(), ScanStopped> {
        let Some(TreeNode::File(node)) = self.tree.nodes.get(path) else { return Ok(()) };
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
        match self.read(path, &stamp) {
            Ok(bytes) => {
                let settled = stamp.is_settled(self.visit.started);
                let kept = ReadFile { blob: FileBlob::new(bytes), stamp, settled };
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
                let error = ScanStopped::unless(error)?;
                self.failures.push(TreeProblem::new(unreadable(path, &error)));
            }
        }
        Ok(())
    }

    /// Reads a file through the directory it was listed in.
    fn read(&self, path: &str, stamp: &FileStamp) -> Result<Bytes, ReadError> {
        let SkillVisit { dir, steps, .. } = *self.visit;
        if let Some(opened) = self.walk.opened(path) {
            let read = read_opened(opened, path, stamp, steps);
            return read.map_err(|error| if self.is_gone(path) { ReadError::Gone } else { error });
        }
        let Some((above, _)) = path.rsplit_once('/') else {
            return read(dir, path, stamp, steps);
        };
        if let Some(held) = self.walk.held(above) {
            return read(held, path, stamp, steps);
        }
        match dir.below(above) {
            Ok(above) => read(&above, path, stamp, steps),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::Gone),
            Err(error) => match ScanStopped::unless(error) {
                Ok(_) | Err(ScanStopped::Moved(_) | ScanStopped::Replaced) => {
                    Err(ReadError::Changed)
                }
                Err(ScanStopped::Exhausted(error) | ScanStopped::Root(error)) => {
                    Err(ReadError::Failed(error))
                }
            },
        }
    }

    /// Tells whether a name is no longer in the directory it was listed in.
    fn is_gone(&self, path: &str) -> bool {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = if above.is_empty() { Some(self.visit.dir) } else { self.walk.held(above) };
        let facts = dir.map(|dir| dir.facts(OsStr::new(name)));
        facts.is_some_and(|facts| facts.is_err_and(|e| e.kind() == io::ErrorKind::NotFound))
    }

    /// Inspects what was read; a file that still changed in the last attempt refuses its skills.
    pub(super) fn finish(
        mut self,
        surveys: &BTreeMap<&'a str, SkillSurvey<'a>>,
    ) -> (Vec<InspectedSkill>, bool) {
        for path in &self.changed {
            let finding = if self.gone.contains(path) {
                unreadable(path, &io::ErrorKind::NotFound.into())
            } else {
                unstable(path)
            };
            self.failures.push(TreeProblem::new(finding));
        }
        let settled = self.failures.is_empty() && self.files.values().all(|kept| kept.settled);
        let assembly = SkillAssembly {
            location: self.visit.place,
            rules: self.visit.rules,
            surveys,
            heads: &self.heads,
            failures: &self.failures,
            blob: &|path| self.files.get(path).map(|kept| &kept.blob),
            store: &|survey| self.visit.store(survey),
        };
        let mut inspected = assembly.run();
        inspected.extend(self.unlisted());
        (inspected, settled)
    }

    /// The skill itself, if its directory could not be listed and no other finding mentions it.
    fn unlisted(&self) -> Option<InspectedSkill> {
        let origin = &self.visit.place.origin;
        let whole = self.tree.problems.iter().filter(|problem| problem.path.is_empty());
        let findings: Vec<_> = whole
            .map(|problem| Finding { file: origin.clone(), ..problem.finding.clone() })
            .collect();
        let told = findings.is_empty() || self.tree.skill_file("").is_some();
        (!told).then(|| InspectedSkill { origin: origin.clone(), findings, skill: None })
    }
}

fn unstable(path: &str) -> Finding {
    Finding::new(Code::Unstable, path, "It kept changing while the skill was read.")
        .help("Write it elsewhere and rename it into place, or move it out of the skill.")
}
