//! D2 and D3: `skill://index.json`, the document that listed skills before there was a method for
//! it.
//!
//! The format had two eras. Entries of the earlier one (D3) have a `type`, entries of the later one
//! (D2) have the whole frontmatter; no member means different things in the two. A server therefore
//! writes one document for both, and the reader takes each entry by itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use skillwire_archive::ArchiveFormat;
use skillwire_core::{
    Digest, SkillUri,
    received::EntryProblem,
    strict_json::{self, JsonLimits},
};

use crate::{
    Dialect, FetchRoute, FilePromise, InvalidDocument, OfferedSkill, RefusedEntry, SkillOffer,
    offer::{Claim, read_digest, uri_of_name},
    resource::DocumentResource,
};

/// The URI of the document, whatever scheme the skills have.
pub const URI: &str = "skill://index.json";

/// The value of `$schema` that readers of D3 and of the web's last form (D11) look for.
pub const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The media type of the document.
pub const MEDIA_TYPE: &str = "application/json";

/// The most entries that a reader accepts.
pub const MAX_ENTRIES: usize = 5_000;

/// Limits on how much of one entry is read.
const ENTRY: JsonLimits = JsonLimits::new(24, 20_000);

/// The document as a resource: less important than a skill, more than a file.
pub const RESOURCE: DocumentResource = DocumentResource::new(
    URI,
    "index.json",
    "Every skill of this server, with digests.",
    MEDIA_TYPE,
)
.priority(0.5);

// Writing.

/// The document as a server writes it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct IndexDocument<'a> {
    /// [`SCHEMA`], where readers of D3 are served.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<&'static str>,
    /// The entries.
    pub skills: Vec<IndexEntry<'a>>,
}

impl IndexDocument<'_> {
    /// Writes the document.
    pub fn write(&self) -> Vec<u8> {
        // These types hold nothing that JSON cannot express.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// One entry as a server writes it: of either era, or of both at once.
#[derive(Debug, Clone, Default, Serialize)]
pub struct IndexEntry<'a> {
    /// The name (D3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    /// What `url` leads to (D3).
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The description (D3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Cow<'a, str>>,
    /// Where `SKILL.md`, the archive or the template is; it comes with `digest` or not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Cow<'a, str>>,
    /// The digest of what is at `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The whole frontmatter, as JSON (D2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontmatter: Option<&'a RawValue>,
    /// The skill as archives (D2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<IndexArchive>,
    /// The URI of `SKILL.md` (the last form of D2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<&'a str>,
    /// Every file, as JSON (the last form of D2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<&'a RawValue>,
}

/// The type of an entry whose `url` is a `SKILL.md`.
pub const SKILL_MD: &str = "skill-md";

/// The type of an entry whose `url` is an archive.
pub const ARCHIVE: &str = "archive";

/// The type of an entry whose `url` is a template.
pub const TEMPLATE: &str = "mcp-resource-template";

impl<'a> IndexEntry<'a> {
    /// Creates an entry that leads to skills whose URIs a client fills in.
    pub fn template(description: &'a str, url: impl Into<Cow<'a, str>>) -> Self {
        Self {
            kind: Some(TEMPLATE),
            description: Some(description.into()),
            url: Some(url.into()),
            ..Self::default()
        }
    }
}

/// An archive of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexArchive {
    /// The address of the archive.
    pub url: String,
    /// Its media type.
    #[serde(rename = "mimeType")]
    pub media_type: &'static str,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The number of its bytes.
    pub size: u64,
}

/// Returns the URI of the archive of a skill, beside the skill's folder.
pub fn archive_uri(skill: &SkillUri, format: ArchiveFormat) -> String {
    format!("{}{}", skill.root(), format.suffix())
}

/// Makes an entry of D2 from a skill that another document described. Fails with what that document
/// did not say.
pub(crate) fn later_entry(skill: &OfferedSkill) -> Result<Value, &'static str> {
    let digest = skill.skill_file_digest().ok_or("the digest of `SKILL.md`")?;
    let frontmatter = skill.whole_frontmatter().ok_or("the whole frontmatter")?;
    Ok(json!({ "url": skill.uri, "digest": digest, "frontmatter": frontmatter }))
}

/// Makes an entry of D3 from a skill that another document described. Fails with what that document
/// did not say.
pub(crate) fn earlier_entry(skill: &OfferedSkill) -> Result<Value, &'static str> {
    let entry = IndexEntry {
        name: Some(skill.frontmatter.name().as_str().into()),
        kind: Some(SKILL_MD),
        description: Some(skill.description().ok_or("the description")?.into()),
        url: Some(skill.uri.as_str().into()),
        digest: skill.skill_file_digest(),
        ..IndexEntry::default()
    };
    Ok(json!(entry))
}

