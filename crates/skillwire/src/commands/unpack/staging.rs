//! Writes files to a hidden folder first, so that a failed write leaves none of them in the target.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use skillwire_archive::ArchiveFile;

/// Files on their way into an empty folder. Dropping it before [`finish`](Self::finish) removes the
/// files that were written so far.
pub(super) struct StagingFolder {
    target: PathBuf,
    /// Whether the target did not exist before.
    made: bool,
    /// The folder inside the target that the files are written to first.
    hidden: PathBuf,
    finished: bool,
}

impl StagingFolder {
    pub(super) fn new(target: &Path) -> io::Result<Self> {
        let made = !target.exists();
        fs::create_dir_all(target)?;
        let hidden = target.join(format!(".skillwire-unpack-{}", std::process::id()));
        let staging = Self { target: target.to_owned(), made, hidden, finished: false };
        fs::create_dir(&staging.hidden)?;
        Ok(staging)
    }

    /// Writes one file below the hidden folder.
    pub(super) fn add(&self, file: &ArchiveFile) -> io::Result<()> {
        let hidden = self.hidden.clone();
        let path = file.path.segments().fold(hidden, |path, segment| path.join(segment));
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            if file.executable { 0o755 } else { 0o644 },
        );
        options.open(path)?.write_all(&file.bytes)
    }

    /// Moves everything from the hidden folder to the target.
    ///
    /// The hidden folder lies inside the target, so each move is a rename within one file system.
    /// If a rename fails, the entries that were moved before stay in the target.
    pub(super) fn finish(mut self) -> io::Result<()> {
        for entry in fs::read_dir(&self.hidden)? {
            let entry = entry?;
            fs::rename(entry.path(), self.target.join(entry.file_name()))?;
        }
        fs::remove_dir(&self.hidden)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // The caller reports the error that led here, so errors of the cleanup are ignored.
        let _ = fs::remove_dir_all(&self.hidden);
        if self.made {
            let _ = fs::remove_dir(&self.target);
        }
    }
}
