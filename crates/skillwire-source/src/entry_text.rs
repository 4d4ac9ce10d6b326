//! The entry of a skill in `skills/list` and `skills/get`, as JSON.

use std::{borrow::Cow, fmt, sync::Arc};

use skillwire_core::Digest;

/// Makes the entry of a skill from what is kept of it anyway.
pub trait MakeEntry: Send + Sync + fmt::Debug {
    /// Returns the entry as JSON; none if it cannot be made any more.
    fn make(&self) -> Option<String>;
}

/// The entry of a skill as JSON.
///
/// A gateway shows the skills of a server at several addresses, and keeps the text that the server wrote.
/// So it makes the entry for each address when a page is written, and keeps only a digest of it.
#[derive(Debug, Clone)]
pub struct EntryText(Kept);

#[derive(Debug, Clone)]
enum Kept {
    Text(Arc<str>),
    Maker { digest: Digest, maker: Arc<dyn MakeEntry> },
}

impl EntryText {
    /// An entry that is made on request; `text` is what the maker makes now.
    pub fn made_by(maker: Arc<dyn MakeEntry>, text: &str) -> Self {
        Self(Kept::Maker { digest: Digest::of(text.as_bytes()), maker })
    }

    /// The JSON.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Kept::Text(text) => Cow::Borrowed(text),
            Kept::Maker { maker, .. } => Cow::Owned(maker.make().unwrap_or_else(|| "{}".into())),
        }
    }

    /// Identifies the JSON.
    pub fn digest(&self) -> Digest {
        match &self.0 {
            Kept::Text(text) => Digest::of(text.as_bytes()),
            Kept::Maker { digest, .. } => *digest,
        }
    }
}

impl PartialEq for EntryText {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kept::Text(text), Kept::Text(other)) => text == other,
            _ => self.digest() == other.digest(),
        }
    }
}

impl Eq for EntryText {}

impl From<String> for EntryText {
    fn from(text: String) -> Self {
        Self(Kept::Text(text.into()))
    }
}

impl From<&str> for EntryText {
    fn from(text: &str) -> Self {
        Self(Kept::Text(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(&'static str);

    impl MakeEntry for Fixed {
        fn make(&self) -> Option<String> {
            Some(self.0.to_owned())
        }
    }

    #[test]
    fn an_entry_that_is_made_equals_one_that_is_kept_if_they_were_the_same_text() {
        let made = |text| EntryText::made_by(Arc::new(Fixed(text)), text);
        let kept = EntryText::from("{\"a\":1}");
        assert_eq!(made("{\"a\":1}"), kept);
        assert_ne!(made("{\"a\":2}"), kept);
        assert_ne!(made("{\"a\":2}"), made("{\"a\":1}"));
        assert_eq!(made("{}").text(), "{}");
        assert_eq!(made("{\"a\":1}").digest(), kept.digest());
    }

    #[test]
    fn an_entry_whose_maker_says_something_else_now_differs_from_one_made_now() {
        let before = EntryText::made_by(Arc::new(Fixed("{\"a\":2}")), "{\"a\":1}");
        assert_ne!(before, EntryText::made_by(Arc::new(Fixed("{\"a\":2}")), "{\"a\":2}"));
    }
}
