//! Ordered items with their JSON ready, cut into pages by key.

use std::sync::Arc;

/// One item of a listing.
#[derive(Debug, Clone)]
pub struct Item {
    /// What the listing is ordered by; unique within it.
    pub key: Arc<str>,
    /// The item as JSON, serialised once.
    pub json: Arc<str>,
}

/// Items in key order.
#[derive(Debug, Clone, Default)]
pub struct Listing(Vec<Item>);

/// A run of items, and the key to go on from when there are more.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The items, in order.
    pub items: &'a [Item],
    /// The last key of this page, when another page follows.
    pub next: Option<&'a str>,
}

impl Listing {
    /// Orders items.
    pub fn new(mut items: Vec<Item>) -> Self {
        items.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Self(items)
    }

    /// Cuts the page that follows `after`, which need not be a key any more.
    pub fn page(&self, after: Option<&str>, size: usize) -> Page<'_> {
        let start = after.map_or(0, |after| self.0.partition_point(|item| &*item.key <= after));
        let rest = &self.0[start..];
        let items = &rest[..size.min(rest.len())];
        let next =
            (items.len() < rest.len()).then(|| items.last().map(|item| &*item.key)).flatten();
        Page { items, next }
    }

    /// All items, in order.
    pub fn items(&self) -> &[Item] {
        &self.0
    }

    /// The items whose key begins with `prefix`, found by two binary searches.
    pub fn with_prefix(&self, prefix: &str) -> &[Item] {
        let start = self.0.partition_point(|item| &*item.key < prefix);
        let length = self.0[start..].partition_point(|item| item.key.starts_with(prefix));
        &self.0[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(keys: &[&str]) -> Listing {
        Listing::new(
            keys.iter().map(|key| Item { key: (*key).into(), json: "{}".into() }).collect(),
        )
    }

    fn walk(listing: &Listing, size: usize) -> Vec<String> {
        let (mut seen, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = listing.page(after.as_deref(), size);
            seen.extend(page.items.iter().map(|item| item.key.to_string()));
            match page.next {
                Some(next) => after = Some(next.to_owned()),
                None => return seen,
            }
        }
    }

    #[test]
    fn srv_56_pages_of_any_size_unite_to_the_whole() {
        let listing = listing(&["d", "b", "a", "c", "e"]);
        for size in 1..7 {
            assert_eq!(walk(&listing, size), ["a", "b", "c", "d", "e"], "{size}");
        }
        assert!(walk(&Listing::default(), 3).is_empty());
    }

    #[test]
    fn srv_57_a_page_goes_on_after_a_key_that_is_gone() {
        let page = listing(&["a", "c", "d"]);
        let page = page.page(Some("b"), 1);
        assert_eq!(&*page.items[0].key, "c");
        assert_eq!(page.next, Some("c"));
    }

    #[test]
    fn prefixes_are_found_without_a_walk() {
        let listing = listing(&["a", "ab", "abc", "b"]);
        let found: Vec<_> = listing.with_prefix("ab").iter().map(|item| &*item.key).collect();
        assert_eq!(found, ["ab", "abc"]);
    }
}
