//! D11: skills under `/.well-known/`, for clients that speak HTTP and not MCP.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use skillwire_core::{Digest, RelPath, SKILL_FILE, percent::decode};
use skillwire_dialects::{
    index::{ARCHIVE, IndexDocument, IndexEntry, SCHEMA, SKILL_MD},
    well_known::{
        ARTIFACTS, FILES, FilesEntry, FilesIndex, INDEX, MEDIA_TYPE, Package, PublishedFile,
        VERSION, is_plain, skill_digest,
    },
};
use skillwire_protocol::{Era, RpcError};
use skillwire_source::{FileTree, Skill, SkillContent};

use super::{
    DialectPart,
    archives::{self, ArchiveFormat, PublishedArchives},
    documents::{DialectDocument, DocumentKey, ReadyDocument},
    names::{LookupNames, NameLookup},
};
use crate::engine::{OwnedCall, ReservedMemory, media_type};

/// A file or index that is published under `/.well-known/`.
#[derive(Debug)]
pub struct Published {
    /// The content.
    pub bytes: Bytes,
    /// The digest of the content.
    pub digest: Digest,
    /// The media type of the content.
    pub media_type: &'static str,
    /// The memory that large content occupies, until it has been sent.
    pub memory: Option<ReservedMemory>,
}

/// Tells whether a path may lead to something published.
pub fn is_well_known(path: &str) -> bool {
    path.starts_with(FILES) || path.starts_with(ARTIFACTS)
}

/// Finds what is published at a path.
pub(crate) async fn get(call: OwnedCall, path: &str) -> Result<Option<Published>, RpcError> {
    let (rest, artifacts) = match path.strip_prefix(ARTIFACTS) {
        Some(rest) => (rest, true),
        None => (path.strip_prefix(FILES).unwrap_or_default(), false),
    };
    if rest == INDEX && artifacts && lacks_archives(&call).await? {
        return Ok(None);
    }
    if rest == INDEX && artifacts {
        let make = self::artifacts(call.clone());
        return document(&call, DialectDocument::WellKnownArtifacts, make).await;
    }
    if rest == INDEX {
        return document(&call, DialectDocument::WellKnownFiles, files(call.clone())).await;
    }
    for format in ArchiveFormat::ALL {
        if let Some(name) = rest.strip_suffix(format.suffix()).filter(|name| !name.contains('/')) {
            return archive(&call, name, format).await;
        }
    }
    file(&call, rest).await
}

async fn document(
    call: &OwnedCall,
    document: DialectDocument,
    make: impl Future<Output = Result<Vec<u8>, RpcError>>,
) -> Result<Option<Published>, RpcError> {
    let key = DocumentKey {
        document,
        generation: call.snapshot.generation(),
        view: call.caller.view,
        era: Era::Legacy,
    };
    let found = call.state.projections.documents.get(key, make).await?;
    let memory = call.reserve(found.bytes.len() as u64).await?;
    let ReadyDocument { bytes, digest } = found;
    Ok(Some(Published { bytes, digest, media_type: MEDIA_TYPE, memory }))
}

/// Finds a file of a skill: `NAME/PATH`, decoded exactly once.
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
    let memory = call.reserve(record.size).await?;
    let bytes = call.bytes(&skill, &path).await?;
    Ok(bytes.map(|bytes| {
        let media_type = media_type(&skill, &path, &bytes);
        Published { bytes, digest, media_type, memory }
    }))
}

async fn archive(
    call: &OwnedCall,
    name: &str,
    format: ArchiveFormat,
) -> Result<Option<Published>, RpcError> {
    let Some(skill) = named(call, name).await? else { return Ok(None) };
    let memory = archives::reserve(call, &skill).await?;
    let made = archives::read(call, &skill, format).await?;
    Ok(made.map(|archive| Published {
        bytes: archive.bytes,
        digest: archive.digest,
        media_type: format.media_type(),
        memory,
    }))
}

async fn named(call: &OwnedCall, name: &str) -> Result<Option<Arc<Skill>>, RpcError> {
    let names = call.names().await?;
    Ok(match names.find(&call.snapshot, name) {
        NameLookup::Skill(skill) => Some(Arc::clone(skill)),
        NameLookup::Ambiguous(_) | NameLookup::Nothing => None,
    })
}

