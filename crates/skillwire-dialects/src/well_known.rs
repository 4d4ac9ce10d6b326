//! D11: an index below `/.well-known/` of a web origin, in the three forms it had.
//!
//! The first form (0.1) lists the paths of files, the second (the first form of 0.2.0) adds digests
//! and a package, both at [`FILES`]. The third is at [`ARTIFACTS`] and lists one file or archive
//! for each skill; it is written with [`IndexDocument`](crate::index::IndexDocument), which copied
//! it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};
use skillwire_core::{
    Digest, RelPath, ResourceUri, SkillUri,
    received::EntryProblem,
    strict_json::{self, JsonLimits},
};

use crate::{
    Dialect, FetchRoute, FilePromise, InvalidDocument, OfferedSkill, RefusedBecause, RefusedEntry,
    SkillOffer,
    index::{ARCHIVE, SCHEMA, SKILL_MD},
    offer::{Claim, uri_of_name},
};

/// The path below which the first two forms put skills.
pub const FILES: &str = "/.well-known/skills/";

/// The path below which the last form puts skills.
pub const ARTIFACTS: &str = "/.well-known/agent-skills/";

/// Both places, in the order in which a client asks.
pub const PLACES: [&str; 2] = [ARTIFACTS, FILES];

/// The name of the index in each place.
pub const INDEX: &str = "index.json";

/// The media type of the index.
pub const MEDIA_TYPE: &str = "application/json";

/// The version that the second form says it is.
pub const VERSION: &str = "0.2.0";

/// The most skills that a reader accepts of one origin.
pub const MAX_SKILLS: usize = 5_000;

// Writing.

/// The index of the first form, or of the second with [`VERSION`] and digests.
#[derive(Debug, Clone, Serialize)]
pub struct FilesIndex<'a> {
    /// The skills.
    pub skills: Vec<FilesEntry<'a>>,
    /// The version, in the second form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
}

/// A skill with the paths of its files.
#[derive(Debug, Clone, Serialize)]
pub struct FilesEntry<'a> {
    /// The name, which is also its folder.
    pub name: &'a str,
    /// The description.
    pub description: Cow<'a, str>,
    /// The [`skill_digest`], in the second form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The files.
    pub files: Vec<PublishedFile<'a>>,
    /// An archive of the skill, in the second form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<Package>,
}

/// A file of a skill.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum PublishedFile<'a> {
    /// Its path, in the first form.
    Path(&'a str),
    /// Its path and digest, in the second form.
    Digested {
        /// The path.
        path: &'a str,
        /// The digest of its bytes.
        digest: Digest,
    },
}

/// An archive of a skill.
#[derive(Debug, Clone, Serialize)]
pub struct Package {
    /// The address of the archive.
    pub url: String,
    /// The digest of its bytes.
    pub digest: Digest,
}

impl FilesIndex<'_> {
    /// Writes the index.
    pub fn write(&self) -> Vec<u8> {
        // These types hold nothing that JSON cannot express.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Tells whether an index can name a path: printable ASCII without characters that end a path in a
/// URL.
pub fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && !br"\?#[]".contains(&byte))
}

/// Returns the digest of a whole skill, over the digests of all its files in the order of their
/// paths.
pub fn skill_digest<'a>(files: impl IntoIterator<Item = (&'a RelPath, Digest)>) -> Digest {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_unstable_by(|a, b| a.0.as_str().as_bytes().cmp(b.0.as_str().as_bytes()));
    let mut text = Vec::new();
    for (path, digest) in files {
        text.extend_from_slice(path.as_str().as_bytes());
        text.push(0);
        text.extend_from_slice(digest.to_string().trim_start_matches("sha256:").as_bytes());
        text.push(b'\n');
    }
    Digest::of(&text)
}

/// Makes an entry of the second form from a skill that another document described. Fails with what
/// that document did not say.
pub(crate) fn entry_of(skill: &OfferedSkill) -> Result<Value, &'static str> {
    let files = skill.files().ok_or("the files")?;
    let file = |(uri, promise): (&ResourceUri, &FilePromise)| {
        let path = skill.uri.below(uri).ok_or("the files")?;
        Ok((path, promise.digest.ok_or("the digest of each file")?))
    };
    let files: Vec<_> = files.map(file).collect::<Result<_, &'static str>>()?;
    let digested =
        |(path, digest): &'_ (RelPath, Digest)| json!({ "path": path.as_str(), "digest": digest });
    Ok(json!({
        "name": skill.frontmatter.name().as_str(),
        "description": skill.description().ok_or("the description")?,
        "digest": skill_digest(files.iter().map(|(path, digest)| (path, *digest))),
        "files": files.iter().map(digested).collect::<Vec<_>>(),
    }))
}

