//! The server in the dialects that offered skills before the extension was released.

use serde_json::{Map, Value, json, value::RawValue};
use skillwire_core::{Digest, RelPath};
use skillwire_dialects::{
    ArchiveFormat, fastmcp,
    index::{self, IndexDocument, IndexEntry},
    scoped_list,
    sep_2076::{NamePage, NamedSkill, SkillAnswer, SkillFile},
    skilljack,
    skills_over_mcp::{self, IndexItem, SkillDocument},
    skills_page::{self, PageFileKind, PageFiles, PageSkill},
};
use skillwire_protocol::{ErrorCode, SKILLS_EXTENSION, method};

use super::{Fault, HostileServer, ScriptedReply};
use crate::archives::{TarMember, gzip, refunds, tar};

/// An older way to offer the skill `refunds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OlderDialect {
    /// `skills/list` before the release: files with digests and without sizes, no `skills/get`.
    Draft,
    /// `skill://index.json` with frontmatter and the digest of `SKILL.md`.
    Index,
    /// The same with the digest of every file.
    IndexOfFiles,
    /// The same with nothing but an archive.
    IndexOfArchives,
    /// `skill://index.json` with types.
    EarlyIndex,
    /// The same without a digest.
    EarlyIndexWithoutDigests,
    /// The same with an archive.
    EarlyIndexOfArchives,
    /// `resources/list` for a scope.
    ScopedList,
    /// `skills/get` by name.
    Sep2076,
    /// `skills/read` by name.
    SkillsPage,
    /// Resources with `_manifest`.
    FastMcp,
    /// Resources with collections.
    Skilljack,
    /// `skill://index` with documents.
    SkillsOverMcp,
    /// One usage resource.
    Usage,
    /// `SKILL.md` files among the resources, and nothing else.
    PlainResources,
}

/// The root of the skill in dialects with paths.
const ROOT: &str = "skill://acme/billing/refunds";

impl HostileServer {
    /// A server that offers the skill `refunds` in an older dialect, honestly.
    pub fn with_dialect(older: OlderDialect) -> Self {
        let declared = json!({ "resources": {}, "extensions": { SKILLS_EXTENSION: {} } });
        let plain = json!({ "resources": {} });
        let [(_, skill_md), ..] = refunds();
        match older {
            OlderDialect::Index
            | OlderDialect::IndexOfFiles
            | OlderDialect::EarlyIndex
            | OlderDialect::EarlyIndexWithoutDigests => Self::declaring(declared)
                .without_v1()
                .files_below(ROOT)
                .resource(index::URI, index(older).to_string()),
            OlderDialect::IndexOfArchives | OlderDialect::EarlyIndexOfArchives => {
                Self::declaring(declared)
                    .without_v1()
                    .resource(&format!("{ROOT}.tar.gz"), archive())
                    .resource(index::URI, index(older).to_string())
            }
            OlderDialect::Draft => Self::declaring(declared)
                .without_v1()
                .files_below(ROOT)
                .on(method::SKILLS_LIST, |_, _| {
                    ScriptedReply::Result(index(OlderDialect::IndexOfFiles))
                }),
            OlderDialect::ScopedList => Self::declaring(declared)
                .without_v1()
                .files_below(ROOT)
                .on(method::RESOURCES_LIST, |request, _| match request.uri() {
                    scoped_list::SCOPE => ScriptedReply::Result(json!({ "resources": [
                        { "uri": format!("{ROOT}/SKILL.md"), "name": "refunds",
                          "description": "Handle a customer refund by the book." },
                    ] })),
                    _ => ScriptedReply::Honest,
                }),
            OlderDialect::Sep2076 => Self::declaring(json!({ "resources": {}, "skills": {} }))
                .files_below(ROOT)
                .on(method::SKILLS_LIST, |_, _| ScriptedReply::Result(named_list()))
                .on(method::SKILLS_GET, |request, _| named_skill(&request.params)),
            OlderDialect::SkillsPage => Self::declaring(json!({ "skills": { "scripts": false } }))
                .on(method::SKILLS_LIST, |_, _| ScriptedReply::Result(named_list()))
                .on(skills_page::READ, |request, _| page_skill(&request.params))
                .on(skills_page::READ_REFERENCE, |request, _| page_reference(&request.params)),
            OlderDialect::FastMcp => Self::declaring(plain)
                .files_below("skill://refunds")
                .resource("skill://refunds/_manifest", manifest()),
            OlderDialect::Skilljack => Self::declaring(plain)
                .resource(&skilljack::uri("refunds"), skill_md)
                .resource(&skilljack::collection_uri("refunds"), "")
                .fault(Fault::ReadResult {
                    uri: skilljack::collection_uri("refunds"),
                    result: json!({ "contents": others("skill://refunds/") }),
                }),
            OlderDialect::SkillsOverMcp => {
                let server = Self::declaring(plain)
                    .resource(skills_over_mcp::PROMPT_XML, "<available_skills/>")
                    .resource(skills_over_mcp::INDEX, over_mcp_index().to_string())
                    .resource("skill://refunds", skill_md)
                    .resource("skill://refunds/documents", documents());
                refunds()[1..].iter().fold(server, |server, (path, text)| {
                    server.resource(&format!("skill://refunds/document/{path}"), *text)
                })
            }
            OlderDialect::Usage => Self::declaring(plain)
                .fault(Fault::Instructions("Read the skill://folk/usage resource first.".into()))
                .resource("skill://folk/usage", "# How to use the tools\n"),
            OlderDialect::PlainResources => Self::declaring(plain).files_below("skill://refunds"),
        }
    }

