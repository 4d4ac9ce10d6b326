//! The options of a folder of skills.

use std::path::PathBuf;

use skillwire_core::{Scheme, Strictness};

use crate::{progress::ScanProgress, rules::SecretAllowList};

/// How a folder of skills is read; made with the methods from [`DirectoryOptions::default`].
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DirectoryOptions {
    pub(super) label: String,
    pub(super) prefix: Vec<String>,
    pub(super) scheme: Scheme,
    pub(super) strictness: Strictness,
    pub(super) allow_secret: SecretAllowList,
    pub(super) single_link: bool,
    pub(super) follow_links: bool,
    pub(super) brief: bool,
    pub(super) reopen: bool,
    pub(super) index: Option<PathBuf>,
    pub(super) progress: ScanProgress,
}

impl DirectoryOptions {
    /// Sets the folder's name in findings, as the operator wrote it; by default it is the path.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the path segments that come before the path of every skill.
    #[must_use]
    pub fn prefix(mut self, prefix: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.prefix = prefix.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the scheme of the skills' URIs.
    #[must_use]
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Sets how strict the source is about skills that break the format.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Allows files that are served although their name says that they hold a secret.
    #[must_use]
    pub fn allow_secret(mut self, allow: SecretAllowList) -> Self {
        self.allow_secret = allow;
        self
    }

    /// Sets whether a file with more than one hard link keeps its skill from being served.
    ///
    /// A hard link to a file outside the skill looks like an ordinary file. If the authors of
    /// skills must not publish other files of the same disk, this refuses both. Only Unix reports
    /// the number of links before a file is opened.
    #[must_use]
    pub fn single_link(mut self, single_link: bool) -> Self {
        self.single_link = single_link;
        self
    }

    /// Sets whether symbolic links between skills may lead anywhere.
    ///
    /// By default a link to a directory is followed only if it stays inside the folder, or inside
    /// the repository around it (the nearest folder above with a `.git`).
    #[must_use]
    pub fn follow_links(mut self, follow_links: bool) -> Self {
        self.follow_links = follow_links;
        self
    }

    /// Sets whether to leave out findings that never keep a skill from being served, which saves a
    /// server the work of looking for them.
    #[must_use]
    pub fn brief(mut self, brief: bool) -> Self {
        self.brief = brief;
        self
    }

    /// Sets whether to open the folder again for each file that a client reads, instead of holding
    /// it open from the first scan on.
    ///
    /// Reads take longer, but a program can have many sources without running out of open files.
    #[must_use]
    pub fn reopen(mut self, reopen: bool) -> Self {
        self.reopen = reopen;
        self
    }

    /// Sets a file in which the source remembers its results, so that the next start opens no
    /// unchanged file.
    ///
    /// It is created if it is missing, and ignored if it is damaged or belongs to other options.
    #[must_use]
    pub fn index(mut self, file: impl Into<Option<PathBuf>>) -> Self {
        self.index = file.into();
        self
    }

    /// Sets the counter of the skills that scans have inspected.
    #[must_use]
    pub fn progress(mut self, progress: ScanProgress) -> Self {
        self.progress = progress;
        self
    }
}
