//! A version as a skill of the catalogue.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use skillwire_attest::DECISION_META;
use skillwire_core::{Frontmatter, RelPath, Scheme, SkillPath, SkillUri, media_type};
use skillwire_hub::{SkillFacts, SkillId, Timestamp, Verdict, VersionFile, VersionState};
use skillwire_hub_store::{HubStore, ServedVersion};
use skillwire_hub_upstreams::{InspectContent, PROVENANCE_META, names_script, worst_of};
use skillwire_source::{FileRecord, FileStore, FileTree, Skill, SkillContent};

use crate::{
    classes::{ChannelClasses, KnownSkill},
    files::StoredFiles,
    options::ServingOptions,
    signing::{Admitted, DecisionSigner},
};

/// The segment of a URI before a version that is named.
pub(crate) const PINNED: &str = "_v";

/// The worst finding of a version that no scanner looked at.
const UNKNOWN: &str = "unknown";

/// Media types that only the bytes of a file tell.
const BY_CONTENT: [&str; 10] = [
    "application/gzip",
    "application/octet-stream",
    "application/pdf",
    "application/wasm",
    "application/zip",
    "image/gif",
    "image/jpeg",
    "image/png",
    "text/markdown",
    "text/plain",
];

/// What is kept of a version so that it can be listed without reading its files.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredEntry {
    frontmatter: Map<String, Value>,
    /// The media types of files whose names say something else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    types: BTreeMap<String, String>,
    /// How bad the worst finding of the scanner was; none if no scanner looked, or the version is older than
    /// this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worst: Option<String>,
    /// The trusted signers whose signatures cover exactly its files.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    signers: BTreeSet<String>,
}

impl StoredEntry {
    /// Describes the files of a skill that was checked.
    pub fn new(frontmatter: &Frontmatter, files: &[(RelPath, Bytes)]) -> Self {
        let mut types = BTreeMap::new();
        for (path, bytes) in files {
            let real = media_type::of(path.file_name(), bytes);
            if real != by_name(path) {
                types.insert(path.to_string(), real.to_owned());
            }
        }
        let frontmatter = frontmatter.fields().clone();
        Self { frontmatter, types, worst: None, signers: BTreeSet::new() }
    }

    /// Adds what inspecting the same files shows.
    #[must_use]
    pub fn inspected(mut self, inspector: &dyn InspectContent, files: &[(RelPath, Bytes)]) -> Self {
        self.signers = inspector.signers(files);
        self.worst = inspector.inspect(files).map(|found| worst_of(&found).to_owned());
        self
    }

    /// Reads what the store kept.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// How bad the worst finding of the scanner was, or `unknown`.
    pub fn worst_finding(&self) -> &str {
        self.worst.as_deref().unwrap_or(UNKNOWN)
    }

    /// The trusted signers whose signatures cover exactly its files, as the operator calls them.
    pub fn signers(&self) -> &BTreeSet<String> {
        &self.signers
    }

    /// Writes it for the store.
    pub fn to_text(&self) -> String {
        // Serialisation cannot fail: keys and values are texts and JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The media type that a file has if its name tells it.
fn by_name(path: &RelPath) -> &'static str {
    media_type::of(path.file_name(), b"")
}

/// A version that cannot be served, because its record is damaged.
#[derive(Debug, thiserror::Error)]
#[error("the record of {version} cannot be read: {problem}")]
pub(crate) struct UnreadableRecord {
    version: String,
    problem: String,
}

/// Where a version is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedAt {
    /// As the version of a channel, and listed.
    Channel,
    /// Under its own number, and not listed.
    Pinned,
}

/// The URI of a version's `SKILL.md`.
pub fn uri_of(served: &ServedVersion, at: ServedAt) -> Option<SkillUri> {
    let SkillId { namespace, name } = &served.id;
    let version = served.version.to_string();
    let path = match at {
        ServedAt::Channel => SkillPath::new([namespace.as_str()], name.clone()),
        ServedAt::Pinned => SkillPath::new([namespace.as_str(), PINNED, &version], name.clone()),
    };
    Some(SkillUri::new(&Scheme::default(), &path.ok()?))
}

