//! Characters in content that a reader cannot see, or that change what a reader sees.

use std::{collections::BTreeMap, fmt};

use skillwire_core::CharClass;

fn named(class: CharClass, count: usize) -> &'static str {
    match (class, count) {
        (CharClass::TerminalEscape, 1) => "terminal escape",
        (CharClass::TerminalEscape, _) => "terminal escapes",
        (CharClass::Control, 1) => "control character",
        (CharClass::Control, _) => "control characters",
        (CharClass::Bidirectional, 1) => "bidirectional control",
        (CharClass::Bidirectional, _) => "bidirectional controls",
        (CharClass::Tag, 1) => "tag character",
        (CharClass::Tag, _) => "tag characters",
        (CharClass::VariationSelector, 1) => "stray variation selector",
        (CharClass::VariationSelector, _) => "stray variation selectors",
        (_, 1) => "invisible character",
        (_, _) => "invisible characters",
    }
}

/// Classifies a character for counting; other characters that cannot be seen count as invisible.
fn counted_as(before: Option<char>, c: char) -> Option<CharClass> {
    CharClass::after(before, c).map(|class| match class {
        CharClass::LineSeparator | CharClass::Joiner | CharClass::Noncharacter => {
            CharClass::Invisible
        }
        class => class,
    })
}

/// The number of noteworthy characters of each class in some content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags(BTreeMap<CharClass, usize>);

/// Counts the noteworthy characters of content and does not change it.
///
/// Line feeds, tabs, CRLF and a byte order mark at the very beginning are ordinary. Bytes that are
/// not UTF-8 are passed over.
pub fn flags(bytes: &[u8]) -> Flags {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut counts = BTreeMap::new();
    for chunk in bytes.utf8_chunks() {
        let mut before = None;
        let mut rest = chunk.valid().chars().peekable();
        while let Some(c) = rest.next() {
            // Nearly every character is one of these, and none of them has a class.
            let ordinary = matches!(c, '\n' | '\t' | ' '..='~')
                || (c == '\r' && rest.peek().is_some_and(|c| *c == '\n'));
            if !ordinary && let Some(class) = counted_as(before, c) {
                *counts.entry(class).or_insert(0) += 1;
            }
            before = Some(c);
        }
    }
    Flags(counts)
}

impl Flags {
    /// Tells whether there are no noteworthy characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of characters of one class. Every other character that cannot be seen
    /// counts as [`CharClass::Invisible`].
    pub fn count(&self, class: CharClass) -> usize {
        self.0.get(&class).copied().unwrap_or(0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (class, &count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {}", named(*class, count))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_flagged_by_kind_hst_112() {
        let hostile = "\u{1b}[1m a\u{7}\u{202e}\u{2066} b\u{200b} \u{e0041}\u{e0042}\u{e007f} \
                       x\u{e0100}\u{fe00}";
        let flags = flags(hostile.as_bytes());
        assert_eq!(
            flags.to_string(),
            "1 terminal escape, 1 control character, 2 bidirectional controls, \
             1 invisible character, 3 tag characters, 2 stray variation selectors"
        );
        assert_eq!(flags.count(CharClass::Tag), 3);
    }

    #[test]
    fn ordinary_content_has_no_flags() {
        let plain = "\u{feff}# Größe\r\n\tcode ⚠\u{fe0f}\n";
        assert!(flags(plain.as_bytes()).is_empty());
        assert!(flags(b"\xff\xfe caf\xe9").is_empty());
    }

    #[test]
    fn a_lone_carriage_return_and_a_later_byte_order_mark_are_flagged_hst_112() {
        assert_eq!(flags(b"safe\rhidden").count(CharClass::Control), 1);
        assert_eq!(flags("a\u{feff}".as_bytes()).count(CharClass::Invisible), 1);
    }

    #[test]
    fn selectors_hidden_behind_each_other_are_flagged_hst_112() {
        assert_eq!(
            flags("x\u{fe0f}\u{fe0f}\u{fe0f}".as_bytes()).count(CharClass::VariationSelector),
            2
        );
    }
}
