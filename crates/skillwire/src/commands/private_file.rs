//! Files and folders that only the user can read.

use std::{fs::DirBuilder, io, path::Path};

/// Makes a folder that only the user can enter.
pub(crate) fn folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file that must not exist; with `private`, only the user can ever read it.
#[cfg(any(feature = "hub", feature = "sign"))]
pub(super) fn write_new(path: &Path, text: &str, private: bool) -> io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
