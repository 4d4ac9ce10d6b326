//! Skills of folders on this machine, side by side with those of servers.

use std::path::Path;

use skillwire_core::entry::SkillResource;

use super::Host;
use crate::{
    grants::Grants,
    handle::Handle,
    listed::{Listed, Source},
    local::LocalSkill,
    origin::{Origin, SkillId},
    record::Record,
    refusal::{Reason, Refusal},
    registry::Registry,
    standing::Standing,
    verified::Verified,
};

impl Host {
    /// The skills of one of this machine's origins, or of both.
    pub fn folder_skills(&self, only: Option<&Origin>) -> Vec<Listed> {
        let skills = self.inner.folders.values();
        let wanted = skills.filter(|skill| only.is_none_or(|only| skill.origin() == only));
        wanted.map(listed).collect()
    }

    /// The directory of a skill of this machine.
    pub fn directory(&self, skill: &SkillId) -> Option<&Path> {
        self.inner.folders.get(skill).map(LocalSkill::directory)
    }

    /// Finds the one skill of an origin of this machine that a handle names.
    pub(super) fn resolve_in_folders(
        &self,
        origin: &Origin,
        handle: &Handle,
    ) -> Result<Listed, Refusal> {
        let registry = Registry::new(self.folder_skills(Some(origin)));
        registry.find(handle).map(|item| item.listed.clone())
    }

    /// The skill that a bare name means when only folders have it: the project's before the user's,
    /// earlier folders first.
    pub(super) fn first_in_folders(&self, name: &str, registry: &Registry) -> Option<Listed> {
        let mut named = registry.items().iter().filter(|item| item.listed.name().as_str() == name);
        if named.any(|item| item.listed.id().origin.server().is_some()) {
            return None;
        }
        let mut skills = self.inner.folders.values();
        let first = skills.find(|skill| {
            skill.hidden_by().is_none() && skill.entry().frontmatter.name().as_str() == name
        });
        first.map(listed)
    }

    /// Where a skill of a folder stands: putting it there was the user's approval of loading it,
    /// and only what was approved besides is bound to its content.
    pub(super) fn standing_in_folder(listed: &Listed, record: Option<&Record>) -> Standing {
        match Standing::of(listed, record) {
            known @ (Standing::Disabled | Standing::Approved(_)) => known,
            _ => Standing::Approved(Grants::load_only()),
        }
    }

    /// Reads a file of a folder and compares it with what was listed.
    pub(super) async fn read_in_folder(
        &self,
        skill: &SkillId,
        file: &SkillResource,
    ) -> Result<Verified, Refusal> {
        let missing = || Refusal::new(Reason::FileMissing).skill(skill).file(&file.uri);
        let local = self.inner.folders.get(skill).cloned().ok_or_else(missing)?;
        let uri = file.uri.clone();
        // A disk may be slow, and others wait for this thread.
        let read = tokio::task::spawn_blocking(move || local.read(&uri)).await;
        read.unwrap_or_else(|_| Err(missing()))
    }
}

fn listed(skill: &LocalSkill) -> Listed {
    Listed::new(skill.origin().clone(), skill.entry().clone(), Source::Named)
}
