//! One immutable state of everything that is served.
//!
//! A snapshot stores only skills, sorted and by URI, and shares them with the snapshots of other views. A file
//! is found through the skill that contains it, a directory through the files below it, and a page through the
//! key it continues from.

use std::sync::Arc;

use skillwire_core::{RelPath, SKILL_FILE, SkillUri, percent::decode_path};
use skillwire_source::{FileRecord, FileStore, FileTree, PathPatterns, Skill, SkillContent};

use crate::{
    change::{ChangesBySight, Sight, ViewChange},
    instructions,
    sorted_skills::ShownSkills,
    whole::{Shown, Whole, WholeChanges, by_uri, tree_in_directory},
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
    whole: Arc<Whole>,
    /// What of it is shown; none if that is everything.
    shown: Option<Shown>,
    pub(crate) list_files: bool,
    pub(crate) list_frontmatter: bool,
    schemes: Vec<String>,
    instructions: String,
    generation: u64,
}

impl Snapshot {
    /// Creates the first snapshot.
    pub fn new(skills: Vec<Arc<Skill>>, options: &SnapshotOptions) -> Self {
        let mut snapshot = Self {
            whole: Arc::new(Whole::new(skills, options)),
            shown: None,
            list_files: options.list_files,
            list_frontmatter: options.list_frontmatter,
            schemes: Vec::new(),
            instructions: String::new(),
            generation: 0,
        };
        snapshot.describe();
        snapshot
    }

    /// Creates a snapshot with some of all skills.
    pub(crate) fn restricted(&self, shows: impl Fn(&SkillUri) -> bool) -> Self {
        let mut snapshot = Self {
            whole: Arc::clone(&self.whole),
            shown: Some(Shown::of(&self.whole, shows)),
            schemes: Vec::new(),
            instructions: String::new(),
            ..*self
        };
        snapshot.describe();
        snapshot
    }

    /// All skills after a publication, and what it changed.
    pub(crate) fn whole_after(
        &self,
        delta: &CatalogDelta,
        options: &SnapshotOptions,
    ) -> (Arc<Whole>, WholeChanges) {
        let (whole, changes) = self.whole.next(delta, options);
        (Arc::new(whole), changes)
    }

    /// Creates the next snapshot of this view after a publication, and returns what it changed there.
    ///
    /// A snapshot that shows nothing else than before keeps its number, and with it the pages that were made
    /// of it.
    pub(crate) fn next(
        self: &Arc<Self>,
        whole: &Arc<Whole>,
        changes: &WholeChanges,
        is_visible: impl Fn(&SkillUri) -> bool,
        noted: &mut ChangesBySight<'_>,
        generation: u64,
    ) -> (Arc<Self>, Arc<ViewChange>) {
        let sights = changes.steps.iter().map(|step| Sight {
            before: step.old.as_ref().is_some_and(|old| self.shows(old.number)),
            now: step.new.as_ref().is_some_and(|new| is_visible(&new.skill.uri)),
        });
        let sights: Vec<Sight> = sights.collect();
        let is_shown = sights.iter().map(|sight| sight.now);
        let shown = self.shown.as_ref().map(|shown| shown.next(whole, changes, is_shown));
        let whole = Arc::clone(whole);
        if sights.iter().all(|sight| !sight.before && !sight.now) {
            let next = Self { whole, shown, ..Self::clone(self) };
            return (Arc::new(next), Arc::default());
        }
        let (schemes, instructions) = (Vec::new(), String::new());
        let mut next = Self { whole, shown, schemes, instructions, generation, ..**self };
        next.describe();
        let next = Arc::new(next);
        let change = noted.of(sights, self, &next);
        (next, change)
    }

    /// Tells whether the skill with this number is shown, if there is one.
    pub(crate) fn shows(&self, number: u32) -> bool {
        self.shown.as_ref().is_none_or(|shown| shown.numbers.has(number))
    }

