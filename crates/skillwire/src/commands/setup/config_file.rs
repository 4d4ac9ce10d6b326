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
}

impl ConfigFile {
    /// Reads the file; one that does not exist is empty.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        match fs::canonicalize(path) {
            Ok(path) => {
                let text = regular_file::read(&path, MOST_BYTES)?;
                Ok(Self { path, text, exists: true })
            }
            // A link that leads nowhere is not replaced by a file.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                Ok(Self::absent(path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn absent(path: PathBuf) -> Self {
        Self { path, text: String::new(), exists: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the file and returns where the old one is kept.
    pub(super) fn replace(self, text: &str) -> io::Result<Option<PathBuf>> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let new = self.beside(".skillwire-new");
        fs::write(&new, text)?;
        let replaced = self.swap(&new);
        if replaced.is_err() {
            let _ = fs::remove_file(&new);
        }
        replaced
    }

    fn swap(&self, new: &Path) -> io::Result<Option<PathBuf>> {
        // The agent may have written its file since it was read.
        if Self::read(&self.path)?.text != self.text {
            return Err(io::Error::other("the file changed meanwhile; run the command again"));
        }
        let backup = if self.exists {
            fs::set_permissions(new, fs::metadata(&self.path)?.permissions())?;
            let backup = self.beside(".before-skillwire");
            fs::copy(&self.path, &backup)?;
            Some(backup)
        } else {
            None
        };
        fs::File::open(new)?.sync_all()?;
        fs::rename(new, &self.path)?;
        Ok(backup)
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name: OsString = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }
}
