//! Reading a skill's directory: its manifest, digests, and a store to read the files again.

use std::{path::PathBuf, sync::Arc};

use skillwire_core::{
    Code, Digest, Finding, RelPath, Resources, Scheme, SkillEntry, SkillResource, Strictness,
    skill_file,
};
use skillwire_source::{
    DirectoryOptions, DirectorySource, FileStore, InspectedSkill, SecretAllowList, Skill,
    SkillContent, scan_all,
};

use super::walk::SkillDirectory;

/// How a directory is opened, the same way each time.
#[derive(Debug, Clone)]
pub(super) struct FolderOpener {
    /// The directory, without symbolic links.
    pub(super) directory: PathBuf,
    /// The name of the directory in findings.
    pub(super) label: String,
    /// The segments before the skill's name in its URI.
    pub(super) prefix: Vec<String>,
    pub(super) scheme: Scheme,
}

impl FolderOpener {
    pub(super) fn new(found: &SkillDirectory, scheme: &Scheme) -> Self {
        let above = found.segments.len().saturating_sub(1);
        Self {
            directory: found.directory.clone(),
            label: found.segments.join("/"),
            prefix: found.segments[..above].to_vec(),
            scheme: scheme.clone(),
        }
    }

    /// Returns the opening for a skill whose name differs from its directory: the directory stays
    /// part of the URI, so that no two directories share one.
    pub(super) fn below_directory(mut self) -> Self {
        let last = self.label.rsplit('/').next().unwrap_or(&self.label).to_owned();
        self.prefix.push(last);
        self
    }

    /// Reads the directory and checks it and the skills inside it.
    pub(super) fn read(&self) -> Result<Vec<InspectedSkill>, Box<Finding>> {
        let unreadable =
            |reason: String| Box::new(Finding::new(Code::Unreadable, &self.label, reason));
        let options = DirectoryOptions::default()
            .label(self.label.clone())
            .prefix(self.prefix.clone())
            .scheme(self.scheme.clone())
            .strictness(Strictness::Lenient)
            .allow_secret(any_file())
            .brief(true)
            // So that any number of skills can be listed.
            .reopen(true);
        let source = DirectorySource::new(&self.directory, options)
            .map_err(|error| unreadable(error.reason))?;
        // A directory above may have been replaced by a link since it was found.
        if source.canonical_root() != self.directory {
            return Err(unreadable("It was replaced while it was read.".to_owned()));
        }
        let collected = scan_all(&[&source]).map_err(|error| unreadable(error.reason))?;
        Ok(collected.skills)
    }
}

/// Returns a list that allows every file: one that looks like a secret keeps a skill from being
/// served, but not from being used by the owner of the file.
pub(super) fn any_file() -> SecretAllowList {
    SecretAllowList::parse(["**"]).unwrap_or_default()
}

/// A skill that was read.
pub(super) struct OpenedSkill {
    pub(super) entry: SkillEntry,
    /// The store from which its files are read again.
    pub(super) store: Arc<dyn FileStore>,
    /// The headings of its `SKILL.md`.
    pub(super) headings: String,
}

/// Returns the entry of a skill that was read, its store and its headings.
pub(super) fn listed(skill: &Skill) -> Option<OpenedSkill> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let head = tree.file(&RelPath::skill_file())?;
    let bytes = tree.store.read(&head.path, head.size).ok()?;
    if Digest::of(&bytes) != head.digest {
        return None;
    }
    let frontmatter = skill_file::check(&bytes).0?.frontmatter;
    let mut files: Vec<SkillResource> = tree
        .files
        .iter()
        .map(|file| SkillResource {
            uri: skill.uri.root().child(&file.path),
            digest: file.digest,
            size: file.size,
        })
        .collect();
    files.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
    let resources = Resources::Listed(files);
    let entry = SkillEntry { uri: skill.uri.clone(), frontmatter, resources };
    let headings = skill_file::headings(&bytes);
    Some(OpenedSkill { entry, store: Arc::clone(&tree.store), headings })
}
