//! A generator made of functions.

use std::{collections::BTreeMap, error::Error, fmt};

use bytes::Bytes;
use skillwire_core::RelPath;

use super::{GenerateError, SkillGenerator};

type MakeBytes = Box<dyn Fn() -> Result<Bytes, GenerateError> + Send + Sync>;

/// Files that functions generate each time they are read.
#[derive(Default)]
pub struct GeneratedFiles {
    files: BTreeMap<RelPath, MakeBytes>,
    /// The error about the first invalid path. Reads report it: otherwise the skill would lack a
    /// file without any message.
    invalid: Option<GenerateError>,
}

impl fmt::Debug for GeneratedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.files.keys()).finish()
    }
}

impl GeneratedFiles {
    /// Begins without files; `SKILL.md` must be among those added.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file with the function that generates its content.
    #[must_use]
    pub fn file<T: Into<Bytes>>(
        self,
        path: &str,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        self.add(path, Box::new(move || Ok(make().into())))
    }

    /// Adds a file whose function may fail; the error goes to the operator's log.
    #[must_use]
    pub fn try_file<T: Into<Bytes>, E: Into<Box<dyn Error + Send + Sync>>>(
        self,
        path: &str,
        make: impl Fn() -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        self.add(path, Box::new(move || make().map(Into::into).map_err(GenerateError::new)))
    }

    fn add(mut self, path: &str, make: MakeBytes) -> Self {
        match RelPath::parse(path) {
            Ok(path) => {
                self.files.insert(path, make);
            }
            Err(error) => {
                let error = GenerateError::new(format!("the path `{path}` {error}"));
                self.invalid.get_or_insert(error);
            }
        }
        self
    }

    fn check(&self) -> Result<(), GenerateError> {
        self.invalid.clone().map_or(Ok(()), Err)
    }
}

impl SkillGenerator for GeneratedFiles {
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
        self.check()?;
        self.files.get(path).map(|make| make()).transpose()
    }

    fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
        self.check()?;
        Ok(self.files.keys().cloned().collect())
    }
}
