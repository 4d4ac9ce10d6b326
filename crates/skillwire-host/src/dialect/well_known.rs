//! Skills of a web origin: an index below `/.well-known/`, in the three forms it had.

use std::time::Duration;

use serde_json::Value;
use skillwire_client::WebOrigin;
use skillwire_core::{
    Digest, RelPath, SkillUri,
    strict_json::{self, JsonLimits},
};
use skillwire_trust::{FetchRoute, Offer, Origin, Promise, Reason, Refusal, UnreadSkill};

use super::{
    Dialect,
    found::{Found, uri_of_name},
    ladder::unknown_types,
};
use crate::remote::{Collecting, Listing, Remote};

/// Where the index is, the newer place first.
const PLACES: [&str; 2] = ["/.well-known/agent-skills/", "/.well-known/skills/"];

/// The largest index that is read.
const MOST_BYTES: u64 = 4 << 20;

/// The most skills of one origin.
const MOST_SKILLS: usize = 5_000;

/// What the newest form says it is.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

impl Remote {
    /// Lists a web origin.
    pub(super) async fn well_known(&self, web: &WebOrigin) -> Result<(Listing, Duration), Refusal> {
        let time = self.policy.budgets.answer_time;
        for place in PLACES {
            let url = web.at(&format!("{place}index.json"));
            let fetched = web.get(&url, MOST_BYTES, time).await;
            let Some(fetched) = fetched.map_err(|refusal| refusal.about(self.origin()))? else {
                continue;
            };
            let text = String::from_utf8_lossy(&fetched.bytes);
            let index = Index { origin: &self.origin(), web, place, url: &url };
            match index.read(&text) {
                Ok(listing) => return Ok((listing, super::ladder::LIFETIME)),
                // Many sites have a page for everything.
                Err(problem) if place == PLACES[0] => tracing::debug!("{url}: {problem}"),
                Err(problem) => {
                    return Err(Refusal::new(Reason::ProtocolError)
                        .about(self.origin())
                        .file(url)
                        .expected("a JSON object with a list `skills`")
                        .actual(problem));
                }
            }
        }
        Err(Refusal::new(Reason::SkillsNotOffered)
            .about(self.origin())
            .expected("an index at `/.well-known/agent-skills/` or `/.well-known/skills/`")
            .actual("neither"))
    }
}

/// One index document and where it came from.
struct Index<'a> {
    origin: &'a Origin,
    web: &'a WebOrigin,
    place: &'a str,
    url: &'a str,
}

