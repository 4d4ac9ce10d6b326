//! Contents of skills, each in a directory that is named by its id.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use skillwire_core::ContentId;

use crate::{
    bundle::{BundledFile, SkillBundle, content_of},
    directory::{ReadFault, read_directory, write_directory},
};

/// A store of contents below one folder.
#[derive(Debug, Clone)]
pub struct ContentStore {
    folder: PathBuf,
}

/// Why a content cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// Its directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadFault),
    /// Its bytes are not those that its name says.
    #[error("`{}` was changed: it no longer holds what its name says", .0.display())]
    Changed(PathBuf),
    /// The system refuses.
    #[error("`{}` cannot be written", .path.display())]
    Write {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl ContentStore {
    /// Makes a store in a folder, which is created by the first content.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the directory of a content, whether or not it is there.
    pub fn directory(&self, content: &ContentId) -> PathBuf {
        self.folder.join(content.digest().hex())
    }

    /// Keeps a content and returns its directory.
    ///
    /// A reader never sees half of it: it is written beside and renamed.
    #[tracing::instrument(skip_all, fields(content = %bundle.content()))]
    pub fn keep(&self, bundle: &SkillBundle) -> Result<PathBuf, StoreFault> {
        let directory = self.directory(bundle.content());
        match self.read(bundle.content()) {
            Ok(Some(_)) => return Ok(directory),
            Ok(None) => {}
            // What was changed is replaced by what it should be.
            Err(_) => self.remove(bundle.content())?,
        }
        let failed = |source| StoreFault::Write { path: directory.clone(), source };
        let new = self.folder.join(format!(".new-{}", std::process::id()));
        remove_if_there(&new).map_err(failed)?;
        let written = write_directory(&new, bundle.files())
            .and_then(|()| set_read_only(&new))
            .and_then(|()| fs::rename(&new, &directory));
        match written {
            Ok(()) => Ok(directory),
            // Another process was faster.
            Err(_) if matches!(self.read(bundle.content()), Ok(Some(_))) => {
                let _ = remove_if_there(&new);
                Ok(directory)
            }
            Err(error) => {
                let _ = remove_if_there(&new);
                Err(failed(error))
            }
        }
    }

    /// Reads a content, if it is there, and compares it with its id.
    pub fn read(&self, content: &ContentId) -> Result<Option<Vec<BundledFile>>, StoreFault> {
        let directory = self.directory(content);
        if !directory.exists() {
            return Ok(None);
        }
        let files = read_directory(&directory)?;
        match content_of(&files) {
            Ok(found) if found == *content => Ok(Some(files)),
            _ => Err(StoreFault::Changed(directory)),
        }
    }

    /// Removes every content but these; returns how many there were.
    pub fn retain(&self, used: &BTreeSet<ContentId>) -> Result<usize, StoreFault> {
        let kept: BTreeSet<PathBuf> = used.iter().map(|content| self.directory(content)).collect();
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(0) };
        let mut removed = 0;
        for path in entries.flatten().map(|entry| entry.path()) {
            if !kept.contains(&path) {
                remove_if_there(&path).map_err(|source| StoreFault::Write { path, source })?;
                removed += 1;
            }
        }
        // An empty store is no store.
        let _ = fs::remove_dir(&self.folder);
        Ok(removed)
    }

    fn remove(&self, content: &ContentId) -> Result<(), StoreFault> {
        let path = self.directory(content);
        remove_if_there(&path).map_err(|source| StoreFault::Write { path, source })
    }
}

/// Makes files read-only, so that an edit through a link into the store fails instead of changing what
/// others link to. Directories stay writable, so that they can be removed.
fn set_read_only(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            set_read_only(&entry.path())?;
        } else {
            let mut permissions = entry.metadata()?.permissions();
            permissions.set_readonly(true);
            fs::set_permissions(entry.path(), permissions)?;
        }
    }
    Ok(())
}

/// Removes a directory or link with everything below it, following no link.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if facts.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::tests::{file, head};

    #[test]
    fn a_content_is_kept_once_and_read_only_as_it_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = ContentStore::new(folder.path().join("store"));
        let bundle = SkillBundle::new("", [head("pdf"), file("a/b.txt", "b")]).unwrap();
        assert!(store.read(bundle.content()).unwrap().is_none());
        let directory = store.keep(&bundle).unwrap();
        assert_eq!(store.keep(&bundle).unwrap(), directory);
        assert_eq!(store.read(bundle.content()).unwrap().unwrap(), bundle.files());
        let edited = directory.join("a/b.txt");
        assert!(fs::write(&edited, "c").is_err() || is_root());
        fs::remove_file(&edited).unwrap();
        assert!(matches!(store.read(bundle.content()), Err(StoreFault::Changed(_))));
        store.keep(&bundle).unwrap();
        assert!(store.read(bundle.content()).unwrap().is_some());
        assert_eq!(store.retain(&BTreeSet::from([*bundle.content()])).unwrap(), 0);
        assert_eq!(store.retain(&BTreeSet::new()).unwrap(), 1);
        assert!(!folder.path().join("store").exists());
    }

    /// A superuser writes to read-only files.
    fn is_root() -> bool {
        fs::metadata("/proc/self").is_ok_and(|facts| {
            #[cfg(unix)]
            return std::os::unix::fs::MetadataExt::uid(&facts) == 0;
            #[cfg(not(unix))]
            return false;
        })
    }
}
