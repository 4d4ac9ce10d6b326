//! The audit log in a file: one JSON object a line, appended and never changed.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use super::folder::{Folder, PathError};

mod line;
mod read;
#[cfg(test)]
mod tests;

pub use read::{AuditLines, UnreadableLine};
use skillwire_trust::{Audit, Event, StoreError};

/// The size at which the log is rotated, unless the embedder sets another.
const DEFAULT_BOUND: u64 = 8 * 1024 * 1024;

/// The longest line that is written or read.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// The file that events are appended to.
const CURRENT: &str = "audit.jsonl";

/// The lock that a writer holds while it appends or rotates. Without it, two processes could
/// interleave their lines, or both rotate the log and leave a nearly empty file behind.
const LOCK: &str = "audit.lock";

/// An append-only log in a folder.
///
/// A full log is renamed to `audit-000001.jsonl` and so on, and stays there: nothing is lost until
/// the user removes it.
#[derive(Debug, Clone)]
pub struct AuditLog {
    folder: PathBuf,
    bound: u64,
}

impl AuditLog {
    /// Creates a log in a folder; the folder is created on the first write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), bound: DEFAULT_BOUND }
    }

    /// Rotates the log when it would exceed this many bytes.
    #[must_use]
    pub fn bounded(self, bytes: u64) -> Self {
        Self { bound: bytes, ..self }
    }

    /// Reads every line, oldest first.
    ///
    /// Listing the rotated files and opening the current one happen under the lock. A rotation in
    /// between would move the current file into a list that was already read, and its lines would
    /// be missing.
    #[tracing::instrument(skip_all, fields(folder = %self.folder.display()))]
    pub fn read(&self) -> Result<AuditLines, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(AuditLines::none()) };
        // On a read-only disk the lock cannot be taken, and there is no writer to wait for.
        let _locked = folder.lock(LOCK);
        let mut earlier: Vec<(u64, String)> = folder
            .entries()?
            .into_iter()
            .filter_map(|(name, _)| Some((number(&name)?, name)))
            .collect();
        earlier.sort_unstable();
        let current = folder.file(CURRENT)?;
        let earlier = earlier.into_iter().map(|(_, name)| name).collect();
        Ok(AuditLines::new(folder, earlier, current.map(|file| (CURRENT.to_owned(), file))))
    }

    fn write(&self, line: &[u8]) -> Result<(), PathError> {
        let folder = Folder::make(&self.folder)?;
        let _locked = folder.lock(LOCK)?;
        let cannot = |error: std::io::Error| {
            PathError::new(folder.path().join(CURRENT), format!("cannot be written: {error}"))
        };
        let mut file = folder.append(CURRENT)?;
        let mut length = file.metadata().map_err(cannot)?.len();
        if length > 0 && length + line.len() as u64 > self.bound {
            Self::put_away(&folder)?;
            file = folder.append(CURRENT)?;
            length = 0;
        }
        let torn = length > 0 && !ends_a_line(&mut file).map_err(cannot)?;
        // If an earlier write was cut off, start a new line: otherwise both events would be
        // unreadable.
        let line = if torn { [b"\n", line].concat() } else { line.to_vec() };
        file.write_all(&line).map_err(|error| {
            // Removes the incomplete line. If that fails, the reader reports it as unreadable.
            let _ = file.set_len(length);
            cannot(error)
        })
    }

    /// Renames the full log to the next number.
    fn put_away(folder: &Folder) -> Result<(), PathError> {
        let names = folder.entries()?;
        let last = names.iter().filter_map(|(name, _)| number(name)).max().unwrap_or(0);
        folder.rename(CURRENT, &format!("audit-{:06}.jsonl", last.saturating_add(1)))?;
        folder.sync()
    }
}

impl Audit for AuditLog {
    fn append(&self, event: &Event) -> Result<(), StoreError> {
        let line = line::write(event);
        if line.len() > MAX_LINE_BYTES {
            let place = self.folder.join(CURRENT);
            return Err(PathError::new(place, "cannot hold so long a line").into());
        }
        Ok(self.write(line.as_bytes())?)
    }
}

fn ends_a_line(file: &mut File) -> std::io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Returns the number of a rotated log.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.parse().ok()
}