impl Index<'_> {
    fn read(&self, text: &str) -> Result<Listing, String> {
        let limits = JsonLimits { depth: 16, nodes: 2_000_000 };
        let document = strict_json::object(text.trim_start_matches('\u{feff}'), limits)
            .map_err(|error| error.to_string())?;
        let skills = document.get("skills").and_then(Value::as_array);
        let skills = skills.ok_or("no list `skills`")?;
        if skills.len() > MOST_SKILLS {
            return Err(format!("{} skills", skills.len()));
        }
        let version = document.get("version").and_then(Value::as_str);
        if version.is_some_and(|version| !version.starts_with("0.")) {
            return Err("a version that is not known".to_owned());
        }
        let schema = document.get("$schema").and_then(Value::as_str);
        if schema.is_some_and(|schema| schema != SCHEMA) {
            return Err("a `$schema` that is not known".to_owned());
        }
        let mut collecting = Collecting::default();
        let mut unknown = 0;
        for entry in skills {
            match self.entry(entry) {
                Some(skill) => collecting.add_one(skill.map(Into::into)),
                None => unknown += 1,
            }
        }
        let mut listing = collecting.finish().0;
        listing.dialect = Some(Dialect::WellKnown);
        listing.warnings.extend(unknown_types(self.origin, unknown));
        Ok(listing)
    }

    fn entry(&self, entry: &Value) -> Option<Result<UnreadSkill, Refusal>> {
        if entry.get("files").is_some() {
            return Some(self.with_files(entry));
        }
        match entry.get("type").and_then(Value::as_str) {
            Some(kind @ ("skill-md" | "archive")) => Some(self.artifact(entry, kind)),
            Some(_) => None,
            None => Some(Err(self.malformed("neither `files` nor `type`"))),
        }
    }

    /// One artifact with its digest, which may be kept elsewhere.
    fn artifact(&self, entry: &Value, kind: &str) -> Result<UnreadSkill, Refusal> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        let digest: Option<Digest> = text("digest").and_then(|digest| digest.parse().ok());
        let digest = digest.ok_or_else(|| {
            Refusal::new(Reason::DigestInvalid).about(self.origin).file(name.escape_debug())
        })?;
        let url = self.address(text("url").unwrap_or_default())?;
        let uri = uri_of_name(name);
        let offer = if kind == "archive" {
            let route = FetchRoute::Archive { url, format: None, digest: Some(digest) };
            Offer::new(Dialect::WellKnown, route)
        } else {
            let offer = Offer::new(Dialect::WellKnown, FetchRoute::WebFile(url));
            match SkillUri::parse(&uri) {
                Ok(skill) => {
                    offer.promising(skill.file(), Promise { digest: Some(digest), size: None })
                }
                Err(_) => offer,
            }
        };
        let offer = Offer { complete: true, first_seen: false, ..offer };
        let description = text("description");
        Found { uri: &uri, name, description, frontmatter: None }.listed(self.origin, offer)
    }

    /// A list of files below the origin, with digests or without, or one package of them.
    fn with_files(&self, entry: &Value) -> Result<UnreadSkill, Refusal> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        let uri = uri_of_name(name);
        let found =
            || Found { uri: &uri, name, description: text("description"), frontmatter: None };
        let package = entry.get("package");
        let packed = package.and_then(|package| {
            let url = package.get("url")?.as_str()?;
            let digest: Digest = package.get("digest")?.as_str()?.parse().ok()?;
            Some((url, digest))
        });
        let route = match packed {
            Some((url, digest)) => {
                FetchRoute::Archive { url: self.address(url)?, format: None, digest: Some(digest) }
            }
            None => FetchRoute::WebFolder(self.web.at(&format!("{}{name}/", self.place))),
        };
        let first_seen = packed.is_none();
        let mut offer =
            Offer { complete: true, first_seen, ..Offer::new(Dialect::WellKnown, route) };
        let Ok(skill) = SkillUri::parse(&uri) else {
            return found().listed(self.origin, offer);
        };
        let files = entry.get("files").and_then(Value::as_array);
        let files = files.ok_or_else(|| self.malformed("`files` that are no list"))?;
        let mut listed = Vec::with_capacity(files.len());
        for file in files {
            let path = file.as_str().or_else(|| file.get("path").and_then(Value::as_str));
            let path = path.unwrap_or_default();
            let plain = |byte: u8| (0x20..=0x7e).contains(&byte) && !b"\\?#[]%".contains(&byte);
            let parsed = RelPath::parse(path).ok().filter(|path| path.as_str().bytes().all(plain));
            let parsed = parsed.ok_or_else(|| {
                Refusal::new(Reason::ResourceOutside).about(self.origin).file(path.escape_debug())
            })?;
            let digest = match file.get("digest") {
                None => None,
                Some(digest) => {
                    let parsed = digest.as_str().and_then(|digest| digest.parse().ok());
                    Some(parsed.ok_or_else(|| {
                        Refusal::new(Reason::DigestInvalid)
                            .about(self.origin)
                            .file(path.escape_debug())
                    })?)
                }
            };
            listed.push((parsed.clone(), digest));
            offer.promises.insert(skill.root().child(&parsed), Promise { digest, size: None });
        }
        if !offer.promises.contains_key(skill.file()) {
            return Err(Refusal::new(Reason::SkillFileNotListed).about(self.origin).file(skill));
        }
        if let Some(whole) = text("digest") {
            let made = skill_digest(&listed);
            if made.is_none_or(|made| made.to_string() != whole) {
                return Err(Refusal::new(Reason::DigestMismatch)
                    .about(self.origin)
                    .file(skill)
                    .expected("a digest over the digests of all files")
                    .actual(whole.escape_debug()));
            }
        }
        found().listed(self.origin, offer)
    }

    /// An absolute address that may be asked for; digests are what makes another host acceptable.
    fn address(&self, reference: &str) -> Result<String, Refusal> {
        let url = WebOrigin::resolve(self.url, reference);
        url.filter(|url| url.starts_with("https://") || self.web.holds(url)).ok_or_else(|| {
            Refusal::new(Reason::AddressForbidden).about(self.origin).file(reference.escape_debug())
        })
    }

    fn malformed(&self, actual: &str) -> Refusal {
        Refusal::new(Reason::EntryMalformed)
            .about(self.origin)
            .expected("an entry of an index below `/.well-known/`")
            .actual(actual)
    }
}

/// One digest over the digests of all files, in the order of their paths.
pub(super) fn skill_digest(files: &[(RelPath, Option<Digest>)]) -> Option<Digest> {
    let mut files: Vec<_> = files.iter().collect();
    files.sort_unstable_by(|a, b| a.0.as_str().as_bytes().cmp(b.0.as_str().as_bytes()));
    let mut text = Vec::new();
    for (path, digest) in files {
        let digest = (*digest)?.to_string();
        text.extend_from_slice(path.as_str().as_bytes());
        text.push(0);
        text.extend_from_slice(digest.trim_start_matches("sha256:").as_bytes());
        text.push(b'\n');
    }
    Some(Digest::of(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d11b_the_digest_of_a_skill_is_the_one_of_the_check_vector() {
        let file =
            |path: &str, bytes: &[u8]| (RelPath::parse(path).unwrap(), Some(Digest::of(bytes)));
        let files = [file("scripts/run.sh", b"#!/bin/sh\n"), file("SKILL.md", b"# Hello\n")];
        let vector = "sha256:34f7a8c484e9991f3e71a309f31332d6335efc01f544105c4185a7c4ab12eb1e";
        assert_eq!(skill_digest(&files).unwrap().to_string(), vector);
    }
}
