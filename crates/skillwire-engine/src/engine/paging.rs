//! Pages of listings.

use std::{
    borrow::Cow,
    hash::{BuildHasher as _, RandomState},
};

use bytes::Bytes;
use quick_cache::{Equivalent, Weighter, sync::Cache};
use skillwire_catalog::{Page, ViewId};
use skillwire_protocol::{Era, RpcError, message::string, method};

use super::{
    Answer, Call, Outcome, invalid_cursor,
    result::{ResultStyle, ResultText},
};
use crate::{config::CacheScope, offer};

/// A listing that a client pages through: a method, and the parameter of methods with many lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct PagedListing<'a> {
    pub(super) method: &'a str,
    pub(super) of: &'a str,
    pub(super) member: &'a str,
}

pub(super) const SKILLS: PagedListing<'_> =
    PagedListing { method: method::SKILLS_LIST, of: "", member: "skills" };
const RESOURCES: PagedListing<'_> =
    PagedListing { method: method::RESOURCES_LIST, of: "", member: "resources" };

/// How many requested pages are remembered.
const MOST_ASKED: usize = 16_384;

/// Of how many views it is remembered which pages are outdated.
const MOST_VIEWS: usize = 1_024;

/// Caches pages of `skills/list`, which every client of a snapshot requests.
///
/// A page is cached when it is requested for the second time. Otherwise one client that pages
/// through a large catalogue would fill the cache for nothing.
#[derive(Debug)]
pub(super) struct PageCache {
    kept: Cache<PageKey<Box<str>>, Bytes, ByLength>,
    /// Hashes of the keys of requested pages.
    asked: Cache<u64, ()>,
    /// The generation and the lifetime of the page that was cached last, for each view.
    latest: Cache<ViewId, (u64, u64)>,
    hashes: RandomState,
}

/// Everything that a page depends on.
///
/// The cursor is compared as the client sent it, without opening it: a page is cached only after
/// the same cursor was opened for the same caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PageKey<T> {
    generation: u64,
    view: ViewId,
    era: Era,
    caller: T,
    cursor: Option<T>,
    ttl_ms: u64,
    scope: CacheScope,
}

impl PageKey<&str> {
    fn to_owned(&self) -> PageKey<Box<str>> {
        let Self { generation, view, era, caller, cursor, ttl_ms, scope } = *self;
        let (caller, cursor) = (caller.into(), cursor.map(Box::from));
        PageKey { generation, view, era, caller, cursor, ttl_ms, scope }
    }
}

impl Equivalent<PageKey<Box<str>>> for PageKey<&str> {
    fn equivalent(&self, key: &PageKey<Box<str>>) -> bool {
        let PageKey { generation, view, era, ref caller, ref cursor, ttl_ms, scope } = *key;
        let cursor = cursor.as_deref();
        *self == PageKey { generation, view, era, caller, cursor, ttl_ms, scope }
    }
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<PageKey<Box<str>>, Bytes> for ByLength {
    fn weight(&self, _: &PageKey<Box<str>>, page: &Bytes) -> u64 {
        page.len() as u64 + 256
    }
}

impl PageCache {
    /// Creates a cache of at most `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        let kept = Cache::with_weighter(64, most, ByLength);
        let (asked, latest) = (Cache::new(MOST_ASKED), Cache::new(MOST_VIEWS));
        Self { kept, asked, latest, hashes: RandomState::new() }
    }

    /// Caches a page, unless this is the first request for it.
    pub(super) fn keep(&self, key: PageKey<Box<str>>, page: Bytes) {
        let hash = self.hashes.hash_one(&key);
        if self.asked.get(&hash).is_some() {
            self.forget_outdated(&key);
            self.kept.insert(key, page);
        } else {
            self.asked.insert(hash, ());
        }
    }

    /// Drops the pages that no request asks for any more: those of an earlier snapshot, and those with
    /// another lifetime, which counts down while a gateway waits for its next listing.
    ///
    /// Otherwise the pages of every second would fill the cache, each time with the whole listing.
    fn forget_outdated(&self, key: &PageKey<Box<str>>) {
        let PageKey { generation, view, ttl_ms, .. } = *key;
        if self.latest.get(&view) == Some((generation, ttl_ms)) {
            return;
        }
        self.latest.insert(view, (generation, ttl_ms));
        self.kept.retain(|kept, _| {
            kept.view != view || (kept.generation >= generation && kept.ttl_ms == ttl_ms)
        });
    }
}

impl Call<'_> {
    /// Returns the key that a request continues from.
    pub(super) fn after(&self, walk: &PagedListing<'_>) -> Result<Option<String>, RpcError> {
        let Some(cursor) = self.cursor()? else { return Ok(None) };
        let opened = self.state.seal.open(&self.scope(walk), &cursor);
        opened.map(Some).map_err(|_| invalid_cursor())
    }

    pub(super) fn cursor(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.params.cursor.map(|raw| string(raw, "params.cursor")).transpose()
    }

    fn scope<'a>(&'a self, walk: &PagedListing<'a>) -> [&'a str; 3] {
        [walk.method, &self.caller.name, walk.of]
    }

    /// Begins a result with a page and the cursor of the next one.
    pub(super) fn begin_page(&self, walk: &PagedListing<'_>, page: &Page<'_>) -> ResultText {
        let mut result = self.result();
        result.page(walk.member, page);
        if let Some(next) = &page.next {
            result.string("nextCursor", &self.state.seal.seal(&self.scope(walk), next));
        }
        result
    }

    pub(super) fn list_skills(&self) -> Answer {
        self.try_list_skills().unwrap_or_else(|error| Answer::Now(Err(error)))
    }

    fn try_list_skills(&self) -> Result<Answer, RpcError> {
        let cursor = self.cursor()?;
        let key = self.page_key(cursor.as_deref());
        if let Some(page) = self.state.pages.kept.get(&key) {
            return Ok(Answer::Now(Ok(page.into())));
        }
        let after = self.after(&SKILLS)?;
        if self.has_superset() {
            return Ok(self.list_superset(after, key.to_owned()));
        }
        let page = self.snapshot.skills_page(after.as_deref(), self.state.config.page_size);
        let mut result = self.begin_page(&SKILLS, &page);
        result.cacheable();
        let bytes = result.finish();
        self.state.pages.keep(key.to_owned(), bytes.clone());
        Ok(Answer::Now(Ok(bytes.into())))
    }

    fn page_key<'a>(&'a self, cursor: Option<&'a str>) -> PageKey<&'a str> {
        let ResultStyle { ttl_ms, scope, .. } = self.style();
        PageKey {
            generation: self.snapshot.generation(),
            view: self.caller.view,
            era: self.era,
            caller: self.caller.name.as_str(),
            cursor,
            ttl_ms,
            scope,
        }
    }

    pub(super) fn list_resources(&self) -> Answer {
        self.list_projected().unwrap_or_else(|| Answer::Now(self.list_files()))
    }

    fn list_files(&self) -> Outcome {
        let (after, size) = (self.after(&RESOURCES)?, self.state.config.page_size);
        let lists = self.offered(|offer, caller| offer.resources(caller));
        let offered = offer::offered_key(after.as_deref());
        let mut page = match offered {
            Some(_) => Page::default(),
            None => self.snapshot.resources_page(after.as_deref(), size),
        };
        offer::append(&mut page, &lists, offered, size);
        let mut result = self.begin_page(&RESOURCES, &page);
        result.cacheable();
        result.server_info();
        Ok(result.finish().into())
    }
}
