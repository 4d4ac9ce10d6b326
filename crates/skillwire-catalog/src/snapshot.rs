//! One immutable state of everything that is served.
//!
//! Skills are kept in order of their URI and by their URI, and nothing else is kept: a file is found
//! through the skill around it, a directory from the files below it, a page by the key it goes on
//! from.

use std::sync::Arc;

use skillwire_core::{RelPath, SKILL_FILE, percent::decode_path};
use skillwire_source::{FileRecord, FileStore, FileTree, PathPatterns, Skill, SkillContent};

use crate::{
    change::ViewChange,
    instructions,
    sorted_skills::{Key, SortedSkills},
    uri_index::UriIndex,
};

/// The longest URI that is looked for; a file's path is at most a third of it.
const MAX_URI_BYTES: usize = 16 * 1024;

/// The most segments above a file that are tried as a skill's root.
const MAX_URI_SEGMENTS: usize = 256;

/// What a snapshot shows and what it keeps to itself.
#[derive(Debug, Clone, Default)]
pub struct SnapshotOptions {
    /// Skills that are served but not listed.
    pub unlisted: PathPatterns,
    /// Whether `resources/list` shows supporting files as well as each `SKILL.md`.
    pub list_files: bool,
}

/// A file that was asked for.
#[derive(Debug)]
pub enum FoundFile<'a> {
    /// A file whose digest is published.
    Stored {
        /// The skill around it.
        skill: &'a Arc<Skill>,
        /// Where its bytes are.
        tree: &'a FileTree,
        /// What was published.
        record: &'a FileRecord,
    },
    /// A file a generator makes.
    Generated(&'a Arc<Skill>, RelPath),
}

/// What one publication takes away and puts in place.
#[derive(Debug, Default)]
pub struct CatalogDelta {
    /// URIs at which no skill stands any more.
    pub removed: Vec<Arc<str>>,
    /// Skills that are new or different.
    pub placed: Vec<Arc<Skill>>,
}

/// Everything that is served at one moment, to callers with the same rights.
#[derive(Debug, Clone)]
pub struct Snapshot {
    by_uri: UriIndex,
    pub(crate) all: SortedSkills,
    pub(crate) listed: SortedSkills,
    pub(crate) names: SortedSkills,
    pub(crate) list_files: bool,
    schemes: Vec<String>,
    instructions: String,
    generation: u64,
}

fn by_uri(skill: &Skill) -> Key<'_> {
    (skill.uri.as_str(), "")
}

fn by_name(skill: &Skill) -> Key<'_> {
    (skill.name(), skill.uri.as_str())
}

impl Snapshot {
    /// Makes the first snapshot.
    pub fn new(skills: Vec<Arc<Skill>>, options: &SnapshotOptions) -> Self {
        let shown: Vec<_> =
            skills.iter().filter(|skill| is_listed(skill, options)).cloned().collect();
        let mut snapshot = Self {
            names: SortedSkills::new(by_name, shown.clone()),
            listed: SortedSkills::new(by_uri, shown),
            by_uri: UriIndex::new(skills.iter()),
            all: SortedSkills::new(by_uri, skills),
            list_files: options.list_files,
            schemes: Vec::new(),
            instructions: String::new(),
            generation: 0,
        };
        snapshot.describe();
        snapshot
    }

    /// Makes the next snapshot, which shares everything that did not change, and says what did.
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
                    // Only something around it changed.
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

    /// The skill whose `SKILL.md` has exactly this URI.
    pub fn skill(&self, uri: &str) -> Option<&Arc<Skill>> {
        self.by_uri.get(uri)
    }

    /// The innermost skill whose directory holds this URI, and the path of the URI within it, or
    /// nothing for the directory itself.
    pub(crate) fn around<'u>(&self, uri: &'u str) -> Option<(&Arc<Skill>, Option<&'u str>)> {
        self.innermost(uri, uri.len())
    }

    /// The same among the directories that end at `end` or before.
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

    /// The file with exactly this URI.
    pub fn file(&self, uri: &str) -> Option<FoundFile<'_>> {
        // What is a file is not a directory, so it is not the root of a skill either.
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

    /// Numbers the snapshot among its catalogue's.
    pub(crate) fn of_generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// The number of this snapshot; another snapshot of the catalogue has another number.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every file with a published digest, and where its bytes are; nested files come twice.
    pub fn stored_files(&self) -> impl Iterator<Item = (&Arc<dyn FileStore>, &FileRecord)> {
        self.all.iter().flat_map(|skill| match &skill.content {
            SkillContent::Files(tree) => {
                tree.files.iter().map(|file| (&tree.store, file)).collect()
            }
            SkillContent::Generated(_) => Vec::new(),
        })
    }

    /// The URI schemes in use, in order.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(String::as_str)
    }

    /// One paragraph that tells a model what is here.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Every listed skill, by URI.
    pub fn listed(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed.iter()
    }

    /// The listed skills after one with this URI, or all of them, by URI.
    pub fn listed_after(&self, after: Option<&str>) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed.from((after.unwrap_or(""), ""), after.is_some())
    }

    /// The number of listed skills.
    pub fn listed_count(&self) -> usize {
        self.listed.len()
    }

    /// Every listed skill by name, those that share one beside each other.
    pub fn by_name(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.names.iter()
    }

    /// The listed skills from a name on, by name.
    pub fn named_from(&self, name: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.names.from((name, ""), false)
    }

    /// The listed skills of a name, by URI.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.names.from((name, ""), false).take_while(move |skill| skill.name() == name)
    }

    /// Whether `resources/list` shows supporting files.
    pub fn lists_files(&self) -> bool {
        self.list_files
    }

    /// The number of skills served, listed or not.
    pub fn skill_count(&self) -> usize {
        self.all.len()
    }
}

fn is_listed(skill: &Skill, options: &SnapshotOptions) -> bool {
    skill.listed && (options.unlisted.is_empty() || !options.unlisted.matches(&skill.path()))
}

/// The part of a URI after `scheme://`.
pub(crate) fn after_scheme(uri: &str) -> &str {
    uri.split_once("://").map_or(uri, |(_, rest)| rest)
}
