//! Documents of one dialect as documents of another, without inventing anything.

use serde_json::{Map, Value, json};
use skillwire_core::{
    digest::Digest,
    path::{RelPath, SKILL_FILE},
    strict_json::{self, JsonLimits},
    uri::SkillUri,
};

use super::Dialect;

/// How much of a document is read.
const LIMITS: JsonLimits = JsonLimits { depth: 32, nodes: 2_000_000 };

/// Why a document cannot be converted; a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotConverted(String);

fn not(problem: impl Into<String>) -> NotConverted {
    NotConverted(problem.into())
}

/// The dialects that have a document.
pub const DOCUMENTS: [Dialect; 5] =
    [Dialect::V1, Dialect::Index, Dialect::EarlyIndex, Dialect::FastMcp, Dialect::WellKnown];

/// One skill as documents describe it.
#[derive(Debug, Clone, Default)]
struct Skill {
    uri: Option<String>,
    name: String,
    description: Option<String>,
    frontmatter: Option<Map<String, Value>>,
    /// Every file, where the document lists them.
    files: Option<Vec<File>>,
    /// The digest of `SKILL.md`, where there is one.
    digest: Option<Digest>,
}

#[derive(Debug, Clone)]
struct File {
    path: RelPath,
    digest: Option<Digest>,
    size: Option<u64>,
}

/// Converts a document; what the new one needs must be in the old one.
pub fn convert(from: Dialect, to: Dialect, text: &str) -> Result<Value, NotConverted> {
    let document = strict_json::object(text.trim_start_matches('\u{feff}'), LIMITS)
        .map_err(|error| not(format!("The document is not a JSON object: {error}")))?;
    let skills = match from {
        Dialect::FastMcp => vec![manifest(&document)?],
        Dialect::V1 | Dialect::Index | Dialect::EarlyIndex | Dialect::WellKnown => {
            let skills = document.get("skills").and_then(Value::as_array);
            let skills = skills.ok_or_else(|| not("The document has no list `skills`"))?;
            skills.iter().map(|entry| read(from, entry)).collect::<Result<_, _>>()?
        }
        other => return Err(no_document(other)),
    };
    match to {
        Dialect::V1 => all(&skills, v1).map(|skills| json!({ "skills": skills })),
        Dialect::Index => all(&skills, index).map(|skills| json!({ "skills": skills })),
        Dialect::EarlyIndex => {
            all(&skills, early).map(|skills| json!({ "$schema": SCHEMA, "skills": skills }))
        }
        Dialect::WellKnown => {
            all(&skills, well_known).map(|skills| json!({ "version": "0.2.0", "skills": skills }))
        }
        Dialect::FastMcp => match skills.as_slice() {
            [skill] => write_manifest(skill),
            several => Err(not(format!(
                "A manifest is of one skill, and the document has {}",
                several.len()
            ))),
        },
        other => Err(no_document(other)),
    }
}

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

fn no_document(dialect: Dialect) -> NotConverted {
    let known: Vec<_> = DOCUMENTS.iter().map(|dialect| dialect.code()).collect();
    not(format!(
        "{} has no document; those of {} can be converted",
        dialect.code(),
        known.join(", ")
    ))
}

fn all(
    skills: &[Skill],
    write: impl Fn(&Skill) -> Result<Value, NotConverted>,
) -> Result<Vec<Value>, NotConverted> {
    skills.iter().map(write).collect()
}

fn digest(value: Option<&Value>) -> Result<Option<Digest>, NotConverted> {
    match value {
        None => Ok(None),
        Some(value) => {
            let digest = value.as_str().and_then(|text| text.parse().ok());
            digest.map(Some).ok_or_else(|| not(format!("{value} is not a digest")))
        }
    }
}

fn path(text: &str) -> Result<RelPath, NotConverted> {
    RelPath::parse(text).map_err(|error| not(format!("The path `{}` {error}", text.escape_debug())))
}

fn read(from: Dialect, entry: &Value) -> Result<Skill, NotConverted> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let frontmatter = entry.get("frontmatter").and_then(Value::as_object).cloned();
    let of_frontmatter = |key: &str| {
        frontmatter.as_ref().and_then(|all| all.get(key)).and_then(Value::as_str).map(str::to_owned)
    };
    let name = text("name").or_else(|| of_frontmatter("name"));
    let name = name.ok_or_else(|| not("An entry has no name"))?;
    let description = text("description").or_else(|| of_frontmatter("description"));
    // On the web, an address is no URI of a skill.
    let uri = text("uri").or_else(|| text("url")).filter(|_| from != Dialect::WellKnown);
    let own = digest(entry.get("digest"))?.filter(|_| from != Dialect::WellKnown);
    let files = match (entry.get("resources"), entry.get("files"), &uri) {
        (Some(Value::Array(files)), _, Some(uri)) => Some(resources(uri, files)?),
        (_, Some(Value::Array(files)), _) => Some(listed(files)?),
        _ => None,
    };
    Ok(Skill { uri, name, description, frontmatter, files, digest: own })
}

