//! Inspects one outermost skill with the skills nested in it, from listing to result.
//!
//! Skills share nothing here, so that several threads can inspect them at the same time.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use skillwire_core::{Code, Digest, Finding, RelPath};

use super::{
    explore::depth,
    file_store::{DirectoryFiles, RootDir},
    handle::{DirEntry, DirHandle},
    index::{IndexedGroup, record},
    listing::{SkillDir, SkillListing, walk},
    read_skill::ReadAttempt,
    scan_error::ScanStopped,
    stamp::FileStamp,
};
use crate::{
    file_store::FileStore,
    location::SkillLocation,
    rules::ServingRules,
    source::InspectedSkill,
    survey::{SkillSurvey, survey},
    tree::{SkillTree, relative},
};

/// How often a skill that keeps changing, or being replaced, is read before it is refused.
pub(super) const ATTEMPTS: usize = 3;

/// What a scan remembers of a skill for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SkillState {
    /// The fingerprint of the listing.
    pub(super) fingerprint: Digest,
    /// The digest of everything that was reported.
    pub(super) judgement: Digest,
    /// Whether an equal fingerprint proves that nothing changed.
    pub(super) settled: bool,
}

impl SkillState {
    /// Tells whether both states are reported alike.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.judgement == other.judgement
    }
}

/// The result of an inspection, and what to remember of it.
pub(super) struct InspectedGroup {
    pub(super) remembered: SkillState,
    pub(super) inspected: Vec<InspectedSkill>,
    /// The result as bytes; `None` if the index has it already, and in the current layout.
    pub(super) record: Option<Vec<u8>>,
}

/// What is known of a skill before it is inspected.
#[derive(Default)]
pub(super) struct KnownState<'a> {
    /// The state in the last scan.
    pub(super) remembered: Option<SkillState>,
    /// The state in the index.
    pub(super) known: Option<IndexedGroup<'a>>,
}

/// An outermost skill that is about to be inspected.
pub(super) struct SkillVisit<'a> {
    /// The folder that its files are read through: the root, unless it lies behind a link.
    pub(super) root: &'a Arc<RootDir>,
    /// The path relative to that folder.
    pub(super) path: &'a Arc<str>,
    /// Whether it lies behind a link.
    pub(super) is_linked: bool,
    pub(super) dir: &'a DirHandle,
    pub(super) place: &'a SkillLocation,
    pub(super) rules: &'a ServingRules,
    /// When the scan began.
    pub(super) started: SystemTime,
    pub(super) steps: &'a dyn ScanHooks,
}

impl SkillVisit<'_> {
    /// Reads and checks the skill; nothing is read if it did not change.
    ///
    /// Files cannot be read all at once, and an author may write while we read. Still, what is
    /// published must have been the state of the whole directory at one time: a mixture of two
    /// versions would have valid digests and be wrong. Each file has the same stamp before and
    /// after it is read, so its content is the one at the end of the listing. If the listing was
    /// complete and true at that moment, so is the result. If that cannot be proved, everything is
    /// listed again after reading, and the files that differ are read again.
    ///
    /// None of this notices a directory that was renamed away and is being deleted: what is left of
    /// it is listed alike twice between two deletions. So its path must still name it at the end.
    pub(super) fn inspect(
        &self,
        mut listed: Option<(Vec<DirEntry>, FileStamp)>,
        before: &KnownState<'_>,
    ) -> Result<VisitOutcome, ScanStopped> {
        let absolute = || self.root.join(self.path);
        let skill_dir = SkillDir { dir: self.dir, depth: depth(self.path), absolute: &absolute };
        let mut older = BTreeMap::new();
        let mut attempt = 1;
        loop {
            // A skill of which nothing is known is read in any case.
            let unknown = before.remembered.is_none() && before.known.is_none();
            let walk = walk(skill_dir, listed.take(), unknown)?;
            let fingerprint = self.marked(walk.tree.fingerprint());
            if let Some(outcome) = self.recall(before, &fingerprint, &walk) {
                return Ok(outcome);
            }
            let whole = walk.is_whole(skill_dir, self.started);
            self.steps.listed();
            let surveys = survey(&walk.tree, self.rules);
            let mut reading = ReadAttempt::new(self, &walk, &older);
            reading.read_all(&surveys)?;
            reading.changed.extend(walk.disturbed.clone());
            if reading.fresh && !whole {
                reading.changed.extend(differences(skill_dir, &walk.tree)?);
            }
            if reading.changed.is_empty() || attempt == ATTEMPTS {
                if !self.dir.is_at(&absolute()) {
                    return Ok(VisitOutcome::MovedAway);
                }
                let (inspected, settled) = reading.finish(&surveys);
                let record = record::encode(&inspected);
                let judgement = self.marked(Digest::of(&record));
                let remembered = SkillState { fingerprint, judgement, settled };
                let record = Some(record);
                return Ok(VisitOutcome::Changed(InspectedGroup { remembered, inspected, record }));
            }
            older.extend(reading.files);
            attempt += 1;
        }
    }

    /// A digest that differs for the same content at another place behind a link.
    ///
    /// A link may lead to the same files at another place, and then they must be read from there.
    fn marked(&self, digest: Digest) -> Digest {
        if !self.is_linked {
            return digest;
        }
        let mut bytes = digest.as_bytes().to_vec();
        bytes.extend_from_slice(self.root.join(self.path).as_os_str().as_encoded_bytes());
        Digest::of(&bytes)
    }

    /// The earlier outcome, if nothing changed since.
    fn recall(
        &self,
        before: &KnownState<'_>,
        fingerprint: &Digest,
        walk: &SkillListing,
    ) -> Option<VisitOutcome> {
        if walk.disturbed.is_some() {
            return None;
        }
        if before.remembered.is_some_and(|b| b.settled && b.fingerprint == *fingerprint) {
            return Some(VisitOutcome::Unchanged);
        }
        let known = before.known.as_ref().filter(|known| known.fingerprint == *fingerprint)?;
        known.recall(self.root, self.path).map(VisitOutcome::Changed)
    }

    /// The store of a skill of the tree, which reads its files again.
    pub(super) fn store(&self, survey: &SkillSurvey<'_>) -> Arc<dyn FileStore> {
        let link = |&(path, holder): &(&str, &str)| {
            let path_in_skill = RelPath::parse(relative(path, survey.dir)).ok()?;
            (path != holder).then(|| (path_in_skill, relative(holder, survey.dir).into()))
        };
        Arc::new(DirectoryFiles {
            root: Arc::clone(self.root),
            group: Arc::clone(self.path),
            inside: survey.dir.into(),
            links: survey.files.iter().filter_map(link).collect(),
        })
    }
}

