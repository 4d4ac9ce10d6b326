//! A hidden folder that is filled first, and whose files then appear all at once.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use skillwire_archive::ArchiveFile;

/// Files on their way into an empty folder. Dropped before the end, it leaves the folder as it was.
pub(super) struct StagingFolder {
    target: PathBuf,
    /// Whether the target was made for this.
    made: bool,
    /// The folder in it that the files are written to first.
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

    /// Moves everything to where it belongs.
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
        // The first error is told already; cleaning up is all that is left to do.
        let _ = fs::remove_dir_all(&self.hidden);
        if self.made {
            let _ = fs::remove_dir(&self.target);
        }
    }
}