    fn declaring(capabilities: Value) -> Self {
        Self::new().fault(Fault::LegacyOnly).fault(Fault::Capabilities(capabilities))
    }

    /// Removes the methods of the released extension.
    #[must_use]
    pub fn without_v1(self) -> Self {
        let unknown = || ScriptedReply::known_error(ErrorCode::MethodNotFound);
        self.on(method::SKILLS_LIST, move |_, _| unknown())
            .on(method::SKILLS_GET, move |_, _| unknown())
    }

    fn files_below(self, root: &str) -> Self {
        refunds()
            .into_iter()
            .fold(self, |server, (path, text)| server.resource(&format!("{root}/{path}"), text))
    }

    /// Replaces a resource that belongs to no skill, or adds it, while the server runs.
    pub fn set_resource(&self, uri: &str, bytes: impl Into<Vec<u8>>) {
        self.content().resources.insert(uri.to_owned(), bytes.into());
    }
}

fn archive() -> Vec<u8> {
    gzip(&tar(&refunds().map(|(path, text)| TarMember::file(path, text))), 6)
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// The frontmatter of the skill that these servers offer, as they list it.
pub fn refunds_frontmatter() -> Value {
    json!({
        "name": "refunds",
        "description": "Handle a customer refund by the book. Use when money goes back.",
        "license": "Apache-2.0",
        "metadata": { "version": "2.1.0" },
    })
}

fn raw(value: &Value) -> Box<RawValue> {
    // Values are JSON already.
    serde_json::value::to_raw_value(value).unwrap_or_default()
}

fn paths() -> [RelPath; 3] {
    refunds().map(|(path, _)| RelPath::parse(path).unwrap_or_else(|_| RelPath::skill_file()))
}

fn index(older: OlderDialect) -> Value {
    let uri = format!("{ROOT}/SKILL.md");
    let [(_, skill_md), ..] = refunds();
    let packed = format!("{ROOT}{}", ArchiveFormat::TarGz.suffix());
    let packed_digest = Digest::of(&archive());
    let frontmatter = refunds_frontmatter();
    let described = frontmatter["description"].as_str();
    let whole = raw(&frontmatter);
    let files = raw(&json!(refunds().map(|(path, text)| {
        json!({ "uri": format!("{ROOT}/{path}"), "digest": digest(text) })
    })));
    let early = IndexEntry {
        name: Some("refunds".into()),
        kind: Some(index::SKILL_MD),
        description: described.map(Into::into),
        url: Some((&uri).into()),
        ..IndexEntry::default()
    };
    let entry = match older {
        OlderDialect::IndexOfFiles => IndexEntry {
            uri: Some(&uri),
            frontmatter: Some(&whole),
            resources: Some(&files),
            ..IndexEntry::default()
        },
        // The notes of the working group spell it `mediaType`, so readers accept that as well.
        OlderDialect::IndexOfArchives => {
            let media_type = ArchiveFormat::TarGz.media_type();
            let archive =
                json!({ "url": packed, "mediaType": media_type, "digest": packed_digest });
            return json!({ "skills": [{ "frontmatter": frontmatter, "archives": [archive] }] });
        }
        OlderDialect::EarlyIndexOfArchives => IndexEntry {
            kind: Some(index::ARCHIVE),
            url: Some(packed.into()),
            digest: Some(packed_digest),
            ..early
        },
        OlderDialect::EarlyIndex => IndexEntry { digest: Some(digest(skill_md)), ..early },
        OlderDialect::EarlyIndexWithoutDigests => early,
        _ => IndexEntry {
            url: Some((&uri).into()),
            digest: Some(digest(skill_md)),
            frontmatter: Some(&whole),
            ..IndexEntry::default()
        },
    };
    json!(IndexDocument { schema: None, skills: vec![entry] })
}

fn named_list() -> Value {
    let skills = vec![NamedSkill::new("refunds", Some("Handle a customer refund."))];
    NamePage { skills, next: None }.write()
}

fn body() -> &'static str {
    let [(_, skill_md), ..] = refunds();
    skill_md.rsplit("---\n\n").next().unwrap_or_default()
}

