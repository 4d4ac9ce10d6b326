//! Which skills there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::future::join_all;
use skillwire_core::uri::SkillUri;
use skillwire_dialects::Dialect;
use skillwire_trust::{
    Action, Approval, Handle, Listed, Origin, Reason, Record, Refusal, Registry, ServerLabel,
    SkillId, Source,
};

use super::{Host, lock, unusable};
use crate::{
    context::catalogue::CatalogueItem,
    local::GatedSkill,
    remote::{Listing, Remote},
};

/// Everything that could be found out about every origin.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The skills.
    pub registry: Registry,
    /// Entries that cannot be used.
    pub refused: Vec<Refusal>,
    /// Origins that could not be listed, or not to their end.
    pub incomplete: Vec<Refusal>,
    /// What is odd but harmless.
    pub warnings: Vec<String>,
    /// How each server that was listed offers its skills.
    pub dialects: BTreeMap<ServerLabel, Dialect>,
    /// Skills that a server's instructions name and its listing does not.
    pub references: Vec<SkillId>,
}

impl Host {
    /// Lists one server, or returns what was listed while that is fresh.
    pub async fn list(&self, label: &ServerLabel) -> Result<Arc<Listing>, Refusal> {
        let remote = self.remote(label)?;
        if self.inner.offline {
            return Ok(Arc::new(self.remembered(&remote.origin())?));
        }
        let listing = remote.list().await?;
        self.note_changes(&remote.origin(), &listing.skills)?;
        Ok(listing)
    }

    /// Asks a server for one skill, whether or not a listing mentions it.
    pub async fn get(&self, label: &ServerLabel, uri: &SkillUri) -> Result<Listed, Refusal> {
        let remote = self.remote(label)?;
        self.get_from(&remote, uri, Source::Named).await
    }

    pub(super) async fn get_from(
        &self,
        remote: &Remote,
        uri: &SkillUri,
        source: Source,
    ) -> Result<Listed, Refusal> {
        let listed = remote.get(uri, source).await?;
        self.note_changes(&remote.origin(), std::slice::from_ref(&listed))?;
        Ok(listed)
    }

    /// Asks a server again what it offers; windows that are open keep their entries.
    pub async fn rediscover(&self, label: &ServerLabel) -> Result<(), Refusal> {
        self.remote(label)?.rediscover().await
    }

    /// Lists every origin at once; one that fails or is slow leaves the others alone.
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

    /// Puts together what was listed before, so that building a context asks nobody.
    #[expect(clippy::unused_async, reason = "callers need not know that nobody is waited for")]
    pub async fn known(&self) -> Discovered {
        let remotes: Vec<_> = lock(&self.inner.remotes).values().cloned().collect();
        let held = remotes.iter().filter_map(|remote| remote.held_listing());
        self.together(held.map(Ok))
    }

