//! Reads files that must be regular ones.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// Reads a regular file of at most `most` bytes.
///
/// A lock file or a token file lies where others may have put it. Opening a fifo would wait for a
/// writer that never comes, and a device could fill the memory.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<String> {
    let not_regular = || io::Error::other("it is not a regular file");
    // Before it is opened, because opening a fifo already blocks.
    if !fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    let mut text = String::new();
    file.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(text)
}
