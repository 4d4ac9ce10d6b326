//! How `git` is run, and the bounds of a fetch.

use std::{ffi::OsString, path::PathBuf, time::Duration};

/// Bounds of what one repository may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GitLimits {
    /// The longest that one run of `git` may take.
    pub time: Duration,
    /// The most bytes that a fetched repository may take on disk.
    pub repository_bytes: u64,
    /// The most files that the tree of a commit may have.
    pub tree_files: usize,
    /// The most files of one skill.
    pub skill_files: usize,
    /// The most bytes that the files of one skill may have together.
    pub skill_bytes: u64,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(2),
            repository_bytes: 512 * 1024 * 1024,
            tree_files: 200_000,
            skill_files: skillwire_core::limits::MAX_FILES,
            skill_bytes: skillwire_core::limits::MAX_BYTES,
        }
    }
}

impl GitLimits {
    /// Sets the longest that one run of `git` may take.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Sets the most bytes that a fetched repository may take on disk.
    #[must_use]
    pub fn repository_bytes(mut self, bytes: u64) -> Self {
        self.repository_bytes = bytes;
        self
    }

    /// Sets the most files that the tree of a commit may have.
    #[must_use]
    pub fn tree_files(mut self, files: usize) -> Self {
        self.tree_files = files;
        self
    }

    /// Sets the most files and bytes of one skill.
    #[must_use]
    pub fn skill(mut self, files: usize, bytes: u64) -> Self {
        (self.skill_files, self.skill_bytes) = (files, bytes);
        self
    }
}

/// How `git` is run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GitOptions {
    /// The program.
    pub program: PathBuf,
    /// Variables of the environment that `git` gets besides those of this crate, such as `PATH`.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether the user's own configuration of `git` is read, for the credentials in it.
    pub user_configuration: bool,
    /// Whether repositories on this machine (`file:`) and unencrypted ones (`http:`) are fetched.
    pub local: bool,
    /// The bounds.
    pub limits: GitLimits,
}

impl Default for GitOptions {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            variables: Vec::new(),
            user_configuration: false,
            local: false,
            limits: GitLimits::default(),
        }
    }
}

impl GitOptions {
    /// Sets the program.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Adds a variable of the environment.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets whether the user's own configuration of `git` is read.
    #[must_use]
    pub fn user_configuration(mut self, read: bool) -> Self {
        self.user_configuration = read;
        self
    }

    /// Sets whether repositories on this machine and unencrypted ones are fetched.
    #[must_use]
    pub fn local(mut self, allowed: bool) -> Self {
        self.local = allowed;
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn limits(mut self, limits: GitLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The protocols that `git` may speak.
    pub(crate) fn protocols(&self) -> &'static [&'static str] {
        if self.local { &["https", "ssh", "http", "file"] } else { &["https", "ssh"] }
    }
}
