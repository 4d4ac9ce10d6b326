//! The names and values of a query or a form.

use crate::model::{CatalogueQuery, SkillKey, TableQuery};

/// The most pairs that are read.
const MAX_PAIRS: usize = 400;

/// The longest text to search for.
const MAX_WORDS: usize = 500;

/// Pages beyond this one are taken for it. No list is that long, and sums with it do not overflow.
const MAX_PAGE: usize = 1_000_000;

/// Names that are not filters.
const RESERVED: [&str; 5] = ["q", "page", "part", "format", "form"];

/// Decoded names and values, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(text).take(MAX_PAIRS);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The first value of a name, or nothing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The first value of a name, unless it is empty.
    pub(crate) fn some(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn key(&self) -> SkillKey {
        SkillKey::new(self.get("id"))
    }

    pub(crate) fn number(&self, name: &str) -> usize {
        self.get(name).parse().unwrap_or(0)
    }

    /// The page of a list, counted from zero.
    pub(crate) fn page(&self) -> usize {
        self.number("page").min(MAX_PAGE)
    }

    fn words(&self) -> String {
        self.get("q").chars().take(MAX_WORDS).collect()
    }

    fn filters(&self) -> Vec<(String, String)> {
        let is_filter = |(name, value): &&(String, String)| {
            !RESERVED.contains(&name.as_str()) && !value.is_empty()
        };
        self.0.iter().filter(is_filter).take(10).cloned().collect()
    }

    pub(crate) fn catalogue_query(&self) -> CatalogueQuery {
        CatalogueQuery { words: self.words(), filters: self.filters(), page: self.page() }
    }

    pub(crate) fn table_query(&self) -> TableQuery {
        TableQuery { words: self.words(), filters: self.filters(), page: self.page() }
    }

    /// Where to go after an act: an address of this page, or its beginning.
    pub(crate) fn back(&self) -> &str {
        let back = self.get("back");
        let is_own = back.starts_with('/')
            && !back.starts_with("//")
            && back.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if is_own { back } else { "/" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_lead_back_to_this_page_alone() {
        let back = |text: &str| Params(vec![("back".into(), text.into())]).back().to_owned();
        assert_eq!(back("/skill?id=a"), "/skill?id=a");
        for outside in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/a\r\nb",
            "",
            "javascript:x",
        ] {
            assert_eq!(back(outside), "/", "{outside}");
        }
    }

    #[test]
    fn filters_are_what_is_not_reserved() {
        let query = Params::parse(b"q=a+b&state=new&page=2&origin=").catalogue_query();
        assert_eq!((query.words.as_str(), query.page), ("a b", 2));
        assert_eq!(query.filters, [("state".to_owned(), "new".to_owned())]);
    }

    #[test]
    fn no_page_is_so_far_that_sums_with_it_overflow() {
        for text in ["18446744073709551615", "368934881474191033", "99999999999999999999999", "-1"]
        {
            let params = Params::parse(format!("page={text}").as_bytes());
            assert!(params.catalogue_query().page <= MAX_PAGE, "{text}");
            assert!(params.table_query().page <= MAX_PAGE, "{text}");
        }
    }
}
