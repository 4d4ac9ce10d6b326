//! D7, `FastMCP`: a `_manifest` beside each `SKILL.md`, with the size and hash of every file.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;
use serde_json::{Value, json};
use skillwire_core::{
    Digest, RelPath, ResourceUri, SkillUri,
    received::EntryProblem,
    strict_json::{self, JsonLimits},
};

use crate::{
    AliasResource, Dialect, FetchRoute, FilePromise, ListedResource, OfferedSkill, RefusedEntry,
    SkillOffer, offer::Claim,
};

/// The name of the file that lists a skill's files.
pub const MANIFEST: &str = "_manifest";

/// The media type of a manifest.
pub const MEDIA_TYPE: &str = "application/json";

/// Returns the URI of a skill's manifest.
pub fn manifest_uri(skill: &SkillUri) -> String {
    format!("{}/{MANIFEST}", skill.root())
}

/// Returns the URI of the `SKILL.md` beside a manifest, if the URI is one of a manifest.
pub fn skill_of_manifest(uri: &str) -> Option<String> {
    let root = uri.strip_suffix(MANIFEST)?.strip_suffix('/')?;
    Some(format!("{root}/SKILL.md"))
}

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManifestDocument<'a> {
    /// The name of the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<Cow<'a, str>>,
    /// Every file, `SKILL.md` included, in the order of their paths.
    pub files: Vec<ManifestFile<'a>>,
}

/// A file in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManifestFile<'a> {
    /// The path in the skill.
    #[serde(serialize_with = "path_text")]
    pub path: Cow<'a, RelPath>,
    /// The number of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The digest of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Digest>,
}

fn path_text<S: serde::Serializer>(path: &RelPath, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(path.as_str())
}

impl ManifestDocument<'_> {
    /// Writes the manifest as `FastMCP` does, with line breaks.
    pub fn write(&self) -> Vec<u8> {
        // These types hold nothing that JSON cannot express.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Reads a manifest; a path that leaves the skill refuses the whole skill.
    pub fn read(text: &str, most_files: usize) -> Result<ManifestDocument<'static>, RefusedEntry> {
        let malformed = |actual: String| {
            RefusedEntry::new(EntryProblem::Resources)
                .expected("a `_manifest` with `files` of `path`, `size` and `hash`")
                .actual(actual)
        };
        let nodes = most_files.saturating_mul(8).saturating_add(64);
        let document = strict_json::object(text, JsonLimits::new(8, nodes))
            .map_err(|error| malformed(error.to_string()))?;
        let files = document.get("files").and_then(Value::as_array);
        let files = files.ok_or_else(|| malformed("no list `files`".to_owned()))?;
        if files.len() > most_files {
            return Err(RefusedEntry::new(EntryProblem::TooManyFiles)
                .expected(format!("at most {most_files} files"))
                .actual(format!("{} files", files.len())));
        }
        let skill = document.get("skill").and_then(Value::as_str);
        let skill = skill.map(|skill| Cow::Owned(skill.to_owned()));
        let files = files.iter().map(read_file).collect::<Result<_, _>>()?;
        Ok(ManifestDocument { skill, files })
    }

    /// Returns the promises that the manifest makes about the files of a skill.
    pub fn promises(
        &self,
        skill: &SkillUri,
    ) -> Result<BTreeMap<ResourceUri, FilePromise>, RefusedEntry> {
        let mut promises = BTreeMap::new();
        for ManifestFile { path, size, hash } in &self.files {
            let promise = FilePromise { digest: *hash, size: *size };
            if promises.insert(skill.root().child(path), promise).is_some() {
                return Err(RefusedEntry::new(EntryProblem::Duplicate).file(path));
            }
        }
        if promises.contains_key(skill.file()) {
            Ok(promises)
        } else {
            Err(RefusedEntry::new(EntryProblem::SkillFileNotListed))
        }
    }

    /// Puts the promises of the manifest into the offer of its skill.
    pub fn complete(
        &self,
        skill: &SkillUri,
        offer: SkillOffer,
    ) -> Result<SkillOffer, RefusedEntry> {
        let promises = self.promises(skill)?;
        let first_seen = !promises.values().all(FilePromise::is_whole);
        Ok(SkillOffer { promises, first_seen, complete: true, ..offer })
    }
}

fn read_file(file: &Value) -> Result<ManifestFile<'static>, RefusedEntry> {
    let text = file.get("path").and_then(Value::as_str).unwrap_or_default();
    let path = RelPath::parse(text).map_err(|error| {
        RefusedEntry::new(EntryProblem::Outside)
            .file(text.escape_debug())
            .expected("a path inside the skill")
            .actual(format!("one that {error}"))
    })?;
    // Other documents call the same string `digest`.
    let hash = match file.get("hash").or_else(|| file.get("digest")) {
        None => None,
        Some(hash) => {
            let digest = hash.as_str().and_then(|hash| hash.parse().ok());
            let invalid = || RefusedEntry::new(EntryProblem::Digest).file(&path);
            Some(digest.ok_or_else(invalid)?)
        }
    };
    let size = file.get("size").and_then(Value::as_u64);
    Ok(ManifestFile { path: Cow::Owned(path), size, hash })
}

/// Takes a resource for a skill if its manifest is listed as well.
pub fn offered(
    resource: &ListedResource,
    is_listed: impl Fn(&str) -> bool,
) -> Option<Result<OfferedSkill, RefusedEntry>> {
    let root = resource.uri.strip_suffix("/SKILL.md").filter(|uri| uri.starts_with("skill://"))?;
    let manifest = format!("{root}/{MANIFEST}");
    if !is_listed(&manifest) {
        return None;
    }
    let offer = SkillOffer::new(Dialect::FastMcp, FetchRoute::Manifest { uri: manifest });
    let claim = Claim {
        uri: &resource.uri,
        name: root.rsplit('/').next().unwrap_or(root),
        description: resource.description.as_deref(),
        frontmatter: None,
    };
    Some(claim.offered(SkillOffer { first_seen: false, complete: true, ..offer }))
}

