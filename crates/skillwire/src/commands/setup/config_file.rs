//! The configuration file of an agent: read once, replaced whole, and only if it did not change
//! meanwhile.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::regular_file;

/// The largest configuration that is read.
const MOST_BYTES: u64 = 32 << 20;

/// A file as it was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// The file itself, where the path that the agent uses is a link.
    path: PathBuf,
    text: String,
    exists: bool,
    /// Whether the path that the agent uses is a link.
    is_link: bool,
}

impl ConfigFile {
    /// Reads the file; one that does not exist is empty.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        match fs::canonicalize(path) {
            Ok(real) => {
                let text = regular_file::read(&real, MOST_BYTES)?;
                Ok(Self { path: real, text, exists: true, is_link: path.is_symlink() })
            }
            // A link that leads nowhere is not replaced by a file.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                Ok(Self::absent(path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn absent(path: PathBuf) -> Self {
        Self { path, text: String::new(), exists: false, is_link: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text from before the bridge was added, if it is kept.
    pub(super) fn backup(&self) -> Option<String> {
        regular_file::read(&self.backup_path(), MOST_BYTES).ok()
    }

    /// Where the text from before the bridge is kept.
    pub(super) fn backup_path(&self) -> PathBuf {
        self.beside(".before-skillwire")
    }

    /// Replaces the file; with `keeps_old`, the old one is kept, and its path returned.
    pub(super) fn replace(self, text: &str, keeps_old: bool) -> io::Result<Option<PathBuf>> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let new = self.beside(".skillwire-new");
        fs::write(&new, text)?;
        let replaced = self.swap(&new, keeps_old);
        if replaced.is_err() {
            let _ = fs::remove_file(&new);
        }
        replaced
    }

    fn swap(&self, new: &Path, keeps_old: bool) -> io::Result<Option<PathBuf>> {
        self.check_unchanged()?;
        let mut backup = None;
        if self.exists {
            fs::set_permissions(new, fs::metadata(&self.path)?.permissions())?;
            if keeps_old {
                fs::copy(&self.path, self.backup_path())?;
                backup = Some(self.backup_path());
            }
        }
        fs::File::open(new)?.sync_all()?;
        fs::rename(new, &self.path)?;
        Ok(backup)
    }

    /// Removes the file, unless the agent's path is a link to it: then it gets an empty text.
    pub(super) fn remove(self) -> io::Result<()> {
        if self.is_link {
            return self.replace("", false).map(drop);
        }
        self.check_unchanged()?;
        fs::remove_file(&self.path)
    }

    /// The agent may have written its file since it was read.
    fn check_unchanged(&self) -> io::Result<()> {
        if Self::read(&self.path)?.text == self.text {
            return Ok(());
        }
        Err(io::Error::other("the file changed meanwhile; run the command again"))
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name: OsString = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }
}
