//! From an approved skill to an open window.

use std::sync::Arc;

use futures_util::future::join_all;
use skillwire_core::Resources;
use skillwire_trust::{Action, ApprovedSkill, Reason, Refusal, check_frontmatter};

use super::Host;
use crate::window::{DynamicContent, FileContent, FirstSeen, Window, find};

/// How many comparisons of `SKILL.md` are remembered.
const MOST_COMPARED: usize = 4_096;

/// A loaded skill.
#[derive(Clone)]
pub struct Loaded {
    /// The window through which its files are read.
    pub window: Arc<Window>,
    /// Whether the same content was already loaded and its window is still open.
    pub repeated: bool,
}

impl Host {
    /// Loads an approved skill: fetches `SKILL.md`, compares size, digest and frontmatter with the
    /// entry, and opens the window. It fetches no other file.
    #[tracing::instrument(skip_all, fields(skill = %approved.id()))]
    pub async fn load(&self, approved: ApprovedSkill) -> Result<Loaded, Refusal> {
        let content = approved.fingerprint();
        let open = self.open_windows().into_iter().find(|window| {
            content.is_some() && window.fingerprint() == content && window.skill() == approved.id()
        });
        if let Some(window) = open {
            return Ok(Loaded { window, repeated: true });
        }
        let skill_file = self.load_skill_file(&approved).await;
        let outcome = skill_file.as_ref().map(|_| ()).map_err(|refusal| refusal.reason);
        self.log(&approved, Action::Load, outcome, None);
        let skill_file = skill_file?;
        let host = self.clone();
        let window = self.open_window(|id| Window::new(host, approved, skill_file, id));
        Ok(Loaded { window, repeated: false })
    }

    async fn load_skill_file(&self, approved: &ApprovedSkill) -> Result<FileContent, Refusal> {
        self.check_enabled(approved)?;
        let skill = approved.id();
        let content = match &approved.entry().resources {
            Resources::Listed(files) => {
                let listed = find(files, skill.uri.file())
                    .ok_or_else(|| Refusal::new(Reason::SkillFileNotListed).about(skill))?;
                let verified = self.fetch(approved.listed(), listed).await?;
                if approved.listed().integrity().is_first_seen() {
                    FileContent::FirstSeen(FirstSeen { file: verified, new: false })
                } else {
                    FileContent::Verified(verified)
                }
            }
            Resources::Dynamic => {
                let uri = skill.uri.file();
                let bytes = self.read_unlisted(skill, uri, self.policy().limits.bytes).await?;
                let (skill, uri) = (skill.clone(), uri.clone());
                FileContent::Dynamic(DynamicContent { skill, uri, bytes })
            }
        };
        self.compare_frontmatter(approved, &content)?;
        Ok(content)
    }

    /// Compares `SKILL.md` with the entry, once per content: bytes with the same digest under the
    /// same entry have the same frontmatter.
    fn compare_frontmatter(
        &self,
        approved: &ApprovedSkill,
        content: &FileContent,
    ) -> Result<(), Refusal> {
        // If name and description come from elsewhere, only the digest can show that nothing
        // changed.
        if approved.listed().offer().is_some_and(|offer| offer.described_elsewhere) {
            return Ok(());
        }
        let fingerprint = approved.fingerprint();
        if fingerprint.is_some_and(|fingerprint| self.inner.compared.lock().contains(&fingerprint))
        {
            return Ok(());
        }
        check_frontmatter(approved.id(), &approved.entry().frontmatter, content.bytes())?;
        if let Some(fingerprint) = fingerprint {
            let mut compared = self.inner.compared.lock();
            if compared.len() >= MOST_COMPARED {
                compared.clear();
            }
            compared.insert(fingerprint);
        }
        Ok(())
    }

    /// Refuses a skill that the user switched off after approving it.
    fn check_enabled(&self, approved: &ApprovedSkill) -> Result<(), Refusal> {
        if self.inner.records.is_disabled(approved.id()).map_err(super::unusable)? {
            return Err(Refusal::new(Reason::Disabled).about(approved.id()));
        }
        Ok(())
    }

    /// Closes every window, at the end of a session.
    pub fn close(&self) {
        self.open_windows().iter().for_each(|window| window.release());
        self.inner.remotes.lock().clear();
    }

    /// Closes every window and gives started servers a moment to exit by themselves.
    pub async fn disconnect(&self) {
        let remotes: Vec<_> = self.inner.remotes.lock().values().cloned().collect();
        self.close();
        join_all(remotes.iter().map(|remote| remote.disconnect())).await;
    }
}
