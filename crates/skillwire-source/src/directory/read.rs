//! Reading one file: never blocking, never through a link, never more than was announced.

use std::io::{self, Read};

use bytes::Bytes;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};

use super::{stamp::Stamp, steps::Steps};

/// Why a file could not be read as it was listed.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is no longer there.
    Gone,
    /// It is not the file that was listed, or it changed while it was read.
    Changed,
    /// It cannot be read.
    Failed(io::Error),
}

/// Reads the file that was listed with `stamp`, and only that one.
///
/// Opening does not block on a fifo that took the file's place. The stamp is compared on the open
/// descriptor, so a file or a directory above it that was swapped in between is noticed before
/// anything is read; it is compared again afterwards, so that the bytes are those of one version.
pub(super) fn read(
    dir: &Dir,
    path: &str,
    stamp: &Stamp,
    steps: &dyn Steps,
) -> Result<Bytes, ReadError> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = dir.open_with(path, &options).map_err(|error| why_not_opened(dir, path, error))?;
    let same = |file: &cap_std::fs::File| {
        file.metadata().is_ok_and(|now| now.is_file() && Stamp::of(&now) == *stamp)
    };
    if !same(&file) {
        return Err(ReadError::Changed);
    }
    steps.opened(path);
    let size = stamp.size();
    let mut bytes = Vec::with_capacity(usize::try_from(size).map_err(|_| ReadError::Changed)?);
    // One byte more than announced is enough to see that there is more.
    (&file).take(size + 1).read_to_end(&mut bytes).map_err(ReadError::Failed)?;
    steps.read(path);
    if bytes.len() as u64 != size || !same(&file) {
        return Err(ReadError::Changed);
    }
    Ok(bytes.into())
}

/// Tells a file that cannot be opened from one that something else took the place of.
fn why_not_opened(dir: &Dir, path: &str, error: io::Error) -> ReadError {
    if error.kind() == io::ErrorKind::NotFound {
        return ReadError::Gone;
    }
    match dir.symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => ReadError::Failed(error),
        _ => ReadError::Changed,
    }
}
