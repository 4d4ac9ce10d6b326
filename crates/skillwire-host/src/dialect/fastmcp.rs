//! `SKILL.md` beside `_manifest`, which has the size and hash of every file.

use serde_json::Value;
use skillwire_core::{
    RelPath, SkillUri,
    received::EntryLimits,
    strict_json::{self, JsonLimits},
};
use skillwire_trust::{FetchRoute, Offer, Origin, Promise, Reason, Refusal, SkillId, UnreadSkill};

use super::{Dialect, found::Found, resources::Resource};

/// The end of a manifest's URI.
const MANIFEST: &str = "/_manifest";

/// Takes a skill whose manifest is listed as well.
pub(super) fn skill(
    origin: &Origin,
    resource: &Resource,
    all: &[Resource],
) -> Option<Result<UnreadSkill, Refusal>> {
    let root = resource.uri.strip_suffix("/SKILL.md").filter(|uri| uri.starts_with("skill://"))?;
    let manifest = format!("{root}{MANIFEST}");
    all.iter().find(|other| other.uri == manifest)?;
    let name = root.rsplit('/').next().unwrap_or(root);
    let description = resource.description.as_deref();
    let found = Found { uri: &resource.uri, name, description, frontmatter: None };
    let offer = Offer::new(Dialect::FastMcp, FetchRoute::Manifest(manifest));
    Some(found.listed(origin, Offer { first_seen: false, complete: true, ..offer }))
}

/// Reads a manifest into promises. A path that leaves the skill, or is there twice, refuses it.
pub(super) fn manifest(
    skill: &SkillUri,
    id: &SkillId,
    text: &str,
    limits: EntryLimits,
    mut offer: Offer,
) -> Result<Offer, Refusal> {
    let malformed = |actual: String| {
        Refusal::new(Reason::ResourcesInvalid)
            .about(id)
            .expected("a `_manifest` with `files` of `path`, `size` and `hash`")
            .actual(actual)
    };
    let nodes = 8 * limits.files + 64;
    let document = strict_json::object(text, JsonLimits { depth: 8, nodes })
        .map_err(|error| malformed(error.to_string()))?;
    let files = document.get("files").and_then(Value::as_array);
    let files = files.ok_or_else(|| malformed("no list `files`".to_owned()))?;
    if files.len() > limits.files {
        return Err(Refusal::new(Reason::TooManyFiles)
            .about(id)
            .expected(format!("at most {} files", limits.files))
            .actual(format!("{} files", files.len())));
    }
    offer.promises.clear();
    for file in files {
        let text = file.get("path").and_then(Value::as_str).unwrap_or_default();
        let path = RelPath::parse(text).map_err(|error| {
            let refusal = Refusal::new(Reason::ResourceOutside).about(id).file(text.escape_debug());
            refusal.expected("a path inside the skill").actual(format!("one that {error}"))
        })?;
        // The same string, under the name of either document.
        let hash = file.get("hash").or_else(|| file.get("digest"));
        let digest = match hash {
            None => None,
            Some(hash) => {
                let digest = hash.as_str().and_then(|hash| hash.parse().ok());
                Some(
                    digest
                        .ok_or_else(|| Refusal::new(Reason::DigestInvalid).about(id).file(&path))?,
                )
            }
        };
        let size = file.get("size").and_then(Value::as_u64);
        let promise = Promise { digest, size };
        let uri = skill.root().child(&path);
        if offer.promises.insert(uri, promise).is_some() {
            return Err(Refusal::new(Reason::ResourceDuplicate).about(id).file(&path));
        }
    }
    if !offer.promises.contains_key(skill.file()) {
        return Err(Refusal::new(Reason::SkillFileNotListed).about(id));
    }
    let whole = |promise: &Promise| promise.digest.is_some() && promise.size.is_some();
    let first_seen = !offer.promises.values().all(whole);
    Ok(Offer { first_seen, complete: true, ..offer })
}