/// The paths that differ from the listing.
fn differences(skill_dir: SkillDir<'_>, before: &SkillTree) -> Result<Vec<String>, ScanStopped> {
    let after = walk(skill_dir, None, false)?;
    let differs = |one: &SkillTree, other: &SkillTree| -> Vec<String> {
        let nodes = one.nodes.iter().filter(|(path, node)| other.nodes.get(*path) != Some(node));
        let problems = one.problems.iter().filter(|problem| !other.problems.contains(problem));
        let paths = nodes.map(|(path, _)| path.clone());
        paths.chain(problems.map(|problem| problem.path.clone())).collect()
    };
    let mut changed = differs(before, &after.tree);
    changed.extend(differs(&after.tree, before));
    changed.extend(after.disturbed);
    Ok(changed)
}

/// The outcome of a visit.
pub(super) enum VisitOutcome {
    /// Nothing changed since the last scan.
    Unchanged,
    /// The skill is new or may have changed.
    Changed(InspectedGroup),
    /// The directory that was read is no longer at its path. What was read is not to be published,
    /// and the path is to be explored again.
    MovedAway,
}

impl VisitOutcome {
    /// Refuses a skill whose directory was moved away in each attempt.
    pub(super) fn refuse_replaced(place: &SkillLocation) -> Self {
        let origin = place.origin.clone();
        let message = "Its folder was replaced each time the skill was read.";
        let finding = Finding::new(Code::Unstable, &*origin, message)
            .help("Replace it less often; it is read again when it changes.");
        let inspected = vec![InspectedSkill { origin, findings: vec![finding], skill: None }];
        let record = record::encode(&inspected);
        let judgement = Digest::of(&record);
        // A state that is not settled is never taken for the current one.
        let remembered = SkillState { fingerprint: judgement, judgement, settled: false };
        Self::Changed(InspectedGroup { remembered, inspected, record: Some(record) })
    }

    /// Serves the skills once more at another place: they are not listed there, and what is wrong
    /// with them is not reported twice.
    pub(super) fn once_more(mut self) -> Self {
        if let Self::Changed(InspectedGroup { inspected, .. }) = &mut self {
            inspected.retain(|inspected| inspected.skill.is_some());
            for InspectedSkill { findings, skill, .. } in inspected {
                findings.clear();
                if let Some(skill) = skill {
                    Arc::make_mut(skill).listed = false;
                }
            }
        }
        self
    }

    /// Tells whether something is refused that may have been served before.
    pub(super) fn is_refused(&self) -> bool {
        let Self::Changed(InspectedGroup { inspected, .. }) = self else { return false };
        inspected.is_empty() || inspected.iter().any(|inspected| inspected.skill.is_none())
    }
}

/// Is called at the moments of a scan at which a change of the file system matters.
///
/// Only tests implement it: they change files exactly there.
pub(super) trait ScanHooks: Send + Sync + std::fmt::Debug {
    /// The directory of a skill has been listed, and none of its files has been read.
    fn listed(&self) {}

    /// A file has been opened, and nothing of it has been read.
    fn opened(&self, _path: &str) {}

    /// A file has been read, and its stamp has not been compared again.
    fn read(&self, _path: &str) {}
}

/// The hooks of every scan outside tests: they do nothing.
#[derive(Debug)]
pub(super) struct NoHooks;

impl ScanHooks for NoHooks {}
