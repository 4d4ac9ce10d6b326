//! Folders that commands write to.

use std::{fs, io, path::Path};

use crate::failure::Failure;

/// Takes only a new or empty folder; `name_another` says how to name one.
pub(super) fn check_empty(dir: &Path, name_another: &str) -> Result<(), Failure> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!("`{}` is not empty.", dir.display()))
                .hint(format!("{name_another}; nothing is ever overwritten."))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot_write(dir, &error)),
    }
}

/// Says that something cannot be written.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("`{}` cannot be written: {error}.", path.display()))
}
