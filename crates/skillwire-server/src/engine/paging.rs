//! Listings, page by page.

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};
use skillwire_catalog::{catalog::ViewId, listing::Page};
use skillwire_protocol::{error::RpcError, message::string, method, version::Era};

use super::{Call, Outcome, result::ResultText};
use crate::payload::Payload;

/// A listing a client walks: a method, and what it lists for methods that list many things.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) method: &'a str,
    pub(super) of: &'a str,
    pub(super) member: &'a str,
}

const SKILLS: Walk<'_> = Walk { method: method::SKILLS_LIST, of: "", member: "skills" };
const RESOURCES: Walk<'_> = Walk { method: method::RESOURCES_LIST, of: "", member: "resources" };

/// Pages of `skills/list` as they were sent, which every client of a snapshot asks for.
#[derive(Debug)]
pub(super) struct Pages(Cache<PageKey, Bytes, ByLength>);

/// Everything a page depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PageKey {
    generation: u64,
    view: ViewId,
    era: Era,
    caller: String,
    after: Option<String>,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<PageKey, Bytes> for ByLength {
    fn weight(&self, _: &PageKey, page: &Bytes) -> u64 {
        page.len() as u64 + 256
    }
}

impl Pages {
    /// Keeps at most so many bytes.
    pub(super) fn new(most: u64) -> Self {
        Self(Cache::with_weighter(64, most, ByLength))
    }
}

impl Call<'_> {
    /// The key a request goes on from.
    pub(super) fn after(&self, walk: &Walk<'_>) -> Result<Option<String>, RpcError> {
        let Some(raw) = self.params.cursor else { return Ok(None) };
        let cursor = string(raw, "params.cursor")?;
        self.engine.seal.open(&self.scope(walk), &cursor).map(Some).map_err(|_| {
            RpcError::invalid_params(
                "`params.cursor` is not a cursor of this listing; start again without one.",
            )
        })
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

    pub(super) fn list_skills(&self) -> Outcome {
        let after = self.after(&SKILLS)?;
        let key = PageKey {
            generation: self.snapshot.generation(),
            view: self.caller.view,
            era: self.era,
            caller: self.caller.name.clone(),
            after,
        };
        if let Some(page) = self.engine.pages.0.get(&key) {
            return Ok(Payload::new([page]));
        }
        let page = self.snapshot.skills_page(key.after.as_deref(), self.engine.config.page_size);
        let mut result = self.begin_page(&SKILLS, &page);
        result.cacheable();
        let bytes = Bytes::from(result.finish());
        self.engine.pages.0.insert(key, bytes.clone());
        Ok(Payload::new([bytes]))
    }

    pub(super) fn list_resources(&self) -> Outcome {
        let after = self.after(&RESOURCES)?;
        let page = self.snapshot.resources_page(after.as_deref(), self.engine.config.page_size);
        let mut result = self.begin_page(&RESOURCES, &page);
        result.cacheable();
        result.server_info();
        Ok(result.finish().into())
    }

    /// Answers a list method for which a server of skills has nothing.
    pub(super) fn list_nothing(&self, member: &str) -> Payload {
        let mut result = self.result();
        result.page(member, &Page::default());
        result.cacheable();
        result.server_info();
        result.finish().into()
    }
}