// Reading.

/// The skills that an index lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OfferedSite {
    /// Each skill, or why its entry cannot be used.
    pub skills: Vec<Result<OfferedSkill, RefusedEntry>>,
    /// The number of entries whose `type` is unknown.
    pub unknown: usize,
}

/// The place that an index came from, against which its addresses are resolved.
pub struct IndexPlace<'a> {
    /// The absolute address of the place, with a slash at its end; skills are folders below it.
    pub folder: &'a str,
    /// Resolves an address in the index to an absolute one, if the client may ask for it.
    ///
    /// Another host than the origin's is acceptable, as the index has the digest of everything that
    /// an entry names by address.
    pub resolve: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for IndexPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexPlace").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl IndexPlace<'_> {
    /// Reads an index of any form.
    pub fn read(&self, text: &str) -> Result<OfferedSite, InvalidDocument> {
        let limits = JsonLimits::new(16, 2_000_000);
        let document = strict_json::object(text.trim_start_matches('\u{feff}'), limits)?;
        let skills = document.get("skills").and_then(Value::as_array).ok_or("no list `skills`")?;
        if skills.len() > MAX_SKILLS {
            return Err(InvalidDocument::new(format!("{} skills", skills.len())));
        }
        let version = document.get("version").and_then(Value::as_str);
        if version.is_some_and(|version| !version.starts_with("0.")) {
            return Err("a version that is not known".into());
        }
        let schema = document.get("$schema").and_then(Value::as_str);
        if schema.is_some_and(|schema| schema != SCHEMA) {
            return Err("a `$schema` that is not known".into());
        }
        let mut site = OfferedSite::default();
        for entry in skills {
            match self.entry(entry) {
                Some(skill) => site.skills.push(skill),
                None => site.unknown += 1,
            }
        }
        Ok(site)
    }

    fn entry(&self, entry: &Value) -> Option<Result<OfferedSkill, RefusedEntry>> {
        if entry.get("files").is_some() {
            return Some(self.with_files(entry));
        }
        match entry.get("type").and_then(Value::as_str) {
            Some(kind @ (SKILL_MD | ARCHIVE)) => Some(self.artifact(entry, kind)),
            Some(_) => None,
            None => Some(Err(malformed("neither `files` nor `type`"))),
        }
    }

    /// Reads an entry of the last form: one artifact with its digest.
    fn artifact(&self, entry: &Value, kind: &str) -> Result<OfferedSkill, RefusedEntry> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        let digest: Option<Digest> = text("digest").and_then(|digest| digest.parse().ok());
        let invalid = || RefusedEntry::new(EntryProblem::Digest).file(name.escape_debug());
        let digest = Some(digest.ok_or_else(invalid)?);
        let url = self.address(text("url").unwrap_or_default())?;
        let uri = uri_of_name(name);
        let offer = if kind == ARCHIVE {
            let route = FetchRoute::Archive { url, format: None, digest };
            SkillOffer::new(Dialect::WellKnown, route)
        } else {
            let offer = SkillOffer::new(Dialect::WellKnown, FetchRoute::WebFile { url });
            match SkillUri::parse(&uri) {
                Ok(skill) => offer.promising(skill.file(), FilePromise { digest, size: None }),
                Err(_) => offer,
            }
        };
        let offer = SkillOffer { complete: true, first_seen: false, ..offer };
        let description = text("description");
        Claim { uri: &uri, name, description, frontmatter: None }.offered(offer)
    }

    /// Reads an entry of the first two forms: files below the origin, or one package of them.
    fn with_files(&self, entry: &Value) -> Result<OfferedSkill, RefusedEntry> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        let uri = uri_of_name(name);
        let description = text("description");
        let claim = Claim { uri: &uri, name, description, frontmatter: None };
        let package = entry.get("package").and_then(|package| {
            let url = package.get("url")?.as_str()?;
            let digest: Digest = package.get("digest")?.as_str()?.parse().ok()?;
            Some((url, digest))
        });
        let route = match package {
            Some((url, digest)) => {
                let url = self.address(url)?;
                FetchRoute::Archive { url, format: None, digest: Some(digest) }
            }
            None => FetchRoute::WebFolder { url: format!("{}{name}/", self.folder) },
        };
        let offer = SkillOffer::new(Dialect::WellKnown, route);
        let first_seen = package.is_none();
        let mut offer = SkillOffer { complete: true, first_seen, ..offer };
        let Ok(skill) = SkillUri::parse(&uri) else { return claim.offered(offer) };
        let files = entry.get("files").and_then(Value::as_array);
        let files = files.ok_or_else(|| malformed("`files` that are no list"))?;
        let files = files.iter().map(read_file).collect::<Result<Vec<_>, _>>()?;
        for (path, digest) in &files {
            let promise = FilePromise { digest: *digest, size: None };
            offer.promises.insert(skill.root().child(path), promise);
        }
        if !offer.promises.contains_key(skill.file()) {
            return Err(RefusedEntry::new(EntryProblem::SkillFileNotListed).file(skill));
        }
        if let Some(said) = text("digest") {
            let digested = files.iter().map(|(path, digest)| Some((path, (*digest)?)));
            let made = digested.collect::<Option<Vec<_>>>().map(skill_digest);
            if made.is_none_or(|made| made.to_string() != said) {
                return Err(RefusedEntry::new(RefusedBecause::DigestMismatch)
                    .file(skill)
                    .expected("a digest over the digests of all files")
                    .actual(said.escape_debug().to_string()));
            }
        }
        claim.offered(offer)
    }

    fn address(&self, reference: &str) -> Result<String, RefusedEntry> {
        let forbidden =
            || RefusedEntry::new(RefusedBecause::AddressForbidden).file(reference.escape_debug());
        (self.resolve)(reference).ok_or_else(forbidden)
    }
}

