//! Copies of a user's files for one run.
//!
//! A script sees none of the user's files. [`UserInputs`] reads those that the user named, on the
//! command line or as an input, and gives each a place in the script's working folder.

mod folder;
mod words;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use bytes::Bytes;
use skillwire_core::RelPath;
use skillwire_sandbox::{InputFile, ScriptJob};

/// Why a file or folder of the user cannot be an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// It cannot be read.
    #[error("`{path}` cannot be read")]
    Read {
        /// The path as the user wrote it.
        path: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// It is a link that leads out of the folder it lies in.
    #[error("`{path}` is a link that leads out of its folder, to `{target}`")]
    LinkOut {
        /// The path as the user wrote it.
        path: String,
        /// What the link leads to.
        target: String,
    },
    /// It is a device, a socket or a pipe.
    #[error("`{0}` is neither a file nor a folder")]
    NotAFile(String),
    /// Its name cannot be used in the working folder.
    #[error("`{path}` cannot be called `{name}` in the script's working folder")]
    Name {
        /// The path as the user wrote it.
        path: String,
        /// The name that it would have.
        name: String,
    },
    /// Two inputs would have the same name.
    #[error("two inputs would be `{0}` in the script's working folder")]
    Twice(String),
    /// The inputs are too many or too large.
    #[error(
        "the inputs with `{0}` are more than {files} files or {mebibytes} MiB",
        files = ScriptJob::MAX_INPUT_FILES,
        mebibytes = ScriptJob::MAX_INPUT_BYTES / (1024 * 1024)
    )]
    TooLarge(String),
}

/// A file or folder that was copied, for messages to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputSource {
    /// The path as the user wrote it.
    pub typed: String,
    /// The file or folder itself, with links resolved.
    pub real: PathBuf,
    /// Where the copy lies in the working folder; empty for the working folder itself.
    pub name: String,
    /// How many files were copied.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many entries of a folder were left out: links that lead out of it, and what is neither a
    /// file nor a folder.
    pub left_out: usize,
    /// Whether the script may change the copy.
    pub writable: bool,
}

/// The user's files for one run.
#[derive(Debug)]
pub struct UserInputs {
    /// The folder that relative paths start from.
    base: PathBuf,
    sources: Vec<InputSource>,
    files: Vec<InputFile>,
    bytes: usize,
    folders_in_words: Vec<String>,
}

