//! Listing a server: page after page, within budgets, each entry on its own.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};
use skillwire_client::{Client, RawAnswer};
use skillwire_core::SkillUri;
use skillwire_dialects::{
    Dialect, EntryAge,
    v1::{self, Freshness, PageHead, ReceivedEntry, UnusableEntry},
};
use skillwire_protocol::{Era, NextPage, PageLimits, Pager, Truncation, method};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Origin, Reason, Refusal, ServerLabel, SkillId,
};
use tokio::time::Instant;

use super::{Remote, draft};
use crate::{dialect::SkillServer as _, page};

/// The entries of a page, each read or refused by itself.
type PageEntries = Vec<Result<ReceivedEntry, UnusableEntry>>;

/// The result of listing one server.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The skills, as listed.
    pub skills: Vec<KnownSkill>,
    /// The refusals of entries that cannot be used.
    pub refused: Vec<Refusal>,
    /// Why the listing is incomplete, if it is.
    pub truncated: Option<Refusal>,
    /// Oddities that do no harm.
    pub warnings: Vec<String>,
    /// The dialect of the server; `None` for a listing from remembered approvals.
    pub dialect: Option<Dialect>,
    /// Skills that the server's instructions name and its listing does not.
    pub references: Vec<SkillUri>,
    /// Templates of skills that an index lists, for the user to fill in.
    pub templates: Vec<String>,
    /// Whether only this user may reuse the listing, because the server did not declare it public.
    pub private: bool,
}

impl Listing {
    /// Returns the ids of the skills that the server's instructions name and the listing does not.
    pub fn references_of(&self, server: &ServerLabel) -> Vec<SkillId> {
        let origin = Origin::Server(server.clone());
        let id = |uri: &SkillUri| SkillId { origin: origin.clone(), uri: uri.clone() };
        self.references.iter().map(id).collect()
    }
}

/// Why a listing has not even a first page.
pub(crate) enum NoListing {
    /// The server does not know the method.
    NoMethod(Refusal),
    /// Any other failure.
    Refused(Refusal),
}

impl NoListing {
    fn into_refusal(self) -> Refusal {
        match self {
            Self::NoMethod(refusal) | Self::Refused(refusal) => refusal,
        }
    }
}

impl From<Refusal> for NoListing {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Remote {
    /// Requests page after page within the budgets; keeps the pages that came before a failure or
    /// before the deadline.
    pub(crate) async fn fetch_listing(
        &self,
        client: &Client,
        deadline: Instant,
    ) -> Result<(Listing, Duration), NoListing> {
        let budgets = self.settings.policy.budgets;
        let mut collecting = ListingInProgress::default();
        let mut pager = Pager::new(PageLimits::new(budgets.pages, budgets.entries));
        let mut bytes = 0_u64;
        // The entries of the previous page, which are parsed while the next page is on its way.
        let mut reading: Option<PageParsing> = None;
        loop {
            let page = match self.fetch_page(client, pager.params(), deadline, &mut bytes).await {
                Ok(page) => page,
                // Earlier pages stay usable; without any page the failure is an error.
                Err(trouble) if pager.pages() > 0 => {
                    collecting.listing.truncated = Some(trouble.into_refusal());
                    break;
                }
                Err(trouble) => return Err(trouble),
            };
            if let Some(reading) = reading.take() {
                collecting.add(&self.origin(), reading.finish().await?);
            }
            let (answer, head) = page;
            // The legacy era has no field for how long an answer stays fresh.
            let silent = client.server().era == Era::Legacy;
            collecting.note(&head.freshness, silent);
            let read = {
                let reader = self.entry_reader();
                let origin = self.origin();
                move || {
                    let entries = reader.page(answer.text());
                    entries.map_err(|invalid| {
                        page::protocol_error(&origin, method::SKILLS_LIST, invalid)
                    })
                }
            };
            let stop = match pager.received(head.entries, head.next) {
                NextPage::End => {
                    collecting.add(&self.origin(), read()?);
                    break;
                }
                NextPage::Ask if bytes < budgets.listing_bytes => None,
                NextPage::Ask => {
                    let most = format!("at most {} bytes", budgets.listing_bytes);
                    Some(self.exhausted(most, "more"))
                }
                NextPage::Stop(truncation) => Some(self.stopped(truncation)),
            };
            reading = Some(PageParsing::start(self.origin(), read));
            if stop.is_some() {
                collecting.listing.truncated = stop;
                break;
            }
        }
        if let Some(reading) = reading {
            collecting.add(&self.origin(), reading.finish().await?);
        }
        collecting.listing.dialect = Some(Dialect::V1);
        Ok(collecting.finish(&self.origin(), self.allows_legacy()))
    }

    /// Refuses the rest of a listing that a limit ended.
    fn stopped(&self, truncation: Truncation) -> Refusal {
        match truncation {
            Truncation::Pages(most) => self.exhausted(format!("at most {most} pages"), "more"),
            Truncation::Items(most) => self.exhausted(format!("at most {most} entries"), "more"),
            cursor => page::protocol_error(&self.origin(), method::SKILLS_LIST, cursor),
        }
    }

