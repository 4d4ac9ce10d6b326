//! A git repository as an upstream: of a new commit, only the skills that changed are fetched.

use std::{collections::BTreeMap, sync::Arc};

use skillwire_core::Digest;
use skillwire_git::{CommitId, GitError, GitOptions, GitRef, GitRepository, GitUrl};
use skillwire_source::{Skill, SkillContent, inspect_files};
use tempfile::TempDir;

use crate::{files::KeptFiles, local::LocalError};

/// The skills of one folder of a repository, and the state of the folder they were read from.
struct RepositoryFolder {
    fingerprint: Digest,
    skills: Vec<Arc<Skill>>,
}

/// A repository at a ref.
pub(crate) struct RepositoryReader {
    url: GitUrl,
    reference: GitRef,
    options: GitOptions,
    commit: Option<CommitId>,
    folders: BTreeMap<String, RepositoryFolder>,
    files: TempDir,
    /// Counts the folders of files, so that each has a name of its own.
    written: u64,
}

impl RepositoryReader {
    pub(crate) fn new(
        url: &str,
        reference: Option<&str>,
        options: GitOptions,
    ) -> Result<Self, LocalError> {
        let invalid = |error| LocalError::Source(format!("the address {error}"));
        Ok(Self {
            url: GitUrl::parse(url).map_err(invalid)?,
            reference: match reference {
                None => GitRef::head(),
                Some(text) => GitRef::parse(text)
                    .map_err(|error| LocalError::Source(format!("the ref {error}")))?,
            },
            options,
            commit: None,
            folders: BTreeMap::new(),
            files: tempfile::Builder::new().prefix("skillwire-upstream-").tempdir()?,
            written: 0,
        })
    }

    /// Looks at the repository. Returns its skills, or `None` if it is at the same commit.
    pub(crate) async fn look(&mut self) -> Result<Option<Vec<Arc<Skill>>>, LocalError> {
        let options = self.options.clone();
        let repository = GitRepository::fetch(&self.url, &self.reference, options).await?;
        if self.commit.as_ref() == Some(repository.commit()) {
            return Ok(None);
        }
        let mut before = std::mem::take(&mut self.folders);
        for folder in repository.skill_folders() {
            let known = before.remove(&folder);
            match self.read(&repository, &folder, known).await {
                Ok(read) => drop(self.folders.insert(folder, read)),
                // One skill that cannot be used keeps no other from being offered.
                Err(error) => {
                    tracing::warn!(url = %self.url, folder, %error, "a skill is left out");
                }
            }
        }
        self.commit = Some(repository.commit().clone());
        let skills = self.folders.values().flat_map(|folder| folder.skills.iter().cloned());
        Ok(Some(skills.collect()))
    }

    async fn read(
        &mut self,
        repository: &GitRepository,
        folder: &str,
        known: Option<RepositoryFolder>,
    ) -> Result<RepositoryFolder, LocalError> {
        let fingerprint = repository.fingerprint(folder)?;
        if let Some(known) = known.filter(|known| known.fingerprint == fingerprint) {
            return Ok(known);
        }
        let files = repository.read_skill(folder).await?;
        let path = if folder.is_empty() { name_of(&files)? } else { folder.to_owned() };
        let texts = files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()));
        let mut skills = Vec::new();
        for inspected in inspect_files(self.url.as_str(), &path, texts) {
            for finding in &inspected.findings {
                tracing::debug!(origin = inspected.origin, ?finding, "a skill of a repository");
            }
            if let Some(skill) = inspected.skill {
                self.written += 1;
                let place = self.files.path().join(self.written.to_string());
                skills.push(kept(&skill, place, &files)?);
            }
        }
        Ok(RepositoryFolder { fingerprint, skills })
    }
}

/// The name that a skill at the root of a repository has.
fn name_of(files: &skillwire_git::SkillFiles) -> Result<String, LocalError> {
    let text = files.iter().find(|(path, _)| *path == skillwire_core::RelPath::skill_file());
    let checked = text.and_then(|(_, bytes)| skillwire_core::skill_file::check(bytes).0);
    let checked = checked.ok_or_else(|| LocalError::Source("its `SKILL.md` is unusable".into()))?;
    Ok(checked.frontmatter.name().to_string())
}

/// Keeps the files of a skill on disk instead of in memory.
fn kept(
    skill: &Skill,
    folder: std::path::PathBuf,
    files: &skillwire_git::SkillFiles,
) -> Result<Arc<Skill>, LocalError> {
    let mut skill = skill.clone();
    if let SkillContent::Files(tree) = &mut skill.content {
        tree.store = KeptFiles::write(folder, &tree.files, files)?;
    }
    Ok(Arc::new(skill))
}

impl From<GitError> for LocalError {
    fn from(error: GitError) -> Self {
        Self::Git(Box::new(error))
    }
}
