//! Replaces and renames files of an author without losing content: completely or not at all, and
//! only if the file still is the one that was read.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use skillwire_core::limits::MAX_BYTES;

/// Why a file was not changed. The text continues a sentence after "was not repaired:".
#[derive(Debug, thiserror::Error)]
pub(super) enum NotRepaired {
    #[error("it lies behind a symbolic link")]
    BehindLink,
    #[error("it is not a regular file")]
    NotAFile,
    #[cfg_attr(not(unix), expect(dead_code, reason = "links are not counted there"))]
    #[error("it has another hard link, which would keep the old content")]
    HardLink,
    #[error("it is too large")]
    TooLarge,
    #[error("it changed since it was read")]
    Changed,
    #[error("a file of the new name is there already")]
    NameTaken,
    #[error(
        "`{0}` is a signature over it, which a repair would break; pass `--fix-signed` to repair it \
         all the same"
    )]
    Signed(String),
    #[error("{0}")]
    Failed(#[from] io::Error),
}

/// A file as it was read.
pub(super) struct OriginalFile {
    path: PathBuf,
    root: PathBuf,
    bytes: Vec<u8>,
}

impl OriginalFile {
    /// Reads a regular file below `root`, a folder without symbolic links.
    pub(super) fn read(root: &Path, path: PathBuf) -> Result<Self, NotRepaired> {
        let (bytes, _) = read(root, &path)?;
        Ok(Self { path, root: root.to_owned(), bytes })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Replaces the content of a file, and keeps its permissions and owner.
///
/// The new content is written to a draft beside the file and renamed over it, so that a crash
/// leaves either the old file or the new one. An author may save the file meanwhile. So it is
/// compared with the bytes that the repair was made from, once before the draft is written and once
/// right before the rename; otherwise the repair would overwrite that save.
pub(super) fn replace(original: &OriginalFile, bytes: &[u8]) -> Result<(), NotRepaired> {
    let OriginalFile { path, root, bytes: before } = original;
    let (now, metadata) = read(root, path)?;
    if now != *before {
        return Err(NotRepaired::Changed);
    }
    let draft = DraftFile::create(path, &metadata, bytes)?;
    // Only the rename is left, so an edit can now go unnoticed only between this read and the
    // rename.
    if read(root, path)?.0 != *before {
        return Err(NotRepaired::Changed);
    }
    draft.rename_to(path)
}

/// Renames a file within its directory, and refuses a name that is taken.
///
/// `rename` would silently replace a file at the new name. Making a hard link fails if the name is
/// taken, so the name is taken and checked in one step.
pub(super) fn rename(root: &Path, from: &Path, to: &Path) -> Result<(), NotRepaired> {
    check_place(root, from)?;
    match fs::hard_link(from, to) {
        Ok(()) => Ok(fs::remove_file(from)?),
        // Where names differ only in case, a file system that ignores case takes both for the same
        // file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::canonicalize(from)? == fs::canonicalize(to)? {
                Ok(fs::rename(from, to)?)
            } else {
                Err(NotRepaired::NameTaken)
            }
        }
        // The file system may have no hard links. Then the check and the rename are two steps.
        Err(_) if fs::symlink_metadata(to).is_err() => Ok(fs::rename(from, to)?),
        Err(error) => Err(error.into()),
    }
}

/// Reads a regular file that has one name and is not reached through a link.
fn read(root: &Path, path: &Path) -> Result<(Vec<u8>, Metadata), NotRepaired> {
    check_place(root, path)?;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(NotRepaired::NotAFile);
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
        return Err(NotRepaired::HardLink);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(NotRepaired::TooLarge);
    }
    Ok((bytes, metadata))
}

/// Refuses a path that is a symbolic link, or that leads through one below `root`.
fn check_place(root: &Path, path: &Path) -> Result<(), NotRepaired> {
    let directory = path.parent().ok_or(NotRepaired::NotAFile)?;
    if !directory.starts_with(root) || fs::canonicalize(directory)? != directory {
        return Err(NotRepaired::BehindLink);
    }
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_symlink() {
        Err(NotRepaired::BehindLink)
    } else if kind.is_file() {
        Ok(())
    } else {
        Err(NotRepaired::NotAFile)
    }
}

