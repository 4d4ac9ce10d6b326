//! Packs files into an archive: the same files give the same bytes on every machine, at any time.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Write},
};

use flate2::{Compression, GzBuilder};
use skillwire_core::{
    RelPath, SKILL_FILE,
    portable::{self, NotPortable},
};
use unicode_normalization::is_nfc;
use zip::{CompressionMethod, DateTime, System, ZipWriter, write::SimpleFileOptions};

use crate::format::ArchiveFormat;

/// "Unknown" in the field of a gzip header that names the operating system.
const NO_SYSTEM: u8 = 255;

/// The reason why files cannot become an archive, as a clause about them.
#[derive(Debug, thiserror::Error)]
pub enum NotPacked {
    /// There is no `SKILL.md` at the root.
    #[error("there is no `SKILL.md` at the root")]
    NoSkillFile,
    /// A path is not in Unicode form NFC, so some disks would store it under another name.
    #[error("`{0}` is not in Unicode form NFC")]
    NotNormal(RelPath),
    /// Some disks would merge two paths into one, or refuse a path.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// The library that writes archives failed.
    #[error("the archive could not be written: {0}")]
    Failed(#[from] io::Error),
}

/// Packs the files of a skill, given by their paths below its root.
///
/// The bytes depend on the paths and contents alone: not on the order of `files`, the time or the
/// machine.
#[tracing::instrument(level = "debug", skip_all, fields(?format))]
pub fn pack<'a>(
    format: ArchiveFormat,
    files: impl IntoIterator<Item = (&'a RelPath, &'a [u8])>,
) -> Result<Vec<u8>, NotPacked> {
    let files: BTreeMap<_, _> = files.into_iter().collect();
    if !files.keys().any(|path| path.as_str() == SKILL_FILE) {
        return Err(NotPacked::NoSkillFile);
    }
    if let Some(path) = files.keys().find(|path| !is_nfc(path.as_str())) {
        return Err(NotPacked::NotNormal((*path).clone()));
    }
    portable::check(files.keys().copied())?;
    Ok(match format {
        ArchiveFormat::TarGz => tar_gz(&files)?,
        ArchiveFormat::Zip => zip(&files)?,
    })
}

type FilesToPack<'a> = BTreeMap<&'a RelPath, &'a [u8]>;

/// The permissions of a file: `0755` for scripts and files with a `#!` line, `0644` for all others.
fn mode(path: &RelPath, bytes: &[u8]) -> u32 {
    let script = path.segments().next() == Some("scripts") && path.segments().count() > 1;
    if script || bytes.starts_with(b"#!") { 0o755 } else { 0o644 }
}

fn tar_gz(files: &FilesToPack<'_>) -> io::Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    let mut builder = tar::Builder::new(gzip.write(Vec::new(), Compression::default()));
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(mode(path, bytes));
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path.as_str(), *bytes)?;
    }
    builder.into_inner()?.finish()
}

fn zip(files: &FilesToPack<'_>) -> io::Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .unix_permissions(mode(path, bytes));
        writer.start_file(path.as_str(), options)?;
        writer.write_all(bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}
