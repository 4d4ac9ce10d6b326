//! Gzipped tar files.

use std::io::{Cursor, Read};

use flate2::bufread::GzDecoder;
use tar::EntryType;

use super::tree::{ArchiveTree, ratio};
use crate::{
    limits::ArchiveLimits,
    refused::{ArchiveReason, RefusedArchive},
};

/// How many bytes are decompressed between two checks of the limits, so that a bomb fails early.
const STEP: u64 = 256 * 1024;

/// Reads every entry into the tree.
pub(super) fn read(
    bytes: &[u8],
    limits: &ArchiveLimits,
    tree: &mut ArchiveTree<'_>,
) -> Result<(), RefusedArchive> {
    let decoded = decompress(bytes, limits)?;
    let mut archive = tar::Archive::new(Cursor::new(&decoded));
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let name = entry.path_bytes().into_owned();
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                tree.file(&name, executable, &mut entry)?;
            }
            EntryType::Directory => tree.directory(&name)?,
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                tree.link(&name, &target)?;
            }
            EntryType::Link => {
                return Err(refused(ArchiveReason::Link, "hard links are not opened", &name));
            }
            // `git archive` writes its commit into such a header; it describes no file.
            EntryType::XGlobalHeader => {}
            _ => {
                let detail = "it is neither a file, nor a directory, nor a link";
                return Err(refused(ArchiveReason::Special, detail, &name));
            }
        }
    }
    let end = usize::try_from(archive.into_inner().position()).unwrap_or(usize::MAX);
    if decoded.get(end..).unwrap_or_default().iter().any(|byte| *byte != 0) {
        return Err(RefusedArchive::new(
            ArchiveReason::Broken,
            "something comes after the last entry",
        ));
    }
    Ok(())
}

/// Decompresses one gzip member, after which the archive must end.
fn decompress(bytes: &[u8], limits: &ArchiveLimits) -> Result<Vec<u8>, RefusedArchive> {
    let mut rest = bytes;
    let mut gzip = GzDecoder::new(&mut rest);
    let mut decoded = Vec::new();
    loop {
        let read = gzip.by_ref().take(STEP).read_to_end(&mut decoded);
        if read.map_err(broken)? == 0 {
            break;
        }
        let length = decoded.len() as u64;
        if !limits.allows_ratio(bytes.len(), length) {
            return Err(ratio(limits));
        }
        if length > limits.tar_bytes() {
            let detail = format!("more than {} bytes come out", limits.bytes);
            return Err(RefusedArchive::new(ArchiveReason::TooLarge, detail));
        }
    }
    if !rest.is_empty() {
        return Err(RefusedArchive::new(ArchiveReason::Broken, "something comes after its end"));
    }
    Ok(decoded)
}

fn refused(reason: ArchiveReason, detail: &str, name: &[u8]) -> RefusedArchive {
    RefusedArchive::new(reason, detail).entry(String::from_utf8_lossy(name))
}

fn broken(error: std::io::Error) -> RefusedArchive {
    RefusedArchive::unreadable(ArchiveReason::Broken, error)
}
