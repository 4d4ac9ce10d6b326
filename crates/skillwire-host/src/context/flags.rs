//! Characters in content that a reader cannot see, or that change what a reader sees.

use std::{collections::BTreeMap, fmt};

/// What is noteworthy about a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It begins a sequence that a terminal obeys.
    Escape,
    /// Another control character.
    Control,
    /// It changes the direction of the text around it.
    Bidi,
    /// It has no width or no shape of its own.
    Invisible,
    /// A tag character: invisible copies of ASCII, which models can read.
    Tag,
    /// A variation selector where none belongs; sequences of them can carry hidden text.
    Selector,
}

impl Kind {
    /// Classifies a character by itself and the one before it; ordinary ones are of no kind.
    pub(super) fn of(c: char, before: Option<char>) -> Option<Self> {
        match c {
            '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => Some(Self::Escape),
            c if c.is_control() => Some(Self::Control),
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => Some(Self::Bidi),
            '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' => Some(Self::Invisible),
            '\u{e0000}'..='\u{e007f}' => Some(Self::Tag),
            // These two choose between the two looks of the sign before them.
            '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(can_be_dressed) => None,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0080}'..='\u{e0fff}' => Some(Self::Selector),
            _ => None,
        }
    }

    fn named(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Escape, 1) => "terminal escape",
            (Self::Escape, _) => "terminal escapes",
            (Self::Control, 1) => "control character",
            (Self::Control, _) => "control characters",
            (Self::Bidi, 1) => "bidirectional control",
            (Self::Bidi, _) => "bidirectional controls",
            (Self::Invisible, 1) => "invisible character",
            (Self::Invisible, _) => "invisible characters",
            (Self::Tag, 1) => "tag character",
            (Self::Tag, _) => "tag characters",
            (Self::Selector, 1) => "stray variation selector",
            (Self::Selector, _) => "stray variation selectors",
        }
    }
}

fn can_be_dressed(c: char) -> bool {
    !c.is_whitespace() && Kind::of(c, None).is_none()
}

/// How many noteworthy characters of each kind some content has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags(BTreeMap<Kind, usize>);

/// Counts noteworthy characters of content and leaves the content alone.
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
            // Nearly every character is one of these, and none of them is of any kind.
            let ordinary = matches!(c, '\n' | '\t' | ' '..='~')
                || (c == '\r' && rest.peek().is_some_and(|c| *c == '\n'));
            if !ordinary && let Some(kind) = Kind::of(c, before) {
                *counts.entry(kind).or_insert(0) += 1;
            }
            before = Some(c);
        }
    }
    Flags(counts)
}

impl Flags {
    /// Tells whether there is nothing noteworthy.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many characters of one kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.0.get(&kind).copied().unwrap_or(0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, &count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {}", kind.named(count))?;
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
        assert_eq!(flags.count(Kind::Tag), 3);
    }

    #[test]
    fn ordinary_content_has_no_flags() {
        let plain = "\u{feff}# Größe\r\n\tcode ⚠\u{fe0f}\n";
        assert!(flags(plain.as_bytes()).is_empty());
        assert!(flags(b"\xff\xfe caf\xe9").is_empty());
    }

    #[test]
    fn a_lone_carriage_return_and_a_later_byte_order_mark_are_flagged_hst_112() {
        assert_eq!(flags(b"safe\rhidden").count(Kind::Control), 1);
        assert_eq!(flags("a\u{feff}".as_bytes()).count(Kind::Invisible), 1);
    }

    #[test]
    fn selectors_hidden_behind_each_other_are_flagged_hst_112() {
        assert_eq!(flags("x\u{fe0f}\u{fe0f}\u{fe0f}".as_bytes()).count(Kind::Selector), 2);
    }
}
