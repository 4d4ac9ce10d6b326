//! `skill://index.json`: the documents of two eras, and documents that mix them.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use skillwire_archive::ArchiveFormat;
use skillwire_core::{
    Digest, ResourceUri, SkillUri,
    strict_json::{self, JsonLimits},
};
use skillwire_trust::{FetchRoute, Offer, Origin, Promise, Reason, Refusal, UnreadSkill};

use super::{
    Dialect,
    found::{Found, uri_of_name},
};

/// Where the index is.
pub(super) const INDEX: &str = "skill://index.json";

/// How much of one entry is read.
const ENTRY: JsonLimits = JsonLimits { depth: 24, nodes: 20_000 };

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    skills: Vec<&'a RawValue>,
}

/// What an index lists.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Which of the two eras it is of, if it has entries.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) skills: Vec<Result<UnreadSkill, Refusal>>,
    /// Templates of skills, which are for the user to fill in.
    pub(crate) templates: Vec<String>,
    /// Entries of a type that nobody knows.
    pub(crate) unknown: usize,
}

/// Reads an index; the error says why it is none.
pub(crate) fn read(origin: &Origin, text: &str, most: usize) -> Result<Index, String> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_ascii_start().starts_with('{') {
        return Err("no JSON object".to_owned());
    }
    let document: Document<'_> =
        serde_json::from_str(text).map_err(|_| "no object with a list `skills`".to_owned())?;
    if document.skills.len() > most {
        return Err(format!("{} entries", document.skills.len()));
    }
    let mut index = Index::default();
    for raw in document.skills {
        match entry(origin, raw.get()) {
            Ok(Entry::Skill(dialect, skill)) => {
                // One entry of the later era is enough: the earlier one never had frontmatter.
                index.dialect = index.dialect.min(Some(dialect)).or(Some(dialect));
                index.skills.push(Ok(skill));
            }
            Ok(Entry::Template(template)) => index.templates.push(template),
            Ok(Entry::Unknown) => index.unknown += 1,
            Err(refusal) => index.skills.push(Err(refusal)),
        }
    }
    Ok(index)
}

enum Entry {
    Skill(Dialect, UnreadSkill),
    Template(String),
    Unknown,
}

fn entry(origin: &Origin, text: &str) -> Result<Entry, Refusal> {
    let malformed = |actual: String| {
        Refusal::new(Reason::EntryMalformed)
            .about(origin)
            .expected("an entry of `skill://index.json`")
            .actual(actual)
    };
    let fields = strict_json::object(text, ENTRY).map_err(|error| malformed(error.to_string()))?;
    let text_of = |key: &str| fields.get(key).and_then(Value::as_str);
    let url = text_of("url").or_else(|| text_of("uri"));
    if let Some(Value::Object(frontmatter)) = fields.get("frontmatter") {
        return later(origin, &fields, frontmatter, url)
            .map(|skill| Entry::Skill(Dialect::Index, skill));
    }
    if let Some(template) = text_of("urlTemplate") {
        return Ok(Entry::Template(template.to_owned()));
    }
    let missing = |what: &str| malformed(format!("no `{what}`"));
    match text_of("type") {
        Some("mcp-resource-template") => {
            Ok(Entry::Template(url.ok_or_else(|| missing("url"))?.to_owned()))
        }
        Some(kind @ ("skill-md" | "archive")) => {
            let url = url.ok_or_else(|| missing("url"))?;
            let name = text_of("name").ok_or_else(|| missing("name"))?;
            let digest = digest(origin, fields.get("digest"))?;
            let skill = if kind == "archive" {
                archived(origin, Dialect::EarlyIndex, (url, None), name, &fields, digest, None)?
            } else {
                single(origin, Dialect::EarlyIndex, (url, name), &fields, digest, None)?
            };
            Ok(Entry::Skill(Dialect::EarlyIndex, skill))
        }
        Some(_) => Ok(Entry::Unknown),
        None => Err(malformed("neither `frontmatter` nor `type`".to_owned())),
    }
}

/// An entry with frontmatter.
fn later(
    origin: &Origin,
    fields: &Map<String, Value>,
    frontmatter: &Map<String, Value>,
    url: Option<&str>,
) -> Result<UnreadSkill, Refusal> {
    let name = frontmatter.get("name").and_then(Value::as_str).unwrap_or_default();
    let whole = Some(frontmatter.clone());
    let own = digest(origin, fields.get("digest"))?;
    if let Some(url) = url {
        return match fields.get("resources") {
            Some(Value::Array(files)) => {
                with_files(origin, Dialect::Index, (url, name), files, whole)
            }
            _ => single(origin, Dialect::Index, (url, name), fields, own, whole),
        };
    }
    let archives = fields.get("archives").and_then(Value::as_array);
    let mut usable = archives.into_iter().flatten().filter_map(|archive| {
        let url = archive.get("url").or_else(|| archive.get("uri"))?.as_str()?;
        let kind = archive.get("mimeType").or_else(|| archive.get("mediaType"));
        let format = kind.and_then(Value::as_str).and_then(ArchiveFormat::of_media_type);
        (format.is_some() || ArchiveFormat::of_name(url).is_some())
            .then_some((url, format, archive))
    });
    let (url, format, archive) = usable.next().ok_or_else(|| {
        Refusal::new(Reason::EntryMalformed)
            .about(origin)
            .file(name.escape_debug())
            .expected("`url`, or `archives` with a `.tar.gz` or `.zip`")
            .actual("neither")
    })?;
    let promised = digest(origin, archive.get("digest"))?;
    archived(origin, Dialect::Index, (url, format), name, fields, promised, whole)
}

