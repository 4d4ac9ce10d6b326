//! D9, skills-over-mcp: `skill://index` lists skills, and the other files of a skill are documents.

use std::{borrow::Cow, fmt::Write as _};

use serde::Serialize;
use serde_json::Value;
use skillwire_core::{
    RelPath, SkillUri,
    strict_json::{self, JsonLimits},
};

use crate::{
    AliasResource, Dialect, FetchRoute, FilePromise, InvalidDocument, OfferedSkill, RefusedEntry,
    SkillOffer,
    offer::{Claim, uri_of_name},
    resource::DocumentResource,
    skilljack,
    xml::xml_text,
};

/// The list of skills.
pub const INDEX: &str = "skill://index";

/// The list of skills for a system prompt; only this dialect has it.
pub const PROMPT_XML: &str = "skill://prompt-xml";

/// The media type of both lists of JSON.
pub const MEDIA_TYPE: &str = "application/json";

/// The media type of the list for a prompt.
pub const XML_MEDIA_TYPE: &str = "application/xml";

/// The most entries that a reader accepts.
pub const MAX_ENTRIES: usize = 5_000;

/// Both lists as resources.
pub const RESOURCES: [DocumentResource; 2] = [
    DocumentResource::new(INDEX, "index", "Every skill of this server.", MEDIA_TYPE),
    DocumentResource::new(PROMPT_XML, "prompt-xml", "Every skill, for a prompt.", XML_MEDIA_TYPE),
];

/// Returns the URI of the list of a skill's documents.
pub fn documents_uri(name: &str) -> String {
    format!("{}/documents", skilljack::uri(name))
}

/// Returns the URI of a document of a skill.
pub fn document_uri(name: &str, path: &RelPath) -> String {
    skilljack::file_uri(&format!("{}/document", skilljack::uri(name)), path)
}

// The list of skills.

/// A skill in `skill://index`.
#[derive(Debug, Clone, Serialize)]
pub struct IndexItem<'a> {
    name: &'a str,
    description: Cow<'a, str>,
    uri: String,
    #[serde(rename = "documentCount")]
    document_count: usize,
    #[serde(rename = "documentsUri", skip_serializing_if = "Option::is_none")]
    documents_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

impl<'a> IndexItem<'a> {
    /// Creates the entry of a skill, with the number of its files besides `SKILL.md`.
    pub fn new(
        name: &'a str,
        description: impl Into<Cow<'a, str>>,
        documents: usize,
        metadata: Option<Value>,
    ) -> Self {
        Self {
            name,
            description: description.into(),
            uri: skilljack::uri(name),
            document_count: documents,
            documents_uri: (documents > 0).then(|| documents_uri(name)),
            metadata,
        }
    }
}

/// Reads the list: a bare array, or the object that some servers put there.
pub fn read_index(text: &str) -> Result<Vec<Result<OfferedSkill, RefusedEntry>>, InvalidDocument> {
    let limits = JsonLimits::new(24, 40 * MAX_ENTRIES);
    // The strict reader takes objects, so a list is read as the one member of an object.
    let is_list = text.trim_ascii_start().starts_with('[');
    let wrapped: Cow<'_, str> =
        if is_list { format!("{{\"skills\":{text}}}").into() } else { text.into() };
    let document = strict_json::object(&wrapped, limits)?;
    let skills = document.get("skills").and_then(Value::as_array).ok_or("no list of skills")?;
    if skills.len() > MAX_ENTRIES {
        return Err(InvalidDocument::new(format!("{} entries", skills.len())));
    }
    Ok(skills.iter().map(offered).collect())
}

fn offered(entry: &Value) -> Result<OfferedSkill, RefusedEntry> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let address = text("uri").unwrap_or_default();
    let name = text("name").or_else(|| skilljack::bare_name(address)).unwrap_or_default();
    let list = text("documentsUri").map_or_else(|| format!("{address}/documents"), str::to_owned);
    let route = FetchRoute::Documents { skill_file: address.to_owned(), list };
    let claim = Claim {
        uri: &uri_of_name(name),
        name,
        description: text("description"),
        frontmatter: None,
    };
    claim.offered(SkillOffer::new(Dialect::SkillsOverMcp, route))
}

/// Writes the list of skills for a prompt, from names and descriptions.
pub fn prompt_xml<'a>(skills: impl IntoIterator<Item = (&'a str, Cow<'a, str>)>) -> String {
    let mut text = String::from("<available_skills>\n");
    for (name, description) in skills {
        let description = xml_text(&description);
        let uri = skilljack::uri(name);
        let _ = write!(
            text,
            "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
             <uri>{uri}</uri>\n  </skill>\n",
        );
    }
    text.push_str("</available_skills>\n");
    text
}

// The documents of one skill.

/// A file of a skill besides `SKILL.md`.
#[derive(Debug, Clone, Copy)]
pub struct SkillDocument<'a> {
    /// Its path in the skill.
    pub path: &'a RelPath,
    /// Its media type.
    pub media_type: &'a str,
    /// The number of its bytes.
    pub size: u64,
}

/// Writes the list of a skill's documents, with line breaks.
pub fn write_documents(name: &str, documents: &[SkillDocument<'_>]) -> Vec<u8> {
    #[derive(Serialize)]
    struct ListResult<'a> {
        skill: &'a str,
        documents: Vec<ListedItem<'a>>,
    }
    #[derive(Serialize)]
    struct ListedItem<'a> {
        path: &'a str,
        #[serde(rename = "mimeType")]
        media_type: &'a str,
        size: u64,
        uri: String,
    }
    let items = documents.iter().map(|document| ListedItem {
        path: document.path.as_str(),
        media_type: document.media_type,
        size: document.size,
        uri: document_uri(name, document.path),
    });
    let list = ListResult { skill: name, documents: items.collect() };
    // These types hold nothing that JSON cannot express.
    serde_json::to_vec_pretty(&list).unwrap_or_default()
}

