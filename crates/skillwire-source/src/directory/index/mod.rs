//! The index: results of a scan on disk, so that the next start opens no unchanged file.
//!
//! The index is a cache. If anything is wrong with it, the files are read instead. It is trusted
//! only under its own magic number, the digest of its folder and options, and a checksum; and a
//! record is used only if the directory has the fingerprint that it had when the record was made.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};
use skillwire_core::Digest;

pub(super) use self::update::{IndexUpdate, OldIndex};
use self::{codec::ByteReader, writer::IndexWriter};
use super::{
    file_store::RootDir,
    handle::{DirHandle, FileKind, facts_of},
    inspect::{InspectedGroup, SkillState},
    read_file::read_exactly,
};
mod codec;
pub(super) mod record;
mod update;
mod writer;

#[cfg(all(test, unix))]
mod tests;

/// Begins every index, and changes with what the bytes after it mean. An earlier one stays in [`Layout`].
const MAGIC: &[u8; 8] = b"SKWIRE\x00\x04";

/// Began an index whose findings did not say which setting would let a file pass.
const MAGIC_WITHOUT_EXEMPTIONS: &[u8; 8] = b"SKWIRE\x00\x03";

/// The largest index that is read; a hundred thousand skills need a fraction of it.
const MAX_SIZE: u64 = 1 << 30;

/// The number of bytes of a digest.
const DIGEST: usize = 32;

/// The file of an index, and what the index must be about.
#[derive(Debug)]
pub(super) struct IndexLocation {
    pub(super) file: PathBuf,
    /// A digest of everything besides the files that decides what is reported.
    pub(super) about: Digest,
    /// The same for an index in [`Layout::WithoutExemptions`].
    pub(super) about_without_exemptions: Digest,
}

/// How the records of an index are encoded. Indexes are written in [`Layout::Current`] alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Current,
    /// Findings end with their repair.
    WithoutExemptions,
}

/// An index that was read.
pub(super) struct LoadedIndex {
    layout: Layout,
    bytes: Vec<u8>,
    records: HashMap<Box<str>, Range<usize>>,
}

/// The record of one group.
pub(super) struct IndexedGroup<'a> {
    /// The fingerprint of the directory when the record was made.
    pub(super) fingerprint: Digest,
    layout: Layout,
    /// The encoded result.
    record: &'a [u8],
}

impl<'a> IndexedGroup<'a> {
    /// The encoded result as it is written now; `None` if the index was written in another layout.
    fn current_record(&self) -> Option<&'a [u8]> {
        (self.layout == Layout::Current).then_some(self.record)
    }

    /// Decodes the result, with what to remember of it.
    pub(super) fn recall(&self, root: &Arc<RootDir>, group: &Arc<str>) -> Option<InspectedGroup> {
        let inspected = record::decode(self.record, self.layout, root, group)?;
        let record = (self.layout != Layout::Current).then(|| record::encode(&inspected));
        let judgement = Digest::of(record.as_deref().unwrap_or(self.record));
        let remembered = SkillState { fingerprint: self.fingerprint, judgement, settled: true };
        Some(InspectedGroup { remembered, inspected, record })
    }
}

impl IndexLocation {
    /// Reads the index; `None` if there is none that can be trusted.
    pub(super) fn load(&self) -> io::Result<Option<LoadedIndex>> {
        let bytes = match read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(bytes.and_then(|bytes| self.understand(bytes)))
    }

    /// Starts a new index beside the old one.
    pub(super) fn begin(&self) -> io::Result<IndexWriter> {
        IndexWriter::begin(self)
    }

    fn understand(&self, bytes: Vec<u8>) -> Option<LoadedIndex> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
        let mut reader = ByteReader::new(content);
        let (layout, about) = match &reader.array()? {
            MAGIC => (Layout::Current, &self.about),
            MAGIC_WITHOUT_EXEMPTIONS => (Layout::WithoutExemptions, &self.about_without_exemptions),
            _ => return None,
        };
        if reader.bytes(DIGEST)? != about.as_bytes() || *Sha256::digest(content) != *sum {
            return None;
        }
        let mut records = HashMap::new();
        while !reader.is_at_end() {
            let key = reader.text()?;
            let length = reader.number()?;
            let start = content.len() - reader.left();
            reader.bytes(length)?;
            records.insert(key.into(), start..start + length);
        }
        Some(LoadedIndex { layout, bytes, records })
    }
}

impl LoadedIndex {
    /// The record of a group.
    pub(super) fn get(&self, group: &str) -> Option<IndexedGroup<'_>> {
        let mut reader = ByteReader::new(self.bytes.get(self.records.get(group)?.clone())?);
        let fingerprint = record::digest(&mut reader)?;
        let record = reader.bytes(reader.left())?;
        Some(IndexedGroup { fingerprint, layout: self.layout, record })
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}

/// Reads a regular file; `None` if it is something else, too large, or changes meanwhile.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let name = path.file_name().unwrap_or(OsStr::new(""));
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let mut file: File = DirHandle::open(above.unwrap_or(Path::new(".")))?.file(name)?;
    let facts = facts_of(&file)?;
    if facts.kind != FileKind::File || facts.stamp.size() > MAX_SIZE {
        return Ok(None);
    }
    let Ok(size) = usize::try_from(facts.stamp.size()) else { return Ok(None) };
    read_exactly(&mut file, size)
}
