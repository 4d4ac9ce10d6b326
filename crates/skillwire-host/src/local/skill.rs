//! A skill in a folder of this machine.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use skillwire_core::{ResourceUri, Resources, SkillEntry, SkillResource};
use skillwire_source::{FileStore, FileStoreError};
use skillwire_trust::{Origin, Reason, Refusal, SkillId, VerifiedFile};

use super::open::Read;

/// A skill of a folder that may be used: what it lists, and a way to read exactly that.
#[derive(Debug, Clone)]
pub struct LocalSkill {
    id: SkillId,
    entry: Arc<SkillEntry>,
    directory: PathBuf,
    headings: Arc<str>,
    /// The files, in its directory, or in memory where it was mended.
    store: Arc<dyn FileStore>,
    pub(super) handle: String,
    pub(super) hidden_by: Option<String>,
}

impl LocalSkill {
    pub(super) fn new(origin: &Origin, directory: &Path, read: Read) -> Self {
        let Read { entry, store, headings } = read;
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

    /// What the skill is known by.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// Where it comes from: [`Origin::Local`] or [`Origin::Project`].
    pub fn origin(&self) -> &Origin {
        &self.id.origin
    }

    /// What is listed about it; never dynamic.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        &self.entry
    }

    /// Its directory without symbolic links; for a mended skill inside another, that of the other.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The headings of its `SKILL.md` as it was read, one on each line.
    pub fn headings(&self) -> &str {
        &self.headings
    }

    /// The qualified handle, which no other local skill has: `local:name`, or the path instead of
    /// the name when an earlier folder of the same origin has a skill of that name.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// The handle of the skill that a bare name means instead of this one.
    pub fn hidden_by(&self) -> Option<&str> {
        self.hidden_by.as_deref()
    }

    /// Reads a file and compares it with what is listed.
    ///
    /// This reads from a disk, so an asynchronous caller should use a thread for it. The
    /// frontmatter needs no further comparison: it was read from bytes with this digest.
    pub(crate) fn read(&self, uri: &ResourceUri) -> Result<VerifiedFile, Refusal> {
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

/// A skill of a project that the user has not trusted. Nothing of it has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatedSkill {
    pub(super) path: String,
}

impl GatedSkill {
    /// Where it is, below the project; anyone may have chosen the names in it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Why it cannot be used.
    pub fn refusal(&self) -> Refusal {
        Refusal::new(Reason::ProjectUntrusted)
            .about(format!("{}:{}", Origin::Project, crate::context::text::one_line(&self.path)))
            .hint("Trust the project's folder, if you know who wrote it.")
    }
}
