//! Reads skills from git repositories at a ref, fetching only what is needed; by the `git` program.
//!
//! This crate knows how to ask `git` for a commit, its tree and the bytes of some files. It never
//! knows what is done with them: nothing is checked out, and no file of a repository is ever run.
//!
//! A repository is not trusted. [`GitRepository::fetch`] runs `git` without the user's hooks, filters
//! and prompts, allows only the protocols that [`GitOptions`] names, never follows a submodule, and
//! stops at bounds on time, bytes and files. A link of a skill is read only if it leads to a file of
//! that skill.
//!
//! ```
//! use skillwire_git::{GitRef, GitUrl};
//!
//! assert_eq!(GitUrl::parse("https://example.com/acme/skills.git")?.protocol(), "https");
//! // Texts that `git` would take for an option or for a program are refused.
//! assert!(GitUrl::parse("--upload-pack=touch /tmp/x").is_err());
//! assert!(GitUrl::parse("ext::sh -c touch% /tmp/x").is_err());
//! assert!(GitRef::parse("-x").is_err());
//! # Ok::<(), skillwire_git::InvalidGitSource>(())
//! ```

mod command;
mod error;
mod options;
mod repository;
mod source;
mod tree;

pub use skillwire_core::{Digest, RelPath};

pub use self::{
    error::GitError,
    options::{GitLimits, GitOptions},
    repository::{GitRepository, SkillFiles},
    source::{CommitId, GitRef, GitUrl, InvalidGitSource},
};
