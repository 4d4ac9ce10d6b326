//! Making room: the oldest files go first.

use std::{path::Path, time::SystemTime};

use super::MAX_COMPONENTS;
use crate::folder::{EntryKind, Folder, PathError};

/// A cached file, by the names that lead to it from the root.
struct CachedFile {
    modified: SystemTime,
    size: u64,
    names: Vec<String>,
}

/// Removes the oldest files when the cache exceeds `bound` bytes. It frees an eighth more than
/// needed, so that not every new file causes a sweep.
pub(super) fn oldest(root: &Path, bound: u64) -> Result<(), PathError> {
    let Some(root) = Folder::find(root)? else { return Ok(()) };
    let mut kept = Vec::new();
    collect(&root, &mut Vec::new(), &mut kept);
    let mut total = kept.iter().fold(0_u64, |total, file| total.saturating_add(file.size));
    if total <= bound {
        return Ok(());
    }
    kept.sort_unstable_by_key(|file| file.modified);
    for file in kept {
        if total <= bound - bound / 8 {
            break;
        }
        remove(&root, &file.names)?;
        total = total.saturating_sub(file.size);
    }
    Ok(())
}

/// Lists the files below a folder; skips folders that cannot be opened, which belong to another
/// user.
fn collect(folder: &Folder, names: &mut Vec<String>, kept: &mut Vec<CachedFile>) {
    for (name, kind) in folder.entries().unwrap_or_default() {
        names.push(name);
        let name = names.last().map_or("", String::as_str);
        match kind {
            EntryKind::Folder if names.len() <= MAX_COMPONENTS => {
                if let Ok(Some(inner)) = folder.folder(name) {
                    collect(&inner, names, kept);
                }
            }
            EntryKind::File => {
                if let Some(facts) = folder.facts(name) {
                    let (modified, size) = (facts.modified, facts.size);
                    kept.push(CachedFile { modified, size, names: names.clone() });
                }
            }
            _ => {}
        }
        names.pop();
    }
}

/// Removes a file and the folders that become empty.
fn remove(folder: &Folder, names: &[String]) -> Result<(), PathError> {
    match names {
        [] => Ok(()),
        [file] => folder.remove_file(file),
        [name, rest @ ..] => {
            if let Some(inner) = folder.folder(name)? {
                remove(&inner, rest)?;
            }
            folder.remove_empty_folder(name);
            Ok(())
        }
    }
}
