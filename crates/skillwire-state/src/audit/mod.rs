//! The audit log in a file: one JSON object a line, appended and never changed.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use super::folder::{Fault, Folder};

mod line;
mod read;
#[cfg(test)]
mod tests;

pub use read::{AuditLines, UnreadableLine};
use skillwire_trust::{Audit, Event, StoreError};

/// How long a log grows before the next one is begun, unless the embedder says otherwise.
const DEFAULT_BOUND: u64 = 8 * 1024 * 1024;

/// The longest line that is written or read.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// The log that is written to.
const CURRENT: &str = "audit.jsonl";

/// Held while a line is appended, so that lines never mix and a full log is put away once.
const LOCK: &str = "audit.lock";

/// An append-only log in a folder.
///
/// A log that is full is put away as `audit-000001.jsonl` and so on, and stays there: nothing is
/// lost until the user removes it.
#[derive(Debug, Clone)]
pub struct AuditLog {
    folder: PathBuf,
    bound: u64,
}

impl AuditLog {
    /// A log in a folder, which is made when there is something to write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), bound: DEFAULT_BOUND }
    }

    /// Begins another file when one has that many bytes.
    #[must_use]
    pub fn bounded(self, bytes: u64) -> Self {
        Self { bound: bytes, ..self }
    }

    /// Reads every line, oldest first.
    pub fn read(&self) -> Result<AuditLines, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(AuditLines::none()) };
        // On a disk that cannot be written there is no lock, and no writer to wait for.
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

    fn write(&self, line: &[u8]) -> Result<(), Fault> {
        let folder = Folder::make(&self.folder)?;
        let _locked = folder.lock(LOCK)?;
        let cannot = |error: std::io::Error| {
            Fault::new(folder.path().join(CURRENT), format!("cannot be written: {error}"))
        };
        let mut file = folder.append(CURRENT)?;
        let mut length = file.metadata().map_err(cannot)?.len();
        if length > 0 && length + line.len() as u64 > self.bound {
            Self::put_away(&folder)?;
            file = folder.append(CURRENT)?;
            length = 0;
        }
        let torn = length > 0 && !ends_a_line(&mut file).map_err(cannot)?;
        // A write that was cut off costs that line and not this one too.
        let line = if torn { [b"\n", line].concat() } else { line.to_vec() };
        file.write_all(&line).map_err(|error| {
            // Half a line is worth nothing; when it cannot be taken back, it is told when read.
            let _ = file.set_len(length);
            cannot(error)
        })
    }

    /// Gives the full log the next number.
    fn put_away(folder: &Folder) -> Result<(), Fault> {
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
            return Err(Fault::new(place, "cannot hold so long a line").into());
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

/// The number of a log that was put away.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.parse().ok()
}
