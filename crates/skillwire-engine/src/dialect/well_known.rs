//! Skills under `/.well-known/`, for whoever speaks HTTP and not MCP.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_core::{digest::Digest, path::RelPath, uri::decode};
use skillwire_protocol::{error::RpcError, version::Era};
use skillwire_source::{FileTree, Skill, SkillContent};

use super::{
    DialectPart,
    archives::{self, Archived, Format},
    documents::{Document, DocumentKey},
    index::SCHEMA,
    names::{LookupNames, Named},
};
use crate::engine::{OwnedCall, media_type};

/// Where the first revision puts skills.
const FILES: &str = "/.well-known/skills/";

/// Where the last revision puts them.
const ARTIFACTS: &str = "/.well-known/agent-skills/";

const INDEX: &str = "index.json";

const JSON: &str = "application/json";

/// Something that is published.
#[derive(Debug)]
pub struct Published {
    /// The bytes.
    pub bytes: Bytes,
    /// The digest of the bytes.
    pub digest: Digest,
    /// The media type of the bytes.
    pub media_type: &'static str,
}

/// Tells whether a path is one of these.
pub fn is_well_known(path: &str) -> bool {
    path.starts_with(FILES) || path.starts_with(ARTIFACTS)
}

/// Finds what is published at a path.
pub(crate) async fn get(call: OwnedCall, path: &str) -> Result<Option<Published>, RpcError> {
    let (rest, artifacts) = match path.strip_prefix(ARTIFACTS) {
        Some(rest) => (rest, true),
        None => (path.strip_prefix(FILES).unwrap_or_default(), false),
    };
    if rest == INDEX && artifacts {
        let make = self::artifacts(call.clone());
        return document(&call, Document::WellKnownArtifacts, make).await;
    }
    if rest == INDEX {
        return document(&call, Document::WellKnownFiles, files(call.clone())).await;
    }
    for format in Format::ALL {
        if let Some(name) = rest.strip_suffix(format.suffix()).filter(|name| !name.contains('/')) {
            return archive(&call, name, format).await;
        }
    }
    file(&call, rest).await
}

async fn document(
    call: &OwnedCall,
    document: Document,
    make: impl Future<Output = Result<Vec<u8>, RpcError>>,
) -> Result<Option<Published>, RpcError> {
    let key = DocumentKey {
        document,
        generation: call.snapshot.generation(),
        view: call.caller.view,
        era: Era::Legacy,
    };
    let found = call.state.projections.documents.get(key, make).await?;
    Ok(Some(Published { bytes: found.bytes, digest: found.digest, media_type: JSON }))
}

/// A file of a skill: `NAME/PATH`, decoded once and looked up.
async fn file(call: &OwnedCall, rest: &str) -> Result<Option<Published>, RpcError> {
    let segments: Option<Vec<String>> = rest
        .split('/')
        .map(|segment| decode(segment).ok().filter(|plain| !plain.contains(['/', '\\', '\0'])))
        .collect();
    let Some([name, path @ ..]) = segments.as_deref() else { return Ok(None) };
    let Ok(path) = RelPath::parse(&path.join("/")) else { return Ok(None) };
    let Some(skill) = named(call, name).await? else { return Ok(None) };
    let Some(record) = published(&skill).and_then(|tree| tree.file(&path)) else {
        return Ok(None);
    };
    let digest = record.digest;
    let bytes = call.bytes(&skill, &path).await?;
    Ok(bytes.map(|bytes| {
        let media_type = media_type(&skill, &path, &bytes);
        Published { bytes, digest, media_type }
    }))
}

async fn archive(
    call: &OwnedCall,
    name: &str,
    format: Format,
) -> Result<Option<Published>, RpcError> {
    let Some(skill) = named(call, name).await? else { return Ok(None) };
    let made = archives::read(call, &skill, format).await?;
    Ok(made.map(|archive| Published {
        bytes: archive.bytes,
        digest: archive.digest,
        media_type: format.media_type(),
    }))
}

