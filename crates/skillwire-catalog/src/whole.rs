//! Every skill that a catalogue serves, which the views of all callers share.
//!
//! A view says by the numbers of skills which of them it shows. What a view adds to a catalogue of a hundred
//! thousand skills is then some kilobytes, and a change costs each view as little.

use std::sync::Arc;

use skillwire_core::SkillUri;
use skillwire_source::{FileTree, Skill, SkillContent};

use crate::{
    number_set::NumberSet,
    snapshot::{CatalogDelta, SnapshotOptions},
    sorted_skills::{ChunkChanges, Numbered, ShownCounts, SortKey, SortedSkills},
    uri_index::UriIndex,
};

/// Every skill at one moment, in the orders in which they are listed.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) by_uri: UriIndex,
    pub(crate) all: SortedSkills,
    pub(crate) listed: SortedSkills,
    pub(crate) names: SortedSkills,
    /// The lowest number that was never given to a skill.
    next_number: u32,
    /// Lower numbers whose skills are gone.
    free: Vec<u32>,
    /// The size of all files in directories of this machine.
    pub(crate) bytes_in_directories: u64,
}

/// What a publication changed.
pub(crate) struct WholeChanges {
    /// What became of each skill, one after the other.
    pub(crate) steps: Vec<Step>,
    all: ChunkChanges,
    listed: ChunkChanges,
    names: ChunkChanges,
}

/// What became of one skill.
pub(crate) struct Step {
    pub(crate) old: Option<Numbered>,
    pub(crate) new: Option<Numbered>,
    pub(crate) was_listed: bool,
    pub(crate) is_listed: bool,
}

/// The skills that a view shows, and how many of them are where in each order.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) numbers: NumberSet,
    pub(crate) all: ShownCounts,
    pub(crate) listed: ShownCounts,
    pub(crate) names: ShownCounts,
}

pub(crate) fn by_uri(skill: &Skill) -> SortKey<'_> {
    (skill.uri.as_str(), "")
}

fn by_name(skill: &Skill) -> SortKey<'_> {
    (skill.name(), skill.uri.as_str())
}

fn is_listed(skill: &Skill, options: &SnapshotOptions) -> bool {
    skill.listed && (options.unlisted.is_empty() || !options.unlisted.matches(&skill.path()))
}

/// The files of a skill, if they are in a directory of this machine. A store without a directory is in memory
/// already, or costs more to read than a file.
pub(crate) fn tree_in_directory(skill: &Skill) -> Option<&FileTree> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    (tree.store.remote().is_none() && tree.store.directory().is_some()).then_some(tree)
}

fn bytes_in_directory(skill: &Skill) -> u64 {
    tree_in_directory(skill).map_or(0, |tree| tree.files.iter().map(|file| file.size).sum())
}

impl Whole {
    pub(crate) fn new(skills: Vec<Arc<Skill>>, options: &SnapshotOptions) -> Self {
        let numbered: Vec<Numbered> =
            skills.into_iter().zip(0..).map(|(skill, number)| Numbered { skill, number }).collect();
        let shown = numbered.iter().filter(|it| is_listed(&it.skill, options));
        let shown: Vec<Numbered> = shown.cloned().collect();
        Self {
            names: SortedSkills::new(by_name, shown.clone()),
            listed: SortedSkills::new(by_uri, shown),
            by_uri: UriIndex::new(numbered.len(), numbered.iter().map(|it| (&it.skill, it.number))),
            bytes_in_directories: numbered.iter().map(|it| bytes_in_directory(&it.skill)).sum(),
            next_number: u32::try_from(numbered.len()).unwrap_or(u32::MAX),
            all: SortedSkills::new(by_uri, numbered),
            free: Vec::new(),
        }
    }

    /// Applies a publication to a copy, which shares everything unchanged with this one.
    pub(crate) fn next(
        &self,
        delta: &CatalogDelta,
        options: &SnapshotOptions,
    ) -> (Self, WholeChanges) {
        let mut next = self.clone();
        let removed = delta.removed.iter().filter_map(|uri| next.remove(uri, options));
        let mut steps: Vec<Step> = removed.collect();
        steps.extend(delta.placed.iter().map(|skill| next.place(skill, options)));
        let changes = WholeChanges {
            all: next.all.since(&self.all),
            listed: next.listed.since(&self.listed),
            names: next.names.since(&self.names),
            steps,
        };
        (next, changes)
    }

    fn remove(&mut self, uri: &str, options: &SnapshotOptions) -> Option<Step> {
        let old = self.take_out(uri)?;
        self.free.push(old.number);
        let was_listed = is_listed(&old.skill, options);
        Some(Step { old: Some(old), new: None, was_listed, is_listed: false })
    }

    /// Puts a skill in, in place of the one with its URI, whose number it then has.
    ///
    /// One that is there already is put in again: a view may show it now that did not before, and counts again
    /// only where a chunk is another one.
    fn place(&mut self, skill: &Arc<Skill>, options: &SnapshotOptions) -> Step {
        let old = self.take_out(skill.uri.as_str());
        let number = old.as_ref().map(|old| old.number).or_else(|| self.free.pop());
        let number = number.unwrap_or_else(|| {
            self.next_number += 1;
            self.next_number - 1
        });
        let new = Numbered { skill: Arc::clone(skill), number };
        let is_listed_now = is_listed(skill, options);
        self.bytes_in_directories += bytes_in_directory(skill);
        self.by_uri.insert(Arc::clone(skill), number);
        self.all.insert(new.clone());
        if is_listed_now {
            self.listed.insert(new.clone());
            self.names.insert(new.clone());
        }
        let was_listed = old.as_ref().is_some_and(|old| is_listed(&old.skill, options));
        Step { old, new: Some(new), was_listed, is_listed: is_listed_now }
    }

    fn take_out(&mut self, uri: &str) -> Option<Numbered> {
        let (skill, number) = self.by_uri.get(uri)?;
        let old = Numbered { skill: Arc::clone(skill), number };
        let bytes = bytes_in_directory(&old.skill);
        self.bytes_in_directories = self.bytes_in_directories.saturating_sub(bytes);
        self.by_uri.remove(uri);
        self.all.remove(by_uri(&old.skill));
        self.listed.remove(by_uri(&old.skill));
        self.names.remove(by_name(&old.skill));
        Some(old)
    }
}

impl Shown {
    /// Asks about every skill.
    pub(crate) fn of(whole: &Whole, shows: impl Fn(&SkillUri) -> bool) -> Self {
        let mut numbers = NumberSet::default();
        for Numbered { skill, number } in whole.all.iter() {
            numbers.set(*number, shows(&skill.uri));
        }
        Self {
            all: ShownCounts::of(&whole.all, &numbers),
            listed: ShownCounts::of(&whole.listed, &numbers),
            names: ShownCounts::of(&whole.names, &numbers),
            numbers,
        }
    }

    /// Applies what changed; `is_shown` has an answer for each step.
    pub(crate) fn next(
        &self,
        whole: &Whole,
        changes: &WholeChanges,
        is_shown: impl Iterator<Item = bool>,
    ) -> Self {
        let mut numbers = self.numbers.clone();
        for (step, is_shown) in changes.steps.iter().zip(is_shown) {
            if let Some(old) = &step.old {
                numbers.set(old.number, false);
            }
            if let Some(new) = &step.new {
                numbers.set(new.number, is_shown);
            }
        }
        Self {
            all: self.all.next(&whole.all, &changes.all, &numbers),
            listed: self.listed.next(&whole.listed, &changes.listed, &numbers),
            names: self.names.next(&whole.names, &changes.names, &numbers),
            numbers,
        }
    }
}
