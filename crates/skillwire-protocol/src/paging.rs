//! Reads a listing page by page, within limits.
//!
//! A server decides what its cursors are, so a careless or hostile one can repeat a cursor or never
//! stop giving new ones. Every loop over pages goes through [`Pager`], which makes sure that it
//! ends.

use std::{collections::HashSet, fmt};

use serde_json::{Map, Value};

/// The longest cursor that is sent back, in bytes.
pub const MAX_CURSOR_BYTES: usize = 64 * 1024;

/// Limits on how much of a listing is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageLimits {
    /// The most pages.
    pub pages: usize,
    /// The most items on all pages together.
    pub items: usize,
}

impl PageLimits {
    /// Limits how many pages are read, and how many items on all of them together.
    pub const fn new(pages: usize, items: usize) -> Self {
        Self { pages, items }
    }
}

/// The reason why a listing was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// There are more than this many pages.
    Pages(usize),
    /// There are more than this many items.
    Items(usize),
    /// The server gave a cursor that it had given before.
    RepeatedCursor,
    /// The server gave a cursor of more than [`MAX_CURSOR_BYTES`].
    LongCursor,
}

impl fmt::Display for Truncation {
    /// Completes "The server sent".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(most) => write!(f, "more than {most} pages"),
            Self::Items(most) => write!(f, "more than {most} items"),
            Self::RepeatedCursor => f.write_str("the same cursor again"),
            Self::LongCursor => write!(f, "a cursor of more than {MAX_CURSOR_BYTES} bytes"),
        }
    }
}

/// The next step after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPage {
    /// Ask for the page at [`Pager::cursor`].
    Ask,
    /// The listing is complete.
    End,
    /// Stop for this reason, although the server has more.
    Stop(Truncation),
}

/// The progress of a walk over the pages of one listing.
#[derive(Debug)]
pub struct Pager {
    limits: PageLimits,
    pages: usize,
    items: usize,
    cursor: Option<String>,
    cursors: HashSet<String>,
}

impl Pager {
    /// Creates a pager that stands before the first page.
    pub fn new(limits: PageLimits) -> Self {
        Self { limits, pages: 0, items: 0, cursor: None, cursors: HashSet::new() }
    }

    /// Returns the cursor of the page to ask for; the first page has none.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Returns the parameters that ask for that page.
    pub fn params(&self) -> Map<String, Value> {
        cursor_params(self.cursor())
    }

    /// Returns how many pages have been received.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Counts a page that was received, and decides whether to ask for another.
    pub fn received(&mut self, items: usize, next: Option<String>) -> NextPage {
        let PageLimits { pages: most_pages, items: most_items } = self.limits;
        self.pages += 1;
        self.items = self.items.saturating_add(items);
        if self.items > most_items {
            return NextPage::Stop(Truncation::Items(most_items));
        }
        let Some(next) = next else { return NextPage::End };
        if next.len() > MAX_CURSOR_BYTES {
            NextPage::Stop(Truncation::LongCursor)
        } else if self.cursors.contains(&next) {
            NextPage::Stop(Truncation::RepeatedCursor)
        } else if self.items >= most_items {
            NextPage::Stop(Truncation::Items(most_items))
        } else if self.pages >= most_pages {
            NextPage::Stop(Truncation::Pages(most_pages))
        } else {
            self.cursors.insert(next.clone());
            self.cursor = Some(next);
            NextPage::Ask
        }
    }
}

/// Returns the parameters that ask for the first page, or for the one at a cursor.
pub fn cursor_params(cursor: Option<&str>) -> Map<String, Value> {
    cursor.map(|cursor| ("cursor".to_owned(), cursor.into())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: PageLimits = PageLimits::new(3, 5);

    /// Walks pages that are given as their items and the next cursor.
    fn walk(answers: &[(usize, Option<&str>)]) -> (Vec<usize>, Option<Truncation>, Vec<String>) {
        let mut pager = Pager::new(LIMITS);
        let (mut items, mut asked) = (Vec::new(), Vec::new());
        let mut truncation = None;
        for (count, next) in answers {
            asked.push(Value::Object(pager.params()).to_string());
            items.extend(vec![*count; *count]);
            match pager.received(*count, next.map(str::to_owned)) {
                NextPage::Ask => continue,
                NextPage::End => {}
                NextPage::Stop(why) => truncation = Some(why),
            }
            break;
        }
        (items, truncation, asked)
    }

    #[test]
    fn pages_are_asked_for_until_there_is_no_cursor() {
        let (items, truncation, asked) = walk(&[(1, Some("a")), (2, Some("")), (2, None)]);
        assert_eq!((items, truncation), (vec![1, 2, 2, 2, 2], None));
        assert_eq!(asked, ["{}", r#"{"cursor":"a"}"#, r#"{"cursor":""}"#]);
    }

    #[test]
    fn a_server_that_never_ends_is_stopped() {
        let long = "x".repeat(MAX_CURSOR_BYTES + 1);
        for (pages, requests, why) in [
            (&[(0, Some("a")), (0, Some("a"))][..], 2, Truncation::RepeatedCursor),
            (&[(0, Some("a")), (0, Some("b")), (0, Some("a"))], 3, Truncation::RepeatedCursor),
            (&[(0, Some("a")), (0, Some("b")), (0, Some("c"))], 3, Truncation::Pages(3)),
            (&[(5, Some("a"))], 1, Truncation::Items(5)),
            (&[(1, Some("a")), (6, None)], 2, Truncation::Items(5)),
            (&[(0, Some(&long))], 1, Truncation::LongCursor),
        ] {
            let (_, truncation, asked) = walk(pages);
            assert_eq!((truncation, asked.len()), (Some(why), requests), "{why}");
        }
    }

    #[test]
    fn as_many_pages_and_items_as_allowed_are_complete() {
        let (items, truncation, _) = walk(&[(1, Some("a")), (1, Some("b")), (3, None)]);
        assert_eq!((items.len(), truncation), (5, None));
    }
}