/// Makes the skills of a channel from versions, with what a policy may ask and what the hub signs.
#[derive(Clone)]
pub(crate) struct SkillMaker {
    store: HubStore,
    classes: ChannelClasses,
    signer: DecisionSigner,
    name: String,
}

impl SkillMaker {
    pub(crate) fn new(store: HubStore, classes: ChannelClasses, options: &ServingOptions) -> Self {
        let name = options.config.identity.name.clone();
        Self { store, classes, signer: options.signer.clone(), name }
    }

    pub(crate) fn store(&self) -> &HubStore {
        &self.store
    }

    /// Makes the skill of a version, and notes what is known about it before it is shown.
    pub(crate) fn make(&self, served: &ServedVersion, at: ServedAt) -> Option<Arc<Skill>> {
        let files =
            || -> Arc<dyn FileStore> { Arc::new(StoredFiles::new(self.store.clone(), served)) };
        let (known, skill) = match made_of(served, at, files) {
            Ok(made) => made,
            Err(error) => {
                tracing::error!(%error, "a version cannot be served");
                return None;
            }
        };
        // The skills of a namespace lie beside each other, never inside one.
        self.classes.know(&skill.uri, known, []);
        let mut meta = self.meta(served);
        let skill = skill.with_meta(&meta);
        // The signed decision is as large as some files are, and stands in the entry.
        meta.retain(|name, _| name == PROVENANCE_META);
        Some(Arc::new(skill.with_provenance(&meta)))
    }

    /// What the hub says about a version: where it comes from, and its signed decision.
    fn meta(&self, served: &ServedVersion) -> Map<String, Value> {
        let provenance = provenance_of(served, &self.name);
        let mut meta = Map::new();
        let mut claims = json!(provenance);
        claims["contentId"] = json!(served.content);
        if is_admitted(served.state) {
            claims["decision"] = json!(Verdict::Approve);
        }
        meta.insert(PROVENANCE_META.to_owned(), claims);
        if let Some(decision) = self.sign(served) {
            meta.insert(DECISION_META.to_owned(), decision);
        }
        meta
    }

    fn sign(&self, served: &ServedVersion) -> Option<Value> {
        sign(&self.signer, served, &self.name)
    }
}

/// Signs that a version may be loaded; `None` without a key, or if it may not.
pub fn sign(signer: &DecisionSigner, served: &ServedVersion, hub: &str) -> Option<Value> {
    if !signer.signs() || !is_admitted(served.state) {
        return None;
    }
    let uris = [ServedAt::Channel, ServedAt::Pinned];
    let admitted = Admitted {
        content: served.content,
        skills: uris.into_iter().filter_map(|at| uri_of(served, at)).collect(),
        policy: format!("{} in the hub `{hub}`", served.state.as_str()),
        at: served.published_at,
        until: None,
        provenance: provenance_of(served, hub),
    };
    signer.sign(admitted, std::time::SystemTime::now())
}

fn is_admitted(state: VersionState) -> bool {
    matches!(state, VersionState::Approved | VersionState::Deprecated)
}

fn provenance_of(served: &ServedVersion, hub: &str) -> BTreeMap<String, String> {
    [
        ("origin", hub.to_owned()),
        ("skill", served.id.to_string()),
        ("version", served.version.to_string()),
        ("publisher", served.publisher.to_string()),
        ("publishedAt", served.published_at.to_string()),
    ]
    .into_iter()
    .map(|(word, value)| (word.to_owned(), value))
    .collect()
}

/// What a policy may ask about a version at a moment.
pub fn facts_at(served: &ServedVersion, now: Timestamp) -> SkillFacts {
    // A version whose record cannot be read is not served either.
    known_skill(served, StoredEntry::parse(&served.entry).ok().as_ref()).at(now)
}

