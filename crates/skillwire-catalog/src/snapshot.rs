//! One immutable state of everything that is served.
//!
//! A snapshot stores only skills, sorted and by URI. A file is found through the skill that
//! contains it, a directory through the files below it, and a page through the key it continues
//! from.

use std::{collections::HashSet, sync::Arc};

use skillwire_core::{RelPath, SKILL_FILE, percent::decode_path};
use skillwire_source::{FileRecord, FileStore, FileTree, PathPatterns, Skill, SkillContent};

use crate::{
    change::ViewChange,
    instructions,
    sorted_skills::{SortKey, SortedSkills},
    uri_index::UriIndex,
};

/// The longest URI that is looked up; a file's path is at most a third of it.
const MAX_URI_BYTES: usize = 16 * 1024;

/// The most segments above a file that are tried as the root of a skill.
const MAX_URI_SEGMENTS: usize = 256;

/// Options for which skills and files a snapshot lists.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// Skills that are served but not listed.
    pub unlisted: PathPatterns,
    /// Whether `resources/list` shows supporting files as well as each `SKILL.md`.
    pub list_files: bool,
    /// Whether `resources/list` repeats the rest of each skill's frontmatter in `_meta`.
    pub list_frontmatter: bool,
}

impl SnapshotOptions {
    /// Sets the skills that are served but not listed.
    #[must_use]
    pub fn unlisted(mut self, patterns: PathPatterns) -> Self {
        self.unlisted = patterns;
        self
    }

    /// Sets whether `resources/list` shows supporting files as well as each `SKILL.md`.
    #[must_use]
    pub fn list_files(mut self, listed: bool) -> Self {
        self.list_files = listed;
        self
    }

    /// Sets whether `resources/list` repeats the rest of each skill's frontmatter in `_meta`.
    #[must_use]
    pub fn list_frontmatter(mut self, listed: bool) -> Self {
        self.list_frontmatter = listed;
        self
    }
}

/// A file that a client requested.
#[derive(Debug)]
pub enum FoundFile<'a> {
    /// A file whose digest is published.
    Stored {
        /// The skill that contains it.
        skill: &'a Arc<Skill>,
        /// The store of its bytes.
        tree: &'a FileTree,
        /// Its published digest and size.
        record: &'a FileRecord,
    },
    /// A file that a generator makes.
    Generated(&'a Arc<Skill>, RelPath),
}

/// The changes of one publication.
#[derive(Debug, Default)]
pub struct CatalogDelta {
    /// URIs at which no skill is served any more.
    pub removed: Vec<Arc<str>>,
    /// Skills that are new or different.
    pub placed: Vec<Arc<Skill>>,
}

/// Everything that is served at one moment to callers with the same rights.
#[derive(Debug, Clone)]
pub struct Snapshot {
    by_uri: UriIndex,
    pub(crate) all: SortedSkills,
    pub(crate) listed: SortedSkills,
    pub(crate) names: SortedSkills,
    pub(crate) list_files: bool,
    pub(crate) list_frontmatter: bool,
    schemes: Vec<String>,
    instructions: String,
    generation: u64,
}

fn by_uri(skill: &Skill) -> SortKey<'_> {
    (skill.uri.as_str(), "")
}

fn by_name(skill: &Skill) -> SortKey<'_> {
    (skill.name(), skill.uri.as_str())
}

impl Snapshot {
    /// Creates the first snapshot.
    pub fn new(skills: Vec<Arc<Skill>>, options: &SnapshotOptions) -> Self {
        let shown: Vec<_> =
            skills.iter().filter(|skill| is_listed(skill, options)).cloned().collect();
        let mut snapshot = Self {
            names: SortedSkills::new(by_name, shown.clone()),
            listed: SortedSkills::new(by_uri, shown),
            by_uri: UriIndex::new(skills.iter()),
            all: SortedSkills::new(by_uri, skills),
            list_files: options.list_files,
            list_frontmatter: options.list_frontmatter,
            schemes: Vec::new(),
            instructions: String::new(),
            generation: 0,
        };
        snapshot.describe();
        snapshot
    }

    /// Creates a snapshot with some of the skills of this one. What is unchanged is shared: a hundred views
    /// of a large catalogue that hide a few skills each cost little more than one.
    pub(crate) fn filtered(&self, shows: impl Fn(&Skill) -> bool) -> Self {
        // Each rule is asked once for each skill, and the orders and the index then follow the answers.
        let hidden: HashSet<*const Skill> =
            self.all.iter().filter(|skill| !shows(skill)).map(Arc::as_ptr).collect();
        let kept = |skill: &Arc<Skill>| !hidden.contains(&Arc::as_ptr(skill));
        let mut snapshot = Self {
            names: self.names.filtered(kept),
            listed: self.listed.filtered(kept),
            by_uri: self.by_uri.filtered(kept),
            all: self.all.filtered(kept),
            schemes: Vec::new(),
            instructions: String::new(),
            ..*self
        };
        snapshot.describe();
        snapshot
    }

    /// Creates the next snapshot, which shares everything unchanged with this one, and returns the
    /// changes.
    pub fn next(&self, delta: &CatalogDelta, options: &SnapshotOptions) -> (Self, ViewChange) {
        let mut next = self.clone();
        let mut change = ViewChange::default();
        for uri in &delta.removed {
            if let Some(old) = self.skill(uri) {
                next.take_out(old);
                change.note(Some(old), None, is_listed(old, options));
            }
        }
        for skill in &delta.placed {
            let old = self.skill(skill.uri.as_str());
            if let Some(old) = old {
                if Arc::ptr_eq(old, skill) {
                    // The skill itself is unchanged; only a neighbour changed.
                    continue;
                }
                next.take_out(old);
            }
            let listed = is_listed(skill, options);
            next.by_uri.insert(Arc::clone(skill));
            next.all.insert(Arc::clone(skill));
            if listed {
                next.listed.insert(Arc::clone(skill));
                next.names.insert(Arc::clone(skill));
            }
            let was_listed = old.is_some_and(|old| is_listed(old, options));
            change.note(old, Some(skill), listed || was_listed);
        }
        next.describe();
        (next, change)
    }

