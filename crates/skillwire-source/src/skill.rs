//! A skill that has been read, checked and hashed.
//!
//! A server may hold a hundred thousand of these. So a skill keeps the JSON that the server sends,
//! serialised once, and not the values that the JSON was made from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use skillwire_core::{
    ContentId, Digest, Frontmatter, RelPath, ResourceUri, Resources, SkillEntry, SkillResource,
    SkillUri, annotations, media_type,
};

use crate::{
    entry_text::EntryText, file_store::FileStore, generated::SkillGenerator, namespace::UriClaimant,
};

/// A skill that is ready to be served. Entry and digests come from the same read of its files.
#[derive(Debug, Clone)]
pub struct Skill {
    /// The URI of its `SKILL.md`.
    pub uri: SkillUri,
    /// Its entry in `skills/list` and `skills/get`, as JSON.
    pub entry: EntryText,
    /// Its content.
    pub content: SkillContent,
    /// Whether listings show it. A skill that a client asked for by URI is served without being
    /// listed.
    pub listed: bool,
    /// What the server says about where its content comes from, as the JSON of a `_meta` object that goes
    /// with its `SKILL.md` in `resources/list` and with each of its files in `resources/read`.
    pub provenance: Option<Arc<str>>,
}

/// The content of a skill.
#[derive(Debug, Clone)]
pub enum SkillContent {
    /// Files with stable bytes.
    Files(FileTree),
    /// Files that are generated on request.
    Generated(Arc<dyn SkillGenerator>),
}

/// The complete content of a skill's directory.
#[derive(Debug, Clone)]
pub struct FileTree {
    /// Every file, in path order.
    pub files: Box<[FileRecord]>,
    /// The directories that have no file anywhere below them, in path order.
    pub empty_directories: Box<[RelPath]>,
    /// Reads the bytes.
    pub store: Arc<dyn FileStore>,
}

/// One file, with what was computed from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// The path relative to the skill's root.
    pub path: RelPath,
    /// SHA-256 of the bytes.
    pub digest: Digest,
    /// The number of bytes.
    pub size: u64,
    /// The media type that fits the bytes.
    pub media_type: &'static str,
}

impl FileRecord {
    /// Hashes bytes and names their type.
    pub fn new(path: RelPath, bytes: &[u8]) -> Self {
        let media_type = media_type::of(path.file_name(), bytes);
        Self { digest: Digest::of(bytes), size: bytes.len() as u64, media_type, path }
    }
}

impl FileTree {
    /// The file at exactly this path.
    pub fn file(&self, path: &RelPath) -> Option<&FileRecord> {
        self.file_at(path.as_str())
    }

    /// The file at exactly this path, which may be any text.
    pub fn file_at(&self, path: &str) -> Option<&FileRecord> {
        const FEW: usize = 16;
        if self.files.len() <= FEW {
            // Comparing texts compares their lengths first. So a linear search loads the text of
            // hardly any other path from memory, and a binary search would load several.
            return self.files.iter().find(|file| file.path.as_str() == path);
        }
        let index = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(index)
    }
}

impl Skill {
    /// Returns the identity of its files; none if they are generated.
    pub fn content_id(&self) -> Option<ContentId> {
        let SkillContent::Files(tree) = &self.content else { return None };
        let files = tree.files.iter().map(|file| (file.path.clone(), file.digest, file.size));
        ContentId::of(files).ok()
    }

    /// Makes a skill and serialises its entry.
    pub fn new(uri: SkillUri, frontmatter: Frontmatter, content: SkillContent) -> Self {
        let resources = match &content {
            SkillContent::Generated(_) => Resources::Dynamic,
            SkillContent::Files(tree) => Resources::Listed(listed(&uri, &tree.files)),
        };
        let entry = to_json(&SkillEntry { uri: uri.clone(), frontmatter, resources });
        let entry = EntryText::from(entry);
        Self { uri, entry, content, listed: true, provenance: None }
    }

