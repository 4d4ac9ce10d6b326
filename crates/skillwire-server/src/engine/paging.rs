//! Listings, page by page.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use quick_cache::{Equivalent, Weighter, sync::Cache};
use skillwire_catalog::{catalog::ViewId, listing::Page};
use skillwire_protocol::{error::RpcError, message::string, method, version::Era};
use skillwire_source::skill::Skill;

use super::{
    Answer, Call, Outcome, invalid_cursor,
    result::{ResultStyle, ResultText},
};
use crate::{config::CacheScope, payload::Payload};

/// A listing a client walks: a method, and what it lists for methods that list many things.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) method: &'a str,
    pub(super) of: &'a str,
    pub(super) member: &'a str,
}

pub(super) const SKILLS: Walk<'_> = Walk { method: method::SKILLS_LIST, of: "", member: "skills" };
const RESOURCES: Walk<'_> = Walk { method: method::RESOURCES_LIST, of: "", member: "resources" };

/// What an entry takes in a page, roughly.
const ENTRY_BYTES: u64 = 1_600;

/// An entry that is sent from where it is.
struct Entry(Arc<str>);

impl AsRef<[u8]> for Entry {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Pages of `skills/list` as they were sent, which every client of a snapshot asks for.
#[derive(Debug)]
pub(super) struct Pages {
    kept: Cache<PageKey<Box<str>>, Bytes, ByLength>,
    most: u64,
}

/// Everything a page depends on, the cursor as it came: one that is known was opened before, for
/// the same caller.
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

impl Pages {
    /// Keeps at most so many bytes.
    pub(super) fn new(most: u64) -> Self {
        Self { kept: Cache::with_weighter(64, most, ByLength), most }
    }

    /// Tells whether all pages of a listing can be kept; each page of a longer one would only drive
    /// out another.
    fn has_room_for(&self, skills: usize) -> bool {
        ENTRY_BYTES.saturating_mul(skills as u64) <= self.most
    }

    /// Keeps a page.
    pub(super) fn keep(&self, key: PageKey<Box<str>>, page: Bytes) {
        self.kept.insert(key, page);
    }
}

impl Call<'_> {
    /// The key a request goes on from.
    pub(super) fn after(&self, walk: &Walk<'_>) -> Result<Option<String>, RpcError> {
        let Some(cursor) = self.cursor()? else { return Ok(None) };
        let opened = self.engine.seal.open(&self.scope(walk), &cursor);
        opened.map(Some).map_err(|_| invalid_cursor())
    }

    pub(super) fn cursor(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.params.cursor.map(|raw| string(raw, "params.cursor")).transpose()
    }

    fn scope<'a>(&'a self, walk: &Walk<'a>) -> [&'a str; 3] {
        [walk.method, &self.caller.name, walk.of]
    }

    /// Begins a result with a page and the cursor of the next one.
    pub(super) fn begin_page(&self, walk: &Walk<'_>, page: &Page<'_>) -> ResultText {
        let mut result = self.result();
        result.page(walk.member, page);
        if let Some(next) = &page.next {
            result.string("nextCursor", &self.engine.seal.seal(&self.scope(walk), next));
        }
        result
    }

    pub(super) fn list_skills(&self) -> Answer {
        self.try_list_skills().unwrap_or_else(|error| Answer::Now(Err(error)))
    }

    fn try_list_skills(&self) -> Result<Answer, RpcError> {
        let cursor = self.cursor()?;
        let key = self.page_key(cursor.as_deref());
        if let Some(page) = self.engine.pages.kept.get(&key) {
            return Ok(Answer::Now(Ok(page.into())));
        }
        let after = self.after(&SKILLS)?;
        if self.has_superset() {
            return Ok(self.list_superset(after, key.to_owned()));
        }
        if !self.engine.pages.has_room_for(self.snapshot.listed_count()) {
            return Ok(Answer::Now(Ok(self.page_in_pieces(after.as_deref()))));
        }
        let page = self.snapshot.skills_page(after.as_deref(), self.engine.config.page_size);
        let mut result = self.begin_page(&SKILLS, &page);
        result.cacheable();
        let bytes = result.finish();
        self.engine.pages.keep(key.to_owned(), bytes.clone());
        Ok(Answer::Now(Ok(bytes.into())))
    }

    /// A page of entries where they are, since copying them would cost as much as sending them.
    fn page_in_pieces(&self, after: Option<&str>) -> Payload {
        let mut skills = self.snapshot.listed_after(after);
        let mut head = self.result();
        head.open_list(SKILLS.member);
        let (head, mut tail) = head.close_list();
        let (mut pieces, mut last) = (vec![head], None);
        for skill in skills.by_ref().take(self.engine.config.page_size) {
            pieces.extend(last.map(|_: &Arc<Skill>| Bytes::from_static(b",")));
            pieces.push(Bytes::from_owner(Entry(Arc::clone(&skill.entry))));
            last = Some(skill);
        }
        if let Some(last) = skills.next().and(last) {
            let next = self.engine.seal.seal(&self.scope(&SKILLS), last.uri.as_str());
            tail.string("nextCursor", &next);
        }
        tail.cacheable();
        pieces.push(tail.finish());
        Payload::new(pieces)
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
        let after = self.after(&RESOURCES)?;
        let page = self.snapshot.resources_page(after.as_deref(), self.engine.config.page_size);
        let mut result = self.begin_page(&RESOURCES, &page);
        result.cacheable();
        result.server_info();
        Ok(result.finish().into())
    }
}
