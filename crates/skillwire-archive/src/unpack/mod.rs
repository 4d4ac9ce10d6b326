//! Opens archives: checks every entry in memory before the caller gets a file.

mod tar_gz;
mod tree;
mod zip_file;

use skillwire_core::{RelPath, SKILL_FILE};

use self::tree::ArchiveTree;
use crate::{
    format::ArchiveFormat,
    limits::ArchiveLimits,
    refused::{ArchiveReason, RefusedArchive},
};

/// One file of an opened archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Its path below the skill's root.
    pub path: RelPath,
    /// Its content; for a link, the content of its target.
    pub bytes: Vec<u8>,
    /// Whether the archive lets the owner run it. Other permission bits and the owner are ignored.
    pub executable: bool,
}

/// Opens the archive of a skill and returns its files in path order, or the reason why it is refused.
///
/// Links inside the skill become copies of the files they lead to. The entries of directories are
/// checked too, but the result has files only, because a skill consists of its files.
pub fn unpack(
    format: ArchiveFormat,
    bytes: &[u8],
    limits: &ArchiveLimits,
) -> Result<Vec<ArchiveFile>, RefusedArchive> {
    let files = unpack_collection(format, bytes, limits)?;
    check_skill_file(&files)?;
    Ok(files)
}

/// Opens an archive by the same rules as [`unpack`], but it may hold several skills, or one in a folder.
#[tracing::instrument(level = "debug", skip_all, fields(?format, bytes = bytes.len()))]
pub fn unpack_collection(
    format: ArchiveFormat,
    bytes: &[u8],
    limits: &ArchiveLimits,
) -> Result<Vec<ArchiveFile>, RefusedArchive> {
    if bytes.len() as u64 > limits.tar_bytes() {
        return Err(RefusedArchive::new(
            ArchiveReason::TooLarge,
            format!("the archive has {} bytes", bytes.len()),
        ));
    }
    let mut tree = ArchiveTree::new(limits, bytes.len());
    match format {
        ArchiveFormat::TarGz => tar_gz::read(bytes, limits, &mut tree)?,
        ArchiveFormat::Zip => zip_file::read(bytes, limits, &mut tree)?,
    }
    tree.finish()
}

/// Refuses files that are not one skill.
fn check_skill_file(files: &[ArchiveFile]) -> Result<(), RefusedArchive> {
    if files.iter().any(|file| file.path == RelPath::skill_file()) {
        return Ok(());
    }
    let is_wrapped = |file: &&ArchiveFile| {
        file.path.file_name() == SKILL_FILE && file.path.segments().count() == 2
    };
    Err(match files.iter().find(is_wrapped) {
        Some(file) => RefusedArchive::new(
            ArchiveReason::NoSkillFile,
            "the skill is wrapped in a directory; `SKILL.md` must be at the root",
        )
        .entry(file.path.as_str()),
        None => {
            RefusedArchive::new(ArchiveReason::NoSkillFile, "there is no `SKILL.md` at the root")
        }
    })
}