    async fn fetch_page(
        &self,
        client: &Client,
        params: Map<String, Value>,
        deadline: Instant,
        bytes: &mut u64,
    ) -> Result<(RawAnswer, PageHead), NoListing> {
        let left = deadline.saturating_duration_since(Instant::now());
        // A server that answers at once would be in time for ever, as a timer waits a moment.
        if left.is_zero() {
            let refusal = Refusal::new(Reason::ServerTimeout).about(self.origin());
            return Err(refusal.actual("a listing that has not ended yet").into());
        }
        let limits = self.limits().with_timeout(left.min(self.settings.policy.budgets.answer_time));
        let answer = self.request(client, method::SKILLS_LIST, params, limits).await;
        let answer = answer.map_err(|error| {
            let refusal = self.refuse(&error);
            let unknown = error.is_unknown_method();
            if unknown { NoListing::NoMethod(refusal) } else { NoListing::Refused(refusal) }
        })?;
        *bytes += u64::try_from(answer.text().len()).unwrap_or(u64::MAX);
        let head = v1::read_head(answer.text()).map_err(|invalid| {
            page::protocol_error(&self.origin(), method::SKILLS_LIST, invalid)
        })?;
        Ok((answer, head))
    }
}

/// The entries of a page, parsed on a blocking thread.
struct PageParsing(Origin, tokio::task::JoinHandle<Result<PageEntries, Refusal>>);

impl PageParsing {
    fn start(
        origin: Origin,
        read: impl FnOnce() -> Result<PageEntries, Refusal> + Send + 'static,
    ) -> Self {
        Self(origin, tokio::task::spawn_blocking(read))
    }

    async fn finish(self) -> Result<PageEntries, Refusal> {
        let Self(origin, reading) = self;
        // The task ends early only if it panics.
        let broken = |_| page::protocol_error(&origin, method::SKILLS_LIST, "something unreadable");
        reading.await.map_err(broken)?
    }
}

/// A listing in progress.
#[derive(Default)]
pub(crate) struct ListingInProgress {
    listing: Listing,
    places: BTreeMap<SkillUri, usize>,
    lifetime: Option<Duration>,
    /// Entries that are invalid or of a draft; only all of them together show which.
    unusable: Vec<UnusableEntry>,
}

impl ListingInProgress {
    fn add(&mut self, origin: &Origin, entries: PageEntries) {
        for entry in entries {
            match entry {
                Ok(received) => {
                    self.add_entry(KnownSkill::Listed(
                        ListedSkill::new(origin.clone(), received.entry, EntrySource::Named)
                            .with_text(received.text),
                    ));
                }
                Err(unusable) => self.unusable.push(unusable),
            }
        }
    }

    /// Adds a skill, or the refusal of its entry.
    pub(crate) fn add_one(&mut self, skill: Result<KnownSkill, Refusal>) {
        match skill {
            Ok(listed) => self.add_entry(listed),
            Err(refusal) => self.listing.refused.push(refusal),
        }
    }

    fn note(&mut self, freshness: &Freshness, silent: bool) {
        // The listing is as fresh as its stalest page.
        let lifetime = self.lifetime.unwrap_or(freshness.lifetime);
        self.lifetime = Some(lifetime.min(freshness.lifetime));
        self.listing.private |= freshness.private;
        if let Some(oddity) = freshness.oddity.as_ref().filter(|_| !silent)
            && !self.listing.warnings.contains(oddity)
        {
            self.listing.warnings.push(oddity.clone());
        }
    }

    /// Adds a skill; if a second entry for it differs, neither is usable as it is.
    fn add_entry(&mut self, listed: KnownSkill) {
        let uri = listed.id().uri.clone();
        match self.places.get(&uri) {
            None => {
                self.places.insert(uri, self.listing.skills.len());
                self.listing.skills.push(listed);
            }
            Some(at) if self.listing.skills[*at].entry() == listed.entry() => {}
            Some(at) => {
                let first = self.listing.skills[*at].clone();
                self.listing.warnings.push(format!("{} is listed with two contents", first.id()));
                self.listing.skills[*at] = first.contradicted();
            }
        }
    }

    /// Tells whether the listing has entries of a draft and none of the released extension.
    fn is_of_a_draft(&self) -> bool {
        let ages = || self.unusable.iter().map(|unusable| &unusable.age);
        self.listing.skills.is_empty()
            && ages().any(|age| matches!(age, EntryAge::Draft(_)))
            && !ages().any(|age| matches!(age, EntryAge::Released))
    }

    /// Finishes the listing; accepts entries of a draft if no entry is of the released extension.
    pub(crate) fn finish(mut self, origin: &Origin, allows_legacy: bool) -> (Listing, Duration) {
        let is_draft = self.is_of_a_draft();
        if is_draft {
            self.listing.dialect = Some(Dialect::Draft);
        }
        for UnusableEntry { refused, age } in std::mem::take(&mut self.unusable) {
            match age {
                EntryAge::Draft(skill) if is_draft => {
                    self.add_one(draft::known(origin, *skill, allows_legacy));
                }
                _ => self.listing.refused.push(Refusal::of_entry(origin, refused)),
            }
        }
        (self.listing, self.lifetime.unwrap_or_default())
    }
}
