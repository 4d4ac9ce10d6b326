//! Why a measurement could not be made.

use std::{fmt, io, path::Path};

/// A sentence for the person who runs the benchmark.
#[derive(Debug, Clone)]
pub(crate) struct Broken(pub(crate) String);

/// The result type of the benchmark.
pub(crate) type Result<T, E = Broken> = std::result::Result<T, E>;

impl Broken {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Names the file an operation failed on.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Broken {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("An answer is not what it should be: {error}"))
    }
}
