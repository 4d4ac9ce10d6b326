//! Where a skill is installed, and whether it is still what was put there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use skillwire_core::ContentId;

use crate::{bundle::content_of, directory::read_directory, store::ContentStore};

/// How a skill was put into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementMethod {
    /// The folder has the files.
    Copy,
    /// The folder is a link into the store.
    Link,
}

/// One directory that holds an installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The directory of the skill.
    pub directory: PathBuf,
    /// The agents that read it.
    pub agents: Vec<String>,
    /// How it was put there.
    pub method: PlacementMethod,
    /// Directories above that did not exist before, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<PathBuf>,
}

/// How a directory compares with what was installed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PlacementState {
    /// It is as it was installed.
    Intact,
    /// A file was changed, added or removed, or the link leads elsewhere.
    Edited,
    /// There is nothing.
    Missing,
}

impl Placement {
    /// Compares the directory with the content that was installed.
    pub fn state(&self, content: &ContentId, store: &ContentStore) -> PlacementState {
        let Ok(facts) = fs::symlink_metadata(&self.directory) else {
            return PlacementState::Missing;
        };
        if facts.is_symlink() {
            let target = fs::read_link(&self.directory).ok();
            let leads_there = target.as_deref() == Some(&store.directory(content));
            let intact = leads_there && matches!(store.read(content), Ok(Some(_)));
            return if intact { PlacementState::Intact } else { PlacementState::Edited };
        }
        if content_at(&self.directory).as_ref() == Some(content) {
            PlacementState::Intact
        } else {
            PlacementState::Edited
        }
    }
}

/// Returns the id of what a directory holds, if it could be a skill's content.
pub(crate) fn content_at(directory: &Path) -> Option<ContentId> {
    content_of(&read_directory(directory).ok()?).ok()
}