/// Returns a skill's list of documents as a resource.
pub fn documents_resource<'a>(skill: &SkillUri, name: &str) -> AliasResource<'a> {
    AliasResource::new(skill, documents_uri(name), format!("{name}/documents"), MEDIA_TYPE)
}

/// Returns one document as a resource.
pub fn document_resource<'a>(
    skill: &SkillUri,
    name: &str,
    document: &SkillDocument<'a>,
) -> AliasResource<'a> {
    let SkillDocument { path, media_type, .. } = *document;
    AliasResource::new(skill, document_uri(name, path), format!("{name}/{path}"), media_type)
}

/// A document that a skill's list has for a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDocument {
    /// The URI under which a client reads it.
    pub uri: String,
    /// The promise of the list about it, which has no digest and may have a size.
    pub promise: FilePromise,
}

/// Finds a path in the list of a skill's documents; `skill_file` is the resource with `SKILL.md`.
pub fn find_document(text: &str, skill_file: &str, path: &RelPath) -> Option<FoundDocument> {
    let documents = read_documents(text, skill_file);
    documents.into_iter().find(|(listed, _)| listed == path).map(|(_, document)| document)
}

/// Reads the list of a skill's documents; one that is not below the skill is left out.
pub fn read_documents(text: &str, skill_file: &str) -> Vec<(RelPath, FoundDocument)> {
    let limits = JsonLimits::new(8, 10_000);
    let list = strict_json::object(text, limits).unwrap_or_default();
    let documents = list.get("documents").and_then(Value::as_array).into_iter().flatten();
    let read = |document: &Value| {
        let path = document.get("path").and_then(Value::as_str);
        let path = path.and_then(|path| RelPath::parse(path).ok())?;
        let uri = document.get("uri").and_then(Value::as_str)?;
        // Only a URI below the skill's own address is one of its documents.
        let below = uri.strip_prefix(skill_file)?.strip_prefix("/document/")?;
        if below.contains("..") {
            return None;
        }
        let size = document.get("size").and_then(Value::as_u64);
        let promise = FilePromise { digest: None, size };
        Some((path, FoundDocument { uri: uri.to_owned(), promise }))
    };
    documents.filter_map(read).collect()
}

/// Tells whether a text is an error message: servers of this dialect report failures as content.
pub fn is_error_text(bytes: &[u8]) -> bool {
    bytes.starts_with(b"# Error")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_list_of_skills_is_read_as_it_was_written_d9() {
        let metadata = json!({ "version": "2" });
        let items = [
            IndexItem::new("refunds", "x", 2, Some(metadata)),
            IndexItem::new("alone", "y", 0, None),
        ];
        for text in [json!(items).to_string(), json!({ "skills": items, "total": 2 }).to_string()] {
            let skills = read_index(&text).unwrap();
            let refunds = skills[0].as_ref().unwrap();
            let list = "skill://refunds/documents".to_owned();
            let route = FetchRoute::Documents { skill_file: "skill://refunds".to_owned(), list };
            assert_eq!((refunds.description(), &refunds.offer.route), (Some("x"), &route));
            assert_eq!(skills[1].as_ref().unwrap().uri.as_str(), "skill://alone/SKILL.md");
        }
        for bad in ["# Skills", "5", "{}", r#"{"skills":{}}"#] {
            assert!(read_index(bad).is_err(), "{bad}");
        }
        let many = vec![json!({ "uri": "skill://a" }); MAX_ENTRIES + 1];
        assert!(read_index(&json!(many).to_string()).is_err());
        assert!(read_index(r#"[{"uri":"skill://a/b"},5]"#).unwrap().iter().all(Result::is_err));
    }

    #[test]
    fn a_list_of_documents_is_read_as_it_was_written_d9() {
        let file = path("examples/e mail.md");
        let documents = [SkillDocument { path: &file, media_type: "text/markdown", size: 35 }];
        let text = String::from_utf8(write_documents("refunds", &documents)).unwrap();
        let found = find_document(&text, "skill://refunds", &file).unwrap();
        assert_eq!(found.uri, "skill://refunds/document/examples/e%20mail.md");
        assert_eq!(found.promise, FilePromise { digest: None, size: Some(35) });
        assert_eq!(find_document(&text, "skill://refunds", &path("other.md")), None);
    }

    #[test]
    fn documents_lie_below_their_skill_d9() {
        for uri in [
            "skill://other/document/x.md",
            "file:///etc/passwd",
            "skill://refunds/document/../x",
            "skill://refunds/x.md",
        ] {
            let list = json!({ "documents": [{ "path": "x.md", "size": 1, "uri": uri }] });
            let found = find_document(&list.to_string(), "skill://refunds", &path("x.md"));
            assert_eq!(found, None, "{uri}");
        }
        assert_eq!(find_document("# Error", "skill://refunds", &path("x.md")), None);
        assert!(is_error_text(b"# Error\n\nSkill not found.\n") && !is_error_text(b"# Errata"));
    }

    #[test]
    fn a_prompt_lists_skills_in_elements_that_descriptions_cannot_end_d9() {
        let text = prompt_xml([("a", Cow::from("<x>"))]);
        assert_eq!(
            text,
            "<available_skills>\n  <skill>\n    <name>a</name>\n    \
             <description>&lt;x&gt;</description>\n    <uri>skill://a</uri>\n  </skill>\n\
             </available_skills>\n"
        );
    }
}