// Reading.

/// The contents of an index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OfferedIndex {
    /// The era of the document, if it has entries: D2 if any entry has frontmatter.
    pub dialect: Option<Dialect>,
    /// Each skill, or why its entry cannot be used.
    pub skills: Vec<Result<OfferedSkill, RefusedEntry>>,
    /// Templates of skills, for the user to fill in.
    pub templates: Vec<String>,
    /// The number of entries whose `type` is unknown.
    pub unknown: usize,
}

#[derive(Deserialize)]
struct RawIndex<'a> {
    #[serde(borrow)]
    skills: Vec<&'a RawValue>,
}

/// Reads an index.
pub fn read(text: &str) -> Result<OfferedIndex, InvalidDocument> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_ascii_start().starts_with('{') {
        return Err("no JSON object".into());
    }
    let document: RawIndex<'_> =
        serde_json::from_str(text).map_err(|_| "no object with a list `skills`")?;
    if document.skills.len() > MAX_ENTRIES {
        return Err(InvalidDocument::new(format!("{} entries", document.skills.len())));
    }
    let mut index = OfferedIndex::default();
    for raw in document.skills {
        match read_entry(raw.get()) {
            Ok(EntryForm::Skill(skill)) => {
                let dialect = Some(skill.offer.dialect);
                // One entry of the later era is enough: the earlier one never had frontmatter.
                index.dialect = index.dialect.min(dialect).or(dialect);
                index.skills.push(Ok(*skill));
            }
            Ok(EntryForm::Template(template)) => index.templates.push(template),
            Ok(EntryForm::Unknown) => index.unknown += 1,
            Err(refused) => index.skills.push(Err(refused)),
        }
    }
    Ok(index)
}

enum EntryForm {
    Skill(Box<OfferedSkill>),
    Template(String),
    Unknown,
}

fn malformed(actual: impl Into<String>) -> RefusedEntry {
    RefusedEntry::new(EntryProblem::Malformed)
        .expected("an entry of `skill://index.json`")
        .actual(actual)
}

fn read_entry(text: &str) -> Result<EntryForm, RefusedEntry> {
    let fields = strict_json::object(text, ENTRY).map_err(|error| malformed(error.to_string()))?;
    let text_of = |key: &str| fields.get(key).and_then(Value::as_str);
    let url = text_of("url").or_else(|| text_of("uri"));
    if let Some(Value::Object(frontmatter)) = fields.get("frontmatter") {
        return read_later(&fields, frontmatter, url).map(|skill| EntryForm::Skill(skill.into()));
    }
    if let Some(template) = text_of("urlTemplate") {
        return Ok(EntryForm::Template(template.to_owned()));
    }
    let missing = |what: &str| malformed(format!("no `{what}`"));
    match text_of("type") {
        Some(TEMPLATE) => Ok(EntryForm::Template(url.ok_or_else(|| missing("url"))?.to_owned())),
        Some(kind @ (SKILL_MD | ARCHIVE)) => {
            let entry = ReadEntry {
                dialect: Dialect::EarlyIndex,
                url: url.ok_or_else(|| missing("url"))?,
                name: text_of("name").ok_or_else(|| missing("name"))?,
                description: text_of("description"),
                digest: read_digest(fields.get("digest"))?,
                frontmatter: None,
            };
            let skill = if kind == ARCHIVE { entry.archived(None) } else { entry.single() };
            Ok(EntryForm::Skill(skill?.into()))
        }
        Some(_) => Ok(EntryForm::Unknown),
        None => Err(malformed("neither `frontmatter` nor `type`")),
    }
}