fn resources(uri: &str, files: &[Value]) -> Result<Vec<File>, NotConverted> {
    let skill = SkillUri::parse(uri)
        .map_err(|error| not(format!("The URI `{}` {error}", uri.escape_debug())))?;
    let file = |file: &Value| {
        let text = file.get("uri").and_then(Value::as_str).unwrap_or_default();
        let below = skill.resource(text).and_then(|uri| skill.below(&uri));
        let outside = || not(format!("`{}` lies outside its skill", text.escape_debug()));
        Ok(File {
            path: below.ok_or_else(outside)?,
            digest: digest(file.get("digest"))?,
            size: file.get("size").and_then(Value::as_u64),
        })
    };
    files.iter().map(file).collect()
}

fn listed(files: &[Value]) -> Result<Vec<File>, NotConverted> {
    let file = |file: &Value| {
        let text = file.as_str().or_else(|| file.get("path").and_then(Value::as_str));
        Ok(File {
            path: path(text.unwrap_or_default())?,
            digest: digest(file.get("hash").or_else(|| file.get("digest")))?,
            size: file.get("size").and_then(Value::as_u64),
        })
    };
    files.iter().map(file).collect()
}

fn manifest(document: &Map<String, Value>) -> Result<Skill, NotConverted> {
    let name = document.get("skill").and_then(Value::as_str);
    let name = name.ok_or_else(|| not("The manifest does not name its `skill`"))?.to_owned();
    let files = document.get("files").and_then(Value::as_array);
    let files = files.ok_or_else(|| not("The manifest has no list `files`"))?;
    let uri = Some(format!("skill://{name}/{SKILL_FILE}"));
    Ok(Skill { uri, name, files: Some(listed(files)?), ..Skill::default() })
}

impl Skill {
    fn missing(&self, to: Dialect, what: &str) -> NotConverted {
        not(format!(
            "{} needs {what} of `{}`, which the document does not say",
            to.code(),
            self.name
        ))
    }

    fn uri(&self) -> String {
        self.uri.clone().unwrap_or_else(|| format!("skill://{}/{SKILL_FILE}", self.name))
    }

    fn described(&self, to: Dialect) -> Result<&str, NotConverted> {
        self.description.as_deref().ok_or_else(|| self.missing(to, "the description"))
    }

    fn frontmatter(&self, to: Dialect) -> Result<&Map<String, Value>, NotConverted> {
        self.frontmatter.as_ref().ok_or_else(|| self.missing(to, "the whole frontmatter"))
    }

    /// The digest of `SKILL.md`, as the entry or its files say.
    fn own_digest(&self) -> Option<Digest> {
        let listed = || {
            let files = self.files.as_ref()?;
            files.iter().find(|file| file.path.as_str() == SKILL_FILE)?.digest
        };
        self.digest.or_else(listed)
    }

    fn root(&self) -> String {
        let uri = self.uri();
        uri.strip_suffix(SKILL_FILE).unwrap_or(&uri).to_owned()
    }
}

fn v1(skill: &Skill) -> Result<Value, NotConverted> {
    let to = Dialect::V1;
    let resources = match &skill.files {
        None => json!("dynamic"),
        Some(files) => {
            let root = skill.root();
            let file = |file: &File| {
                let digest =
                    file.digest.ok_or_else(|| skill.missing(to, "the digest of each file"))?;
                let size = file.size.ok_or_else(|| skill.missing(to, "the size of each file"))?;
                Ok(json!({ "uri": format!("{root}{}", file.path), "digest": digest, "size": size }))
            };
            Value::Array(files.iter().map(file).collect::<Result<_, _>>()?)
        }
    };
    Ok(json!({
        "uri": skill.uri(), "frontmatter": skill.frontmatter(to)?, "resources": resources,
    }))
}

fn index(skill: &Skill) -> Result<Value, NotConverted> {
    let to = Dialect::Index;
    let digest = skill.own_digest().ok_or_else(|| skill.missing(to, "the digest of `SKILL.md`"))?;
    Ok(json!({ "url": skill.uri(), "digest": digest, "frontmatter": skill.frontmatter(to)? }))
}

fn early(skill: &Skill) -> Result<Value, NotConverted> {
    let to = Dialect::EarlyIndex;
    let mut entry = json!({
        "name": skill.name, "type": "skill-md", "description": skill.described(to)?,
        "url": skill.uri(),
    });
    if let Some(digest) = skill.own_digest() {
        entry["digest"] = json!(digest);
    }
    Ok(entry)
}