/// Returns the manifest of a skill as a resource.
pub fn manifest_resource<'a>(skill: &SkillUri, name: &str) -> AliasResource<'a> {
    let alias =
        AliasResource::new(skill, manifest_uri(skill), format!("{name}/{MANIFEST}"), MEDIA_TYPE);
    alias.description(format!("File listing for {name}")).fastmcp(json!({ "tags": [] }))
}

/// The end of the template that leads to all files of a skill.
const FILES: &str = "/{path*}";

/// Returns the template that leads to all files of a skill.
pub fn files_template(skill: &SkillUri, name: &str) -> Value {
    json!({
        "uriTemplate": format!("{}{FILES}", skill.root()),
        "name": format!("{name}_files"),
        "description": format!("Access files within {name}"),
        "mimeType": "application/octet-stream",
    })
}

/// Returns the URI of the `SKILL.md` of the skill that a [`files_template`] belongs to.
pub fn skill_of_template(template: &str) -> Option<String> {
    template.strip_suffix(FILES).map(|root| format!("{root}/SKILL.md"))
}

/// Makes the manifest of a skill that another document described. Fails with what that document did
/// not say.
pub(crate) fn manifest_of(skill: &OfferedSkill) -> Result<ManifestDocument<'_>, &'static str> {
    let files = skill.files().ok_or("the files")?;
    let file = |(uri, promise): (&ResourceUri, &FilePromise)| {
        Ok(ManifestFile {
            path: Cow::Owned(skill.uri.below(uri).ok_or("the files")?),
            size: Some(promise.size.ok_or("the size of each file")?),
            hash: Some(promise.digest.ok_or("the digest of each file")?),
        })
    };
    let mut files: Vec<_> = files.map(file).collect::<Result<_, &'static str>>()?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(ManifestDocument { skill: Some(skill.frontmatter.name().as_str().into()), files })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill() -> SkillUri {
        SkillUri::parse("skill://refunds/SKILL.md").unwrap()
    }

    fn read(files: &Value) -> Result<BTreeMap<ResourceUri, FilePromise>, RefusedEntry> {
        let text = json!({ "skill": "refunds", "files": files }).to_string();
        ManifestDocument::read(&text, 3)?.promises(&skill())
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written_d7() {
        let path = RelPath::skill_file();
        let file = ManifestFile {
            path: Cow::Borrowed(&path),
            size: Some(1),
            hash: Some(Digest::of(b"a")),
        };
        let manifest = ManifestDocument { skill: Some("refunds".into()), files: vec![file] };
        let text = String::from_utf8(manifest.write()).unwrap();
        assert!(text.contains("\n  \"files\": ["), "{text}");
        let read = ManifestDocument::read(&text, 3).unwrap();
        assert_eq!(read, manifest);
        let route = FetchRoute::Manifest { uri: manifest_uri(&skill()) };
        let offer = SkillOffer::new(Dialect::FastMcp, route);
        let offer = read.complete(&skill(), offer).unwrap();
        assert!(!offer.first_seen && offer.promises[skill().file()].is_whole());
    }

    #[test]
    fn manifests_that_lie_or_point_outside_refuse_the_skill_d7() {
        let hash = Digest::of(b"a");
        let own = json!({ "path": "SKILL.md", "size": 1, "hash": hash });
        for (files, problem) in [
            (json!([own, { "path": "../x", "hash": hash }]), EntryProblem::Outside),
            (json!([own, { "path": "/etc/x", "hash": hash }]), EntryProblem::Outside),
            (json!([own, { "hash": hash }]), EntryProblem::Outside),
            (json!([own, own]), EntryProblem::Duplicate),
            (json!([own, { "path": "x", "hash": "md5:1" }]), EntryProblem::Digest),
            (json!([{ "path": "x", "hash": hash }]), EntryProblem::SkillFileNotListed),
            (json!([own, own, own, own]), EntryProblem::TooManyFiles),
            (json!({}), EntryProblem::Resources),
        ] {
            assert_eq!(read(&files).unwrap_err().because, problem.into(), "{files}");
        }
        assert!(read(&json!([{ "path": "SKILL.md", "digest": hash }])).is_ok());
        assert!(ManifestDocument::read("[]", 3).is_err());
    }

    #[test]
    fn a_skill_is_one_only_beside_its_manifest_d7() {
        let resource = |uri: &str| ListedResource {
            uri: uri.to_owned(),
            name: None,
            description: Some("x".to_owned()),
            media_type: None,
        };
        let listed = manifest_uri(&skill());
        let found = |uri: &str| offered(&resource(uri), |other| other == listed);
        let refunds = found("skill://refunds/SKILL.md").unwrap().unwrap();
        assert_eq!(refunds.offer.route, FetchRoute::Manifest { uri: listed.clone() });
        assert!(found("skill://other/SKILL.md").is_none());
        assert!(found("file:///refunds/SKILL.md").is_none());
        assert_eq!(skill_of_manifest(&listed).as_deref(), Some("skill://refunds/SKILL.md"));
        let template = files_template(&skill(), "refunds");
        let of = skill_of_template(template["uriTemplate"].as_str().unwrap());
        assert_eq!(of.as_deref(), Some("skill://refunds/SKILL.md"));
    }
}
