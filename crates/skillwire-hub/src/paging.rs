//! Pages of lists, and the cursors between them.

use std::{
    fmt::{self, Write as _},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// The place in a list after which the next page begins. Clients pass it back as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

/// The longest cursor that is read.
const MAX_CURSOR_BYTES: usize = 600;

/// The text is not a cursor that this list gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The cursor is not one that this list gave out. Begin again without a cursor.")]
pub struct InvalidCursor;

impl Cursor {
    /// Makes a cursor of the list's name and the last item's key.
    pub fn new(list: &str, key: &[&str]) -> Self {
        let mut text = list.to_owned();
        for part in key {
            text.push('.');
            for byte in part.bytes() {
                match byte {
                    b'a'..=b'z' | b'0'..=b'9' | b'-' => text.push(char::from(byte)),
                    // Writing to a `String` cannot fail.
                    _ => drop(write!(text, "~{byte:02x}")),
                }
            }
        }
        Self(text)
    }

    /// Returns the key of a cursor that this list gave out.
    pub fn key(&self, list: &str, parts: usize) -> Result<Vec<String>, InvalidCursor> {
        let mut pieces = self.0.split('.');
        if self.0.len() > MAX_CURSOR_BYTES || pieces.next() != Some(list) {
            return Err(InvalidCursor);
        }
        let key: Vec<String> = pieces.map(unescape).collect::<Result<_, _>>()?;
        if key.len() == parts { Ok(key) } else { Err(InvalidCursor) }
    }

    /// Returns the number that is the key of a cursor.
    pub fn number(&self, list: &str) -> Result<u64, InvalidCursor> {
        self.key(list, 1)?[0].parse().map_err(|_| InvalidCursor)
    }
}

fn unescape(piece: &str) -> Result<String, InvalidCursor> {
    let mut bytes = Vec::with_capacity(piece.len());
    let mut rest = piece.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'~' {
            let digits = after.get(..2).ok_or(InvalidCursor)?;
            let digits = std::str::from_utf8(digits).map_err(|_| InvalidCursor)?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| InvalidCursor)?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).map_err(|_| InvalidCursor)
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let valid = |byte: u8| plain(byte) || matches!(byte, b'.' | b'~' | b'-');
        if text.is_empty() || text.len() > MAX_CURSOR_BYTES || !text.bytes().all(valid) {
            return Err(InvalidCursor);
        }
        Ok(Self(text.to_owned()))
    }
}

/// Which page of a list a caller wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// The most items, between 1 and [`PageRequest::MAX_LIMIT`].
    limit: u32,
    /// Where the page before ended.
    pub after: Option<Cursor>,
}

impl PageRequest {
    /// The most items of a page.
    pub const MAX_LIMIT: u32 = 1_000;

    /// The first page of at most `limit` items; too small and too large limits become the nearest.
    pub fn first(limit: u32) -> Self {
        Self { limit: limit.clamp(1, Self::MAX_LIMIT), after: None }
    }

    /// The page after a cursor.
    #[must_use]
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.after = cursor;
        self
    }

    /// Returns the most items.
    pub fn limit(&self) -> u32 {
        self.limit
    }
}

impl Default for PageRequest {
    fn default() -> Self {
        Self::first(100)
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins; none after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// Cuts `limit + 1` items that were read to a page, and makes the cursor of the last one kept.
    pub fn cut(mut items: Vec<T>, limit: u32, cursor: impl FnOnce(&T) -> Cursor) -> Self {
        let limit = limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(cursor) } else { None };
        Self { items, next }
    }

    /// Turns each item into another.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_by_its_own_list_only() {
        let cursor = Cursor::new("skills", &["acme", "Ünï.code~x"]);
        let read: Cursor = cursor.to_string().parse().unwrap();
        assert_eq!(read.key("skills", 2).unwrap(), ["acme", "Ünï.code~x"]);
        assert!(read.key("tokens", 2).is_err());
        assert!(read.key("skills", 1).is_err());
        for bad in ["", "A", "skills.~", "skills.~g0", "skills.~ff", &"a".repeat(601)] {
            assert!(bad.parse::<Cursor>().and_then(|cursor| cursor.key("skills", 1)).is_err());
        }
    }

    #[test]
    fn a_page_has_a_cursor_only_if_more_follows() {
        let cursor = |item: &u64| Cursor::new("numbers", &[&item.to_string()]);
        let page = Page::cut(vec![1, 2, 3], 2, cursor);
        assert_eq!(page.items, [1, 2]);
        assert_eq!(page.next.unwrap().number("numbers"), Ok(2));
        assert_eq!(Page::cut(vec![1, 2], 2, cursor).next, None);
    }
}
