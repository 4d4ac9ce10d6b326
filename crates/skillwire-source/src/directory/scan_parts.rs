//! Splits a full scan into parts.
//!
//! A scan of a hundred thousand skills takes seconds, and a source runs one scan at a time. Scans
//! of its parts, one after the other, have the same result and let the scan of a changed skill in
//! between.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use skillwire_core::is_ignored;

use super::DirectorySource;
use crate::location::join_path;

/// The most known skills in a part.
const SKILLS: usize = 256;

impl DirectorySource {
    /// The paths of each part; together they cover the folder. Empty if the folder is small.
    ///
    /// A new skill lies in one of the existing directories. New entries directly in a divided
    /// folder are left to the watcher, which watches such folders first.
    pub(super) fn divide(&self) -> Vec<BTreeSet<PathBuf>> {
        let known: Vec<_> = {
            let memory = self.memory.lock();
            // Until one scan has completed, each scan covers everything.
            let known = memory.skills.keys().filter(|_| memory.complete);
            known.cloned().collect()
        };
        let mut parts = ScanParts::default();
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
        parts: &mut ScanParts,
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
            let path = join_path(directory, &name);
            if known.len() > SKILLS {
                self.descend(&path, known.into_iter(), parts);
            } else {
                parts.add(self.root.join(&path), known.len());
            }
        }
    }
}

#[derive(Default)]
struct ScanParts {
    full: Vec<BTreeSet<PathBuf>>,
    /// How many known skills are in the last part.
    skills: usize,
}

impl ScanParts {
    /// Puts a path with so many known skills into the last part, or begins another.
    fn add(&mut self, path: PathBuf, skills: usize) {
        // A directory without known skills costs something, too.
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
