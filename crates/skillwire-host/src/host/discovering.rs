//! Discovering skills.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use skillwire_core::SkillUri;
use skillwire_dialects::Dialect;
use skillwire_folders::GatedSkill;
use skillwire_remote::{Listing, Remote};
use skillwire_trust::{
    Action, Approval, EntrySource, Handle, KnownSkill, ListedSkill, LoggedContent, Origin, Reason,
    Record, Refusal, RefusalClass, Registry, Remedy, ServerLabel, SkillId,
};
use tokio::time::sleep;

use super::{Host, unusable};
use crate::context::catalogue::CatalogueItem;

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
        self.list_within(label, self.inner.policy.budgets.listing_time).await
    }

    async fn list_within(
        &self,
        label: &ServerLabel,
        time: Duration,
    ) -> Result<Arc<Listing>, Refusal> {
        let remote = self.remote(label)?;
        if self.inner.offline {
            return Ok(Arc::new(self.remembered(&remote.origin())?));
        }
        let listing = remote.list_within(time).await?;
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

    /// Lists every origin concurrently; one that fails, hangs or never ends its listing costs the
    /// others nothing but the time that the policy gives all of them together.
    #[tracing::instrument(skip_all, fields(servers = self.servers().len()))]
    pub async fn discover(&self) -> Discovered {
        self.discover_until(std::future::pending(), |_, _| ()).await
    }

    /// Lists every origin concurrently. If some have not answered after `patience`, `part` gets what
    /// was found until then and the labels of the others, and again each time that more of them have
    /// answered while some have not. What is returned has everything.
    #[tracing::instrument(skip_all, fields(servers = self.servers().len(), ?patience))]
    pub async fn discover_in_parts(
        &self,
        patience: Duration,
        part: impl FnMut(&Discovered, &[ServerLabel]),
    ) -> Discovered {
        self.discover_until(sleep(patience), part).await
    }

    async fn discover_until(
        &self,
        patience: impl Future<Output = ()>,
        mut part: impl FnMut(&Discovered, &[ServerLabel]),
    ) -> Discovered {
        let time = self.inner.policy.budgets.discovery_time;
        let labels = self.servers();
        let mut listings: BTreeMap<&ServerLabel, Result<Arc<Listing>, Refusal>> = BTreeMap::new();
        let mut running: FuturesUnordered<_> = labels
            .iter()
            .map(|label| async move { (label, self.list_within(label, time).await) })
            .collect();
        let mut patience = std::pin::pin!(patience);
        let (mut is_over, mut has_news) = (false, true);
        loop {
            // Servers that answered at the same time make one part, so they are taken first.
            tokio::select! {
                biased;
                listed = running.next() => match listed {
                    Some((label, listing)) => {
                        listings.insert(label, listing.map_err(|refusal| late(refusal, label)));
                        has_news = true;
                    }
                    None => break,
                },
                () = &mut patience, if !is_over => is_over = true,
                () = std::future::ready(()), if is_over && has_news => {
                    has_news = false;
                    let waiting = labels.iter().filter(|label| !listings.contains_key(label));
                    let waiting: Vec<ServerLabel> = waiting.cloned().collect();
                    part(&self.discovered(&listings), &waiting);
                }
            }
        }
        self.discovered(&listings)
    }

    /// Puts together what the servers listed, in the order of their labels.
    fn discovered(
        &self,
        listings: &BTreeMap<&ServerLabel, Result<Arc<Listing>, Refusal>>,
    ) -> Discovered {
        let listed = || {
            let listed = listings.iter();
            listed.filter_map(|(label, listing)| Some((*label, listing.as_ref().ok()?)))
        };
        let dialects =
            listed().filter_map(|(label, listing)| Some((label.clone(), listing.dialect?)));
        let references = listed().flat_map(|(label, listing)| listing.references_of(label));
        Discovered {
            dialects: dialects.collect(),
            references: references.collect(),
            ..self.together(listings.values().cloned())
        }
    }

    /// Collects the listings that the host already has, so that building a context sends no
    /// request.
    pub fn known(&self) -> Discovered {
        let remotes: Vec<_> = self.inner.remotes.lock().values().cloned().collect();
        let held = remotes.iter().filter_map(|remote| remote.held_listing());
        self.together(held.map(Ok))
    }

    fn together(
        &self,
        listings: impl IntoIterator<Item = Result<Arc<Listing>, Refusal>>,
    ) -> Discovered {
        let mut skills: Vec<KnownSkill> = Vec::new();
        let mut found = Discovered {
            refused: self.folders().gated.iter().map(GatedSkill::refusal).collect(),
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
        found.registry = self.registry_with(skills);
        found
    }

    /// Returns the registry of the skills in this machine's folders, and of `skills` of servers.
    pub fn registry_with(&self, skills: impl IntoIterator<Item = KnownSkill>) -> Registry {
        let in_folders = self.in_folders_once().into_iter().map(KnownSkill::from);
        Registry::new(in_folders.chain(skills))
    }

    /// Finds the one skill that a handle names.
    #[tracing::instrument(skip_all, fields(%handle))]
    pub async fn resolve(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        let resolved = Box::pin(self.resolve_now(handle)).await;
        resolved.map_err(|refusal| match self.recall_anywhere(handle) {
            Ok(listed) => self.offer_cached(listed.id(), refusal),
            Err(_) => refusal,
        })
    }

    /// Adds to the refusal of an unreachable server that its skill can be loaded from the cache, if
    /// the user approved it and the cache has its `SKILL.md`.
    fn offer_cached(&self, skill: &SkillId, refusal: Refusal) -> Refusal {
        if refusal.class() != RefusalClass::Unreachable || self.inner.offline {
            return refusal;
        }
        match self.cached_approval(skill) {
            Some(_) => refusal.remedy(Remedy::LoadOffline(skill.clone())),
            None => refusal,
        }
    }

    /// Returns a skill as the user approved it, if the cache has its `SKILL.md`, without asking its
    /// server.
    pub fn cached_approval(&self, skill: &SkillId) -> Option<ListedSkill> {
        let record = self.inner.records.get(skill).ok().flatten()?;
        let approval = record.approval.filter(|approval| !approval.revoked)?;
        let listed = ListedSkill::remembered(skill.origin.clone(), &approval);
        self.headings(&listed.clone().into()).map(|_| listed)
    }

    async fn resolve_now(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        match handle {
            Handle::Bare(_) => {
                let found = self.discover().await;
                let item = found.registry.find(handle);
                let item =
                    item.map_err(|refusal| explain_missing(refusal, handle, &found.incomplete))?;
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
                // A copy has a URI of its own, and no other name than the skill it is a copy of.
                let registry = match handle {
                    Handle::Uri(..) => Registry::new(self.in_folders()),
                    Handle::At(..) | Handle::Bare(_) | Handle::Archive(..) => {
                        Registry::new(self.in_folders_once())
                    }
                };
                let gated = self.folders().gated.iter().map(GatedSkill::refusal).next();
                let item = registry.find(handle).map_err(|refusal| match gated {
                    Some(gated) if *origin == Origin::Project => gated,
                    _ => refusal,
                })?;
                item.skill.certain().cloned()
            }
        }
    }

    /// Returns the latest entry; asks the server unless the listing has the complete entry.
    pub(super) async fn certain(&self, skill: &KnownSkill) -> Result<ListedSkill, Refusal> {
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
            Some(label) if !self.inner.offline => {
                let entry = self.get(label, &skill.id().uri).await;
                entry.map_err(|refusal| self.offer_cached(skill.id(), refusal))
            }
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
                location: self.location_of(item.skill.id()),
            })
            .collect())
    }

    /// Finds a skill among the approved ones, without asking its server; the handle must name the
    /// origin.
    pub fn recall(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        match handle.origin() {
            Some(_) => self.recall_anywhere(handle),
            None => Err(Refusal::new(Reason::SkillNotFound).about(handle)),
        }
    }

    /// Finds a skill among the approved ones of its origin, or of every server for a bare name.
    fn recall_anywhere(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        let origins = match handle.origin() {
            Some(origin) => vec![origin.clone()],
            None => self.servers().into_iter().map(Origin::Server).collect(),
        };
        let mut skills = Vec::new();
        for origin in &origins {
            skills.extend(self.remembered(origin)?.skills);
        }
        Registry::new(skills).find(handle)?.skill.certain().cloned()
    }

    /// Returns the approved skills of an origin, for when the host cannot ask the server.
    fn remembered(&self, origin: &Origin) -> Result<Listing, Refusal> {
        let (records, errors) = self.inner.records.of_origin(origin);
        if let (true, Some(error)) = (records.is_empty(), errors.first()) {
            return Err(unusable(error.clone()));
        }
        let skills = records
            .into_iter()
            .filter_map(|record| record.approval)
            .map(|approval| ListedSkill::remembered(origin.clone(), &approval).into())
            .collect();
        let warnings = errors.iter().map(ToString::to_string).collect();
        Ok(Listing { skills, warnings, ..Listing::default() })
    }

    /// Withdraws every approval whose skill is now listed with other content.
    fn note_listing(&self, origin: &Origin, skills: &[KnownSkill]) -> Result<(), Refusal> {
        let (records, _) = self.inner.records.of_origin(origin);
        if records.is_empty() {
            return Ok(());
        }
        let listed: HashMap<&SkillUri, &KnownSkill> =
            skills.iter().map(|skill| (&skill.id().uri, skill)).collect();
        for record in records {
            let Some(approval) = record.approval.filter(|approval| !approval.revoked) else {
                continue;
            };
            let Some(now) = listed.get(&record.id.uri) else { continue };
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
            // Two readers may notice the same change. It counts once, so that a form which was shown
            // in between stays the one that is answered.
            if let Some(approval) = record.approval.as_mut().filter(|approval| !approval.revoked) {
                approval.revoked = true;
                record.revocations = record.revocations.saturating_add(1);
            }
        };
        self.inner.records.update(skill, &mut revoke).map_err(unusable)?;
        let before = Some(LoggedContent::from(&approval.content));
        self.log_skill(skill, before, Action::Revoke, Ok(()), Some("the skill changed"));
        Ok(())
    }
}

/// Refuses a name that no origin lists. If an origin did not answer, that is the reason: the skill
/// may be there.
fn explain_missing(refusal: Refusal, handle: &Handle, incomplete: &[Refusal]) -> Refusal {
    match incomplete.first() {
        Some(first) if refusal.reason == Reason::SkillNotFound => {
            first.clone().expected(format!("its list of skills, which may have `{handle}`"))
        }
        _ => refusal,
    }
}

/// Adds what the user can do about a server that took too long among the others.
fn late(refusal: Refusal, label: &ServerLabel) -> Refusal {
    if refusal.reason == Reason::ServerTimeout {
        return refusal.remedy(Remedy::AskServerAlone(label.clone()));
    }
    refusal
}