    fn together(
        &self,
        listings: impl IntoIterator<Item = Result<Arc<Listing>, Refusal>>,
    ) -> Discovered {
        let folders = self.folders();
        let mut skills: Vec<Listed> = self.in_folders();
        let mut found = Discovered {
            refused: folders.gated.iter().map(GatedSkill::refusal).collect(),
            ..Discovered::default()
        };
        for listing in listings {
            match listing {
                Ok(listing) => {
                    skills.extend(listing.skills.iter().map(|listed| self.newest(listed)));
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

    /// Finds the one skill a handle names.
    pub async fn resolve(&self, handle: &Handle) -> Result<Listed, Refusal> {
        match handle {
            Handle::Bare(_) => {
                let found = self.discover().await;
                let item = found.registry.find(handle);
                let item = item.map_err(|refusal| explain_missing(refusal, &found.incomplete))?;
                self.certain(&item.listed).await
            }
            Handle::At(Origin::Server(label), _) => {
                let listing = self.list(label).await?;
                let registry = Registry::new(listing.skills.iter().cloned());
                self.certain(&registry.find(handle)?.listed).await
            }
            Handle::Uri(Origin::Server(label), uri) => {
                let remote = self.remote(label)?;
                if self.inner.offline {
                    let listing = self.remembered(&remote.origin())?;
                    return Ok(Registry::new(listing.skills).find(handle)?.listed.clone());
                }
                let listed = remote.named(uri).await?;
                self.note_changes(&remote.origin(), std::slice::from_ref(&listed))?;
                Ok(listed)
            }
            Handle::At(origin @ (Origin::Local | Origin::Project), _)
            | Handle::Uri(origin @ (Origin::Local | Origin::Project), _) => {
                let registry = Registry::new(self.in_folders());
                let gated = self.folders().gated.iter().map(GatedSkill::refusal).next();
                let item = registry.find(handle).map_err(|refusal| match gated {
                    Some(gated) if *origin == Origin::Project => gated,
                    _ => refusal,
                })?;
                Ok(item.listed.clone())
            }
        }
    }

    /// The skills of folders as they were last read.
    pub fn in_folders(&self) -> Vec<Listed> {
        let folders = self.folders();
        let listed = folders.skills.values();
        listed
            .map(|skill| {
                Listed::new(skill.origin().clone(), Arc::clone(skill.entry()), Source::Named)
            })
            .collect()
    }

    /// The entry as it was last seen, confirmed by its server if the listing contradicts itself.
    async fn certain(&self, listed: &Listed) -> Result<Listed, Refusal> {
        let newest = self.newest(listed);
        match newest.source() {
            Source::Inconsistent | Source::Provisional => self.refresh(&newest).await,
            // No listing of an older dialect says whether a file changed.
            _ if newest.is_offered() => self.refresh(&newest).await,
            Source::Named | Source::Recovered => Ok(newest),
        }
    }

    /// The entry as it was last seen, which may be newer than the listing.
    fn newest(&self, listed: &Listed) -> Listed {
        let remote = listed.id().origin.server().and_then(|label| self.remote(label).ok());
        let newer = remote.and_then(|remote| remote.newer(&listed.id().uri));
        newer.unwrap_or_else(|| listed.clone())
    }

    /// Asks for the entry once more, as somebody is about to use it.
    pub async fn refresh(&self, listed: &Listed) -> Result<Listed, Refusal> {
        match listed.id().origin.server() {
            Some(label) if !self.inner.offline => self.get(label, &listed.id().uri).await,
            _ => Ok(listed.clone()),
        }
    }

    /// What a model may be told of: every skill that the user did not switch off.
    pub fn catalogue_items(&self, found: &Discovered) -> Result<Vec<CatalogueItem>, Refusal> {
        let (records, _) = self.inner.records.all();
        let disabled: BTreeSet<_> =
            records.into_iter().filter(|record| record.disabled).map(|record| record.id).collect();
        let shown = found.registry.items().iter();
        let shown = shown.filter(|item| !disabled.contains(item.listed.id()));
        Ok(shown
            .map(|item| CatalogueItem {
                handle: item.handle.clone(),
                description: item.listed.entry().frontmatter.description().to_owned(),
                origin: item.listed.id().origin.clone(),
            })
            .collect())
    }

    /// Finds a skill among those that were approved, without asking its server; the handle must say
    /// where it is from.
    pub fn recall(&self, handle: &Handle) -> Result<Listed, Refusal> {
        let missing = || Refusal::new(Reason::SkillNotFound).skill(handle);
        let listing = self.remembered(handle.origin().ok_or_else(missing)?)?;
        Ok(Registry::new(listing.skills).find(handle)?.listed.clone())
    }

    /// What was approved before, for when nobody can be asked.
    fn remembered(&self, origin: &Origin) -> Result<Listing, Refusal> {
        let (records, errors) = self.inner.records.all();
        if let (true, Some(error)) = (records.is_empty(), errors.first()) {
            return Err(unusable(error.clone()));
        }
        let approvals = records.into_iter().filter(|record| record.id.origin == *origin);
        let skills = approvals
            .filter_map(|record| record.approval)
            .map(|approval| Listed::remembered(origin.clone(), &approval))
            .collect();
        let warnings = errors.iter().map(ToString::to_string).collect();
        Ok(Listing { skills, warnings, ..Listing::default() })
    }

    /// Withdraws every approval whose skill is listed with other content now.
    fn note_changes(&self, origin: &Origin, listed: &[Listed]) -> Result<(), Refusal> {
        let (records, _) = self.inner.records.all();
        for record in records.into_iter().filter(|record| record.id.origin == *origin) {
            let Some(approval) = record.approval.filter(|approval| !approval.revoked) else {
                continue;
            };
            let Some(now) = listed.iter().find(|listed| listed.id().uri == record.id.uri) else {
                continue;
            };
            if now.is_covered_by(&approval) || now.source() == Source::Provisional {
                continue;
            }
            self.withdraw(&record.id, &approval)?;
        }
        Ok(())
    }

    /// Withdraws an approval for good, as the skill is something else now.
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

/// A skill may be missing because its server is.
fn explain_missing(refusal: Refusal, incomplete: &[Refusal]) -> Refusal {
    match incomplete.first() {
        Some(first) if refusal.reason == Reason::SkillNotFound => refusal.hint(format!(
            "Not every origin could be listed: {}",
            first.skill.as_deref().unwrap_or("one of them")
        )),
        _ => refusal,
    }
}
