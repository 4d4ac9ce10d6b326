//! The literal answers of each dialect's document.

use serde_json::{Value, json};

use super::{DocumentedDialect, Edition};
use crate::ReceivedRequest;

/// Returns what a server of the dialect declares.
pub(super) fn capabilities(dialect: DocumentedDialect) -> &'static str {
    use DocumentedDialect as D;
    match dialect {
        D::D1 | D::D2 | D::D3 | D::D4 => {
            r#"{ "resources": {}, "extensions": { "io.modelcontextprotocol/skills": {} } }"#
        }
        D::D5 => r#"{ "resources": {}, "skills": { "listChanged": true } }"#,
        D::D6 => r#"{ "skills": { "listChanged": true, "scripts": true } }"#,
        D::D8 => {
            r#"{ "tools": { "listChanged": true }, "prompts": { "listChanged": true },
                 "resources": { "subscribe": true, "listChanged": true } }"#
        }
        D::D12 => r#"{ "resources": {}, "completions": {} }"#,
        D::D7 | D::D9 | D::D10 | D::D11 => r#"{ "resources": {} }"#,
    }
}

/// Returns the answer to a request, with marks for digests and texts; `None` for what the server does
/// not have.
pub(super) fn answer(
    dialect: DocumentedDialect,
    request: &ReceivedRequest,
    edition: &Edition,
) -> Option<String> {
    use DocumentedDialect as D;
    let name = request.params["name"].as_str().unwrap_or_default();
    let is_refunds = name == "refunds";
    match (dialect, request.method.as_str()) {
        (_, "resources/read") => read(dialect, request.uri(), edition),
        (D::D1, "skills/list") => Some(format!(
            r#"{{ "resultType": "complete", "skills": [{D1_ENTRY}], "ttlMs": 0, "cacheScope": "public" }}"#
        )),
        (D::D1, "skills/get") if request.uri() == "skill://acme/billing/refunds/SKILL.md" => {
            Some(format!(
                r#"{{ "resultType": "complete", "skill": {D1_ENTRY}, "ttlMs": 0, "cacheScope": "public" }}"#
            ))
        }
        (D::D4, "resources/list") if request.uri() == "skill://" => Some(D4_LIST.to_owned()),
        (D::D5, "skills/list") => Some(D5_LIST.to_owned()),
        (D::D5, "skills/get") if is_refunds => Some(D5_SKILL.to_owned()),
        (D::D6, "skills/list") => Some(D6_LIST.to_owned()),
        (D::D6, "skills/read") if is_refunds => Some(D6_SKILL.to_owned()),
        (D::D6, "skills/read_reference") if is_refunds => {
            let asked = request.params["reference"].as_str()?;
            let text = Value::from(edition.file(asked)?);
            Some(format!(
                r#"{{ "content": {{ "uri": "skill://acme/billing/refunds/{asked}",
                      "mimeType": "text/markdown", "text": {text} }} }}"#
            ))
        }
        (D::D6, "skills/execute")
            if is_refunds && request.params["script"] == "scripts/calc.py" =>
        {
            let text = Value::from(format!("{}\u{1b}[1m\n", request.params["arguments"]["_"]));
            Some(format!(
                r#"{{ "content": [ {{ "type": "text", "text": {text} }},
                     {{ "type": "resource", "resource": {{ "uri": "file:///output/x.pptx",
                        "mimeType": "application/octet-stream", "name": "x.pptx" }} }} ],
                     "isError": false }}"#
            ))
        }
        (D::D7, "resources/list") => Some(D7_LIST.to_owned()),
        (D::D7, "resources/templates/list") => Some(D7_TEMPLATES.to_owned()),
        (D::D8, "resources/list") => Some(D8_LIST.to_owned()),
        (D::D9, "resources/list") => Some(D9_LIST.to_owned()),
        (D::D10, "resources/list") => Some(D10_LIST.to_owned()),
        (D::D12, "resources/list") => Some(r#"{ "resources": [] }"#.to_owned()),
        (D::D12, "resources/templates/list") => Some(D12_TEMPLATES.to_owned()),
        (D::D12, "completion/complete") => Some(
            r#"{ "completion": { "values": ["refunds"], "total": 1, "hasMore": false } }"#
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns the answer to `resources/read`.
fn read(dialect: DocumentedDialect, uri: &str, edition: &Edition) -> Option<String> {
    use DocumentedDialect as D;
    let text = |text: &str, kind: &str| {
        let contents = json!([{ "uri": uri, "mimeType": kind, "text": text }]);
        let mut answer = json!({ "contents": contents });
        if dialect == D::D1 {
            answer["resultType"] = "complete".into();
            answer["ttlMs"] = 0.into();
            answer["cacheScope"] = "public".into();
        }
        Some(answer.to_string())
    };
    let below = |root: &str| {
        let path = uri.strip_prefix(root)?.strip_prefix('/')?;
        text(edition.file(path)?, "text/markdown")
    };
    match (dialect, uri) {
        (D::D2, "skill://index.json") => text(&edition.fill(D2_INDEX), "application/json"),
        (D::D3, "skill://index.json") => text(&edition.fill(D3_INDEX), "application/json"),
        (D::D1 | D::D2 | D::D3 | D::D4 | D::D5, _) => below("skill://acme/billing/refunds"),
        (D::D7, "skill://refunds/_manifest") => {
            text(&edition.fill(D7_MANIFEST), "application/json")
        }
        (D::D7, _) => below("skill://refunds"),
        (D::D8, "skill://refunds/") => Some(D8_COLLECTION.to_owned()),
        (D::D8 | D::D9, "skill://refunds") => text(&edition.skill_md, "text/markdown"),
        (D::D9, "skill://index") => text(D9_INDEX, "application/json"),
        (D::D9, "skill://prompt-xml") => text("<available_skills/>", "application/xml"),
        (D::D9, "skill://refunds/documents") => text(D9_DOCUMENTS, "application/json"),
        (D::D9, _) => below("skill://refunds/document"),
        (D::D10, "skill://folk/usage") => text(edition.body(), "text/plain"),
        (D::D12, _) => below("skill://docs/refunds"),
        _ => None,
    }
}

/// The files of the web origin.
pub(super) const WEB_FILES: [(&str, &str); 2] = [
    ("/.well-known/agent-skills/index.json", "application/json"),
    ("/.well-known/agent-skills/refunds.tar.gz", "application/gzip"),
];

/// Returns a file of the web origin.
pub(super) fn web_file(path: &str, edition: &Edition) -> Vec<u8> {
    if path.ends_with(".tar.gz") {
        return edition.archive.clone();
    }
    edition.fill(D11_INDEX).into_bytes()
}

const D1_ENTRY: &str = r#"{ "uri": "skill://acme/billing/refunds/SKILL.md",
  "frontmatter": { "name": "refunds",
    "description": "Handle a customer refund by the book. Use when money goes back.",
    "license": "Apache-2.0", "metadata": { "version": "2.1.0" } },
  "resources": [
    { "uri": "skill://acme/billing/refunds/SKILL.md", "digest": "@SKILL-DIGEST@", "size": @SKILL-SIZE@ },
    { "uri": "skill://acme/billing/refunds/examples/email.md", "digest": "@EMAIL-DIGEST@", "size": 35 },
    { "uri": "skill://acme/billing/refunds/scripts/calc.py", "digest": "@SCRIPT-DIGEST@", "size": 53 } ] }"#;

const D2_INDEX: &str = r#"{ "skills": [
  { "url": "skill://acme/billing/refunds/SKILL.md", "digest": "@SKILL-DIGEST@",
    "frontmatter": { "name": "refunds",
      "description": "Handle a customer refund by the book. Use when money goes back.",
      "license": "Apache-2.0", "metadata": { "version": "2.1.0" } } } ] }"#;

