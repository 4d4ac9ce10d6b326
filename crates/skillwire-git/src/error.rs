//! Why a skill could not be read from a repository.

use std::time::Duration;

use skillwire_core::RelPath;

/// The error of a fetch or a read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The program `git` could not be started.
    #[error("`git` could not be started")]
    NotStarted(#[source] std::io::Error),
    /// A folder or pipe of this machine failed.
    #[error("{what} failed")]
    Io {
        /// What was being done.
        what: &'static str,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The options do not allow the protocol of the address.
    #[error("the protocol `{0}` is not allowed here")]
    Protocol(&'static str),
    /// `git` ended with an error.
    #[error("`git {command}` failed: {said}")]
    Failed {
        /// The command of `git`.
        command: String,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// `git` took too long.
    #[error("`git {command}` took longer than {} seconds", .limit.as_secs())]
    TooSlow {
        /// The command of `git`.
        command: String,
        /// The bound.
        limit: Duration,
    },
    /// The repository, its tree or a skill is larger than the bounds allow.
    #[error("{what} is larger than {limit} {unit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The bound.
        limit: u64,
        /// The unit of the bound.
        unit: &'static str,
    },
    /// `git` wrote something that this crate does not understand.
    #[error("`git {0}` wrote something unexpected")]
    Unexpected(&'static str),
    /// The commit has no such folder with a `SKILL.md`.
    #[error("the folder `{0}` of the commit has no `SKILL.md`")]
    NoSkill(String),
    /// A name of the tree is not UTF-8, or no path that a skill may have.
    #[error("the file name `{0}` cannot be the path of a file of a skill")]
    Name(String),
    /// A link of a skill leads somewhere else than to a file of the same skill.
    #[error("the link `{path}` leads to `{target}`, which is no file of the skill")]
    Link {
        /// The link.
        path: RelPath,
        /// Where it leads.
        target: String,
    },
    /// A skill holds a submodule, which is never fetched.
    #[error("`{0}` is a submodule; its files are not part of the repository")]
    Submodule(RelPath),
    /// A file is a placeholder of Git LFS.
    #[error("`{0}` is stored with Git LFS; the repository holds only a placeholder")]
    LargeFile(RelPath),
}

impl GitError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
