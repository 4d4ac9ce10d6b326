//! Reads a directory as the files of a skill, within limits and following no link.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use skillwire_core::{RelPath, is_ignored, limits};

use crate::bundle::BundledFile;

/// The deepest directory that is read.
const MAX_DEPTH: usize = 32;

/// Why a directory cannot be read as the files of a skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadFault {
    /// The system refuses.
    #[error("`{}` cannot be read", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Something is neither a file nor a directory.
    #[error("`{}` is a link or a special file", .0.display())]
    NotAFile(PathBuf),
    /// A name cannot be part of a skill's path.
    #[error("`{}` has a name that no file of a skill may have", .0.display())]
    Name(PathBuf),
    /// There is more than a skill may have.
    #[error("`{}` holds more than a skill may have", .0.display())]
    TooLarge(PathBuf),
}

/// Reads all files below a directory, but for those that no skill has.
pub fn read_directory(directory: &Path) -> Result<Vec<BundledFile>, ReadFault> {
    let mut reading = Reading { files: Vec::new(), bytes: limits::MAX_BYTES };
    reading.below(directory, "", 0)?;
    reading.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(reading.files)
}

struct Reading {
    files: Vec<BundledFile>,
    /// The bytes that may still be read.
    bytes: u64,
}

impl Reading {
    fn below(&mut self, directory: &Path, above: &str, depth: usize) -> Result<(), ReadFault> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| ReadFault::Io { path, source }
        };
        if depth > MAX_DEPTH {
            return Err(ReadFault::TooLarge(directory.to_owned()));
        }
        for entry in fs::read_dir(directory).map_err(io(directory))? {
            let entry = entry.map_err(io(directory))?;
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| ReadFault::Name(path.clone()))?;
            if is_ignored(name) {
                continue;
            }
            let below = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
            let kind = entry.file_type().map_err(io(&path))?;
            if kind.is_dir() {
                self.below(&path, &below, depth + 1)?;
                continue;
            }
            if !kind.is_file() {
                return Err(ReadFault::NotAFile(path));
            }
            let below = RelPath::parse(&below).map_err(|_| ReadFault::Name(path.clone()))?;
            if self.files.len() == limits::MAX_FILES {
                return Err(ReadFault::TooLarge(directory.to_owned()));
            }
            let file = fs::File::open(&path).map_err(io(&path))?;
            let executable = is_executable(&file.metadata().map_err(io(&path))?);
            let mut bytes = Vec::new();
            file.take(self.bytes + 1).read_to_end(&mut bytes).map_err(io(&path))?;
            self.bytes = self
                .bytes
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| ReadFault::TooLarge(directory.to_owned()))?;
            self.files.push(BundledFile { path: below, bytes: bytes.into(), executable });
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_executable(facts: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Writes files below a directory that does not exist yet.
pub(crate) fn write_directory(directory: &Path, files: &[BundledFile]) -> io::Result<()> {
    use io::Write as _;
    fs::create_dir_all(directory)?;
    for file in files {
        let path = file.path.segments().fold(directory.to_owned(), |path, name| path.join(name));
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            if file.executable { 0o755 } else { 0o644 },
        );
        options.open(path)?.write_all(&file.bytes)?;
    }
    Ok(())
}
