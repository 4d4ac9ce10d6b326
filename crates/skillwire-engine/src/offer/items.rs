//! Lists of tools, prompts and resources, ready to be sent page by page.

use std::sync::Arc;

use serde_json::Value;
use skillwire_catalog::Page;

/// One tool, prompt or resource in the form it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    name: Box<str>,
    json: Box<str>,
}

impl Item {
    /// Creates an item from an object with a `name`; returns `None` for anything else.
    pub fn new(object: &Value) -> Option<Self> {
        let name = object.get("name")?.as_str()?.into();
        Some(Self { name, json: object.to_string().into() })
    }

    /// Creates an item from its name, or the URI of a resource, and the JSON text of an object that has
    /// it.
    pub fn verbatim(name: impl Into<Box<str>>, json: impl Into<Box<str>>) -> Self {
        Self { name: name.into(), json: json.into() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the object in the form it is sent.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// Tools or prompts sorted by name; each name occurs once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Items(Vec<Item>);

impl FromIterator<Item> for Items {
    fn from_iter<T: IntoIterator<Item = Item>>(items: T) -> Self {
        let mut items: Vec<_> = items.into_iter().collect();
        items.sort_by(|a, b| a.name.cmp(&b.name));
        items.dedup_by(|a, b| a.name == b.name);
        Self(items)
    }
}

impl Items {
    /// Creates a list of objects; objects without a name are left out.
    pub fn of(objects: impl IntoIterator<Item = Value>) -> Arc<Self> {
        Arc::new(objects.into_iter().filter_map(|object| Item::new(&object)).collect())
    }

    /// Tells whether a name is listed.
    pub fn contains(&self, name: &str) -> bool {
        self.0.binary_search_by(|item| (*item.name).cmp(name)).is_ok()
    }

    /// Iterates over the items in order.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.0.iter()
    }

    fn after(&self, key: Option<&str>) -> &[Item] {
        let start =
            key.map_or(0, |key| self.0.partition_point(|item| (*item.name).cmp(key).is_le()));
        &self.0[start..]
    }
}

/// Returns the page that follows a name, merged from several lists.
pub(crate) fn page<'a>(lists: &'a [Arc<Items>], after: Option<&str>, size: usize) -> Page<'a> {
    let mut rests: Vec<&[Item]> = lists.iter().map(|list| list.after(after)).collect();
    let mut items: Vec<&Item> = Vec::new();
    while items.len() < size {
        let heads = rests.iter().filter_map(|rest| rest.first());
        // Of equal names, the first list's item is taken.
        let Some(next) = heads.min_by(|a, b| a.name.cmp(&b.name)) else { break };
        for rest in &mut rests {
            if rest.first().is_some_and(|head| head.name == next.name) {
                *rest = &rest[1..];
            }
        }
        items.push(next);
    }
    let more = rests.iter().any(|rest| !rest.is_empty());
    let next = items.last().filter(|_| more).map(|item| item.name.to_string());
    Page { items: items.into_iter().map(|item| (&*item.json).into()).collect(), next }
}

/// Begins the key of an offered resource in a listing that other items come first in; neither a URI nor
/// a key of a dialect begins with it.
const OFFERED: char = '\u{2}';

/// Returns the part of a listing's key that is about offered resources, if the listing has come to them.
pub(crate) fn offered_key(after: Option<&str>) -> Option<&str> {
    after?.strip_prefix(OFFERED)
}

/// Fills a page that holds the last of the other items, or that begins among offered resources.
pub(crate) fn append<'a>(
    page: &mut Page<'a>,
    lists: &'a [Arc<Items>],
    after: Option<&str>,
    size: usize,
) {
    let room = size.saturating_sub(page.items.len());
    if page.next.is_some() || lists.iter().all(|list| list.0.is_empty()) {
        return;
    }
    if room == 0 {
        // The next page begins with the first of them.
        page.next = Some(OFFERED.to_string());
        return;
    }
    let more = self::page(lists, after, room);
    page.items.extend(more.items);
    page.next = more.next.map(|key| format!("{OFFERED}{key}"));
}
