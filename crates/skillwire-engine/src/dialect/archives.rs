//! Whole skills as archives, made when a client reads them and cached within a bound.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use quick_cache::sync::Cache;
pub(crate) use skillwire_archive::ArchiveFormat;
use skillwire_catalog::Snapshot;
use skillwire_core::Digest;
use skillwire_dialects::index::{IndexArchive, archive_uri};
use skillwire_protocol::RpcError;
use skillwire_source::{FileTree, Skill, SkillContent};

use super::{
    DialectPart,
    documents::{ByLength, ReadyDocument},
};
use crate::engine::{OwnedCall, ReservedMemory, contents::published, resource_changed};

/// How many digests of archives are remembered after their bytes are gone.
const REMEMBERED: usize = 65_536;

/// The most bytes of files that are packed for one document; beyond that it lists no archives.
const MAX_INDEXED_BYTES: u64 = 256 * 1024 * 1024;

/// The most bytes of files in one archive.
const MAX_PACKED_BYTES: u64 = 16 * 1024 * 1024;

/// Identifies an archive: the digest of the skill's entry covers everything in it.
type CachedArchiveKey = (Digest, ArchiveFormat);

/// What is published about an archive.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArchiveRecord {
    pub(super) format: ArchiveFormat,
    pub(super) digest: Digest,
    pub(super) size: u64,
}

impl ArchiveRecord {
    fn of(archive: &ReadyDocument, format: ArchiveFormat) -> Self {
        Self { format, digest: archive.digest, size: archive.bytes.len() as u64 }
    }
}

/// Caches archives and what is published about them.
#[derive(Debug)]
pub(super) struct ArchiveCache {
    kept: Cache<CachedArchiveKey, ReadyDocument, ByLength>,
    /// Packing always gives the same bytes, so digest and size stay valid after an archive is
    /// dropped.
    described: Cache<CachedArchiveKey, Option<ArchiveRecord>>,
}

impl ArchiveCache {
    /// Creates a cache of at most `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        Self { kept: Cache::with_weighter(64, most, ByLength), described: Cache::new(REMEMBERED) }
    }

    fn made(
        &self,
        skill: &Skill,
        format: ArchiveFormat,
    ) -> Result<Option<ReadyDocument>, UnreadFile> {
        let key = (skill.entry.digest(), format);
        if let Some(archive) = self.kept.get(&key) {
            return Ok(Some(archive));
        }
        let archive = pack(skill, format)?;
        let record = archive.as_ref().map(|archive| ArchiveRecord::of(archive, format));
        self.described.insert(key, record);
        if let Some(archive) = &archive {
            self.kept.insert(key, archive.clone());
        }
        Ok(archive)
    }

    fn record(&self, skill: &Skill, format: ArchiveFormat) -> Option<ArchiveRecord> {
        let key = (skill.entry.digest(), format);
        if let Some(known) = self.described.get(&key) {
            return known;
        }
        // A skill whose files have changed is listed again after the next scan.
        let archive = self.made(skill, format).ok().flatten();
        archive.map(|archive| ArchiveRecord::of(&archive, format))
    }
}

/// The error when a file of the skill does not match its published digest or is gone.
#[derive(Debug)]
struct UnreadFile;

/// Packs a skill; returns `None` if its files cannot form an archive that every system can unpack.
fn pack(skill: &Skill, format: ArchiveFormat) -> Result<Option<ReadyDocument>, UnreadFile> {
    let Some(tree) = packable(skill) else { return Ok(None) };
    let mut files = Vec::with_capacity(tree.files.len());
    for file in &tree.files {
        let read = published(tree.store.read(&file.path, file.size), file);
        files.push((&file.path, read.map_err(|_| UnreadFile)?));
    }
    let packed = skillwire_archive::pack(format, files.iter().map(|(path, b)| (*path, &**b)));
    match packed {
        Ok(bytes) => {
            let bytes = Bytes::from(bytes);
            Ok(Some(ReadyDocument { digest: Digest::of(&bytes), bytes }))
        }
        Err(error) => {
            tracing::debug!(uri = %skill.uri, %error, "a skill has no archive");
            Ok(None)
        }
    }
}

/// Returns the files of a skill that can be packed.
fn packable(skill: &Skill) -> Option<&FileTree> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    // Files of remote stores are fetched only when a client requests them.
    let here = tree.store.remote().is_none() && !tree.store.is_withdrawn();
    (here && total(tree) <= MAX_PACKED_BYTES).then_some(tree)
}

