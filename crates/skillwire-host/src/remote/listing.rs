//! Listing a server: page after page, within budgets, each entry on its own.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde_json::Map;
use skillwire_core::uri::SkillUri;
use skillwire_protocol::method;
use tokio::time::Instant;

use super::Remote;
use crate::{
    client::{Client, Limits, RawAnswer},
    listed::{Listed, Source},
    origin::Origin,
    page::{self, Entries, Freshness, Head},
    refusal::Refusal,
};

/// What one complete look at a server found.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The skills, as listed.
    pub skills: Vec<Listed>,
    /// The entries that cannot be used, each with its reason.
    pub refused: Vec<Refusal>,
    /// Why the listing ended before its end, if it did.
    pub truncated: Option<Refusal>,
    /// What is odd but harmless.
    pub warnings: Vec<String>,
    /// Whether only we may reuse it, since the server did not say that anybody may.
    pub private: bool,
}

impl Remote {
    /// Asks for page after page, within the budgets; what came before trouble is kept.
    pub(super) async fn fetch_listing(&self) -> Result<(Listing, Duration), Refusal> {
        let client = self.skills_client().await?;
        let budgets = self.policy.budgets;
        let deadline = Instant::now() + budgets.listing_time;
        let mut collecting = Collecting::default();
        let mut cursor: Option<String> = None;
        let mut cursors = HashSet::new();
        let (mut bytes, mut entries) = (0_u64, 0);
        // The entries of the page before, which are read while the next page is on its way.
        let mut reading: Option<Reading> = None;
        for number in 0.. {
            let page = if number == budgets.pages {
                Err(self.exhausted(format!("at most {} pages", budgets.pages), "more"))
            } else {
                self.fetch_page(&client, cursor.as_deref(), deadline, &mut bytes).await
            };
            let page = match page {
                Ok(page) => page,
                // What was listed so far stays usable; a server that lists nothing is an error.
                Err(refusal) if number > 0 => {
                    collecting.listing.truncated = Some(refusal);
                    break;
                }
                Err(refusal) => return Err(refusal),
            };
            if let Some(reading) = reading.take() {
                collecting.add(&self.origin(), reading.finish().await?);
            }
            let (answer, head) = page;
            entries += head.entries;
            collecting.note(&head.freshness);
            let read = {
                let (origin, policy) = (self.origin(), Arc::clone(&self.policy));
                move || page::read_entries(&origin, answer.text(), &policy)
            };
            let Some(next) = head.next else {
                collecting.add(&self.origin(), read()?);
                break;
            };
            reading = Some(Reading::start(self.origin(), read));
            let stop = if !cursors.insert(next.clone()) {
                Some(page::protocol_error(
                    &self.origin(),
                    method::SKILLS_LIST,
                    "the same cursor again",
                ))
            } else if entries >= budgets.entries {
                Some(self.exhausted(format!("at most {} entries", budgets.entries), "more"))
            } else if bytes >= budgets.listing_bytes {
                Some(self.exhausted(format!("at most {} bytes", budgets.listing_bytes), "more"))
            } else {
                None
            };
            if let Some(refusal) = stop {
                collecting.listing.truncated = Some(refusal);
                break;
            }
            cursor = Some(next);
        }
        if let Some(reading) = reading {
            collecting.add(&self.origin(), reading.finish().await?);
        }
        Ok(collecting.finish())
    }

    async fn fetch_page(
        &self,
        client: &Client,
        cursor: Option<&str>,
        deadline: Instant,
        bytes: &mut u64,
    ) -> Result<(RawAnswer, Head), Refusal> {
        let mut params = Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), cursor.into());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let limits = Limits { timeout: left.min(self.policy.budgets.answer_time), ..self.limits() };
        let answer = self.request(client, method::SKILLS_LIST, params, limits).await;
        let answer = answer.map_err(|error| self.refuse(&error))?;
        *bytes += u64::try_from(answer.text().len()).unwrap_or(u64::MAX);
        let head = page::read_head(&self.origin(), answer.text())?;
        Ok((answer, head))
    }
}

/// The entries of a page, being read on a thread that may take its time.
struct Reading(Origin, tokio::task::JoinHandle<Result<Entries, Refusal>>);

impl Reading {
    fn start(
        origin: Origin,
        read: impl FnOnce() -> Result<Entries, Refusal> + Send + 'static,
    ) -> Self {
        Self(origin, tokio::task::spawn_blocking(read))
    }

    async fn finish(self) -> Result<Entries, Refusal> {
        let Self(origin, reading) = self;
        // Only a panic ends it early.
        let broken = |_| page::protocol_error(&origin, method::SKILLS_LIST, "something unreadable");
        reading.await.map_err(broken)?
    }
}

/// A listing on its way.
#[derive(Default)]
struct Collecting {
    listing: Listing,
    places: BTreeMap<SkillUri, usize>,
    lifetime: Option<Duration>,
}

impl Collecting {
    fn add(&mut self, origin: &Origin, entries: Entries) {
        for entry in entries {
            match entry {
                Ok(received) => {
                    self.add_entry(Listed::received(origin.clone(), received, Source::Named));
                }
                Err(refusal) => self.listing.refused.push(refusal),
            }
        }
    }

    fn note(&mut self, freshness: &Freshness) {
        // The listing is as fresh as its stalest page.
        let lifetime = self.lifetime.unwrap_or(freshness.lifetime);
        self.lifetime = Some(lifetime.min(freshness.lifetime));
        self.listing.private |= freshness.private;
        if let Some(oddity) = &freshness.oddity
            && !self.listing.warnings.contains(oddity)
        {
            self.listing.warnings.push(oddity.clone());
        }
    }

    /// Adds a skill; a second, different entry for it makes neither of the two usable as it is.
    fn add_entry(&mut self, listed: Listed) {
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
                self.listing.skills[*at] = first.with_source(Source::Inconsistent);
            }
        }
    }

    fn finish(self) -> (Listing, Duration) {
        (self.listing, self.lifetime.unwrap_or_default())
    }
}
