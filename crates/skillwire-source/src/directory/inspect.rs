//! One outermost skill with everything inside it, from listing to judgement.
//!
//! Nothing here is shared between skills, so that they can be inspected side by side.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use skillwire_core::{Digest, RelPath};

use super::{
    explore::depth,
    handle::{Entry, Handle},
    index::Known,
    reading::Reading,
    record,
    stamp::Stamp,
    steps::Steps,
    stopped::Stopped,
    store::{DirectoryStore, Root},
    walk::{Site, Walk, walk},
};
use crate::{
    file_store::FileStore,
    location::Place,
    rules::Rules,
    source::InspectedSkill,
    survey::{Survey, survey},
    tree::{Tree, relative},
};

/// How often a skill is read before what keeps changing is given up.
const ATTEMPTS: usize = 3;

/// What a scan leaves behind for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Remembered {
    /// What the directory was like.
    pub(super) fingerprint: Digest,
    /// What was made of it.
    pub(super) judgement: Digest,
    /// Whether an equal fingerprint means an equal judgement.
    pub(super) settled: bool,
}

impl Remembered {
    /// Tells whether there is nothing to report.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.judgement == other.judgement
    }
}

/// What an inspection found: the judgement, and what to remember of it.
pub(super) struct Found {
    pub(super) remembered: Remembered,
    pub(super) inspected: Vec<InspectedSkill>,
    /// The judgement as bytes; nothing when the index has it already.
    pub(super) record: Option<Vec<u8>>,
}

/// What is known of a skill before it is looked at.
#[derive(Default)]
pub(super) struct Before<'a> {
    /// What the last scan left behind.
    pub(super) remembered: Option<Remembered>,
    /// What the index says.
    pub(super) known: Option<Known<'a>>,
}

/// An outermost skill about to be inspected.
pub(super) struct Visit<'a> {
    pub(super) root: &'a Arc<Root>,
    /// Where it is below the root.
    pub(super) path: &'a Arc<str>,
    pub(super) dir: &'a Handle,
    pub(super) place: &'a Place,
    pub(super) rules: &'a Rules,
    /// When the scan began.
    pub(super) started: SystemTime,
    pub(super) steps: &'a dyn Steps,
}

impl Visit<'_> {
    /// Reads and judges the skill; nothing is read when it is as it was before.
    ///
    /// The files of a skill cannot be read all at once. What is published must nevertheless have
    /// stood in the directory as a whole at one time. Each file is read as it was listed, and is
    /// still so afterwards; so all of them are as they were at the end of the listing, and it is
    /// enough that the listing was whole at that moment. Where this cannot be told, everything is
    /// listed again after reading, and what differs is read again.
    pub(super) fn inspect(
        &self,
        mut listed: Option<(Vec<Entry>, Stamp)>,
        before: &Before<'_>,
    ) -> Result<Outcome, Stopped> {
        let absolute = || self.root.join(self.path);
        let site = Site { dir: self.dir, depth: depth(self.path), absolute: &absolute };
        let mut older = BTreeMap::new();
        let mut attempt = 1;
        loop {
            // What nothing is known of is read, whatever the listing says.
            let unknown = before.remembered.is_none() && before.known.is_none();
            let walk = walk(site, listed.take(), unknown)?;
            let fingerprint = walk.tree.fingerprint();
            if let Some(outcome) = self.recall(before, &fingerprint, &walk) {
                return Ok(outcome);
            }
            let whole = walk.is_whole(site, self.started);
            self.steps.listed();
            let surveys = survey(&walk.tree, self.rules);
            let mut reading = Reading::new(self, &walk, &older);
            reading.read_all(&surveys)?;
            reading.changed.extend(walk.disturbed.clone());
            if reading.fresh && !whole {
                reading.changed.extend(differences(site, &walk.tree)?);
            }
            if reading.changed.is_empty() || attempt == ATTEMPTS {
                let (inspected, settled) = reading.finish(&surveys);
                let record = record::encode(&inspected);
                let judgement = Digest::of(&record);
                let remembered = Remembered { fingerprint, judgement, settled };
                let record = Some(record);
                return Ok(Outcome::New(Found { remembered, inspected, record }));
            }
            older.extend(reading.files);
            attempt += 1;
        }
    }

    /// The outcome of before, when nothing changed since.
    fn recall(&self, before: &Before<'_>, fingerprint: &Digest, walk: &Walk) -> Option<Outcome> {
        if walk.disturbed.is_some() {
            return None;
        }
        if before.remembered.is_some_and(|b| b.settled && b.fingerprint == *fingerprint) {
            return Some(Outcome::Unchanged);
        }
        let known = before.known.as_ref().filter(|known| known.fingerprint == *fingerprint)?;
        let (remembered, inspected) = known.recall(self.root, self.path)?;
        Some(Outcome::New(Found { remembered, inspected, record: None }))
    }

    /// Where the files of a skill of the tree are read again.
    pub(super) fn store(&self, survey: &Survey<'_>) -> Arc<dyn FileStore> {
        let link = |&(path, holder): &(&str, &str)| {
            let path_in_skill = RelPath::parse(relative(path, survey.dir)).ok()?;
            (path != holder).then(|| (path_in_skill, relative(holder, survey.dir).into()))
        };
        Arc::new(DirectoryStore {
            root: Arc::clone(self.root),
            site: Arc::clone(self.path),
            inside: survey.dir.into(),
            links: survey.files.iter().filter_map(link).collect(),
        })
    }
}

/// The paths that are not as they were listed.
fn differences(site: Site<'_>, before: &Tree) -> Result<Vec<String>, Stopped> {
    let after = walk(site, None, false)?;
    let differs = |one: &Tree, other: &Tree| -> Vec<String> {
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

/// What an inspection found.
pub(super) enum Outcome {
    /// Everything is as it is remembered.
    Unchanged,
    /// Something is new.
    New(Found),
}

impl Outcome {
    /// Tells whether something is not served that may have been before.
    pub(super) fn is_refused(&self) -> bool {
        let Self::New(Found { inspected, .. }) = self else { return false };
        inspected.is_empty() || inspected.iter().any(|inspected| inspected.skill.is_none())
    }
}