/// Returns the files of a skill; a generated skill has none to publish.
fn published(skill: &Skill) -> Option<&FileTree> {
    match &skill.content {
        SkillContent::Files(tree) => Some(tree),
        SkillContent::Generated(_) => None,
    }
}

/// Writes the index of the first revision, or of the second with digests.
async fn files(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let names = call.names().await?;
    let digests = call.shows(DialectPart::WellKnownDigests);
    let packages = if digests {
        PublishedArchives::in_formats(&call, &ArchiveFormat::ALL).await?
    } else {
        PublishedArchives::default()
    };
    let entry = |(skill, name, tree)| files_entry(skill, name, tree, digests.then_some(&packages));
    let skills = named_trees(&call, &names).filter_map(entry).collect();
    Ok(FilesIndex { skills, version: digests.then_some(VERSION) }.write())
}

/// Writes the entry of a skill with its files; skips a skill if the index cannot name all its
/// files.
fn files_entry<'a>(
    skill: &Skill,
    name: &'a str,
    tree: &'a FileTree,
    packages: Option<&PublishedArchives>,
) -> Option<FilesEntry<'a>> {
    if !tree.files.iter().all(|file| is_plain(file.path.as_str())) {
        return None;
    }
    let description = skill.description().into();
    let Some(packages) = packages else {
        // `SKILL.md` comes first, because it is the file that matters.
        let paths = tree.files.iter().map(|file| file.path.as_str());
        let others = paths.filter(|path| *path != SKILL_FILE);
        let files = std::iter::once(SKILL_FILE).chain(others).map(PublishedFile::Path).collect();
        return Some(FilesEntry { name, description, digest: None, files, package: None });
    };
    let digests = tree.files.iter().map(|file| (&file.path, file.digest));
    let file = |(path, digest): (&'a RelPath, Digest)| PublishedFile::Digested {
        path: path.as_str(),
        digest,
    };
    let package = packages.first(skill).map(|archive| Package {
        url: format!("{FILES}{name}{}", archive.format.suffix()),
        digest: archive.digest,
    });
    Some(FilesEntry {
        name,
        description,
        digest: Some(skill_digest(digests.clone())),
        files: digests.map(file).collect(),
        package,
    })
}

/// Tells whether the index of the last revision would lack skills, because files of remote stores are
/// never packed.
///
/// Clients look at the index of the first revision, which has every skill, only if there is none of
/// the last. An index with the other skills would hide those with several files.
async fn lacks_archives(call: &OwnedCall) -> Result<bool, RpcError> {
    let names = call.names().await?;
    let is_remote =
        |(_, _, tree): (_, _, &FileTree)| tree.files.len() > 1 && tree.store.remote().is_some();
    Ok(named_trees(call, &names).any(is_remote))
}

/// Writes the index of the last revision: a skill with one file as that file, any other as an
/// archive.
async fn artifacts(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let names = call.names().await?;
    let packed = PublishedArchives::in_formats(&call, &[ArchiveFormat::TarGz]).await?;
    let entry = |(skill, name, tree): (&Skill, _, &FileTree)| {
        let (kind, url, digest) = match packed.first(skill) {
            Some(archive) => {
                let url = format!("{ARTIFACTS}{name}{}", archive.format.suffix());
                (ARCHIVE, url, archive.digest)
            }
            None if tree.files.len() == 1 => {
                let digest = tree.file(&RelPath::skill_file())?.digest;
                (SKILL_MD, format!("{ARTIFACTS}{name}/{SKILL_FILE}"), digest)
            }
            None => return None,
        };
        Some(IndexEntry {
            name: Some(Cow::Borrowed(name)),
            kind: Some(kind),
            description: Some(skill.description().into()),
            url: Some(url.into()),
            digest: Some(digest),
            ..IndexEntry::default()
        })
    };
    let skills = named_trees(&call, &names).filter_map(entry).collect();
    Ok(IndexDocument { schema: Some(SCHEMA), skills }.write())
}

/// Iterates over all skills that have a name and files.
fn named_trees<'a>(
    call: &'a OwnedCall,
    names: &'a LookupNames,
) -> impl Iterator<Item = (&'a Skill, &'a str, &'a FileTree)> {
    call.snapshot.listed().filter_map(|skill| {
        let name = names.of_skill(&call.snapshot, skill)?;
        Some((&**skill, name, published(skill)?))
    })
}