fn total(tree: &FileTree) -> u64 {
    tree.files.iter().fold(0, |total: u64, file| total.saturating_add(file.size))
}

/// Finds the skill whose archive has this URI.
pub(super) fn named_by<'a>(
    snapshot: &'a Snapshot,
    uri: &str,
) -> Option<(&'a Arc<Skill>, ArchiveFormat)> {
    ArchiveFormat::ALL.into_iter().find_map(|format| {
        let root = uri.strip_suffix(format.suffix())?;
        let skill = snapshot.skill(&format!("{root}/SKILL.md"))?;
        packable(skill).map(|_| (skill, format))
    })
}

/// Waits for memory for an archive of a skill: its files, the archive of at most the same size, and the
/// answer, which is a third longer.
pub(super) async fn reserve(
    call: &OwnedCall,
    skill: &Skill,
) -> Result<Option<ReservedMemory>, RpcError> {
    call.reserve(packable(skill).map_or(0, |tree| total(tree).saturating_mul(4))).await
}

/// Reads a skill as an archive.
pub(crate) async fn read(
    call: &OwnedCall,
    skill: &Arc<Skill>,
    format: ArchiveFormat,
) -> Result<Option<ReadyDocument>, RpcError> {
    let state = Arc::clone(&call.state);
    let packed = Arc::clone(skill);
    let made = move || state.projections.archives.made(&packed, format);
    let made = call.state.permits.read(made).await;
    match made {
        Ok(Ok(archive)) => Ok(archive),
        Ok(Err(UnreadFile)) => {
            call.state.catalog.stale_reporter(skill).report();
            Err(resource_changed(call.era(), skill.uri.as_str()))
        }
        Err(error) => {
            tracing::error!(%error, "an archive could not be made");
            Err(RpcError::internal())
        }
    }
}

/// The archives that a document lists: those of skills with more than one file.
#[derive(Debug, Default)]
pub(super) struct PublishedArchives(HashMap<Arc<str>, Vec<ArchiveRecord>>);

impl PublishedArchives {
    /// Finds all archives for the index, if archives are served.
    pub(super) async fn for_index(call: &OwnedCall) -> Result<Self, RpcError> {
        if !call.shows(DialectPart::Archives) {
            return Ok(Self::default());
        }
        Self::in_formats(call, &ArchiveFormat::ALL).await
    }

    /// Finds all archives in some formats.
    pub(super) async fn in_formats(
        call: &OwnedCall,
        formats: &'static [ArchiveFormat],
    ) -> Result<Self, RpcError> {
        let snapshot = Arc::clone(&call.snapshot);
        let state = Arc::clone(&call.state);
        let found = tokio::task::spawn_blocking(move || {
            let several =
                |skill: &&Arc<Skill>| packable(skill).is_some_and(|tree| tree.files.len() > 1);
            let all = snapshot.listed().filter(several).filter_map(|skill| packable(skill));
            let bytes = all.fold(0, |sum: u64, tree| sum.saturating_add(total(tree)));
            if bytes > MAX_INDEXED_BYTES {
                tracing::warn!("the skills are too large to list archives of all of them");
                return Self::default();
            }
            let records = |skill: &Arc<Skill>| {
                let archives = &state.projections.archives;
                let records = formats.iter().filter_map(|format| archives.record(skill, *format));
                (skill.uri.file().shared(), records.collect())
            };
            Self(snapshot.listed().filter(several).map(records).collect())
        });
        found.await.map_err(|error| {
            tracing::error!(%error, "archives could not be made");
            RpcError::internal()
        })
    }

    /// Returns the archives of a skill, as the index lists them.
    pub(super) fn of(&self, skill: &Skill) -> Vec<IndexArchive> {
        let records = self.0.get(skill.uri.as_str());
        let archive = |record: &ArchiveRecord| IndexArchive {
            url: archive_uri(&skill.uri, record.format),
            media_type: record.format.media_type(),
            digest: record.digest,
            size: record.size,
        };
        records.into_iter().flatten().map(archive).collect()
    }

    /// Returns what is published about a skill's first archive.
    pub(super) fn first(&self, skill: &Skill) -> Option<ArchiveRecord> {
        self.0.get(skill.uri.as_str())?.first().copied()
    }
}
