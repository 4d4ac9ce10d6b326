//! The same server in the dialects that skills were offered in before the extension was released.

use serde_json::{Value, json};
use skillwire_core::digest::Digest;
use skillwire_protocol::{capabilities::SKILLS_EXTENSION, error::ErrorCode, method};

use super::{Fault, HostileServer, Reply};
use crate::archives::{Member, gzip, refunds, tar};

/// A way to offer the skill `refunds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
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
    Scoped,
    /// `skills/get` by name.
    ByName,
    /// `skills/read` by name.
    Page,
    /// Resources with `_manifest`.
    FastMcp,
    /// Resources with collections.
    Skilljack,
    /// `skill://index` with documents.
    OverMcp,
    /// One usage resource.
    Usage,
    /// `SKILL.md` files among the resources, and nothing else.
    Plain,
}

/// Where the skill stands in dialects with paths.
const ROOT: &str = "skill://acme/billing/refunds";

impl HostileServer {
    /// A server that offers the skill `refunds` in an older dialect, honestly.
    pub fn speaking(older: Older) -> Self {
        let declared = json!({ "resources": {}, "extensions": { SKILLS_EXTENSION: {} } });
        let plain = json!({ "resources": {} });
        let [(_, skill_md), ..] = refunds();
        match older {
            Older::Index
            | Older::IndexOfFiles
            | Older::EarlyIndex
            | Older::EarlyIndexWithoutDigests => Self::declaring(declared)
                .without_v1()
                .files_below(ROOT)
                .resource("skill://index.json", index(older).to_string()),
            Older::IndexOfArchives | Older::EarlyIndexOfArchives => Self::declaring(declared)
                .without_v1()
                .resource(&format!("{ROOT}.tar.gz"), archive())
                .resource("skill://index.json", index(older).to_string()),
            Older::Draft => Self::declaring(declared)
                .without_v1()
                .files_below(ROOT)
                .on(method::SKILLS_LIST, |_, _| Reply::Result(index(Older::IndexOfFiles))),
            Older::Scoped => Self::declaring(declared).without_v1().files_below(ROOT).on(
                method::RESOURCES_LIST,
                |asked, _| match asked.uri() {
                    "skill://" => Reply::Result(json!({ "resources": [
                        { "uri": format!("{ROOT}/SKILL.md"), "name": "refunds",
                          "description": "Handle a customer refund by the book." },
                    ] })),
                    _ => Reply::Honest,
                },
            ),
            Older::ByName => Self::declaring(json!({ "resources": {}, "skills": {} }))
                .files_below(ROOT)
                .on(method::SKILLS_LIST, |_, _| Reply::Result(named_list()))
                .on(method::SKILLS_GET, |asked, _| named_skill(&asked.params)),
            Older::Page => Self::declaring(json!({ "skills": { "scripts": false } }))
                .on(method::SKILLS_LIST, |_, _| Reply::Result(named_list()))
                .on("skills/read", |asked, _| page_skill(&asked.params))
                .on("skills/read_reference", |asked, _| page_reference(&asked.params)),
            Older::FastMcp => Self::declaring(plain)
                .files_below("skill://refunds")
                .resource("skill://refunds/_manifest", manifest().to_string()),
            Older::Skilljack => Self::declaring(plain)
                .resource("skill://refunds", skill_md)
                .resource("skill://refunds/", "")
                .fault(Fault::ReadResult {
                    uri: "skill://refunds/".to_owned(),
                    result: json!({ "contents": others("skill://refunds/") }),
                }),
            Older::OverMcp => {
                let server = Self::declaring(plain)
                    .resource("skill://prompt-xml", "<available_skills/>")
                    .resource("skill://index", over_mcp_index().to_string())
                    .resource("skill://refunds", skill_md)
                    .resource("skill://refunds/documents", documents().to_string());
                refunds()[1..].iter().fold(server, |server, (path, text)| {
                    server.resource(&format!("skill://refunds/document/{path}"), *text)
                })
            }
            Older::Usage => Self::declaring(plain)
                .fault(Fault::Instructions("Read the skill://folk/usage resource first.".into()))
                .resource("skill://folk/usage", "# How to use the tools\n"),
            Older::Plain => Self::declaring(plain).files_below("skill://refunds"),
        }
    }

    fn declaring(capabilities: Value) -> Self {
        Self::new().fault(Fault::LegacyOnly).fault(Fault::Capabilities(capabilities))
    }

    /// Knows nothing of the methods of the released extension.
    #[must_use]
    pub fn without_v1(self) -> Self {
        let unknown = || Reply::known_error(ErrorCode::MethodNotFound);
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
        self.shelf().resources.insert(uri.to_owned(), bytes.into());
    }
}

