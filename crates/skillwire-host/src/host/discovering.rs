//! Discovering skills.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::future::join_all;
use skillwire_core::SkillUri;
use skillwire_dialects::Dialect;
use skillwire_trust::{
    Action, Approval, EntrySource, Handle, KnownSkill, ListedSkill, Origin, Reason, Record,
    Refusal, Registry, ServerLabel, SkillId,
};

use super::{Host, unusable};
use crate::{
    context::catalogue::CatalogueItem,
    local::GatedSkill,
    remote::{Listing, Remote},
};

/// The result of listing every origin.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The skills.
    pub registry: Registry,
    /// Entries that cannot be used.
    pub refused: Vec<Refusal>,
    /// Origins that could not be listed, or not completely.
    pub incomplete: Vec<Refusal>,
    /// Oddities that do no harm.
    pub warnings: Vec<String>,
    /// The dialect of each server that was listed.
    pub dialects: BTreeMap<ServerLabel, Dialect>,
    /// Skills that a server's instructions name and its listing does not.
    pub references: Vec<SkillId>,
}

impl Host {
    /// Lists one server, or returns its listing while that is fresh.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn list(&self, label: &ServerLabel) -> Result<Arc<Listing>, Refusal> {
        let remote = self.remote(label)?;
        if self.inner.offline {
            return Ok(Arc::new(self.remembered(&remote.origin())?));
        }
        let listing = remote.list().await?;
        self.note_listing(&remote.origin(), &listing.skills)?;
        Ok(listing)
    }

    /// Asks a server for one skill, whether or not a listing mentions it.
    #[tracing::instrument(skip_all, fields(%label, %uri))]
    pub async fn get(&self, label: &ServerLabel, uri: &SkillUri) -> Result<ListedSkill, Refusal> {
        let remote = self.remote(label)?;
        self.get_from(&remote, uri, EntrySource::Named).await
    }

    pub(super) async fn get_from(
        &self,
        remote: &Remote,
        uri: &SkillUri,
        source: EntrySource,
    ) -> Result<ListedSkill, Refusal> {
        let listed = remote.get(uri, source).await?;
        self.note_change(&listed)?;
        Ok(listed)
    }

    /// Asks a server again what it offers; open windows keep their entries.
    pub async fn rediscover(&self, label: &ServerLabel) -> Result<(), Refusal> {
        self.remote(label)?.rediscover().await
    }

    /// Lists every origin concurrently; one that fails or is slow does not affect the others.
    #[tracing::instrument(skip_all)]
    pub async fn discover(&self) -> Discovered {
        let labels = self.servers();
        let listings = join_all(labels.iter().map(|label| self.list(label))).await;
        let dialects = labels
            .iter()
            .zip(&listings)
            .filter_map(|(label, listing)| Some((label.clone(), listing.as_ref().ok()?.dialect?)));
        let dialects = dialects.collect();
        let references = labels
            .iter()
            .zip(&listings)
            .filter_map(|(label, listing)| Some(listing.as_ref().ok()?.references_of(label)));
        let references = references.flatten().collect();
        Discovered { dialects, references, ..self.together(listings) }
    }

    /// Collects the listings that the host already has, so that building a context sends no
    /// request.
    #[expect(clippy::unused_async, reason = "callers need not know that no request is sent")]
    pub async fn known(&self) -> Discovered {
        let remotes: Vec<_> = self.inner.remotes.lock().values().cloned().collect();
        let held = remotes.iter().filter_map(|remote| remote.held_listing());
        self.together(held.map(Ok))
    }

    fn together(
        &self,
        listings: impl IntoIterator<Item = Result<Arc<Listing>, Refusal>>,
    ) -> Discovered {
        let folders = self.folders();
        let mut skills: Vec<KnownSkill> = self.in_folders().into_iter().map(Into::into).collect();
        let mut found = Discovered {
            refused: folders.gated.iter().map(GatedSkill::refusal).collect(),
            ..Discovered::default()
        };
        for listing in listings {
            match listing {
                Ok(listing) => {
                    skills.extend(listing.skills.iter().map(|skill| self.newest(skill)));
                    found.refused.extend(listing.refused.iter().cloned());
                    found.incomplete.extend(listing.truncated.clone());
                    found.warnings.extend(listing.warnings.iter().cloned());
                }
                Err(refusal) => found.incomplete.push(refusal),
            }
        }
        found.registry = Registry::new(skills);
        found
    }

    /// Finds the one skill that a handle names.
    #[tracing::instrument(skip_all, fields(%handle))]
    pub async fn resolve(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        match handle {
            Handle::Bare(_) => {
                let found = self.discover().await;
                let item = found.registry.find(handle);
                let item = item.map_err(|refusal| explain_missing(refusal, &found.incomplete))?;
                self.certain(&item.skill).await
            }
            Handle::At(Origin::Server(label), _) => {
                let listing = self.list(label).await?;
                let registry = Registry::new(listing.skills.iter().cloned());
                self.certain(&registry.find(handle)?.skill).await
            }
            Handle::Uri(Origin::Server(label), uri) => {
                let remote = self.remote(label)?;
                if self.inner.offline {
                    let listing = self.remembered(&remote.origin())?;
                    return Registry::new(listing.skills).find(handle)?.skill.certain().cloned();
                }
                let listed = remote.named(uri).await?;
                self.note_change(&listed)?;
                Ok(listed)
            }
            Handle::Archive(Origin::Server(label), uri, archive) => {
                let remote = self.remote(label)?;
                if self.inner.offline {
                    return self.recall(&Handle::Uri(remote.origin(), uri.clone()));
                }
                let listed = remote.get_archive(uri, archive).await?;
                self.note_change(&listed)?;
                Ok(listed)
            }
            Handle::At(origin @ (Origin::Local | Origin::Project), _)
            | Handle::Uri(origin @ (Origin::Local | Origin::Project), _)
            | Handle::Archive(origin @ (Origin::Local | Origin::Project), ..) => {
                let registry = Registry::new(self.in_folders());
                let gated = self.folders().gated.iter().map(GatedSkill::refusal).next();
                let item = registry.find(handle).map_err(|refusal| match gated {
                    Some(gated) if *origin == Origin::Project => gated,
                    _ => refusal,
                })?;
                item.skill.certain().cloned()
            }
        }
    }

    /// Returns the skills of folders, as the host read them last.
    pub fn in_folders(&self) -> Vec<ListedSkill> {
        let folders = self.folders();
        let listed = folders.skills.values();
        listed
            .map(|skill| {
                ListedSkill::new(
                    skill.origin().clone(),
                    Arc::clone(skill.entry()),
                    EntrySource::Named,
                )
            })
            .collect()
    }

    /// Returns the latest entry; asks the server unless the listing has the complete entry.
    async fn certain(&self, skill: &KnownSkill) -> Result<ListedSkill, Refusal> {
        match self.newest(skill) {
            // No listing of an older dialect says whether a file changed.
            KnownSkill::Listed(listed) if listed.offer().is_none() => Ok(listed),
            newest => self.refresh(&newest).await,
        }
    }

    /// Returns the latest entry, which may be newer than the listing.
    fn newest(&self, skill: &KnownSkill) -> KnownSkill {
        let remote = skill.id().origin.server().and_then(|label| self.remote(label).ok());
        let newer = remote.and_then(|remote| remote.newer(&skill.id().uri));
        newer.map_or_else(|| skill.clone(), KnownSkill::Listed)
    }

    /// Asks the server for the entry again before the skill is used.
    pub async fn refresh(&self, skill: &KnownSkill) -> Result<ListedSkill, Refusal> {
        match skill.id().origin.server() {
            Some(label) if !self.inner.offline => self.get(label, &skill.id().uri).await,
            _ => skill.certain().cloned(),
        }
    }

    /// Returns what a model may see: every skill that the user did not switch off.
    pub fn catalogue_items(&self, found: &Discovered) -> Result<Vec<CatalogueItem>, Refusal> {
        let (records, _) = self.inner.records.all();
        let disabled: BTreeSet<_> =
            records.into_iter().filter(|record| record.disabled).map(|record| record.id).collect();
        let shown = found.registry.items().iter();
        let shown = shown.filter(|item| !disabled.contains(item.skill.id()));
        Ok(shown
            .map(|item| CatalogueItem {
                handle: item.handle.clone(),
                description: item.skill.entry().frontmatter.description().to_owned(),
                origin: item.skill.id().origin.clone(),
            })
            .collect())
    }

    /// Finds a skill among the approved ones, without asking its server; the handle must name the
    /// origin.
    pub fn recall(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        let missing = || Refusal::new(Reason::SkillNotFound).about(handle);
        let listing = self.remembered(handle.origin().ok_or_else(missing)?)?;
        Registry::new(listing.skills).find(handle)?.skill.certain().cloned()
    }

    /// Returns the approved skills of an origin, for when the host cannot ask the server.
    fn remembered(&self, origin: &Origin) -> Result<Listing, Refusal> {
        let (records, errors) = self.inner.records.all();
        if let (true, Some(error)) = (records.is_empty(), errors.first()) {
            return Err(unusable(error.clone()));
        }
        let approvals = records.into_iter().filter(|record| record.id.origin == *origin);
        let skills = approvals
            .filter_map(|record| record.approval)
            .map(|approval| ListedSkill::remembered(origin.clone(), &approval).into())
            .collect();
        let warnings = errors.iter().map(ToString::to_string).collect();
        Ok(Listing { skills, warnings, ..Listing::default() })
    }

    /// Withdraws every approval whose skill is now listed with other content.
    fn note_listing(&self, origin: &Origin, skills: &[KnownSkill]) -> Result<(), Refusal> {
        let (records, _) = self.inner.records.all();
        for record in records.into_iter().filter(|record| record.id.origin == *origin) {
            let Some(approval) = record.approval.filter(|approval| !approval.revoked) else {
                continue;
            };
            let Some(now) = skills.iter().find(|skill| skill.id().uri == record.id.uri) else {
                continue;
            };
            if !now.may_be_covered_by(&approval) {
                self.withdraw(&record.id, &approval)?;
            }
        }
        Ok(())
    }

    /// Withdraws the approval of a skill that has other content now.
    pub(super) fn note_change(&self, listed: &ListedSkill) -> Result<(), Refusal> {
        // An unreadable record is no approval, so there is nothing to withdraw.
        let record = self.inner.records.get(listed.id()).ok().flatten();
        let approval = record.and_then(|record| record.approval);
        match approval.filter(|approval| !approval.revoked && !listed.is_covered_by(approval)) {
            Some(approval) => self.withdraw(listed.id(), &approval),
            None => Ok(()),
        }
    }

    /// Withdraws an approval for good. It does not return when the old content does.
    pub(super) fn withdraw(&self, skill: &SkillId, approval: &Approval) -> Result<(), Refusal> {
        let mut revoke = |record: &mut Record| {
            if let Some(approval) = &mut record.approval {
                approval.revoked = true;
            }
        };
        self.inner.records.update(skill, &mut revoke).map_err(unusable)?;
        let before = Some(approval.content.fingerprint());
        self.log_skill(skill, before, Action::Revoke, Ok(()), Some("the skill changed"));
        Ok(())
    }
}

/// Adds to a refusal that the skill may be missing because its server could not be listed.
fn explain_missing(refusal: Refusal, incomplete: &[Refusal]) -> Refusal {
    match incomplete.first() {
        Some(first) if refusal.reason == Reason::SkillNotFound => refusal.hint(format!(
            "Not every origin could be listed: {}",
            first.subject.as_ref().map_or_else(|| "one of them".to_owned(), ToString::to_string)
        )),
        _ => refusal,
    }
}