const D3_INDEX: &str = r#"{
  "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
  "skills": [
    { "name": "refunds", "type": "skill-md",
      "description": "Handle a customer refund by the book. Use when money goes back.",
      "url": "skill://acme/billing/refunds/SKILL.md", "digest": "@SKILL-DIGEST@" } ] }"#;

const D4_LIST: &str = r#"{ "resources": [
  { "uri": "skill://acme/billing/refunds/SKILL.md", "name": "refunds",
    "description": "Handle a customer refund by the book. Use when money goes back.",
    "mimeType": "text/markdown" } ] }"#;

const D5_LIST: &str = r#"{ "skills": [
  { "name": "refunds", "title": "Customer refunds",
    "description": "Handle a customer refund by the book. Use when money goes back.",
    "version": "2.1.0", "tags": ["billing"],
    "arguments": [ { "name": "country", "description": "Where the customer lives.", "required": false } ],
    "dependencies": {
      "tools": ["lookup_payment", "issue_refund"],
      "prompts": [ { "type": "ref/prompt", "name": "apology" } ],
      "resources": [ { "type": "ref/resource", "uri": "skill://acme/billing/refunds/examples/email.md" } ] },
    "icons": [ { "src": "https://example.com/r.png", "mimeType": "image/png" } ],
    "_meta": { "com.example/via": "hub" } } ] }"#;

const D5_SKILL: &str = r#"{
  "description": "Handle a customer refund by the book. Use when money goes back.",
  "instructions": @INSTRUCTIONS@,
  "dependencies": { "tools": ["lookup_payment", "issue_refund"] },
  "files": [
    { "name": "email.md", "title": "Model answer", "uri": "skill://acme/billing/refunds/examples/email.md",
      "description": "Text to send", "mimeType": "text/markdown", "required": false },
    { "name": "calc.py", "uri": "skill://acme/billing/refunds/scripts/calc.py",
      "mimeType": "text/x-python", "required": true } ] }"#;

