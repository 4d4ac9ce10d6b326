//! Lists of tools and prompts, ready to be sent page by page.

use std::sync::Arc;

use serde_json::Value;
use skillwire_catalog::Page;

/// One tool or prompt as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    name: Box<str>,
    json: Box<str>,
}

impl Item {
    /// Takes an object with a `name`; anything else is none.
    pub fn new(object: &Value) -> Option<Self> {
        let name = object.get("name")?.as_str()?.into();
        Some(Self { name, json: object.to_string().into() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object as it is sent.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// Tools or prompts in the order of their names, each name once.
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
    /// Makes a list of objects; what has no name is left out.
    pub fn of(objects: impl IntoIterator<Item = Value>) -> Arc<Self> {
        Arc::new(objects.into_iter().filter_map(|object| Item::new(&object)).collect())
    }

    /// Tells whether a name is listed.
    pub fn contains(&self, name: &str) -> bool {
        self.0.binary_search_by(|item| (*item.name).cmp(name)).is_ok()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.0.iter()
    }

    fn after(&self, key: Option<&str>) -> &[Item] {
        let start =
            key.map_or(0, |key| self.0.partition_point(|item| (*item.name).cmp(key).is_le()));
        &self.0[start..]
    }
}

/// The page that goes on after a name, of several lists side by side.
pub(crate) fn page<'a>(lists: &'a [Arc<Items>], after: Option<&str>, size: usize) -> Page<'a> {
    let mut rests: Vec<&[Item]> = lists.iter().map(|list| list.after(after)).collect();
    let mut items: Vec<&Item> = Vec::new();
    while items.len() < size {
        let heads = rests.iter().filter_map(|rest| rest.first());
        // Of equal names the first one is taken.
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
