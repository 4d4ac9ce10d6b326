//! Writing an index: beside the old one, whole or not at all.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use sha2::{Digest as _, Sha256};
use skillwire_core::Digest;

use super::{MAGIC, Place};
use crate::directory::bytes::{put_bytes, put_number, put_text};

/// An index being written.
///
/// Records are written as they come, so that a scan does not hold all of them; what is not
/// finished leaves nothing behind.
pub(in crate::directory) struct Writer {
    file: BufWriter<File>,
    sum: Sha256,
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl Writer {
    pub(super) fn begin(place: &Place) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let target = place.file.clone();
        if let Some(above) = target.parent().filter(|above| !above.as_os_str().is_empty()) {
            make_private(above)?;
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = target.with_file_name(name);
        // A process of the same number may have left one when it was killed.
        let _none = fs::remove_file(&temporary);
        let file = BufWriter::with_capacity(1 << 18, create_private(&temporary)?);
        let (sum, temporary) = (Sha256::new(), Some(temporary));
        let mut writer = Self { file, sum, temporary, target };
        writer.write(MAGIC)?;
        writer.write(place.about.as_bytes())?;
        Ok(writer)
    }

    /// Adds a site.
    pub(in crate::directory) fn put(
        &mut self,
        site: &str,
        fingerprint: &Digest,
        record: &[u8],
    ) -> io::Result<()> {
        let mut head = Vec::with_capacity(site.len() + 48);
        put_text(&mut head, site);
        put_number(&mut head, fingerprint.as_bytes().len() + record.len());
        put_bytes(&mut head, fingerprint.as_bytes());
        self.write(&head)?;
        self.write(record)
    }

    /// Puts the index in the place of the old one.
    pub(in crate::directory) fn finish(mut self) -> io::Result<()> {
        let sum = self.sum.clone().finalize();
        self.file.write_all(&sum)?;
        self.file.flush()?;
        // Not synced: an index that a power failure leaves torn has another sum and is made anew.
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

impl Drop for Writer {
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
