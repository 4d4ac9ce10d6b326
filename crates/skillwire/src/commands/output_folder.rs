//! Checks folders that commands write to.

use std::{fs, io, path::Path};

use crate::failure::Failure;

/// Refuses a folder that is not empty; `name_another` is the hint how to choose another one.
pub(super) fn check_empty(dir: &Path, name_another: &str) -> Result<(), Failure> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!("`{}` is not empty.", dir.display()))
                .hint(format!("{name_another}; nothing is ever overwritten."))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot_write(dir, error)),
    }
}

/// Makes the failure for a path that cannot be written.
pub(super) fn cannot_write(path: &Path, error: io::Error) -> Failure {
    Failure::usage(format!("`{}` cannot be written.", path.display())).because(error)
}