/// What a policy may ask about a version; its age follows from when it was published.
fn known_skill(served: &ServedVersion, entry: Option<&StoredEntry>) -> KnownSkill {
    let mut facts = SkillFacts::new(served.id.clone());
    served.state.as_str().clone_into(&mut facts.state);
    facts.has_scripts = served.files.iter().any(|file| names_script(&file.path));
    if let Some(entry) = entry {
        entry.worst_finding().clone_into(&mut facts.worst_finding);
        facts.signed_by.clone_from(&entry.signers);
    }
    KnownSkill { facts, since: served.published_at }
}

/// The record of a stored file; its media type may be known from its content.
pub(crate) fn file_record(file: &VersionFile, media_type: Option<&'static str>) -> FileRecord {
    let media_type = media_type.unwrap_or_else(|| by_name(&file.path));
    FileRecord { path: file.path.clone(), digest: file.digest, size: file.size, media_type }
}

/// Makes the skill that the catalogue serves for a version, and what a policy may ask about it.
fn made_of(
    served: &ServedVersion,
    at: ServedAt,
    store: impl FnOnce() -> Arc<dyn FileStore>,
) -> Result<(KnownSkill, Skill), UnreadableRecord> {
    let unreadable = |problem: String| UnreadableRecord {
        version: format!("{}@{}", served.id, served.version),
        problem,
    };
    let entry = StoredEntry::parse(&served.entry).map_err(|error| unreadable(error.to_string()))?;
    let known = known_skill(served, Some(&entry));
    let frontmatter = Frontmatter::from_fields(entry.frontmatter)
        .map_err(|_| unreadable("its frontmatter is invalid".to_owned()))?;
    let uri = uri_of(served, at).ok_or_else(|| unreadable("it has no URI".to_owned()))?;
    let file = |file: &VersionFile| {
        let stored = entry.types.get(file.path.as_str());
        let known = stored
            .and_then(|stored| BY_CONTENT.into_iter().find(|known| *known == stored.as_str()));
        file_record(file, known)
    };
    let mut files: Vec<FileRecord> = served.files.iter().map(file).collect();
    files.sort_unstable_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
    let tree = FileTree { files: files.into(), empty_directories: Box::default(), store: store() };
    let mut skill = Skill::new(uri, frontmatter, SkillContent::Files(tree));
    skill.listed = at == ServedAt::Channel;
    Ok((known, skill))
}

#[cfg(test)]
mod tests {
    use skillwire_core::skill_file;
    use skillwire_hub_upstreams::ContentFinding;

    use super::*;

    #[derive(Debug)]
    struct Finds(&'static str);

    impl InspectContent for Finds {
        fn inspect(&self, _: &[(RelPath, Bytes)]) -> Option<Vec<ContentFinding>> {
            let severity = self.0.to_owned();
            Some(vec![ContentFinding { code: "a-rule".to_owned(), severity }])
        }

        fn signers(&self, _: &[(RelPath, Bytes)]) -> BTreeSet<String> {
            ["team".to_owned()].into()
        }
    }

    #[test]
    fn an_entry_of_an_earlier_release_is_read_and_says_that_nothing_was_looked_for() {
        // As releases before wrote it.
        let text =
            r#"{"frontmatter":{"description":"Use it.","name":"a"},"types":{"x":"text/plain"}}"#;
        let old = StoredEntry::parse(text).unwrap();
        assert_eq!((old.worst_finding(), old.signers().len()), ("unknown", 0));
        assert_eq!(old.to_text(), text);
    }

    #[test]
    fn an_entry_keeps_what_inspecting_its_files_showed() {
        let text = "---\nname: a\ndescription: Use it.\n---\n";
        let frontmatter = skill_file::check(text.as_bytes()).0.unwrap().frontmatter;
        let files = [(RelPath::skill_file(), Bytes::from(text))];
        let entry = StoredEntry::new(&frontmatter, &files).inspected(&Finds("high"), &files);
        let read = StoredEntry::parse(&entry.to_text()).unwrap();
        assert_eq!(read.worst_finding(), "high");
        assert_eq!(read.signers().iter().collect::<Vec<_>>(), ["team"]);
    }
}
