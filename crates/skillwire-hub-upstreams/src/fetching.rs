//! Fetches the content of one skill for its review: once, whole, bounded and verified.

use bytes::Bytes;
use skillwire_core::{ContentId, Frontmatter, RelPath, Resources, SkillUri, skill_file};
use skillwire_gateway::{FollowedServer, entry_text};
use skillwire_hub_store::ListedContent;
use skillwire_source::{FileStoreError, Skill, SkillContent};
use skillwire_trust::{ListedSkill, Refusal};
use std::sync::Arc;

use crate::{facts::names_script, gate::content_of};

/// Why the content of a skill could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("it has {size} bytes, and at most {most} are fetched")]
    TooLarge { size: u64, most: u64 },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("a file changed while it was read")]
    Changed(#[source] FileStoreError),
    #[error("its `SKILL.md` does not say what its entry says")]
    OtherFrontmatter,
    #[error("it has no digests")]
    Dynamic,
}

/// A skill that an upstream lists.
#[derive(Debug, Clone)]
pub(crate) enum OfferedSkill {
    /// Of a server or a web site.
    Served(ListedSkill),
    /// Of a repository or a folder.
    Local(Arc<Skill>),
}

/// What was fetched of a skill.
pub(crate) struct FetchedSkill {
    pub(crate) files: Vec<(RelPath, Bytes)>,
    pub(crate) frontmatter: Frontmatter,
    /// The entry, as the upstream wrote it.
    pub(crate) entry: String,
}

impl OfferedSkill {
    pub(crate) fn uri(&self) -> &SkillUri {
        match self {
            Self::Served(listed) => &listed.id().uri,
            Self::Local(skill) => &skill.uri,
        }
    }

    /// The identity of its files; `None` without digests.
    pub(crate) fn content(&self) -> Option<ContentId> {
        match self {
            Self::Served(listed) => content_of(&listed.clone().passed_on()),
            Self::Local(skill) => local_content(skill),
        }
    }

    /// What its listing says about it.
    pub(crate) fn listed(&self) -> ListedContent {
        let has_scripts = match self {
            Self::Served(listed) => match &listed.entry().resources {
                Resources::Listed(files) => {
                    let uri = &listed.id().uri;
                    files.iter().filter_map(|file| uri.below(&file.uri)).any(|it| names_script(&it))
                }
                Resources::Dynamic => false,
            },
            Self::Local(skill) => match &skill.content {
                SkillContent::Files(tree) => tree.files.iter().any(|it| names_script(&it.path)),
                SkillContent::Generated(_) => false,
            },
        };
        ListedContent::new(self.content(), has_scripts)
    }

    /// Fetches all files. Bytes that differ from what was listed are an error.
    pub(crate) async fn fetch(
        &self,
        server: Option<&FollowedServer>,
        most: u64,
    ) -> Result<FetchedSkill, FetchError> {
        let (files, entry) = match (self, server) {
            (Self::Served(listed), Some(server)) => {
                let Resources::Listed(resources) = &listed.entry().resources else {
                    return Err(FetchError::Dynamic);
                };
                check_size(resources.iter().map(|file| file.size), most)?;
                let mut files = Vec::with_capacity(resources.len());
                for file in resources {
                    let path = listed.id().uri.below(&file.uri).ok_or(FetchError::Dynamic)?;
                    files.push((path, server.read(listed, file).await?.bytes().clone()));
                }
                (files, entry_text(listed).into_owned())
            }
            (Self::Served(_), None) => return Err(FetchError::Dynamic),
            (Self::Local(skill), _) => {
                (read_local(skill, most).await?, skill.entry.text().into_owned())
            }
        };
        let text = files.iter().find(|(path, _)| *path == RelPath::skill_file());
        let checked = text.and_then(|(_, bytes)| skill_file::check(bytes).0);
        let frontmatter = checked.ok_or(FetchError::OtherFrontmatter)?.frontmatter;
        // A server could otherwise show reviewers and clients a description that nothing vouches for.
        let listed = serde_json::from_str::<serde_json::Value>(&entry)
            .ok()
            .and_then(|mut entry| entry.get_mut("frontmatter").map(serde_json::Value::take));
        if listed.as_ref().and_then(|listed| listed.as_object()) != Some(frontmatter.fields()) {
            return Err(FetchError::OtherFrontmatter);
        }
        Ok(FetchedSkill { files, frontmatter, entry })
    }
}

fn check_size(sizes: impl Iterator<Item = u64>, most: u64) -> Result<(), FetchError> {
    let size = sizes.fold(0_u64, u64::saturating_add);
    if size > most { Err(FetchError::TooLarge { size, most }) } else { Ok(()) }
}

fn local_content(skill: &Skill) -> Option<ContentId> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let files = tree.files.iter().map(|file| (file.path.clone(), file.digest, file.size));
    ContentId::of(files).ok()
}

async fn read_local(skill: &Arc<Skill>, most: u64) -> Result<Vec<(RelPath, Bytes)>, FetchError> {
    let SkillContent::Files(tree) = &skill.content else { return Err(FetchError::Dynamic) };
    check_size(tree.files.iter().map(|file| file.size), most)?;
    let tree = tree.clone();
    let read = move || {
        let each = tree.files.iter().map(|file| {
            let bytes = tree.store.read(&file.path, file.size).map_err(FetchError::Changed)?;
            if skillwire_core::Digest::of(&bytes) != file.digest {
                return Err(FetchError::Changed(FileStoreError::Changed));
            }
            Ok((file.path.clone(), bytes))
        });
        each.collect()
    };
    let done = tokio::task::spawn_blocking(read).await;
    done.unwrap_or_else(|error| Err(FetchError::Changed(FileStoreError::failed(error))))
}