fn read_file(file: &Value) -> Result<(RelPath, Option<Digest>), RefusedEntry> {
    let text = file.as_str().or_else(|| file.get("path").and_then(Value::as_str));
    let text = text.unwrap_or_default();
    // A web server would decode a percent sign, so a path with one would lead to another file.
    let path = RelPath::parse(text).ok().filter(|_| is_plain(text) && !text.contains('%'));
    let path =
        path.ok_or_else(|| RefusedEntry::new(EntryProblem::Outside).file(text.escape_debug()))?;
    let digest = match file.get("digest") {
        None => None,
        Some(digest) => {
            let parsed = digest.as_str().and_then(|digest| digest.parse().ok());
            let invalid = || RefusedEntry::new(EntryProblem::Digest).file(text.escape_debug());
            Some(parsed.ok_or_else(invalid)?)
        }
    };
    Ok((path, digest))
}

fn malformed(actual: &str) -> RefusedEntry {
    RefusedEntry::new(EntryProblem::Malformed)
        .expected("an entry of an index below `/.well-known/`")
        .actual(actual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{IndexDocument, IndexEntry};

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn read(text: &str) -> Result<OfferedSite, InvalidDocument> {
        let folder = "https://example.com/.well-known/skills/";
        let resolve = |reference: &str| {
            let allowed = !reference.starts_with("http:");
            allowed.then(|| format!("https://example.com{reference}"))
        };
        IndexPlace { folder, resolve: &resolve }.read(text)
    }

    fn read_one(entry: &Value) -> Result<OfferedSkill, RefusedEntry> {
        let mut site = read(&json!({ "skills": [entry] }).to_string()).unwrap();
        site.skills.pop().expect("one entry")
    }

    #[test]
    fn the_digest_of_a_skill_is_the_one_of_the_check_vector_d11b() {
        let (run, own) = (path("scripts/run.sh"), RelPath::skill_file());
        let files = [(&run, Digest::of(b"#!/bin/sh\n")), (&own, Digest::of(b"# Hello\n"))];
        let vector = "sha256:34f7a8c484e9991f3e71a309f31332d6335efc01f544105c4185a7c4ab12eb1e";
        assert_eq!(skill_digest(files).to_string(), vector);
    }

    #[test]
    fn an_index_of_files_is_read_as_it_was_written_d11() {
        let entry = FilesEntry {
            name: "refunds",
            description: "x".into(),
            digest: None,
            files: vec![PublishedFile::Path("SKILL.md"), PublishedFile::Path("a b.md")],
            package: None,
        };
        let index = FilesIndex { skills: vec![entry.clone()], version: None };
        let text = String::from_utf8(index.write()).unwrap();
        let files =
            r#"{"skills":[{"name":"refunds","description":"x","files":["SKILL.md","a b.md"]}]}"#;
        assert_eq!(text, files);
        let skill = read(&text).unwrap().skills.remove(0).unwrap();
        let url = "https://example.com/.well-known/skills/refunds/".to_owned();
        assert_eq!(skill.offer.route, FetchRoute::WebFolder { url });
        assert_eq!((skill.files().unwrap().count(), skill.offer.first_seen), (2, true));

        let (own, digest) = (RelPath::skill_file(), Digest::of(b"a"));
        let entry = FilesEntry {
            digest: Some(skill_digest([(&own, digest)])),
            files: vec![PublishedFile::Digested { path: "SKILL.md", digest }],
            package: Some(Package { url: format!("{FILES}refunds.zip"), digest }),
            ..entry
        };
        let index = FilesIndex { skills: vec![entry], version: Some(VERSION) };
        let text = String::from_utf8(index.write()).unwrap();
        let skill = read(&text).unwrap().skills.remove(0).unwrap();
        let url = "https://example.com/.well-known/skills/refunds.zip".to_owned();
        let route = FetchRoute::Archive { url, format: None, digest: Some(digest) };
        assert_eq!((&skill.offer.route, skill.skill_file_digest()), (&route, Some(digest)));
    }

    #[test]
    fn an_index_of_artifacts_is_read_as_it_was_written_d11c() {
        let digest = Digest::of(b"a");
        let entry = |kind, url: &'static str| IndexEntry {
            name: Some("refunds".into()),
            kind: Some(kind),
            description: Some("x".into()),
            url: Some(url.into()),
            digest: Some(digest),
            ..IndexEntry::default()
        };
        let skills = vec![entry(SKILL_MD, "/refunds/SKILL.md"), entry(ARCHIVE, "/refunds.tar.gz")];
        let index = IndexDocument { schema: Some(SCHEMA), skills };
        let site = read(std::str::from_utf8(&index.write()).unwrap()).unwrap();
        let routes: Vec<_> =
            site.skills.iter().map(|skill| &skill.as_ref().unwrap().offer.route).collect();
        let file = FetchRoute::WebFile { url: "https://example.com/refunds/SKILL.md".to_owned() };
        let url = "https://example.com/refunds.tar.gz".to_owned();
        let archive = FetchRoute::Archive { url, format: None, digest: Some(digest) };
        assert_eq!(routes, [&file, &archive]);
    }

    #[test]
    fn entries_that_cannot_be_used_are_refused_one_by_one_d11() {
        let digest = Digest::of(b"a");
        let files = |files: Value| json!({ "name": "refunds", "description": "x", "files": files });
        let artifact = |url: &str, digest: &str| json!({ "name": "refunds", "type": "skill-md", "url": url, "digest": digest });
        for (bad, because) in [
            (json!({}), EntryProblem::Malformed.into()),
            (files(json!({})), EntryProblem::Malformed.into()),
            (files(json!(["SKILL.md", "../x"])), EntryProblem::Outside.into()),
            (files(json!(["SKILL.md", "a%2fb"])), EntryProblem::Outside.into()),
            (files(json!(["SKILL.md", "a?b"])), EntryProblem::Outside.into()),
            (files(json!(["SKILL.md", 5])), EntryProblem::Outside.into()),
            (files(json!(["x.md"])), EntryProblem::SkillFileNotListed.into()),
            (
                files(json!([{ "path": "SKILL.md", "digest": "md5:1" }])),
                EntryProblem::Digest.into(),
            ),
            (artifact("/x", "md5:1"), EntryProblem::Digest.into()),
            (artifact("http://x/y", &digest.to_string()), RefusedBecause::AddressForbidden),
            (
                json!({ "name": "../x", "description": "x", "files": ["SKILL.md"] }),
                EntryProblem::Uri.into(),
            ),
        ] {
            assert_eq!(read_one(&bad).unwrap_err().because, because, "{bad}");
        }
        let mut wrong = files(json!([{ "path": "SKILL.md", "digest": digest }]));
        wrong["digest"] = json!(digest);
        let refused = read_one(&wrong).unwrap_err();
        assert_eq!(refused.because, RefusedBecause::DigestMismatch);
        let site = read(r#"{"skills":[{"type":"hologram"}]}"#).unwrap();
        assert_eq!((site.skills.len(), site.unknown), (0, 1));
    }

    #[test]
    fn documents_of_an_unknown_version_are_refused_whole_d11() {
        for bad in [
            "<html>",
            "[]",
            "{}",
            r#"{"skills":[],"version":"1.0.0"}"#,
            r#"{"skills":[],"$schema":"https://example.com/schema.json"}"#,
            r#"{"skills":[],"skills":[]}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
