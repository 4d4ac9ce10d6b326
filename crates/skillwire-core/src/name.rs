//! The name of a skill.

use std::fmt;

use serde::{Serialize, Serializer};

/// The longest name, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// A name that obeys the Agent Skills naming rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(Box<str>);

impl SkillName {
    /// Parses a name: 1 to 64 of `a-z`, `0-9` and `-`, with no hyphen first, last or doubled.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let length = text.chars().count();
        if length == 0 {
            return Err(InvalidName("is empty"));
        }
        if length > MAX_NAME_CHARS {
            return Err(InvalidName("has more than 64 characters"));
        }
        if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return Err(InvalidName("may hold only the characters a-z, 0-9 and -"));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err(InvalidName("begins or ends with a hyphen"));
        }
        if text.contains("--") {
            return Err(InvalidName("holds two hyphens in a row"));
        }
        Ok(Self(text.into()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Turns any text into the nearest valid name, for suggestions.
    pub fn suggest(text: &str) -> Option<Self> {
        let words: Vec<String> = text
            .to_lowercase()
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let mut joined = words.join("-");
        joined.truncate(MAX_NAME_CHARS);
        Self::parse(joined.trim_end_matches('-')).ok()
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SkillName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The reason why a text is not a skill name; the text continues "the name".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidName(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_has_1_to_64_characters_fmt_03() {
        assert!(SkillName::parse("").is_err());
        assert!(SkillName::parse("a").is_ok());
        assert!(SkillName::parse(&"a".repeat(64)).is_ok());
        assert!(SkillName::parse(&"a".repeat(65)).is_err());
    }

    #[test]
    fn name_uses_lowercase_ascii_digits_and_hyphens_fmt_04() {
        for bad in ["PDF", "a_b", "é", "a b", "a.b", "a/b", "a\0", "\u{ff41}", "a\n"] {
            assert!(SkillName::parse(bad).is_err(), "{bad:?}");
        }
        assert!(SkillName::parse("pdf-2-text").is_ok());
    }

    #[test]
    fn name_has_no_outer_hyphen_fmt_05() {
        assert!(SkillName::parse("-a").is_err());
        assert!(SkillName::parse("a-").is_err());
        assert!(SkillName::parse("-").is_err());
    }

    #[test]
    fn name_has_no_double_hyphen_fmt_06() {
        assert!(SkillName::parse("a--b").is_err());
    }

    #[test]
    fn suggestions_are_valid_names() {
        assert_eq!(SkillName::suggest("My Great_Skill!").unwrap().as_str(), "my-great-skill");
        assert_eq!(SkillName::suggest(&"a-".repeat(80)).unwrap().as_str().len(), 63);
        assert_eq!(SkillName::suggest("é"), None);
    }
}