fn archive() -> Vec<u8> {
    gzip(&tar(&refunds().map(|(path, text)| Member::file(path, text))), 6)
}

fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// The frontmatter of the skill that these servers offer, as they list it.
pub fn frontmatter() -> Value {
    json!({
        "name": "refunds",
        "description": "Handle a customer refund by the book. Use when money goes back.",
        "license": "Apache-2.0",
        "metadata": { "version": "2.1.0" },
    })
}

fn index(older: Older) -> Value {
    let uri = format!("{ROOT}/SKILL.md");
    let [(_, skill_md), ..] = refunds();
    let packed = format!("{ROOT}.tar.gz");
    let packed_digest = Digest::of(&archive()).to_string();
    let described = frontmatter()["description"].clone();
    let entry = match older {
        Older::IndexOfFiles => json!({
            "uri": uri,
            "frontmatter": frontmatter(),
            "resources": refunds().map(|(path, text)| {
                json!({ "uri": format!("{ROOT}/{path}"), "digest": digest(text) })
            }),
        }),
        Older::IndexOfArchives => json!({
            "frontmatter": frontmatter(),
            "archives": [{
                "url": packed, "mediaType": "application/gzip", "digest": packed_digest,
            }],
        }),
        Older::EarlyIndexOfArchives => json!({
            "name": "refunds", "type": "archive", "description": described, "url": packed,
            "digest": packed_digest,
        }),
        Older::EarlyIndex => json!({
            "name": "refunds", "type": "skill-md", "description": described, "url": uri,
            "digest": digest(skill_md),
        }),
        Older::EarlyIndexWithoutDigests => json!({
            "name": "refunds", "type": "skill-md", "description": described, "url": uri,
        }),
        _ => json!({ "url": uri, "digest": digest(skill_md), "frontmatter": frontmatter() }),
    };
    json!({ "skills": [entry] })
}

fn named_list() -> Value {
    json!({ "skills": [{ "name": "refunds", "description": "Handle a customer refund." }] })
}

fn body() -> &'static str {
    let [(_, skill_md), ..] = refunds();
    skill_md.rsplit("---\n\n").next().unwrap_or_default()
}

fn named_skill(params: &Value) -> Reply {
    if params["name"] != "refunds" {
        return Reply::known_error(ErrorCode::InvalidParams);
    }
    let files = refunds()[1..]
        .iter()
        .map(|(path, _)| json!({ "name": path, "uri": format!("{ROOT}/{path}") }))
        .collect::<Vec<_>>();
    Reply::Result(json!({
        "description": "Handle a customer refund.", "instructions": body(), "files": files,
    }))
}

fn page_skill(params: &Value) -> Reply {
    if params["name"] != "refunds" {
        return Reply::known_error(ErrorCode::LegacyResourceNotFound);
    }
    let skill = json!({
        "name": "refunds", "description": "Handle a customer refund.", "instructions": body(),
        "scripts": [{ "name": "calc.py", "path": "scripts/calc.py" }],
        "references": [{ "name": "email.md", "path": "examples/email.md" }],
    });
    Reply::Result(json!({ "skill": skill }))
}

fn page_reference(params: &Value) -> Reply {
    let found = refunds().into_iter().find(|(path, _)| params["reference"] == *path);
    let Some((path, text)) = found else {
        return Reply::known_error(ErrorCode::LegacyReferenceNotFound);
    };
    Reply::Result(json!({ "content": { "uri": format!("{ROOT}/{path}"), "text": text } }))
}

fn manifest() -> Value {
    let files = refunds()
        .map(|(path, text)| json!({ "path": path, "size": text.len(), "hash": digest(text) }));
    json!({ "skill": "refunds", "files": files })
}

/// Every file but `SKILL.md`, as the contents of one answer.
fn others(root: &str) -> Vec<Value> {
    let others = refunds();
    let others = others[1..].iter();
    others.map(|(path, text)| json!({ "uri": format!("{root}{path}"), "text": text })).collect()
}

fn over_mcp_index() -> Value {
    json!([{
        "name": "refunds", "description": "Handle a customer refund.", "uri": "skill://refunds",
        "documentsUri": "skill://refunds/documents", "documentCount": 2,
    }])
}

fn documents() -> Value {
    let documents = refunds();
    let documents = documents[1..].iter().map(|(path, text)| {
        json!({
            "path": path, "size": text.len(), "uri": format!("skill://refunds/document/{path}"),
        })
    });
    json!({ "skill": "refunds", "documents": documents.collect::<Vec<_>>() })
}