    /// All skills, of which this snapshot may show some.
    pub(crate) fn whole(&self) -> &Whole {
        &self.whole
    }

    /// The skills that are served, by URI.
    pub(crate) fn all_skills(&self) -> ShownSkills<'_> {
        self.whole.all.shown(self.shown.as_ref().map(|shown| (&shown.numbers, &shown.all)))
    }

    /// The skills that are listed, by URI.
    pub(crate) fn listed_skills(&self) -> ShownSkills<'_> {
        self.whole.listed.shown(self.shown.as_ref().map(|shown| (&shown.numbers, &shown.listed)))
    }

    /// The skills that are listed, by name.
    pub(crate) fn skills_by_name(&self) -> ShownSkills<'_> {
        self.whole.names.shown(self.shown.as_ref().map(|shown| (&shown.numbers, &shown.names)))
    }

    /// Tells whether listings show a skill of this snapshot.
    pub(crate) fn is_shown(&self, skill: &Skill) -> bool {
        self.listed_skills().get(by_uri(skill)).is_some()
    }

    fn describe(&mut self) {
        let (mut schemes, mut after) = (Vec::new(), String::new());
        while let Some(skill) = self.all_skills().from((&after, ""), false).next() {
            let uri = skill.uri.as_str();
            let scheme = uri.split_once("://").map_or(uri, |(scheme, _)| scheme);
            // `;` follows `:`, so this is past every URI of the scheme.
            after = format!("{scheme};");
            schemes.push(scheme.to_owned());
        }
        self.schemes = schemes;
        self.instructions = instructions::describe(self);
    }

    /// Returns the skill whose `SKILL.md` has exactly this URI.
    pub fn skill(&self, uri: &str) -> Option<&Arc<Skill>> {
        let (skill, number) = self.whole.by_uri.get(uri)?;
        self.shows(number).then_some(skill)
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

    /// Returns the number of this snapshot, which no snapshot of the same view has that shows anything else.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Iterates over the files of all views that are in directories of this machine, and their stores; nested
    /// files occur twice.
    pub fn files_in_directories(&self) -> impl Iterator<Item = (&Arc<dyn FileStore>, &FileRecord)> {
        let trees = self.whole.all.iter().filter_map(|it| tree_in_directory(&it.skill));
        trees.flat_map(|tree| tree.files.iter().map(move |file| (&tree.store, file)))
    }

    /// Returns the size of the files of all views that are in directories of this machine, without a look at each.
    pub fn bytes_in_directories(&self) -> u64 {
        self.whole.bytes_in_directories
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
        self.all_skills().iter()
    }

    /// Iterates over the listed skills by URI.
    pub fn listed(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed_skills().iter()
    }

    /// Iterates by URI over the listed skills after the URI `after`, or over all of them.
    pub fn listed_after(&self, after: Option<&str>) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed_skills().from((after.unwrap_or(""), ""), after.is_some())
    }

    /// Returns the number of listed skills.
    pub fn listed_count(&self) -> usize {
        self.listed_skills().len()
    }

    /// Iterates over the listed skills by name; skills that share a name are adjacent.
    pub fn by_name(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.skills_by_name().iter()
    }

    /// Iterates by name over the listed skills from `name` on.
    pub fn named_from(&self, name: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.skills_by_name().from((name, ""), false)
    }

    /// Iterates by URI over the listed skills with this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.skills_by_name().from((name, ""), false).take_while(move |skill| skill.name() == name)
    }

    /// Tells whether `resources/list` shows supporting files.
    pub fn lists_files(&self) -> bool {
        self.list_files
    }

    /// Returns the number of skills served, listed or not.
    pub fn skill_count(&self) -> usize {
        self.all_skills().len()
    }
}

/// Returns the part of a URI after `scheme://`.
pub(crate) fn after_scheme(uri: &str) -> &str {
    uri.split_once("://").map_or(uri, |(_, rest)| rest)
}
