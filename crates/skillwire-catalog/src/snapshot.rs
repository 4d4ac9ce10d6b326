//! One immutable state of everything that is served.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::Serialize;
use skillwire_core::{media_type, path::RelPath, uri::ResourceUri};
use skillwire_source::skill::{Content, FileRecord, Skill};

use crate::{
    instructions,
    listing::{Item, Listing},
    patterns::PathPatterns,
};

/// What a snapshot shows and what it keeps to itself.
#[derive(Debug, Clone, Default)]
pub struct SnapshotOptions {
    /// Skills that are served but not listed.
    pub unlisted: PathPatterns,
    /// Whether `resources/list` shows supporting files as well as each `SKILL.md`.
    pub list_files: bool,
}

/// A skill with its entry serialised.
#[derive(Debug)]
pub struct Published {
    /// The skill itself.
    pub skill: Skill,
    /// Its entry as JSON, the same bytes in every answer.
    pub entry: Arc<str>,
}

impl Published {
    /// Serialises a skill's entry.
    pub fn new(skill: Skill) -> Self {
        let entry = to_json(&skill.entry());
        Self { skill, entry }
    }

    /// Tells whether both would be served alike; generated content never counts as the same.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        match (&self.skill.content, &other.skill.content) {
            (Content::Files(a), Content::Files(b)) => {
                self.entry == other.entry && a.directories == b.directories
            }
            _ => false,
        }
    }
}

/// Where a file's bytes are.
#[derive(Debug, Clone)]
struct FileRef {
    skill: Arc<Published>,
    index: usize,
}

impl FileRef {
    fn record(&self) -> Option<&FileRecord> {
        match &self.skill.skill.content {
            Content::Files(tree) => tree.files.get(self.index),
            Content::Generated(_) => None,
        }
    }
}

/// A file that was asked for.
#[derive(Debug)]
pub enum FoundFile<'a> {
    /// Bytes that are already here.
    Stored(&'a FileRecord),
    /// Bytes a generator makes.
    Generated(&'a Arc<Published>, RelPath),
}

/// A directory that was asked for.
#[derive(Debug)]
pub enum FoundDirectory<'a> {
    /// Children that are already here.
    Stored(&'a Listing),
    /// Children of a directory of a generated skill; no path means its root.
    Generated(&'a Arc<Published>, Option<RelPath>),
}

/// Everything that is served at one moment, to callers with the same rights.
#[derive(Debug, Default)]
pub struct Snapshot {
    skills: HashMap<Arc<str>, Arc<Published>>,
    files: HashMap<Arc<str>, FileRef>,
    directories: HashMap<Arc<str>, Listing>,
    generated_roots: HashMap<Arc<str>, Arc<Published>>,
    listed_skills: Listing,
    listed_resources: Listing,
    listed_names: Listing,
    schemes: BTreeSet<String>,
    instructions: String,
}

impl Snapshot {
    /// Builds the maps and listings over skills that were read before.
    pub fn build(skills: &[Arc<Published>], options: &SnapshotOptions) -> Self {
        let mut builder = Builder::new(skills, options);
        for published in skills {
            builder.add(published);
        }
        builder.finish()
    }

    /// The skill whose `SKILL.md` has exactly this URI.
    pub fn skill(&self, uri: &str) -> Option<&Arc<Published>> {
        self.skills.get(uri)
    }

    /// The file with exactly this URI.
    pub fn file(&self, uri: &str) -> Option<FoundFile<'_>> {
        if let Some(file) = self.files.get(uri) {
            return file.record().map(FoundFile::Stored);
        }
        let (skill, path) = self.generated(uri)?;
        path.map(|path| FoundFile::Generated(skill, path))
    }

    /// The directory with exactly this URI.
    pub fn directory(&self, uri: &str) -> Option<FoundDirectory<'_>> {
        if let Some(children) = self.directories.get(uri) {
            return Some(FoundDirectory::Stored(children));
        }
        self.generated(uri).map(|(skill, path)| FoundDirectory::Generated(skill, path))
    }

    /// The generated skill a URI lies in, and the path below its root.
    fn generated(&self, uri: &str) -> Option<(&Arc<Published>, Option<RelPath>)> {
        if self.generated_roots.is_empty() {
            return None;
        }
        let uri = ResourceUri::parse(uri).ok()?;
        let mut names: Vec<String> = Vec::new();
        let mut directory = uri;
        loop {
            if let Some(skill) = self.generated_roots.get(directory.as_str()) {
                names.reverse();
                let path = names.join("/");
                let path = if path.is_empty() { None } else { Some(RelPath::parse(&path).ok()?) };
                return Some((skill, path));
            }
            names.push(directory.name());
            directory = directory.parent()?;
        }
    }

    /// The entries that `skills/list` shows, by URI.
    pub fn listed_skills(&self) -> &Listing {
        &self.listed_skills
    }

    /// The resources that `resources/list` shows, by URI.
    pub fn listed_resources(&self) -> &Listing {
        &self.listed_resources
    }

    /// The listed skills by name, for completion: key `name\0path`, JSON the path as a string.
    pub fn listed_names(&self) -> &Listing {
        &self.listed_names
    }

    /// The URI schemes in use, in order.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(String::as_str)
    }

    /// One paragraph that tells a model what is here.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// The number of skills served, listed or not.
    pub fn skill_count(&self) -> usize {
        self.skills.len()
    }

    /// Every stored file's URI and record.
    pub(crate) fn stored_files(&self) -> impl Iterator<Item = (&Arc<str>, &FileRecord)> {
        self.files.iter().filter_map(|(uri, file)| file.record().map(|record| (uri, record)))
    }

    /// Every skill, by the URI of its `SKILL.md`.
    pub(crate) fn skills(&self) -> &HashMap<Arc<str>, Arc<Published>> {
        &self.skills
    }
}