    /// Adds what the server says about the skill as `_meta` of its entry; without anything, nothing.
    #[must_use]
    pub fn with_meta(mut self, meta: &Map<String, Value>) -> Self {
        let entry = self.entry.text();
        let with_meta = entry
            .strip_suffix('}')
            .filter(|_| !meta.is_empty())
            .map(|open| format!("{open},\"_meta\":{}}}", to_json(meta)));
        if let Some(entry) = with_meta {
            self.entry = entry.into();
        }
        self
    }

    /// Says where the content comes from, wherever a part of the skill is shown without its entry.
    #[must_use]
    pub fn with_provenance(self, meta: &Map<String, Value>) -> Self {
        let provenance = (!meta.is_empty()).then(|| to_json(meta).into());
        Self { provenance, ..self }
    }

    /// The skill's path without percent-encoding, such as `acme/refunds`.
    pub fn path(&self) -> String {
        path_of(&self.uri)
    }

    /// The skill's name, which needs no encoding in a URI.
    pub fn name(&self) -> &str {
        let root = self.uri.root().as_str();
        root.rsplit('/').next().unwrap_or(root)
    }

    /// The skill's description.
    pub fn description(&self) -> String {
        let entry = self.entry.text();
        let quoted = quoted_description(&entry);
        quoted.and_then(|quoted| serde_json::from_str(quoted.get()).ok()).unwrap_or_default()
    }

    /// Its `SKILL.md` as a resource, as JSON; `with_frontmatter` also copies what the frontmatter
    /// has besides name and description into `_meta`.
    ///
    /// It is made on request, since clients ask for it less often than for the entry.
    pub fn resource(&self, with_frontmatter: bool) -> String {
        let size = match &self.content {
            SkillContent::Generated(_) => None,
            SkillContent::Files(tree) => tree.file(&RelPath::skill_file()).map(|file| file.size),
        };
        let (uri, name) = (self.uri.as_str(), self.name());
        let entry = self.entry.text();
        let description = quoted_description(&entry);
        let mime_type = "text/markdown";
        let resource = ResourceMetadata { uri, name, description, mime_type, size };
        // Few authors write annotations, and reading the frontmatter for them takes longer than
        // everything else here.
        let annotated = ["\"audience\":", "\"priority\":", "\"lastModified\":"];
        let needs_frontmatter = with_frontmatter || annotated.iter().any(|key| entry.contains(key));
        if !needs_frontmatter && self.provenance.is_none() {
            return resource.to_json();
        }
        let frontmatter = if needs_frontmatter { self.frontmatter() } else { Map::new() };
        let annotations = annotations(&frontmatter);
        let mut meta = if with_frontmatter { extra_members(&frontmatter) } else { Map::new() };
        let provenance = self.provenance.as_ref();
        let provenance = provenance.and_then(|text| serde_json::from_str::<Map<_, _>>(text).ok());
        meta.extend(provenance.unwrap_or_default());
        to_json(&AnnotatedResource { resource, annotations, meta })
    }

    /// The frontmatter, read from the entry.
    pub fn frontmatter(&self) -> Map<String, Value> {
        #[derive(Default, Deserialize)]
        struct EntryFrontmatter {
            frontmatter: Map<String, Value>,
        }
        let entry = serde_json::from_str::<EntryFrontmatter>(&self.entry.text());
        entry.map(|entry| entry.frontmatter).unwrap_or_default()
    }
}

/// The description of an entry, as a JSON string.
fn quoted_description(entry: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct EntryDescription<'a> {
        #[serde(borrow)]
        frontmatter: DescribedFile<'a>,
    }
    #[derive(Deserialize)]
    struct DescribedFile<'a> {
        #[serde(borrow)]
        description: &'a RawValue,
    }
    let entry = serde_json::from_str::<EntryDescription<'_>>(entry);
    entry.ok().map(|entry| entry.frontmatter.description)
}

/// Returns what the frontmatter has besides name and description, under the prefix that the
/// extension reserves for it; a key that cannot stand in `_meta` is left out.
fn extra_members(frontmatter: &Map<String, Value>) -> Map<String, Value> {
    let is_plain = |key: &str| {
        key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && key.starts_with(|first: char| first.is_ascii_alphanumeric())
            && key.ends_with(|last: char| last.is_ascii_alphanumeric())
    };
    let extra = frontmatter
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "name" | "description") && is_plain(key));
    extra.map(|(key, value)| (format!("{FRONTMATTER_PREFIX}{key}"), value.clone())).collect()
}