/// A file that is renamed to its final name when it is complete; dropping it earlier removes it.
struct DraftFile(Option<PathBuf>);

impl DraftFile {
    fn create(beside: &Path, like: &Metadata, bytes: &[u8]) -> Result<Self, NotRepaired> {
        let name = beside.file_name().unwrap_or_default().to_string_lossy();
        // Files whose name ends in `~` are never part of a skill.
        let path = beside.with_file_name(format!(".{name}.{}~", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let draft = Self(Some(path));
        file.write_all(bytes)?;
        keep_owner(&file, like)?;
        file.set_permissions(like.permissions())?;
        file.sync_all()?;
        Ok(draft)
    }

    fn rename_to(mut self, path: &Path) -> Result<(), NotRepaired> {
        if let Some(draft) = &self.0 {
            fs::rename(draft, path)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // The caller reports the error that led here. A draft that stays behind ends in `~` and
            // is ignored.
            let _ = fs::remove_file(path);
        }
    }
}

/// Gives a file the owner of another one, where they differ.
#[cfg(unix)]
fn keep_owner(file: &File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    fchown(file, Some(like.uid()), Some(like.gid()))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use skillwire_testkit::SkillFolder;

    use super::*;

    /// A folder without symbolic links above it, with one file.
    fn folder() -> (SkillFolder, PathBuf) {
        let folder = SkillFolder::new();
        folder.file("a/SKILL.md", "before");
        let root = fs::canonicalize(folder.path()).unwrap();
        (folder, root)
    }

    fn files(root: &Path) -> usize {
        fs::read_dir(root.join("a")).unwrap().count()
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_left_alone() {
        let (folder, root) = folder();
        let path = root.join("a/SKILL.md");
        let original = OriginalFile::read(&root, path.clone()).unwrap();
        folder.file("a/SKILL.md", "newer");
        assert!(matches!(replace(&original, b"after"), Err(NotRepaired::Changed)));
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(files(&root), 1);
        folder.file("a/SKILL.md", "before");
        replace(&original, b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        assert_eq!(files(&root), 1);
    }

    #[test]
    fn nothing_is_renamed_over_something_else() {
        let (folder, root) = folder();
        folder.file("a/skill.md", "other");
        let [from, to] = ["a/skill.md", "a/SKILL.md"].map(|path| root.join(path));
        if files(&root) == 2 {
            assert!(matches!(rename(&root, &from, &to), Err(NotRepaired::NameTaken)));
            assert_eq!(fs::read(&to).unwrap(), b"before");
        }
        rename(&root, &from, &root.join("a/new.md")).unwrap();
        assert_eq!(fs::read(root.join("a/new.md")).unwrap(), b"other");
        assert!(!from.exists() || !to.exists() || files(&root) == 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_that_became_a_link_is_not_followed_v_31() {
        let (folder, root) = folder();
        let original = OriginalFile::read(&root, root.join("a/SKILL.md")).unwrap();
        let (outside, elsewhere) = self::folder();
        folder.remove("a");
        std::os::unix::fs::symlink(elsewhere.join("a"), root.join("a")).unwrap();
        assert!(matches!(replace(&original, b"after"), Err(NotRepaired::BehindLink)));
        let from = root.join("a/SKILL.md");
        assert!(matches!(rename(&root, &from, &root.join("a/x")), Err(NotRepaired::BehindLink)));
        assert_eq!(fs::read(outside.join("a/SKILL.md")).unwrap(), b"before");
        // Nor is a file that became one.
        folder.remove("a").directory("a");
        std::os::unix::fs::symlink(elsewhere.join("a/SKILL.md"), &from).unwrap();
        assert!(matches!(replace(&original, b"after"), Err(NotRepaired::BehindLink)));
    }
}
