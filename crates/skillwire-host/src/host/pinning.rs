//! Files without a listed digest: the host holds them to the bytes it read first.

use skillwire_core::{ContentSet, ResourceUri, Resources, SkillEntry, SkillResource};
use skillwire_remote::pin;
use skillwire_trust::{
    Action, ApprovedSkill, Reason, Record, Refusal, Remedy, SkillId, VerifiedFile,
};

use super::{Host, unusable};
use crate::window::find;

impl Host {
    /// Reads a file of an approved skill for the first time, and pins it to these bytes.
    pub(crate) async fn pin_first_read(
        &self,
        approved: &ApprovedSkill,
        file: &ResourceUri,
        most: u64,
    ) -> Result<VerifiedFile, Refusal> {
        let skill = approved.id();
        let listed = approved.listed();
        let offer = listed
            .offer()
            .ok_or_else(|| Refusal::new(Reason::FileNotListed).about(skill).file(file))?;
        let server = self.server_of(skill, file)?;
        let bytes = server.read_offered(skill, offer, file, most).await?;
        let pinned = pin(file.clone(), &bytes);
        let verified = VerifiedFile::check(skill, &pinned, bytes)?;
        self.keep_pin(skill, &pinned)?;
        let detail = format!("first seen: {} {}", file, pinned.digest);
        self.log(approved, Action::Read, Ok(()), Some(&detail));
        if let Err(error) = self.inner.cache.put(&verified) {
            tracing::warn!("A file cannot be cached: {error}. It is used all the same.");
        }
        Ok(verified)
    }

    /// Reads a file of an approved skill: one that the approval lists is compared with it, and
    /// another one that the skill may have is pinned.
    pub(super) async fn read_approved(
        &self,
        approved: &ApprovedSkill,
        file: &ResourceUri,
    ) -> Result<VerifiedFile, Refusal> {
        let listed = approved.listed();
        let held = match &approved.entry().resources {
            Resources::Listed(files) => find(files, file),
            Resources::Dynamic => None,
        };
        match held {
            Some(held) => self.fetch(listed, held).await,
            None if listed.may_have(file) => {
                self.pin_first_read(approved, file, self.policy().limits.bytes).await
            }
            None => Err(Refusal::new(Reason::FileNotListed).about(approved.id()).file(file)),
        }
    }

    /// Adds a file to the approved content.
    ///
    /// The comparison happens inside the record's update, because another process may have pinned
    /// the same file meanwhile. If it read other bytes, the server gave different content to the
    /// two, so the approval is revoked instead of letting the last writer win.
    pub(super) fn keep_pin(&self, skill: &SkillId, pinned: &SkillResource) -> Result<(), Refusal> {
        let limits = self.policy().limits;
        let refuse = |reason| Refusal::new(reason).about(skill).file(&pinned.uri);
        let mut outcome = Err(Reason::NotApproved);
        let mut change = |record: &mut Record| {
            let approval = record.approval.as_mut().filter(|approval| !approval.revoked);
            let Some(approval) =
                approval.filter(|approval| approval.binding.first_seen_in().is_some())
            else {
                return;
            };
            match approval.content.file(&pinned.uri) {
                Some(before) if before == pinned => outcome = Ok(()),
                Some(_) => {
                    approval.revoked = true;
                    outcome = Err(Reason::Changed);
                }
                None => match with_file(&approval.content, pinned) {
                    Some(content)
                        if content.files().len() <= limits.files
                            && size_of(&content) <= limits.bytes =>
                    {
                        approval.content = content;
                        outcome = Ok(());
                    }
                    _ => outcome = Err(Reason::SkillTooLarge),
                },
            }
        };
        self.inner.records.update(skill, &mut change).map_err(unusable)?;
        outcome.map_err(|reason| refuse(reason).hint("Approve the skill again."))
    }

    /// Turns a mismatch of a pinned file into a changed skill, which the user must approve again.
    pub(super) fn pin_broken(&self, skill: &SkillId, refusal: Refusal) -> Result<Refusal, Refusal> {
        let of_content = matches!(
            refusal.reason,
            Reason::SizeMismatch
                | Reason::DigestMismatch
                | Reason::SkillTooLarge
                | Reason::ResponseTooLarge
        );
        if !of_content {
            return Ok(refusal);
        }
        let record = self.inner.records.get(skill).map_err(unusable)?;
        if let Some(approval) = record.and_then(|record| record.approval) {
            self.withdraw(skill, &approval)?;
        }
        Ok(Refusal { reason: Reason::Changed, ..refusal }
            .remedy(Remedy::ApproveSkill(skill.clone())))
    }
}

fn with_file(content: &ContentSet, file: &SkillResource) -> Option<ContentSet> {
    let entry = content.entry();
    let mut files = content.files().to_vec();
    files.push(file.clone());
    ContentSet::of(&SkillEntry { resources: Resources::Listed(files), ..entry })
}

fn size_of(content: &ContentSet) -> u64 {
    content.files().iter().fold(0, |sum, file| sum.saturating_add(file.size))
}
