//! A skill in a folder of this machine.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use skillwire_core::{ResourceUri, Resources, SkillEntry, SkillResource};
use skillwire_source::{FileStore, FileStoreError};
use skillwire_trust::{Origin, Reason, Refusal, Remedy, SkillId, VerifiedFile};

use super::open::OpenedSkill;

/// A usable skill of a folder: its entry, and a way to read exactly the listed bytes.
#[derive(Debug, Clone)]
pub struct LocalSkill {
    id: SkillId,
    entry: Arc<SkillEntry>,
    directory: PathBuf,
    headings: Arc<str>,
    /// The files: in the skill's directory, or in memory if the skill was repaired.
    store: Arc<dyn FileStore>,
    pub(super) handle: String,
    pub(super) hidden_by: Option<String>,
}

impl LocalSkill {
    pub(super) fn new(origin: &Origin, directory: &Path, read: OpenedSkill) -> Self {
        let OpenedSkill { entry, store, headings } = read;
        Self {
            id: SkillId { origin: origin.clone(), uri: entry.uri.clone() },
            handle: format!("{origin}:{}", entry.frontmatter.name()),
            entry: Arc::new(entry),
            directory: directory.to_owned(),
            headings: headings.into(),
            store,
            hidden_by: None,
        }
    }

    /// Returns the id of the skill.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// Returns the origin: [`Origin::Local`] or [`Origin::Project`].
    pub fn origin(&self) -> &Origin {
        &self.id.origin
    }

    /// Returns the entry, which is never dynamic.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        &self.entry
    }

    /// Returns the directory without symbolic links; for a repaired skill inside another, that of
    /// the other.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the headings of `SKILL.md` as it was read, one per line.
    pub fn headings(&self) -> &str {
        &self.headings
    }

    /// Returns the qualified handle, which no other local skill has: `local:name`, or the path
    /// instead of the name if an earlier folder of the same origin has a skill of that name.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// Returns the handle of the skill that the bare name means instead of this one.
    pub fn hidden_by(&self) -> Option<&str> {
        self.hidden_by.as_deref()
    }

    /// Reads a file and compares it with the entry.
    ///
    /// This reads from disk, so an asynchronous caller should use a blocking thread. The
    /// frontmatter needs no further comparison: it was read from bytes with this digest.
    pub fn read(&self, uri: &ResourceUri) -> Result<VerifiedFile, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(&self.id).file(uri);
        let Some(path) = self.entry.uri.below(uri) else {
            return Err(refuse(Reason::PathOutsideSkill));
        };
        let Some(file) = self.listed(uri) else { return Err(refuse(Reason::FileNotListed)) };
        match self.store.read(&path, file.size) {
            Ok(bytes) => VerifiedFile::check(&self.id, file, bytes),
            Err(FileStoreError::Changed) => Err(refuse(Reason::DigestMismatch)
                .expected(file.digest)
                .actual("a file or folder that changed since it was listed")
                .hint("List the skills again.")),
            Err(FileStoreError::Failed(error)) => Err(refuse(Reason::FileMissing)
                .actual(error)
                .hint("Make the file readable, and list the skills again.")),
        }
    }

    fn listed(&self, uri: &ResourceUri) -> Option<&SkillResource> {
        let Resources::Listed(files) = &self.entry.resources else { return None };
        files.iter().find(|file| file.uri == *uri)
    }
}

/// A skill of a project that the user does not trust; the host has read nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatedSkill {
    pub(super) path: String,
}

impl GatedSkill {
    /// Returns the path below the project. Its names are untrusted: the author of the project chose
    /// them.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the refusal for using the skill.
    pub fn refusal(&self) -> Refusal {
        Refusal::new(Reason::ProjectUntrusted)
            .about(format!("{}:{}", Origin::Project, skillwire_core::visible::one_line(&self.path)))
            .remedy(Remedy::TrustProject)
    }
}
