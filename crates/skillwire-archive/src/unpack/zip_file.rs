//! ZIP files.
//!
//! The library keeps one entry for each name, and searches for the directory of entries. An
//! attacker could use either to write an archive that two programs unpack to different files. This
//! module therefore reads the end of the file first: it must be the plain end record, directly
//! after a directory that has as many entries as the library found.

use std::io::{Cursor, Read};

use zip::{ZipArchive, result::ZipError};

use super::tree::ArchiveTree;
use crate::{
    limits::ArchiveLimits,
    refused::{ArchiveReason, RefusedArchive},
};

/// The length of the end record without a comment, in bytes.
const END: usize = 22;

/// The kinds of files that the upper bits of a Unix mode name.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// Reads every entry into the tree.
pub(super) fn read(
    bytes: &[u8],
    limits: &ArchiveLimits,
    tree: &mut ArchiveTree<'_>,
) -> Result<(), RefusedArchive> {
    let entries = entries(bytes)?;
    if entries > limits.entries {
        let detail = format!("there are more than {} entries", limits.entries);
        return Err(RefusedArchive::new(ArchiveReason::TooMany, detail));
    }
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
    if archive.len() != entries {
        let detail = format!("{entries} entries have only {} names", archive.len());
        return Err(RefusedArchive::new(ArchiveReason::Twins, detail));
    }
    for index in 0..entries {
        let mut entry = archive.by_index(index).map_err(unreadable)?;
        let name = entry.name_raw().to_vec();
        let mode = entry.unix_mode().unwrap_or_default();
        let executable = mode & 0o100 != 0;
        match mode & KIND {
            _ if name.ends_with(b"/") => tree.directory(&name)?,
            DIRECTORY => tree.directory(&name)?,
            0 | REGULAR => tree.file(&name, executable, &mut entry)?,
            LINK => {
                let mut target = Vec::new();
                let most = limits.path as u64 + 1;
                let read = entry.by_ref().take(most).read_to_end(&mut target);
                read.map_err(|error| RefusedArchive::unreadable(ArchiveReason::Broken, error))?;
                tree.link(&name, &target)?;
            }
            _ => {
                let detail = "it is neither a file, nor a directory, nor a link";
                return Err(RefusedArchive::new(ArchiveReason::Special, detail)
                    .entry(String::from_utf8_lossy(&name)));
            }
        }
    }
    Ok(())
}

/// Reads how many entries the end record counts, and refuses a file with any other end.
fn entries(bytes: &[u8]) -> Result<usize, RefusedArchive> {
    let broken = |detail: &str| RefusedArchive::new(ArchiveReason::Broken, detail);
    let (rest, end) = bytes
        .len()
        .checked_sub(END)
        .and_then(|at| bytes.split_at_checked(at))
        .filter(|(_, end)| end.starts_with(b"PK\x05\x06"))
        .ok_or_else(|| broken("it does not end in the record that ends a ZIP file"))?;
    let short = |at: usize| u16::from_le_bytes([end[at], end[at + 1]]);
    let long = |at: usize| u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
    let (directory, offset) = (long(12) as usize, long(16) as usize);
    let count = short(10);
    if short(4) != 0 || short(6) != 0 || short(8) != count || short(20) != 0 || count == u16::MAX {
        return Err(RefusedArchive::new(
            ArchiveReason::Format,
            "ZIP files in several parts, with comments or in the 64-bit form are not opened",
        ));
    }
    if offset.checked_add(directory) != Some(rest.len()) {
        return Err(broken("its directory of entries is not where the end record says"));
    }
    Ok(usize::from(count))
}

fn unreadable(error: ZipError) -> RefusedArchive {
    let reason = match &error {
        ZipError::UnsupportedArchive(_) => ArchiveReason::Format,
        _ => ArchiveReason::Broken,
    };
    RefusedArchive::unreadable(reason, error)
}
