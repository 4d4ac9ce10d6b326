//! One skill of a server: from a recent request, from the listing, or from the server.

use std::{sync::Arc, time::Duration};

use skillwire_core::SkillUri;
use skillwire_dialects::{
    Dialect, EntryAge, FetchRoute, OfferedSkill, SkillOffer,
    v1::{Freshness, UnusableAnswer},
};
use skillwire_protocol::{Era, method};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Origin, Reason, Refusal, SkillId, UnreadSkill,
};

use super::{Listing, NoListing, Remote, draft, uri_params};
use crate::{
    dialect::{OfferedFiles, SettleDepth},
    page::protocol_error,
};

/// The answer to `skills/get`.
enum GetAnswer {
    Released(ListedSkill),
    /// An entry of a draft, and why it is not one of the released extension.
    Draft(Box<Result<KnownSkill, Refusal>>, Refusal),
}

impl Remote {
    /// Returns the entry of a skill that was requested after the listing was made, if there is one.
    pub fn newer(&self, uri: &SkillUri) -> Option<ListedSkill> {
        self.named.get(uri).map(|(listed, _)| listed)
    }

    /// Returns the skills that were requested after the listing was made.
    pub fn named_uris(&self) -> Vec<SkillUri> {
        self.named.uris()
    }

    /// Returns the entry of one skill, from a recent request or from the server.
    pub async fn named(&self, uri: &SkillUri) -> Result<ListedSkill, Refusal> {
        let held = self.named.get(uri);
        if let Some((listed, _)) = held.filter(|(_, until)| self.settings.clock.elapsed() < *until)
        {
            return Ok(listed);
        }
        self.get(uri, EntrySource::Named).await
    }

    /// Returns how much longer the entry that was requested last is fresh.
    pub fn named_lifetime(&self, uri: &SkillUri) -> Option<Duration> {
        let (_, until) = self.named.get(uri)?;
        Some(until.saturating_sub(self.settings.clock.elapsed()))
    }

    /// Asks the server for one entry, in the server's dialect.
    pub async fn get(&self, uri: &SkillUri, source: EntrySource) -> Result<ListedSkill, Refusal> {
        if let Some(mut listing) = self.older_listing(false).await? {
            let is_archive = |listed: &KnownSkill| {
                listed.id().uri == *uri
                    && listed
                        .offer()
                        .is_some_and(|it| matches!(it.route, FetchRoute::Archive { .. }))
            };
            // Only the index says whether an archive with a digest is another one now.
            if listing.skills.iter().any(is_archive) {
                self.expire_listing();
                listing = self.list().await?;
            }
            return self.settle_from(&listing, uri, source).await;
        }
        match self.get_entry(uri, source).await {
            Ok(GetAnswer::Released(listed)) => Ok(listed),
            // A single entry does not show which dialect the server speaks.
            Ok(GetAnswer::Draft(skill, refusal)) => {
                let listing = self.older_listing(true).await?;
                if listing.is_none_or(|listing| listing.dialect != Some(Dialect::Draft)) {
                    return Err(refusal);
                }
                self.settle(&(*skill)?, source, SettleDepth::FileNames).await
            }
            Err(NoListing::NoMethod(refusal)) => match self.older_listing(true).await? {
                Some(listing) => self.settle_from(&listing, uri, source).await,
                None => Err(refusal),
            },
            Err(NoListing::Refused(refusal)) => Err(refusal),
        }
    }

    /// Returns the listing, if it is in an older dialect that `skills/get` cannot answer for.
    async fn older_listing(&self, listed: bool) -> Result<Option<Arc<Listing>>, Refusal> {
        let held = self.held_listing();
        let listing = match held {
            Some(listing) => listing,
            None if listed || self.web.is_some() => self.list_if_any().await?,
            None if self.client().await?.server().skills.is_none() => self.list_if_any().await?,
            None => return Ok(None),
        };
        let gets = [Some(Dialect::V1), Some(Dialect::Draft)];
        let gets = if listed { &gets[..1] } else { &gets[..] };
        Ok(Some(listing).filter(|listing| !gets.contains(&listing.dialect)))
    }

    /// Returns the listing. A server of the legacy era that lists no skills may still have
    /// resources, one of which is the skill that a caller names. On the modern era only servers that
    /// declare the extension have skills.
    async fn list_if_any(&self) -> Result<Arc<Listing>, Refusal> {
        let refusal = match self.list().await {
            Ok(listing) => return Ok(listing),
            Err(refusal) => refusal,
        };
        let lists_none = matches!(refusal.reason, Reason::SkillsNotOffered | Reason::ServerError);
        if !lists_none || self.web.is_some() {
            return Err(refusal);
        }
        let server = self.client().await?.server();
        let has_resources = server.capabilities.contains_key("resources");
        if server.era == Era::Legacy && has_resources { Ok(Arc::default()) } else { Err(refusal) }
    }