impl UserInputs {
    /// Starts with no inputs; relative paths are relative to `base`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            sources: Vec::new(),
            files: Vec::new(),
            bytes: 0,
            folders_in_words: Vec::new(),
        }
    }

    /// Copies a file, or all files of a folder. Without a name it is called as the user wrote it, or
    /// by its last part if it lies elsewhere.
    pub fn add(
        &mut self,
        path: &str,
        name: Option<&str>,
        writable: bool,
    ) -> Result<(), InputError> {
        let real = self.resolve(path)?;
        let name = match name {
            // The working folder itself.
            Some(".") => String::new(),
            Some(name) => name.trim_end_matches('/').to_owned(),
            None => name_of(path, &real)?,
        };
        let metadata = real.metadata().map_err(|source| read_error(path, source))?;
        if metadata.is_dir() {
            return self.add_folder(path, real, name, writable);
        }
        if !metadata.is_file() {
            return Err(InputError::NotAFile(path.to_owned()));
        }
        let copied = self.copied_with_folder(&real, &name).filter(|_| writable);
        let bytes = if let Some(copy) = copied {
            copy.writable = true;
            copy.bytes.len() as u64
        } else {
            let file = File::open(&real).map_err(|source| read_error(path, source))?;
            self.push(path, &name, file, writable)?;
            self.files.last().map_or(0, |file| file.bytes.len() as u64)
        };
        self.sources.push(InputSource {
            typed: path.to_owned(),
            real,
            name,
            files: 1,
            bytes,
            left_out: 0,
            writable,
        });
        Ok(())
    }

    /// The copy of a file that came with the folder it lies in, if it has this name there.
    fn copied_with_folder(&mut self, real: &Path, name: &str) -> Option<&mut InputFile> {
        let is_same = |source: &InputSource| {
            let below =
                real.strip_prefix(&source.real).ok().filter(|below| !below.as_os_str().is_empty());
            below.is_some_and(|below| Path::new(&source.name).join(below) == Path::new(name))
        };
        if !self.sources.iter().any(is_same) {
            return None;
        }
        self.files.iter_mut().find(|file| file.path.as_str() == name)
    }

    /// Gives the script a copy of a file that the caller has read already, such as one of the
    /// skill's own. It is not listed among the sources.
    pub fn add_read(&mut self, path: RelPath, bytes: Bytes) {
        if !self.files.iter().any(|file| file.path == path) {
            self.files.push(InputFile { path, bytes, writable: false });
        }
    }

    /// What was copied, in the order in which it was named.
    pub fn sources(&self) -> &[InputSource] {
        &self.sources
    }

    /// Words that name a folder of the user that is not an input.
    pub fn folders_in_words(&self) -> &[String] {
        &self.folders_in_words
    }

    /// The copies.
    pub fn into_files(self) -> Vec<InputFile> {
        self.files
    }

    /// Reads one file, up to the bounds of all inputs together.
    fn push(
        &mut self,
        typed: &str,
        name: &str,
        file: impl io::Read,
        writable: bool,
    ) -> Result<(), InputError> {
        let path = RelPath::parse(name)
            .map_err(|_| InputError::Name { path: typed.to_owned(), name: name.to_owned() })?;
        if self.files.iter().any(|file| file.path == path) {
            return Err(InputError::Twice(name.to_owned()));
        }
        let room = ScriptJob::MAX_INPUT_BYTES - self.bytes;
        let mut bytes = Vec::new();
        let read = file.take(room as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|source| read_error(typed, source))?;
        if bytes.len() > room || self.files.len() >= ScriptJob::MAX_INPUT_FILES {
            return Err(InputError::TooLarge(typed.to_owned()));
        }
        self.bytes += bytes.len();
        self.files.push(InputFile { path, bytes: bytes.into(), writable });
        Ok(())
    }

    /// The file behind a path. A link is followed only inside the folder that the user means: a
    /// relative path stays in the base, any other in the folder that it names. Otherwise a link in a
    /// downloaded project could hand a private file to the script.
    fn resolve(&self, typed: &str) -> Result<PathBuf, InputError> {
        let path = self.base.join(typed);
        let real = path.canonicalize().map_err(|source| read_error(typed, source))?;
        let bound = if is_inside(Path::new(typed)) {
            self.base.canonicalize()
        } else {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(_)) => parent.canonicalize(),
                // `..` and `/` are no links.
                _ => return Ok(real),
            }
        };
        let bound = bound.map_err(|source| read_error(typed, source))?;
        if real.starts_with(bound) {
            return Ok(real);
        }
        Err(InputError::LinkOut { path: typed.to_owned(), target: real.display().to_string() })
    }
}

/// Where an input lies in the working folder, if the user gave it no name.
fn name_of(typed: &str, real: &Path) -> Result<String, InputError> {
    let path = Path::new(typed);
    let parts: Vec<_> = if is_inside(path) {
        let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
        parts.map(Component::as_os_str).collect()
    } else {
        real.file_name().into_iter().collect()
    };
    let parts: Option<Vec<_>> = parts.into_iter().map(|part| part.to_str()).collect();
    parts
        .map(|parts| parts.join("/"))
        .ok_or_else(|| InputError::Name { path: typed.to_owned(), name: typed.to_owned() })
}

/// Whether a path stays below the folder that it starts from.
fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn read_error(path: &str, source: io::Error) -> InputError {
    InputError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