/// Resource metadata as it appears in lists and directory reads.
#[derive(Serialize)]
struct Resource<'a> {
    uri: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(rename = "mimeType")]
    mime_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

/// The children of a directory that is being collected: a skill inside another adds the same
/// file twice, and it must appear once.
type Children = BTreeMap<Arc<str>, Arc<str>>;

struct Builder<'a> {
    options: &'a SnapshotOptions,
    by_uri: HashMap<&'a str, &'a Skill>,
    children: HashMap<Arc<str>, Children>,
    resources: BTreeMap<Arc<str>, Arc<str>>,
    entries: Vec<Item>,
    names: Vec<Item>,
    snapshot: Snapshot,
}

impl<'a> Builder<'a> {
    fn new(skills: &'a [Arc<Published>], options: &'a SnapshotOptions) -> Self {
        let by_uri = skills.iter().map(|p| (p.skill.uri.as_str(), &p.skill)).collect();
        Self {
            options,
            by_uri,
            children: HashMap::new(),
            resources: BTreeMap::new(),
            entries: Vec::new(),
            names: Vec::new(),
            snapshot: Snapshot::default(),
        }
    }

    fn add(&mut self, published: &Arc<Published>) {
        let skill = &published.skill;
        let uri = skill.uri.file().shared();
        let root = skill.uri.root();
        let listed = !self.options.unlisted.matches(&skill.path.to_string());
        self.snapshot.skills.insert(Arc::clone(&uri), Arc::clone(published));
        if let Some((scheme, _)) = uri.split_once("://") {
            self.snapshot.schemes.insert(scheme.to_owned());
        }
        if listed {
            self.entries.push(Item { key: Arc::clone(&uri), json: Arc::clone(&published.entry) });
            let path = after_scheme(root.as_str());
            let key = format!("{}\0{path}", skill.frontmatter.name());
            self.names.push(Item { key: key.into(), json: to_json(&path) });
            self.add_ancestors(root);
        }
        match &skill.content {
            Content::Files(tree) => {
                self.children.entry(root.shared()).or_default();
                for directory in &tree.directories {
                    let uri = root.child(directory);
                    self.children.entry(uri.shared()).or_default();
                    self.add_directory(&uri);
                }
                for (index, file) in tree.files.iter().enumerate() {
                    let uri = root.child(&file.path);
                    self.add_file(&uri, file, listed);
                    let reference = FileRef { skill: Arc::clone(published), index };
                    self.snapshot.files.insert(uri.shared(), reference);
                }
            }
            Content::Generated(_) => {
                self.snapshot.generated_roots.insert(root.shared(), Arc::clone(published));
                if listed {
                    let json = self.resource(skill.uri.file(), "text/markdown", None);
                    self.resources.insert(uri, json);
                }
            }
        }
    }

