//! Writes an index beside the old one and replaces it as a whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use sha2::{Digest as _, Sha256};
use skillwire_core::Digest;

use super::{
    IndexLocation, MAGIC,
    codec::{put_bytes, put_number, put_text},
};

/// An index being written.
///
/// Records are written as they come, so that a scan does not hold all of them in memory. If the
/// writer is dropped before it is finished, it removes its temporary file.
pub(in crate::directory) struct IndexWriter {
    file: BufWriter<File>,
    sum: Sha256,
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl IndexWriter {
    pub(super) fn begin(place: &IndexLocation) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let target = place.file.clone();
        if let Some(above) = target.parent().filter(|above| !above.as_os_str().is_empty()) {
            make_private(above)?;
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = target.with_file_name(name);
        // A killed process with the same id may have left its file.
        let _none = fs::remove_file(&temporary);
        let file = BufWriter::with_capacity(1 << 18, create_private(&temporary)?);
        let (sum, temporary) = (Sha256::new(), Some(temporary));
        let mut writer = Self { file, sum, temporary, target };
        writer.write(MAGIC)?;
        writer.write(place.about.as_bytes())?;
        Ok(writer)
    }

    /// Adds the record of a group.
    pub(in crate::directory) fn put(
        &mut self,
        group: &str,
        fingerprint: &Digest,
        record: &[u8],
    ) -> io::Result<()> {
        let mut head = Vec::with_capacity(group.len() + 48);
        put_text(&mut head, group);
        put_number(&mut head, fingerprint.as_bytes().len() + record.len());
        put_bytes(&mut head, fingerprint.as_bytes());
        self.write(&head)?;
        self.write(record)
    }

    /// Replaces the old index.
    pub(in crate::directory) fn finish(mut self) -> io::Result<()> {
        let sum = self.sum.clone().finalize();
        self.file.write_all(&sum)?;
        self.file.flush()?;
        // Without `fsync`: if a power failure leaves the file incomplete, its checksum is wrong,
        // and the next start reads the skills instead.
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)?;
        }
        self.temporary = None;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.file.write_all(bytes)
    }
}

impl Drop for IndexWriter {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _nothing_left_to_do = fs::remove_file(temporary);
        }
    }
}

/// Makes a file that only its owner may read.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes the directories that are missing, for their owner alone.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
