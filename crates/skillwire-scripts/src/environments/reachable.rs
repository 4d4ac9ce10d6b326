//! Whether a user other than root can read a folder.

use std::path::{Path, PathBuf};

/// The first folder on the way to a path that other users cannot enter. Asked only where this
/// process is root: scripts run as another user then, and else as the user who owns the files.
#[cfg(unix)]
pub fn first_closed_folder(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    // The owner of its entry in `/proc` is the user that this process is.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return None;
    }
    let mut ancestors: Vec<_> = path.ancestors().collect();
    ancestors.reverse();
    ancestors.into_iter().map_while(|folder| Some((folder, folder.metadata().ok()?))).find_map(
        |(folder, metadata)| {
            let needed = if metadata.is_dir() { 0o001 } else { 0o004 };
            (metadata.mode() & needed == 0).then(|| folder.to_owned())
        },
    )
}

/// Scripts are not run on this system.
#[cfg(not(unix))]
pub fn first_closed_folder(_: &Path) -> Option<PathBuf> {
    None
}