    fn add_file(&mut self, uri: &ResourceUri, file: &FileRecord, listed: bool) {
        let json = self.resource(uri, file.media_type, Some(file.size()));
        if let Some(parent) = uri.parent() {
            let children = self.children.entry(parent.shared()).or_default();
            children.insert(uri.shared(), Arc::clone(&json));
        }
        let own_entry = self.by_uri.contains_key(uri.as_str());
        if listed && (self.options.list_files || own_entry) {
            self.resources.insert(uri.shared(), json);
        }
    }

    fn add_directory(&mut self, uri: &ResourceUri) {
        let Some(parent) = uri.parent() else { return };
        let json = to_json(&Resource {
            uri: uri.as_str(),
            name: &uri.name(),
            description: None,
            mime_type: media_type::DIRECTORY,
            size: None,
        });
        self.children.entry(parent.shared()).or_default().insert(uri.shared(), json);
    }

    /// Makes the directories above a skill's root browsable.
    fn add_ancestors(&mut self, root: &ResourceUri) {
        let mut directory = root.clone();
        while let Some(parent) = directory.parent() {
            self.add_directory(&directory);
            directory = parent;
        }
    }

    /// Describes a file; a `SKILL.md` that has its own entry is described by its frontmatter.
    fn resource(&self, uri: &ResourceUri, media_type: &str, size: Option<u64>) -> Arc<str> {
        let skill = self.by_uri.get(uri.as_str());
        let file_name = uri.name();
        to_json(&Resource {
            uri: uri.as_str(),
            name: skill.map_or(&file_name, |skill| skill.frontmatter.name().as_str()),
            description: skill.map(|skill| skill.frontmatter.description()),
            mime_type: if skill.is_some() { "text/markdown" } else { media_type },
            size,
        })
    }

    fn finish(self) -> Snapshot {
        let mut snapshot = self.snapshot;
        snapshot.listed_skills = Listing::new(self.entries);
        snapshot.listed_names = Listing::new(self.names);
        snapshot.listed_resources = from_map(self.resources);
        snapshot.directories =
            self.children.into_iter().map(|(uri, children)| (uri, from_map(children))).collect();
        snapshot.instructions = instructions::describe(&snapshot);
        snapshot
    }
}

fn from_map(map: BTreeMap<Arc<str>, Arc<str>>) -> Listing {
    Listing::new(map.into_iter().map(|(key, json)| Item { key, json }).collect())
}

/// The part of a URI after `scheme://`.
pub(crate) fn after_scheme(uri: &str) -> &str {
    uri.split_once("://").map_or(uri, |(_, rest)| rest)
}

fn to_json(value: &impl Serialize) -> Arc<str> {
    // Everything serialised here is made of strings, numbers and maps with string keys, for which
    // serialisation cannot fail; an empty object would be noticed by every test.
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned()).into()
}

/// Describes a file of a generated skill for a directory read.
pub fn generated_child(uri: &ResourceUri, published: &Published, is_directory: bool) -> Arc<str> {
    let is_skill_file = uri == published.skill.uri.file();
    let frontmatter = &published.skill.frontmatter;
    let file_name = uri.name();
    to_json(&Resource {
        uri: uri.as_str(),
        name: if is_skill_file { frontmatter.name().as_str() } else { &file_name },
        description: is_skill_file.then(|| frontmatter.description()),
        mime_type: if is_directory {
            media_type::DIRECTORY
        } else {
            media_type::of(&file_name, b"")
        },
        size: None,
    })
}
