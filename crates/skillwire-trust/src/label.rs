//! The label that the user gave to a server. The host identifies a server by nothing else.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest label, in characters.
const MAX_LABEL_CHARS: usize = 64;

/// Labels of the skill folders on this machine, which a server can never have.
const RESERVED: [&str; 2] = ["local", "project"];

/// A label that the user assigned; the name that a server claims never becomes one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerLabel(Arc<str>);

impl ServerLabel {
    /// Parses a label: 1 to 64 of `a-z`, `0-9`, `-`, `_` and `.`, a letter or digit first and last.
    pub fn parse(text: &str) -> Result<Self, InvalidLabel> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if text.is_empty() {
            return Err(InvalidLabel("is empty"));
        }
        if text.chars().count() > MAX_LABEL_CHARS {
            return Err(InvalidLabel("has more than 64 characters"));
        }
        if !text.chars().all(|c| plain(c) || matches!(c, '-' | '_' | '.')) {
            return Err(InvalidLabel("may hold only a-z, 0-9, `-`, `_` and `.`"));
        }
        if !text.starts_with(plain) || !text.ends_with(plain) {
            return Err(InvalidLabel("must begin and end with a letter or a digit"));
        }
        if RESERVED.contains(&text) {
            return Err(InvalidLabel("is reserved for skill folders of this machine"));
        }
        Ok(Self(text.into()))
    }

    /// Returns the label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ServerLabel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ServerLabel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| serde::de::Error::custom(format!("the label {error}")))
    }
}

/// Why a text is not a label, as a clause that follows "the label".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLabel(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_plain_and_never_pose_as_this_machine_hst_14() {
        for good in ["acme", "a", "acme.eu-1_b", "0"] {
            assert_eq!(ServerLabel::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "local", "project", "A", "a b", "a:b", "a/b", "..", "-a", "a.", "é", "a\n"]
        {
            assert!(ServerLabel::parse(bad).is_err(), "{bad:?}");
        }
        assert!(ServerLabel::parse(&"a".repeat(65)).is_err());
    }
}