fn named_skill(params: &Value) -> ScriptedReply {
    if params["name"] != "refunds" {
        return ScriptedReply::known_error(ErrorCode::InvalidParams);
    }
    let file = |(path, _): &(&str, &str)| SkillFile {
        name: (*path).to_owned(),
        title: None,
        description: None,
        uri: format!("{ROOT}/{path}"),
        media_type: None,
        required: false,
    };
    ScriptedReply::Result(json!(SkillAnswer {
        description: Some("Handle a customer refund.".into()),
        instructions: body().into(),
        dependencies: None,
        files: refunds()[1..].iter().map(file).collect(),
    }))
}

fn page_skill(params: &Value) -> ScriptedReply {
    if params["name"] != "refunds" {
        return ScriptedReply::known_error(ErrorCode::LegacyResourceNotFound);
    }
    let files = PageFiles::new("refunds", body(), paths());
    let skill = PageSkill {
        name: "refunds".into(),
        description: Some("Handle a customer refund.".into()),
        instructions: body().into(),
        scripts: files.of_kind(PageFileKind::Script),
        references: files.of_kind(PageFileKind::Reference),
        assets: files.of_kind(PageFileKind::Asset),
        metadata: Map::new(),
        annotations: json!({}),
    };
    ScriptedReply::Result(json!({ "skill": skill }))
}

fn page_reference(params: &Value) -> ScriptedReply {
    let found = refunds().into_iter().find(|(path, _)| params["reference"] == *path);
    let Some((path, text)) = found else {
        return ScriptedReply::known_error(ErrorCode::LegacyReferenceNotFound);
    };
    ScriptedReply::Result(json!({ "content": { "uri": format!("{ROOT}/{path}"), "text": text } }))
}

fn manifest() -> Vec<u8> {
    let paths = paths();
    let files = paths.iter().zip(refunds()).map(|(path, (_, text))| fastmcp::ManifestFile {
        path: std::borrow::Cow::Borrowed(path),
        size: Some(text.len() as u64),
        hash: Some(digest(text)),
    });
    fastmcp::ManifestDocument { skill: Some("refunds".into()), files: files.collect() }.write()
}

/// Every file but `SKILL.md`, as the contents of one answer.
fn others(root: &str) -> Vec<Value> {
    let others = refunds();
    let others = others[1..].iter();
    others.map(|(path, text)| json!({ "uri": format!("{root}{path}"), "text": text })).collect()
}

fn over_mcp_index() -> Value {
    json!([IndexItem::new("refunds", "Handle a customer refund.", 2, None)])
}

fn documents() -> Vec<u8> {
    let paths = paths();
    let documents: Vec<_> = paths[1..]
        .iter()
        .zip(&refunds()[1..])
        .map(|(path, (_, text))| SkillDocument {
            path,
            media_type: "text/plain",
            size: text.len() as u64,
        })
        .collect();
    skills_over_mcp::write_documents("refunds", &documents)
}
