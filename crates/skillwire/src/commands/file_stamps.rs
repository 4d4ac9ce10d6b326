//! Tells when files change, by their times and sizes.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// How often the files of a running server are looked at.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// Times and sizes of some files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileStamps(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl FileStamps {
    pub(super) fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamp = |file: PathBuf| {
            let found = std::fs::metadata(&file).ok();
            let found = found.and_then(|found| Some((found.modified().ok()?, found.len())));
            (file, found)
        };
        Self(files.into_iter().map(stamp).collect())
    }
}