/// Reads an entry with frontmatter.
fn read_later(
    fields: &Map<String, Value>,
    frontmatter: &Map<String, Value>,
    url: Option<&str>,
) -> Result<OfferedSkill, RefusedEntry> {
    let name = frontmatter.get("name").and_then(Value::as_str).unwrap_or_default();
    let own = read_digest(fields.get("digest"))?;
    let entry = |url, digest| ReadEntry {
        dialect: Dialect::Index,
        url,
        name,
        description: fields.get("description").and_then(Value::as_str),
        digest,
        frontmatter: Some(frontmatter.clone()),
    };
    if let Some(url) = url {
        return match fields.get("resources") {
            Some(Value::Array(files)) => with_files(Dialect::Index, url, files, frontmatter),
            _ => entry(url, own).single(),
        };
    }
    let archives = fields.get("archives").and_then(Value::as_array);
    let mut usable = archives.into_iter().flatten().filter_map(|archive| {
        let url = archive.get("url").or_else(|| archive.get("uri"))?.as_str()?;
        // One revision's notes spell it `mediaType`.
        let kind = archive.get("mimeType").or_else(|| archive.get("mediaType"));
        let format = kind.and_then(Value::as_str).and_then(ArchiveFormat::of_media_type);
        (format.is_some() || ArchiveFormat::of_name(url).is_some())
            .then_some((url, format, archive))
    });
    let (url, format, archive) = usable.next().ok_or_else(|| {
        RefusedEntry::new(EntryProblem::Malformed)
            .file(name.escape_debug())
            .expected("`url`, or `archives` with a `.tar.gz` or `.zip`")
            .actual("neither")
    })?;
    entry(url, read_digest(archive.get("digest"))?).archived(format)
}

/// An entry as it was read.
struct ReadEntry<'a> {
    dialect: Dialect,
    url: &'a str,
    name: &'a str,
    description: Option<&'a str>,
    digest: Option<Digest>,
    frontmatter: Option<Map<String, Value>>,
}

impl ReadEntry<'_> {
    /// A `SKILL.md` that may have files beside it.
    fn single(self) -> Result<OfferedSkill, RefusedEntry> {
        let mut offer = SkillOffer::new(self.dialect, FetchRoute::Resources);
        if let Ok(uri) = SkillUri::parse(self.url) {
            let promise = FilePromise { digest: self.digest, size: None };
            offer = offer.promising(uri.file(), promise);
        }
        let Self { url: uri, name, description, frontmatter, .. } = self;
        Claim { uri, name, description, frontmatter }.offered(offer)
    }

    /// An archive; where its name says so, the skill stands beside it.
    fn archived(self, format: Option<ArchiveFormat>) -> Result<OfferedSkill, RefusedEntry> {
        let Self { dialect, url, name, description, digest, frontmatter } = self;
        let stem = [".tar.gz", ".tgz", ".zip"].iter().find_map(|ending| url.strip_suffix(ending));
        let beside = stem.filter(|stem| stem.rsplit('/').next() == Some(name));
        // Where the address of the archive means nothing, the skill is known by the archive: two
        // skills of one name must not share a URI.
        let apart = || format!("archive-{}/{name}", &Digest::of(url.as_bytes()).to_string()[7..15]);
        let uri = beside.map_or_else(|| uri_of_name(&apart()), |stem| format!("{stem}/SKILL.md"));
        let route = FetchRoute::Archive { url: url.to_owned(), format, digest };
        let first_seen = digest.is_none();
        let offer = SkillOffer { complete: true, first_seen, ..SkillOffer::new(dialect, route) };
        Claim { uri: &uri, name, description, frontmatter }.offered(offer)
    }
}

/// Reads an entry that names every file with its digest and has no sizes, as the last form of D2
/// and the drafts of the extension have it.
pub(crate) fn with_files(
    dialect: Dialect,
    url: &str,
    files: &[Value],
    frontmatter: &Map<String, Value>,
) -> Result<OfferedSkill, RefusedEntry> {
    let offer = SkillOffer::new(dialect, FetchRoute::Resources);
    let mut offer = SkillOffer { complete: true, ..offer };
    let skill = SkillUri::parse(url).ok();
    for file in files {
        let text = file.get("uri").or_else(|| file.get("url")).and_then(Value::as_str);
        let text = text.unwrap_or_default();
        let uri = skill.as_ref().and_then(|skill| skill.resource(text));
        let uri =
            uri.ok_or_else(|| RefusedEntry::new(EntryProblem::Outside).file(text.escape_debug()))?;
        let digest = read_digest(file.get("digest"))?;
        let size = file.get("size").and_then(Value::as_u64);
        let twice = offer.promises.insert(uri.clone(), FilePromise { digest, size }).is_some();
        if twice {
            return Err(RefusedEntry::new(EntryProblem::Duplicate).file(uri));
        }
    }
    if let Some(skill) = skill.filter(|skill| !offer.promises.contains_key(skill.file())) {
        return Err(RefusedEntry::new(EntryProblem::SkillFileNotListed).file(skill));
    }
    let name = frontmatter.get("name").and_then(Value::as_str).unwrap_or_default();
    let frontmatter = Some(frontmatter.clone());
    Claim { uri: url, name, description: None, frontmatter }.offered(offer)
}

#[cfg(test)]
mod tests;