    /// Tells whether listings show a skill of this snapshot.
    pub(crate) fn is_shown(&self, skill: &Skill) -> bool {
        self.listed.get(by_uri(skill)).is_some()
    }

    fn take_out(&mut self, skill: &Skill) {
        self.by_uri.remove(skill.uri.as_str());
        self.all.remove(by_uri(skill));
        self.listed.remove(by_uri(skill));
        self.names.remove(by_name(skill));
    }

    fn describe(&mut self) {
        self.schemes.clear();
        let mut after = String::new();
        while let Some(skill) = self.all.from((&after, ""), false).next() {
            let uri = skill.uri.as_str();
            let scheme = uri.split_once("://").map_or(uri, |(scheme, _)| scheme);
            // `;` follows `:`, so this is past every URI of the scheme.
            after = format!("{scheme};");
            self.schemes.push(scheme.to_owned());
        }
        self.instructions = instructions::describe(self);
    }

    /// Returns the skill whose `SKILL.md` has exactly this URI.
    pub fn skill(&self, uri: &str) -> Option<&Arc<Skill>> {
        self.by_uri.get(uri)
    }

    /// Returns the innermost skill whose directory contains this URI, and the path of the URI
    /// within it, or `None` for the directory itself.
    pub(crate) fn around<'u>(&self, uri: &'u str) -> Option<(&Arc<Skill>, Option<&'u str>)> {
        self.innermost(uri, uri.len())
    }

    /// Searches the directories that end at `end` or before.
    fn innermost<'u>(
        &self,
        uri: &'u str,
        mut end: usize,
    ) -> Option<(&Arc<Skill>, Option<&'u str>)> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        let authority = uri.find("://")? + 3;
        let mut candidate = String::with_capacity(uri.len() + SKILL_FILE.len() + 1);
        for _ in 0..MAX_URI_SEGMENTS {
            let root = &uri[..end];
            candidate.clear();
            candidate.push_str(root);
            candidate.push('/');
            candidate.push_str(SKILL_FILE);
            if let Some(skill) = self.skill(&candidate) {
                return Some((skill, uri.get(end + 1..)));
            }
            end = authority + uri.get(authority..end)?.rfind('/')?;
        }
        None
    }

    /// Returns the file with exactly this URI.
    pub fn file(&self, uri: &str) -> Option<FoundFile<'_>> {
        // A file is not a directory, so its URI is not the root of a skill either.
        let (skill, rest) = self.innermost(uri, uri.rfind('/')?)?;
        let path = decode_path(rest?)?;
        match &skill.content {
            SkillContent::Files(tree) => {
                Some(FoundFile::Stored { skill, tree, record: tree.file_at(&path)? })
            }
            SkillContent::Generated(_) => {
                RelPath::parse(&path).ok().map(|path| FoundFile::Generated(skill, path))
            }
        }
    }

    /// Sets the number of the snapshot within its catalogue.
    pub(crate) fn of_generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// Returns the number of this snapshot, which no other snapshot of the same view has.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Iterates over every file with a published digest and its store; nested files occur twice.
    pub fn stored_files(&self) -> impl Iterator<Item = (&Arc<dyn FileStore>, &FileRecord)> {
        self.all.iter().flat_map(|skill| match &skill.content {
            SkillContent::Files(tree) => {
                tree.files.iter().map(|file| (&tree.store, file)).collect()
            }
            SkillContent::Generated(_) => Vec::new(),
        })
    }

    /// Iterates over the URI schemes in use, in order.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(String::as_str)
    }

    /// Returns one paragraph that tells a model which skills there are.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Iterates over every skill by URI, listed or not.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.all.iter()
    }

    /// Iterates over the listed skills by URI.
    pub fn listed(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed.iter()
    }

    /// Iterates by URI over the listed skills after the URI `after`, or over all of them.
    pub fn listed_after(&self, after: Option<&str>) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed.from((after.unwrap_or(""), ""), after.is_some())
    }

    /// Returns the number of listed skills.
    pub fn listed_count(&self) -> usize {
        self.listed.len()
    }

    /// Iterates over the listed skills by name; skills that share a name are adjacent.
    pub fn by_name(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.names.iter()
    }

    /// Iterates by name over the listed skills from `name` on.
    pub fn named_from(&self, name: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.names.from((name, ""), false)
    }

    /// Iterates by URI over the listed skills with this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.names.from((name, ""), false).take_while(move |skill| skill.name() == name)
    }

    /// Tells whether `resources/list` shows supporting files.
    pub fn lists_files(&self) -> bool {
        self.list_files
    }

    /// Returns the number of skills served, listed or not.
    pub fn skill_count(&self) -> usize {
        self.all.len()
    }
}

fn is_listed(skill: &Skill, options: &SnapshotOptions) -> bool {
    skill.listed && (options.unlisted.is_empty() || !options.unlisted.matches(&skill.path()))
}

/// Returns the part of a URI after `scheme://`.
pub(crate) fn after_scheme(uri: &str) -> &str {
    uri.split_once("://").map_or(uri, |(_, rest)| rest)
}
