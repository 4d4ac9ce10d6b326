//! Python environments and installed packages that a script can be given, read-only.
//!
//! A script runs without a network, so its packages are there before it starts: in a virtual
//! environment of the user, or installed by `uv` or `npm` into a cache. Nothing of a package is run
//! outside of the sandbox: only built packages are installed, and no script of theirs is started.

mod installed;
mod node;
mod offer;
mod package_cache;
mod python;
mod reachable;
mod tool;
mod venv;

use std::{fmt, io, path::PathBuf, time::Duration};

pub(crate) use self::installed::InstalledPackages;
pub use self::{
    node::NodeNeeds,
    offer::{PackageOffer, PackageTools, package_lists},
    package_cache::{PackageCache, ResolvedPackages},
    python::PythonNeeds,
    reachable::first_closed_folder,
    venv::{VenvError, VirtualEnvironment},
};

/// A package that would be installed. Displays as `name 1.2.3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its exact version.
    pub version: String,
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Why packages cannot be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// A requirement is something else than a name with versions.
    #[error("`{file}` asks for `{}`, and only names with versions are installed", requirement.escape_debug())]
    Requirement {
        /// The file that asks for it.
        file: String,
        /// The line.
        requirement: String,
    },
    /// A lock file cannot be read, or names something else than packages of a registry.
    #[error("`{file}` cannot be used: {why}")]
    Lock {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The program that installs packages failed.
    #[error("`{program}` failed: {}", said.trim())]
    Tool {
        /// The program.
        program: String,
        /// The end of what it wrote.
        said: String,
    },
    /// The program that installs packages did not end, and was killed.
    #[error(
        "`{command}` did not end within {} seconds and was stopped; check the network and the package \
         index, and try again",
        waited.as_secs()
    )]
    TooSlow {
        /// What was called.
        command: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Another process installs the same packages, and does not end.
    #[error(
        "another process has been installing into `{}` for {} seconds; end it, or try again later",
        folder.display(),
        waited.as_secs()
    )]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The cache cannot be used.
    #[error("the cache of packages in `{}` cannot be used", folder.display())]
    Cache {
        /// Its folder.
        folder: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// What was installed is not a virtual environment.
    #[error("what was installed cannot be used")]
    Environment(#[from] VenvError),
}

/// The folder of a skill's path, and those above it, the innermost first; the last is empty.
fn folders_above(path: &skillwire_core::RelPath) -> impl Iterator<Item = String> {
    let mut next = Some(path.as_str().to_owned());
    std::iter::from_fn(move || {
        let folder = next.take().filter(|path| !path.is_empty())?;
        let folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        next = Some(folder.clone());
        Some(folder)
    })
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