/// The prefix of members of `_meta` that come from the frontmatter.
const FRONTMATTER_PREFIX: &str = "io.modelcontextprotocol.skills/";

/// A resource with what only some resources have.
#[derive(Serialize)]
struct AnnotatedResource<'a> {
    #[serde(flatten)]
    resource: ResourceMetadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Map<String, Value>>,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

/// The path of a skill without percent-encoding, such as `acme/refunds`.
pub fn path_of(uri: &SkillUri) -> String {
    let mut segments = vec![uri.root().name()];
    let mut above = uri.root().parent();
    while let Some(directory) = above {
        segments.push(directory.name());
        above = directory.parent();
    }
    segments.reverse();
    segments.join("/")
}

fn listed(uri: &SkillUri, files: &[FileRecord]) -> Vec<SkillResource> {
    let mut listed: Vec<_> = files
        .iter()
        .map(|file| SkillResource {
            uri: uri.root().child(&file.path),
            digest: file.digest,
            size: file.size,
        })
        .collect();
    listed.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
    listed
}

impl UriClaimant for Arc<Skill> {
    fn uri(&self) -> &SkillUri {
        &self.uri
    }

    fn is_listed(&self) -> bool {
        self.listed
    }

    fn lists(&self, uri: &ResourceUri) -> bool {
        match &self.content {
            SkillContent::Generated(_) => false,
            SkillContent::Files(tree) => {
                tree.files.iter().any(|file| self.uri.root().child(&file.path) == *uri)
            }
        }
    }
}

/// Resource metadata as it appears in lists and directory reads.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ResourceMetadata<'a> {
    /// The URI at which it is read.
    pub uri: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The description of a `SKILL.md`, as a JSON string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a RawValue>,
    /// Its media type.
    #[serde(rename = "mimeType")]
    pub mime_type: &'a str,
    /// The number of its bytes, for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl ResourceMetadata<'_> {
    /// Serialises the metadata.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

impl<'a> ResourceMetadata<'a> {
    /// Describes a directory.
    pub fn directory(uri: &'a str, name: &'a str) -> Self {
        Self { uri, name, description: None, mime_type: media_type::DIRECTORY, size: None }
    }
}

fn to_json(value: &impl Serialize) -> String {
    // Serialisation cannot fail: everything here is made of strings, numbers and maps with string
    // keys.
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}

#[cfg(test)]
mod tests {
    use skillwire_core::SkillPath;

    use super::*;
    use crate::{
        memory::MemorySource,
        source::{ScanRequest, SkillSource as _, SourceChange},
    };

    #[test]
    fn a_file_is_found_among_few_and_among_many_srv_47() {
        let text = "---\nname: s\ndescription: Use when needed.\n---\n";
        for count in [1, 15, 16, 200] {
            let others = (0..count).map(|n| RelPath::parse(&format!("f{n}.md")).unwrap());
            let files = others.map(|path| (path, "x".into()));
            let mut source = MemorySource::new("memory");
            let path = SkillPath::parse("s").unwrap();
            source.add(&path, files.chain([(RelPath::skill_file(), text.into())])).unwrap();
            let mut found = Vec::new();
            let mut take = |report| {
                let SourceChange::Updated(_, inspected) = report else { return };
                found.extend(inspected.into_iter().filter_map(|inspected| inspected.skill));
            };
            source.scan(&ScanRequest::everything(), &mut take).unwrap();
            let SkillContent::Files(tree) = &found[0].content else { panic!("no files") };
            assert_eq!(tree.files.len(), count + 1);
            for file in &tree.files {
                assert!(std::ptr::eq(tree.file(&file.path).unwrap(), file), "{count}");
            }
            for absent in ["", "f", "f0.m", "f0.md/", "F0.md", "g.md", "../s"] {
                assert!(tree.file_at(absent).is_none(), "{absent} of {count}");
            }
        }
    }
}
