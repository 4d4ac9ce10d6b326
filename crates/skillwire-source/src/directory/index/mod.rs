//! What a scan found, kept on disk so that the next start opens no unchanged file.
//!
//! The index is a help and never a need: whatever is wrong with it, the files are read instead.

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

use self::write::Writer;
use super::{
    bytes::Reader,
    handle::{Handle, Kind, facts_of},
    inspect::Remembered,
    read::read_exactly,
    record,
    store::Root,
};
use crate::source::InspectedSkill;

#[cfg(all(test, unix))]
mod damage;
#[cfg(test)]
mod earlier;
pub(super) mod write;

/// Begins every index, and changes with what the bytes after it mean.
const MAGIC: &[u8; 8] = b"SKWIRE\x00\x03";

/// The largest index that is read, which is several times what a hundred thousand skills need.
const MAX_SIZE: u64 = 1 << 30;

/// The number of bytes of a digest.
const DIGEST: usize = 32;

/// Where an index is, and what it must be about.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// A digest of everything outside the files that a judgement depends on.
    pub(super) about: Digest,
}

/// An index that was read.
pub(super) struct Index {
    bytes: Vec<u8>,
    records: HashMap<Box<str>, Range<usize>>,
}

/// What an index knows of one site.
pub(super) struct Known<'a> {
    /// What the directory was like when it was judged.
    pub(super) fingerprint: Digest,
    /// The judgement.
    pub(super) record: &'a [u8],
}

impl Known<'_> {
    /// The judgement as it was made, and what to remember of it.
    pub(super) fn recall(
        &self,
        root: &Arc<Root>,
        site: &Arc<str>,
    ) -> Option<(Remembered, Vec<InspectedSkill>)> {
        let inspected = record::decode(self.record, root, site)?;
        let judgement = Digest::of(self.record);
        Some((Remembered { fingerprint: self.fingerprint, judgement, settled: true }, inspected))
    }
}

impl Place {
    /// Reads the index; nothing when there is none, or none that can be believed.
    pub(super) fn load(&self) -> io::Result<Option<Index>> {
        let bytes = match read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(bytes.and_then(|bytes| self.understand(bytes)))
    }

    /// Begins a new index beside the one there is.
    pub(super) fn begin(&self) -> io::Result<Writer> {
        Writer::begin(self)
    }

    fn understand(&self, bytes: Vec<u8>) -> Option<Index> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
        let mut reader = Reader::new(content);
        let ours = reader.bytes(MAGIC.len())? == MAGIC
            && reader.bytes(DIGEST)? == self.about.as_bytes()
            && *Sha256::digest(content) == *sum;
        if !ours {
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
        Some(Index { bytes, records })
    }
}

impl Index {
    /// What is known of a site.
    pub(super) fn get(&self, site: &str) -> Option<Known<'_>> {
        let mut reader = Reader::new(self.bytes.get(self.records.get(site)?.clone())?);
        let fingerprint = record::digest(&mut reader)?;
        Some(Known { fingerprint, record: reader.bytes(reader.left())? })
    }

    /// The number of sites.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}

/// Reads a regular file whole, or nothing when it is something else, too large, or changes.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let name = path.file_name().unwrap_or(OsStr::new(""));
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let mut file: File = Handle::open(above.unwrap_or(Path::new(".")))?.file(name)?;
    let facts = facts_of(&file)?;
    if facts.kind != Kind::File || facts.stamp.size() > MAX_SIZE {
        return Ok(None);
    }
    let Ok(size) = usize::try_from(facts.stamp.size()) else { return Ok(None) };
    read_exactly(&mut file, size)
}