const D6_LIST: &str = r#"{ "skills": [
  { "name": "refunds", "title": "Customer refunds",
    "description": "Handle a customer refund by the book. Use when money goes back.",
    "keywords": ["billing"],
    "annotations": { "audience": ["assistant"], "priority": 0.9, "lastModified": "2026-01-15T10:30:00Z" } } ] }"#;

const D6_SKILL: &str = r#"{ "skill": {
  "name": "refunds",
  "description": "Handle a customer refund by the book. Use when money goes back.",
  "instructions": @INSTRUCTIONS@,
  "scripts": [ { "name": "calc.py", "description": "Compute the refundable amount", "path": "scripts/calc.py" } ],
  "references": [ { "name": "email.md", "description": "Model answer", "path": "examples/email.md" } ],
  "assets": [],
  "metadata": { "version": "2.1.0", "license": "Apache-2.0" } } }"#;

const D7_LIST: &str = r#"{ "resources": [
  { "uri": "skill://refunds/SKILL.md", "name": "refunds/SKILL.md",
    "description": "Handle a customer refund by the book. Use when money goes back.",
    "mimeType": "text/markdown", "_meta": { "fastmcp": { "tags": [] } } },
  { "uri": "skill://refunds/_manifest", "name": "refunds/_manifest",
    "description": "File listing for refunds", "mimeType": "application/json",
    "_meta": { "fastmcp": { "tags": [] } } } ] }"#;

const D7_TEMPLATES: &str = r#"{ "resourceTemplates": [
  { "uriTemplate": "skill://refunds/{path*}", "name": "refunds_files",
    "description": "Access files within refunds", "mimeType": "application/octet-stream" } ] }"#;

const D7_MANIFEST: &str = r#"{ "skill": "refunds", "files": [
  { "path": "SKILL.md", "size": @SKILL-SIZE@, "hash": "@SKILL-DIGEST@" },
  { "path": "examples/email.md", "size": 35, "hash": "@EMAIL-DIGEST@" },
  { "path": "scripts/calc.py", "size": 53, "hash": "@SCRIPT-DIGEST@" } ] }"#;

const D8_LIST: &str = r#"{ "resources": [
  { "uri": "skill://refunds", "name": "refunds", "mimeType": "text/markdown",
    "description": "Handle a customer refund by the book. Use when money goes back." },
  { "uri": "skill://refunds/", "name": "refunds/", "mimeType": "text/plain",
    "description": "All files in refunds skill directory" } ] }"#;

const D8_COLLECTION: &str = r#"{ "contents": [
  { "uri": "skill://refunds/examples/email.md", "mimeType": "text/markdown",
    "text": "Hello,\n\nyour refund is on its way.\n" },
  { "uri": "skill://refunds/scripts/calc.py", "mimeType": "text/x-python",
    "text": "import sys\nprint(round(float(sys.argv[1]) * 0.9, 2))\n" } ] }"#;

const D9_LIST: &str = r#"{ "resources": [
  { "uri": "skill://index", "name": "index", "mimeType": "application/json" },
  { "uri": "skill://prompt-xml", "name": "prompt-xml", "mimeType": "application/xml" },
  { "uri": "skill://refunds", "name": "refunds", "mimeType": "text/markdown" },
  { "uri": "skill://refunds/documents", "name": "refunds documents", "mimeType": "application/json" } ] }"#;

const D9_INDEX: &str = r#"[
  { "name": "refunds", "description": "Handle a customer refund by the book. Use when money goes back.",
    "uri": "skill://refunds", "documentsUri": "skill://refunds/documents", "documentCount": 2,
    "metadata": { "version": "2.1.0" } } ]"#;

const D9_DOCUMENTS: &str = r#"{ "skill": "refunds", "documents": [
  { "path": "examples/email.md", "mimeType": "text/markdown", "size": 35,
    "uri": "skill://refunds/document/examples/email.md" },
  { "path": "scripts/calc.py", "mimeType": "text/x-python", "size": 53,
    "uri": "skill://refunds/document/scripts/calc.py" } ] }"#;

const D10_LIST: &str = r#"{ "resources": [
  { "uri": "skill://folk/usage", "name": "folk_skill", "mimeType": "text/plain",
    "description": "How to use the CRM tools" } ] }"#;

const D11_INDEX: &str = r#"{ "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
  "skills": [
    { "name": "refunds", "type": "archive",
      "description": "Handle a customer refund by the book. Use when money goes back.",
      "url": "refunds.tar.gz", "digest": "@ARCHIVE-DIGEST@" } ] }"#;

const D12_TEMPLATES: &str = r#"{ "resourceTemplates": [
  { "uriTemplate": "skill://docs/{product}/SKILL.md", "name": "Product documentation skill",
    "description": "How to use a named product", "mimeType": "text/markdown" } ] }"#;