    /// Returns what the server promised about a skill of an older dialect.
    pub fn offer_of(&self, uri: &SkillUri) -> Option<Arc<SkillOffer>> {
        let listing = self.held_listing()?;
        let listed = listing.skills.iter().find(|listed| listed.id().uri == *uri)?;
        listed.offer().cloned()
    }

    /// Finds a skill of an older dialect and reads what the user needs to approve it.
    async fn settle_from(
        &self,
        listing: &Listing,
        uri: &SkillUri,
        source: EntrySource,
    ) -> Result<ListedSkill, Refusal> {
        let found = listing.skills.iter().find(|listed| listed.id().uri == *uri).cloned();
        // The listings of older servers need not be complete: a caller may name a skill that none
        // mentions. A web origin has only what its index lists.
        let refuse = || {
            let id = SkillId { origin: self.origin(), uri: uri.clone() };
            Refusal::new(Reason::SkillNotFound).about(id)
        };
        let listed = match found {
            Some(found) => found,
            None if self.web.is_some() => return Err(refuse()),
            None => unlisted(&self.origin(), uri)?.into(),
        };
        let is_listed = listing.skills.iter().any(|listed| listed.id().uri == *uri);
        let settled = self.settle(&listed, source, SettleDepth::FileNames).await;
        settled.map_err(|refusal| match refusal.reason {
            // The server does not have what the caller named.
            Reason::FileMissing if !is_listed => refuse().actual(refusal.reason.meaning()),
            _ => refusal,
        })
    }

    /// Opens an archive that a caller named, whether or not an index mentions it.
    pub async fn get_archive(&self, uri: &SkillUri, archive: &str) -> Result<ListedSkill, Refusal> {
        let skill = OfferedSkill::unlisted_archive(uri, archive)
            .map_err(|refused| Refusal::of_entry(&self.origin(), refused))?;
        let skill = UnreadSkill::offered(&self.origin(), skill).into();
        self.settle(&skill, EntrySource::Named, SettleDepth::FileNames).await
    }

    /// Reads what the user needs to approve a skill, and keeps it as the latest entry.
    pub async fn settle(
        &self,
        skill: &KnownSkill,
        source: EntrySource,
        depth: SettleDepth,
    ) -> Result<ListedSkill, Refusal> {
        let settled = OfferedFiles::new(self).settle(skill, source, depth).await?;
        self.named.put(&skill.id().uri, &settled, self.settings.clock.elapsed());
        Ok(settled)
    }

    /// Requests one entry with `skills/get`.
    async fn get_entry(&self, uri: &SkillUri, source: EntrySource) -> Result<GetAnswer, NoListing> {
        let id = SkillId { origin: self.origin(), uri: uri.clone() };
        let client = self.skills_client().await?;
        let limits = self.limits();
        let answer =
            self.request(&client, method::SKILLS_GET, uri_params(uri.as_str()), limits).await;
        let answer = answer.map_err(|error| match error {
            error if error.is_unknown_method() => {
                NoListing::NoMethod(self.refuse(&error).about(&id))
            }
            error if error.is_not_found() => {
                let refusal = Refusal::new(Reason::SkillNotFound).about(&id).actual(&error);
                refusal.server_text(error.server_text()).into()
            }
            error => self.refuse(&error).about(&id).into(),
        })?;
        let (received, Freshness { lifetime, .. }) =
            match self.entry_reader().answer(uri, answer.text()) {
                Ok(read) => read,
                Err(UnusableAnswer::Invalid(invalid)) => {
                    let refusal = protocol_error(&id.origin, method::SKILLS_GET, invalid);
                    return Err(refusal.about(&id).into());
                }
                Err(UnusableAnswer::Substituted(other)) => {
                    let refusal = Refusal::new(Reason::EntrySubstituted).about(&id);
                    return Err(refusal.expected(&id.uri).actual(other).into());
                }
                Err(UnusableAnswer::Entry(unusable)) => {
                    let refusal = Refusal::of_entry(&id.origin, unusable.refused);
                    return match unusable.age {
                        EntryAge::Draft(skill) => {
                            let skill = draft::known(&id.origin, *skill, self.allows_legacy());
                            Ok(GetAnswer::Draft(Box::new(skill), refusal))
                        }
                        EntryAge::Released | EntryAge::Unknown => Err(refusal.into()),
                    };
                }
            };
        let listed =
            ListedSkill::new(self.origin(), received.entry, source).with_text(received.text);
        self.named.put(uri, &listed, self.settings.clock.elapsed() + lifetime);
        Ok(GetAnswer::Released(listed))
    }
}

/// Creates a skill that the user named and that no listing mentions.
pub(super) fn unlisted(origin: &Origin, uri: &SkillUri) -> Result<UnreadSkill, Refusal> {
    let skill =
        OfferedSkill::unlisted(uri).map_err(|refused| Refusal::of_entry(origin, refused))?;
    Ok(UnreadSkill::offered(origin, skill))
}
