//! The changes from one snapshot to the next.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use skillwire_core::Digest;
use skillwire_source::{Skill, SkillContent};

use crate::{
    snapshot::{FoundFile, Snapshot},
    sorted_skills::Numbered,
    whole::{Step, WholeChanges},
};

/// The most skills of one change whose files are named as updated.
const FEW: usize = 100;

/// Describes what a swap changed in one view.
#[derive(Debug, Clone, Default)]
pub struct ViewChange {
    /// Whether the listings differ: a skill came, went, or has another entry.
    pub list: bool,
    /// Files that are new, changed or gone, and the `SKILL.md` of every changed skill.
    pub updated: UpdatedFiles,
}

/// Files that are other ones than before.
#[derive(Debug, Clone)]
pub struct UpdatedFiles(Updated);

#[derive(Debug, Clone)]
enum Updated {
    Named(HashSet<Arc<str>>),
    /// Those that two snapshots show differently. A change of many skills would otherwise cost more memory for
    /// the notices of all views than for the catalogue.
    Between(Arc<Snapshot>, Arc<Snapshot>),
}

impl Default for UpdatedFiles {
    fn default() -> Self {
        Self(Updated::Named(HashSet::new()))
    }
}

impl From<HashSet<Arc<str>>> for UpdatedFiles {
    fn from(uris: HashSet<Arc<str>>) -> Self {
        Self(Updated::Named(uris))
    }
}

impl UpdatedFiles {
    /// Tells whether the file with this URI is another one than before.
    pub fn contains(&self, uri: &str) -> bool {
        match &self.0 {
            Updated::Named(uris) => uris.contains(uri),
            Updated::Between(old, new) => {
                !is_same_file(old.file(uri), new.file(uri))
                    || old.skill(uri).zip(new.skill(uri)).is_some_and(|(old, new)| {
                        !Arc::ptr_eq(old, new) && is_news(Some(old), Some(new))
                    })
            }
        }
    }

    /// Returns those of some files that are other ones than before.
    pub fn among<'u>(&'u self, uris: &'u HashSet<Arc<str>>) -> Vec<&'u Arc<str>> {
        match &self.0 {
            Updated::Named(own) if own.len() < uris.len() => {
                own.iter().filter(|uri| uris.contains(*uri)).collect()
            }
            _ => uris.iter().filter(|uri| self.contains(uri)).collect(),
        }
    }

    /// Returns the files, and of a change of many skills only each `SKILL.md`.
    pub fn named(&self) -> Vec<Arc<str>> {
        let (old, new) = match &self.0 {
            Updated::Named(uris) => return uris.iter().cloned().collect(),
            Updated::Between(old, new) => (old, new),
        };
        let come = new.all().filter(|skill| self.contains(skill.uri.as_str()));
        let gone = old.all().filter(|skill| new.skill(skill.uri.as_str()).is_none());
        come.chain(gone).map(|skill| skill.uri.file().shared()).collect()
    }

    /// Tells whether every file is the one that it was.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Updated::Named(uris) => uris.is_empty(),
            Updated::Between(..) => false,
        }
    }
}

/// Tells whether two snapshots show a file alike; generated ones have no digest to compare.
fn is_same_file(one: Option<FoundFile<'_>>, other: Option<FoundFile<'_>>) -> bool {
    match (one, other) {
        (None, None) | (Some(FoundFile::Generated(..)), Some(FoundFile::Generated(..))) => true,
        (
            Some(FoundFile::Stored { record: one, .. }),
            Some(FoundFile::Stored { record: other, .. }),
        ) => one.digest == other.digest,
        _ => false,
    }
}

/// Whether a view showed a skill before a publication, and whether it does after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sight {
    pub(crate) before: bool,
    pub(crate) now: bool,
}

/// The changes of one publication, made once for all views that see the same of it.
pub(crate) struct ChangesBySight<'c> {
    steps: &'c [Step],
    made: HashMap<Vec<Sight>, Arc<ViewChange>>,
}

impl<'c> ChangesBySight<'c> {
    pub(crate) fn new(changes: &'c WholeChanges) -> Self {
        Self { steps: &changes.steps, made: HashMap::new() }
    }

