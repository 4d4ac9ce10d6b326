//! Files of repositories, kept on this machine while their skills are offered.

use std::{fmt, path::PathBuf, sync::Arc};

use bytes::Bytes;
use skillwire_core::{Digest, RelPath};
use skillwire_source::{FileRecord, FileStore, FileStoreError};

/// The files of one skill in a folder of its own, named by their digests; they go when this is dropped.
pub(crate) struct KeptFiles {
    folder: PathBuf,
    digests: Vec<(RelPath, Digest)>,
}

impl KeptFiles {
    /// Writes the files of a skill. The caller compares what is read later with the digests.
    pub(crate) fn write(
        folder: PathBuf,
        records: &[FileRecord],
        files: &[(RelPath, Bytes)],
    ) -> std::io::Result<Arc<Self>> {
        std::fs::create_dir_all(&folder)?;
        let digests = records.iter().map(|file| (file.path.clone(), file.digest)).collect();
        let kept = Self { folder, digests };
        for (path, bytes) in files {
            if let Some(digest) = kept.digest(path) {
                std::fs::write(kept.folder.join(digest.hex()), bytes)?;
            }
        }
        Ok(Arc::new(kept))
    }

    fn digest(&self, path: &RelPath) -> Option<Digest> {
        self.digests.iter().find(|(known, _)| known == path).map(|(_, digest)| *digest)
    }
}

impl fmt::Debug for KeptFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptFiles").field("files", &self.digests.len()).finish_non_exhaustive()
    }
}

impl Drop for KeptFiles {
    fn drop(&mut self) {
        // The folder is below one that is removed when the hub ends.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl FileStore for KeptFiles {
    fn read(&self, path: &RelPath, _size: u64) -> Result<Bytes, FileStoreError> {
        let digest = self.digest(path).ok_or(FileStoreError::Changed)?;
        let read = std::fs::read(self.folder.join(digest.hex()));
        read.map(Bytes::from).map_err(FileStoreError::failed)
    }
}