async fn named(call: &OwnedCall, name: &str) -> Result<Option<Arc<Skill>>, RpcError> {
    let names = call.names().await?;
    Ok(match names.find(&call.snapshot, name) {
        Named::Skill(skill) => Some(Arc::clone(skill)),
        Named::Ambiguous(_) | Named::Nothing => None,
    })
}

/// The files of a skill, which one that is made on request has not.
fn published(skill: &Skill) -> Option<&FileTree> {
    match &skill.content {
        SkillContent::Files(tree) => Some(tree),
        SkillContent::Generated(_) => None,
    }
}

/// The index of the first revision, or of the second with digests.
async fn files(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let names = call.names().await?;
    let digests = call.shows(DialectPart::WellKnownDigests);
    let packages = if digests {
        Archived::in_formats(&call, &Format::ALL).await?
    } else {
        Archived::default()
    };
    let skills = each(&call, &names, |skill, name, tree| {
        // A skill whose files cannot all be named there is not there.
        let paths = tree.files.iter().map(|file| file.path.as_str());
        if !paths.clone().all(is_plain) {
            return None;
        }
        let mut entry = json!({ "name": name, "description": skill.description() });
        if digests {
            entry["digest"] = skill_digest(tree).to_string().into();
            entry["files"] = tree
                .files
                .iter()
                .map(|file| json!({ "path": file.path.as_str(), "digest": file.digest }))
                .collect();
            if let Some((format, digest)) = packages.first(skill) {
                let url = format!("{FILES}{name}{}", format.suffix());
                entry["package"] = json!({ "url": url, "digest": digest });
            }
        } else {
            // The one that matters comes first.
            let others = paths.filter(|path| *path != "SKILL.md");
            entry["files"] = std::iter::once("SKILL.md").chain(others).collect();
        }
        Some(entry)
    });
    let mut index = json!({ "skills": skills });
    if digests {
        index["version"] = "0.2.0".into();
    }
    serde_json::to_vec(&index).map_err(|_| RpcError::internal())
}

/// The index of the last revision: a skill of one file as that file, any other as an archive.
async fn artifacts(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let names = call.names().await?;
    let packed = Archived::in_formats(&call, &[Format::TarGz]).await?;
    let skills = each(&call, &names, |skill, name, tree| {
        let (kind, url, digest) = match packed.first(skill) {
            Some((format, digest)) => {
                ("archive", format!("{ARTIFACTS}{name}{}", format.suffix()), digest)
            }
            None if tree.files.len() == 1 => {
                let digest = tree.file(&RelPath::skill_file())?.digest;
                ("skill-md", format!("{ARTIFACTS}{name}/SKILL.md"), digest)
            }
            None => return None,
        };
        Some(json!({
            "name": name,
            "type": kind,
            "description": skill.description(),
            "url": url,
            "digest": digest,
        }))
    });
    let index = json!({ "$schema": SCHEMA, "skills": skills });
    serde_json::to_vec(&index).map_err(|_| RpcError::internal())
}

fn each(
    call: &OwnedCall,
    names: &LookupNames,
    make: impl Fn(&Skill, &str, &FileTree) -> Option<Value>,
) -> Vec<Value> {
    let skills = call.snapshot.listed();
    skills
        .filter_map(|skill| {
            let name = names.of_skill(&call.snapshot, skill)?;
            make(skill, name, published(skill)?)
        })
        .collect()
}

/// Tells whether the first revision can name a path.
fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && !br"\?#[]".contains(&byte))
}

/// The digest of a whole skill: of each path, in order, with the digest of its file.
fn skill_digest(tree: &FileTree) -> Digest {
    let mut all = Vec::new();
    for file in &tree.files {
        all.extend_from_slice(file.path.as_str().as_bytes());
        all.push(0);
        let digest = file.digest.to_string();
        all.extend_from_slice(digest.trim_start_matches("sha256:").as_bytes());
        all.push(b'\n');
    }
    Digest::of(&all)
}
