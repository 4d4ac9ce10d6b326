//! Everything in a folder, a little at a time.
//!
//! A look at a hundred thousand skills takes seconds, and nothing else can be looked at meanwhile. Looks
//! at its parts, one after the other, come to the same and let a change of one skill pass.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::PoisonError,
};

use skillwire_core::is_ignored;

use super::DirectorySource;
use crate::location::below;

/// The most known skills in a part.
const SKILLS: usize = 256;

impl DirectorySource {
    /// Paths that are all of the folder together, some in each part; none if it is small.
    ///
    /// What is not known yet lies in one of the directories that are there. What lies beside them in a
    /// folder that is divided is left to whoever watches it: such folders are watched first.
    pub(super) fn divide(&self) -> Vec<BTreeSet<PathBuf>> {
        let known: Vec<_> = {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            // Until everything has been looked at, each look would be one at everything.
            let known = memory.skills.keys().filter(|_| memory.complete);
            known.cloned().collect()
        };
        let mut parts = Parts::default();
        if known.len() > SKILLS {
            self.descend("", known.iter().map(|path| &**path), &mut parts);
        }
        parts.full
    }

    /// Divides what is in a directory, given the skills that are known there.
    fn descend<'a>(
        &self,
        directory: &str,
        known: impl Iterator<Item = &'a str>,
        parts: &mut Parts,
    ) {
        let mut inner: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for path in known {
            let rest = path[directory.len()..].trim_start_matches('/');
            let name = rest.split('/').next().unwrap_or(rest);
            inner.entry(name.to_owned()).or_default().push(path);
        }
        let there = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        for entry in there.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            match entry.file_name().into_string() {
                Ok(name) if !is_ignored(&name) => {
                    inner.entry(name).or_default();
                }
                _ => {}
            }
        }
        for (name, known) in inner {
            let path = below(directory, &name);
            if known.len() > SKILLS {
                self.descend(&path, known.into_iter(), parts);
            } else {
                parts.add(self.root.join(&path), known.len());
            }
        }
    }
}

#[derive(Default)]
struct Parts {
    full: Vec<BTreeSet<PathBuf>>,
    /// How many known skills are in the last part.
    skills: usize,
}

impl Parts {
    /// Puts a path with so many known skills into the last part, or begins another.
    fn add(&mut self, path: PathBuf, skills: usize) {
        // Looking where none is known has its price, too.
        let skills = skills.max(1);
        match self.full.last_mut() {
            Some(last) if self.skills + skills <= SKILLS => {
                last.insert(path);
                self.skills += skills;
            }
            _ => {
                self.full.push(BTreeSet::from([path]));
                self.skills = skills;
            }
        }
    }
}