/// An entry for a `SKILL.md` that may have files beside it.
fn single(
    origin: &Origin,
    dialect: Dialect,
    (url, name): (&str, &str),
    fields: &Map<String, Value>,
    digest: Option<Digest>,
    frontmatter: Option<Map<String, Value>>,
) -> Result<UnreadSkill, Refusal> {
    let description = fields.get("description").and_then(Value::as_str);
    let mut offer = Offer::new(dialect, FetchRoute::Live);
    if let Ok(uri) = SkillUri::parse(url) {
        offer = offer.promising(uri.file(), Promise { digest, size: None });
    }
    Found { uri: url, name, description, frontmatter }.listed(origin, offer)
}

/// An entry that names every file with its digest, but no sizes.
pub(super) fn with_files(
    origin: &Origin,
    dialect: Dialect,
    (url, name): (&str, &str),
    files: &[Value],
    frontmatter: Option<Map<String, Value>>,
) -> Result<UnreadSkill, Refusal> {
    let mut offer = Offer { complete: true, ..Offer::new(dialect, FetchRoute::Live) };
    let skill = SkillUri::parse(url);
    for file in files {
        let text = file.get("uri").or_else(|| file.get("url")).and_then(Value::as_str);
        let text = text.unwrap_or_default();
        let uri: Option<ResourceUri> = skill.as_ref().ok().and_then(|skill| skill.resource(text));
        let uri = uri.ok_or_else(|| {
            Refusal::new(Reason::ResourceOutside).about(origin).file(text.escape_debug())
        })?;
        let digest = digest(origin, file.get("digest"))?;
        let size = file.get("size").and_then(Value::as_u64);
        let twice = offer.promises.insert(uri.clone(), Promise { digest, size }).is_some();
        if twice {
            return Err(Refusal::new(Reason::ResourceDuplicate).about(origin).file(uri));
        }
    }
    if let Ok(skill) = &skill
        && !offer.promises.contains_key(skill.file())
    {
        return Err(Refusal::new(Reason::SkillFileNotListed).about(origin).file(skill));
    }
    Found { uri: url, name, description: None, frontmatter }.listed(origin, offer)
}

/// An entry for an archive; where its name says so, the skill stands beside it.
fn archived(
    origin: &Origin,
    dialect: Dialect,
    (url, format): (&str, Option<ArchiveFormat>),
    name: &str,
    fields: &Map<String, Value>,
    digest: Option<Digest>,
    frontmatter: Option<Map<String, Value>>,
) -> Result<UnreadSkill, Refusal> {
    let description = fields.get("description").and_then(Value::as_str);
    let stem = [".tar.gz", ".tgz", ".zip"].iter().find_map(|ending| url.strip_suffix(ending));
    let beside = stem.filter(|stem| stem.rsplit('/').next() == Some(name));
    // Where the address of the archive means nothing, the skill is known by the archive.
    let apart = || format!("archive-{}/{name}", &Digest::of(url.as_bytes()).to_string()[7..15]);
    let uri = beside.map_or_else(|| uri_of_name(&apart()), |stem| format!("{stem}/SKILL.md"));
    let route = FetchRoute::Archive { url: url.to_owned(), format, digest };
    let first_seen = digest.is_none();
    let offer = Offer { complete: true, first_seen, ..Offer::new(dialect, route) };
    Found { uri: &uri, name, description, frontmatter }.listed(origin, offer)
}

/// Reads a digest that need not be there, but must be one if it is.
fn digest(origin: &Origin, value: Option<&Value>) -> Result<Option<Digest>, Refusal> {
    match value {
        None => Ok(None),
        Some(value) => {
            let parsed = value.as_str().and_then(|text| text.parse().ok());
            let invalid = || {
                Refusal::new(Reason::DigestInvalid)
                    .about(origin)
                    .expected("`sha256:` and 64 lower-case hexadecimal digits")
                    .actual(skillwire_protocol::truncated(&value.to_string()))
            };
            parsed.map(Some).ok_or_else(invalid)
        }
    }
}