    /// Returns what changed for views that see this much of each step, such as the one of these snapshots.
    pub(crate) fn of(
        &mut self,
        sights: Vec<Sight>,
        before: &Arc<Snapshot>,
        now: &Arc<Snapshot>,
    ) -> Arc<ViewChange> {
        if self.steps.len() > FEW {
            return self.of_many(&sights, before, now);
        }
        if let Some(known) = self.made.get(&sights) {
            return Arc::clone(known);
        }
        let (mut change, mut updated) = (ViewChange::default(), HashSet::new());
        for (step, sight) in self.steps.iter().zip(&sights) {
            if let Some((old, new, listed)) = news(step, *sight) {
                note(&mut updated, old, new);
                change.list |= listed;
            }
        }
        change.updated = updated.into();
        let change = Arc::new(change);
        self.made.insert(sights, Arc::clone(&change));
        change
    }

    fn of_many(
        &self,
        sights: &[Sight],
        before: &Arc<Snapshot>,
        now: &Arc<Snapshot>,
    ) -> Arc<ViewChange> {
        let news = self.steps.iter().zip(sights).filter_map(|(step, sight)| news(step, *sight));
        let lists = news.map(|(_, _, listed)| listed);
        let Some(list) = lists.reduce(|one, other| one || other) else { return Arc::default() };
        let updated = UpdatedFiles(Updated::Between(Arc::clone(before), Arc::clone(now)));
        Arc::new(ViewChange { list, updated })
    }
}

/// A skill as a view showed it before and shows it now, and whether listings show it.
type News<'s> = (Option<&'s Arc<Skill>>, Option<&'s Arc<Skill>>, bool);

/// What of a step is news for a view.
fn news(step: &Step, sight: Sight) -> Option<News<'_>> {
    let old = step.old.as_ref().filter(|_| sight.before).map(|old| &old.skill);
    let new = step.new.as_ref().filter(|_| sight.now).map(|new| &new.skill);
    // Of a skill that is unchanged, only a neighbour changed.
    let is_same = old.zip(new).is_some_and(|(old, new)| Arc::ptr_eq(old, new));
    let listed = (sight.before && step.was_listed) || (sight.now && step.is_listed);
    (!is_same && is_news(old, new)).then_some((old, new, listed))
}

/// Tells whether a skill is another one for those who know its entry.
fn is_news(old: Option<&Arc<Skill>>, new: Option<&Arc<Skill>>) -> bool {
    match (old, new) {
        (None, None) => false,
        (Some(old), Some(new)) => {
            let same_entry = old.entry == new.entry && old.listed == new.listed;
            !same_entry || !matches!(new.content, SkillContent::Files(_))
        }
        _ => true,
    }
}

impl ViewChange {
    /// Compares two snapshots of one view, of which the filter alone changed.
    pub(crate) fn between(old: &Arc<Snapshot>, new: &Arc<Snapshot>) -> Self {
        let differs = |it: &&Numbered| old.shows(it.number) != new.shows(it.number);
        let changed = new.whole().all.iter().filter(differs);
        let changed: Vec<&Numbered> = changed.take(FEW + 1).collect();
        if changed.len() > FEW {
            let updated = Updated::Between(Arc::clone(old), Arc::clone(new));
            return Self { list: true, updated: UpdatedFiles(updated) };
        }
        let (mut list, mut updated) = (false, HashSet::new());
        for Numbered { skill, number } in changed {
            let (before, now) =
                if old.shows(*number) { (Some(skill), None) } else { (None, Some(skill)) };
            let shown_by = if before.is_some() { old } else { new };
            note(&mut updated, before, now);
            list |= shown_by.is_shown(skill);
        }
        Self { list, updated: updated.into() }
    }

    /// Tells whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.list && self.updated.is_empty()
    }
}

/// Adds the files of one skill that are other ones.
fn note(updated: &mut HashSet<Arc<str>>, old: Option<&Arc<Skill>>, new: Option<&Arc<Skill>>) {
    let (before, now) = (old.map(|s| digests(s)), new.map(|s| digests(s)));
    let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
    for (uri, digest) in &before {
        if now.get(uri) != Some(digest) {
            updated.insert(Arc::clone(uri));
        }
    }
    updated.extend(now.into_keys().filter(|uri| !before.contains_key(uri)));
    // Clients know the entry of a skill by the URI of its `SKILL.md`.
    updated.extend(old.or(new).map(|skill| skill.uri.file().shared()));
}

fn digests(skill: &Skill) -> HashMap<Arc<str>, Digest> {
    match &skill.content {
        SkillContent::Generated(_) => HashMap::new(),
        SkillContent::Files(tree) => tree
            .files
            .iter()
            .map(|file| (skill.uri.root().child(&file.path).shared(), file.digest))
            .collect(),
    }
}
