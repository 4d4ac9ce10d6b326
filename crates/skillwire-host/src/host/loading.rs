//! From an approved skill to an open window.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use skillwire_core::{Digest, ResourceUri, Resources};
use skillwire_dialects::sep_2076::ArgumentValues;
use skillwire_remote::pin;
use skillwire_trust::{
    Action, ApprovedSkill, ListedSkill, Reason, Refusal, VerifiedFile, check_frontmatter,
};

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
    pub async fn load(&self, approved: ApprovedSkill) -> Result<Loaded, Refusal> {
        self.load_with(approved, &ArgumentValues::new()).await
    }

    /// Loads an approved skill with values for the arguments that its instructions take.
    ///
    /// Only servers of some older dialects have such skills, and write the instructions for the
    /// values. What they wrote first for some values is what the skill is held to for these values.
    #[tracing::instrument(skip_all, fields(skill = %approved.id()))]
    pub async fn load_with(
        &self,
        approved: ApprovedSkill,
        arguments: &ArgumentValues,
    ) -> Result<Loaded, Refusal> {
        let approved = approved.with_arguments(arguments)?;
        let content = approved.fingerprint();
        let values = approved.listed().argument_values();
        let open = self.open_windows().into_iter().find(|window| {
            content.is_some()
                && window.fingerprint() == content
                && window.skill() == approved.id()
                && window.argument_values() == values
        });
        if let Some(window) = open {
            return Ok(Loaded { window, repeated: true });
        }
        let loaded = match approved.listed().variant() {
            None => self.load_skill_file(&approved).await.map(|file| (approved.clone(), file)),
            Some(variant) => self.load_variant(&approved, &variant).await,
        };
        let outcome = loaded.as_ref().map(|_| ()).map_err(|refusal| refusal.reason);
        let signed = self.known_signature(approved.listed());
        let signed = signed.vouchers().first();
        let signed =
            signed.map(|voucher| format!("signed by {}: {}", voucher.name, voucher.signer));
        self.log(&approved, Action::Load, outcome, signed.as_deref());
        let (approved, skill_file) = loaded?;
        let host = self.clone();
        let window = self.open_window(|id| Window::new(host, approved, skill_file, id));
        Ok(Loaded { window, repeated: false })
    }

    async fn load_skill_file(&self, approved: &ApprovedSkill) -> Result<FileContent, Refusal> {
        self.check_enabled(approved)?;
        let skill = approved.id();
        match &approved.entry().resources {
            Resources::Listed(files) => {
                let listed = find(files, skill.uri.file())
                    .ok_or_else(|| Refusal::new(Reason::SkillFileNotListed).about(skill))?;
                let fingerprint = approved.fingerprint();
                let fetched = self.fetch_known(approved.listed(), listed, fingerprint);
                let verified = Box::pin(fetched).await?;
                if approved.listed().integrity().is_first_seen() {
                    Ok(FileContent::FirstSeen(FirstSeen { file: verified, new: false }))
                } else {
                    Ok(FileContent::Verified(verified))
                }
            }
            Resources::Dynamic => {
                let uri = skill.uri.file();
                let bytes = self.read_unlisted(skill, uri, self.policy().limits.bytes).await?;
                self.compare_frontmatter(approved.listed(), None, &bytes)?;
                let skill = skill.clone();
                let uri = uri.clone();
                Ok(FileContent::Dynamic(DynamicContent { skill, uri, bytes }))
            }
        }
    }

    /// Reads the `SKILL.md` for values of the skill's arguments, to pass it on.
    pub(super) async fn read_variant(
        &self,
        approved: ApprovedSkill,
        arguments: &ArgumentValues,
    ) -> Result<Bytes, Refusal> {
        let approved = approved.with_arguments(arguments)?;
        let variant = approved.listed().variant();
        let variant =
            variant.ok_or_else(|| Refusal::new(Reason::ArgumentUnknown).about(approved.id()))?;
        let (_, file) = self.load_variant(&approved, &variant).await?;
        Ok(file.bytes().clone())
    }

    /// Has the server write `SKILL.md` for the values of the skill's arguments, and holds it to what
    /// the server wrote for these values first.
    async fn load_variant(
        &self,
        approved: &ApprovedSkill,
        variant: &ResourceUri,
    ) -> Result<(ApprovedSkill, FileContent), Refusal> {
        self.check_enabled(approved)?;
        let skill = approved.id();
        let offer = approved.listed().offer();
        let offer = offer.ok_or_else(|| Refusal::new(Reason::ArgumentUnknown).about(skill))?;
        let server = self.server_of(skill, skill.uri.file())?;
        let (bytes, offer) = server.read_skill_file(skill, (**offer).clone()).await?;
        let is_new = approved.content().is_none_or(|content| content.file(variant).is_none());
        self.keep_pin(skill, &pin(variant.clone(), &bytes))?;
        let file = VerifiedFile::check(skill, &pin(skill.uri.file().clone(), &bytes), bytes)?;
        let content = FileContent::FirstSeen(FirstSeen { file, new: is_new });
        Ok((approved.clone().with_offer(offer), content))
    }

    /// Compares `SKILL.md` with the entry, once for each fingerprint: bytes with the same digest under
    /// the same entry have the same frontmatter.
    pub(super) fn compare_frontmatter(
        &self,
        held: &ListedSkill,
        fingerprint: Option<Digest>,
        skill_file: &[u8],
    ) -> Result<(), Refusal> {
        // If name and description come from elsewhere, only the digest can show that nothing
        // changed.
        if held.offer().is_some_and(|offer| offer.described_elsewhere) {
            return Ok(());
        }
        if fingerprint.is_some_and(|fingerprint| self.inner.compared.lock().contains(&fingerprint))
        {
            return Ok(());
        }
        check_frontmatter(held.id(), &held.entry().frontmatter, skill_file)?;
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