fn well_known(skill: &Skill) -> Result<Value, NotConverted> {
    let to = Dialect::WellKnown;
    let files = skill.files.as_ref().ok_or_else(|| skill.missing(to, "the files"))?;
    let digested: Option<Vec<_>> =
        files.iter().map(|file| Some((file.path.clone(), Some(file.digest?)))).collect();
    let digested = digested.ok_or_else(|| skill.missing(to, "the digest of each file"))?;
    let whole = super::well_known::skill_digest(&digested);
    let files: Vec<_> = digested
        .iter()
        .map(|(path, digest)| json!({ "path": path.as_str(), "digest": digest }))
        .collect();
    Ok(json!({
        "name": skill.name, "description": skill.described(to)?, "digest": whole, "files": files,
    }))
}

fn write_manifest(skill: &Skill) -> Result<Value, NotConverted> {
    let to = Dialect::FastMcp;
    let files = skill.files.as_ref().ok_or_else(|| skill.missing(to, "the files"))?;
    let mut files: Vec<_> = files.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let file = |file: &&File| {
        let hash = file.digest.ok_or_else(|| skill.missing(to, "the digest of each file"))?;
        let size = file.size.ok_or_else(|| skill.missing(to, "the size of each file"))?;
        Ok(json!({ "path": file.path.as_str(), "size": size, "hash": hash }))
    };
    let files: Vec<_> = files.iter().map(file).collect::<Result<_, _>>()?;
    Ok(json!({ "skill": skill.name, "files": files }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(letter: char) -> String {
        Digest::of(letter.to_string().as_bytes()).to_string()
    }

    fn page() -> Value {
        json!({ "skills": [{
            "uri": "skill://acme/refunds/SKILL.md",
            "frontmatter": { "name": "refunds", "description": "Refunds.", "license": "MIT" },
            "resources": [
                { "uri": "skill://acme/refunds/SKILL.md", "digest": digest_of('a'), "size": 1 },
                { "uri": "skill://acme/refunds/x/y.md", "digest": digest_of('b'), "size": 1 },
            ],
        }] })
    }

    fn converted(from: Dialect, to: Dialect, document: &Value) -> Result<Value, String> {
        convert(from, to, &document.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_page_of_the_released_extension_becomes_every_document_d2_d3_d7_d11() {
        let index = converted(Dialect::V1, Dialect::Index, &page()).unwrap();
        assert_eq!(index["skills"][0]["digest"], digest_of('a'));
        assert_eq!(index["skills"][0]["frontmatter"]["license"], "MIT");
        let early = converted(Dialect::V1, Dialect::EarlyIndex, &page()).unwrap();
        assert_eq!(early["skills"][0]["type"], "skill-md");
        assert_eq!(early["skills"][0]["url"], "skill://acme/refunds/SKILL.md");
        let manifest = converted(Dialect::V1, Dialect::FastMcp, &page()).unwrap();
        assert_eq!(
            manifest["files"][1],
            json!({ "path": "x/y.md", "size": 1, "hash": digest_of('b') })
        );
        let web = converted(Dialect::V1, Dialect::WellKnown, &page()).unwrap();
        assert_eq!(web["skills"][0]["files"][1]["path"], "x/y.md");
        assert!(web["skills"][0]["digest"].is_string());
        assert_eq!(converted(Dialect::V1, Dialect::V1, &page()).unwrap(), page());
    }

    #[test]
    fn what_a_document_does_not_say_is_not_invented() {
        let early = converted(Dialect::V1, Dialect::EarlyIndex, &page()).unwrap();
        let error = converted(Dialect::EarlyIndex, Dialect::V1, &early).unwrap_err();
        assert!(error.contains("the whole frontmatter of `refunds`"), "{error}");
        let error = converted(Dialect::EarlyIndex, Dialect::FastMcp, &early).unwrap_err();
        assert!(error.contains("the files"), "{error}");
        let index = converted(Dialect::V1, Dialect::Index, &page()).unwrap();
        let again = converted(Dialect::Index, Dialect::V1, &index).unwrap();
        assert_eq!(again["skills"][0]["resources"], "dynamic", "files are not known any more");
        let error = converted(Dialect::Sep2076, Dialect::V1, &page()).unwrap_err();
        assert!(error.contains("D5 has no document"), "{error}");
    }

    #[test]
    fn documents_that_point_outside_are_not_converted() {
        let mut outside = page();
        outside["skills"][0]["resources"][1]["uri"] = json!("skill://other/x.md");
        assert!(converted(Dialect::V1, Dialect::Index, &outside).unwrap_err().contains("outside"));
        let manifest = json!({ "skill": "a", "files": [{ "path": "../x" }] });
        assert!(converted(Dialect::FastMcp, Dialect::FastMcp, &manifest).is_err());
        assert!(convert(Dialect::V1, Dialect::Index, "[]").is_err());
    }
}
