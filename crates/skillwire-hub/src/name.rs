//! Names of namespaces, skills, channels and callers.

use std::{fmt, str::FromStr};

use semver::Version;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use skillwire_core::SkillName;

use crate::version::parse_version;

/// The reason why a text is not a name of the hub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {kind}: it {reason}.", text.escape_debug())]
pub struct InvalidHubName {
    /// The refused text, cut to a bounded length.
    pub text: Box<str>,
    /// What it was read as, with its article.
    pub kind: &'static str,
    /// What is wrong with it, continuing "it".
    pub reason: &'static str,
}

impl InvalidHubName {
    fn new(text: &str, kind: &'static str, reason: &'static str) -> Self {
        Self { text: text.chars().take(80).collect::<String>().into(), kind, reason }
    }
}

/// Gives a name its text form, and reads it back through its one constructor.
macro_rules! text_form {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidHubName;

            fn from_str(text: &str) -> Result<Self, InvalidHubName> {
                Self::parse(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

/// A namespace: the first segment of a skill's URI in the hub.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceName(Box<str>);

impl NamespaceName {
    /// Parses a name: 2 to 39 of `a-z`, `0-9` and `-`, a letter first, no hyphen last or doubled.
    pub fn parse(text: &str) -> Result<Self, InvalidHubName> {
        let refuse = |reason| Err(InvalidHubName::new(text, "a namespace", reason));
        if text.len() < 2 || text.len() > 39 {
            return refuse("must have 2 to 39 characters");
        }
        if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return refuse("must begin with a letter a-z");
        }
        if SkillName::parse(text).is_err() {
            return refuse("may hold only a-z, 0-9 and single hyphens, and must not end with one");
        }
        Ok(Self(text.into()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_form!(NamespaceName);

/// A channel: a pointer to one version of a skill that publishers move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(Box<str>);

impl ChannelName {
    /// Parses a name: 1 to 32 of `a-z`, `0-9` and `-`, a letter first, no hyphen last or doubled.
    pub fn parse(text: &str) -> Result<Self, InvalidHubName> {
        let refuse = |reason| Err(InvalidHubName::new(text, "a channel", reason));
        if text.is_empty() || text.len() > 32 {
            return refuse("must have 1 to 32 characters");
        }
        // A letter first, so that no channel looks like a version.
        if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return refuse("must begin with a letter a-z");
        }
        if SkillName::parse(text).is_err() {
            return refuse("may hold only a-z, 0-9 and single hyphens, and must not end with one");
        }
        Ok(Self(text.into()))
    }

    /// Returns the channel that follows the highest approved version by itself.
    pub fn latest() -> Self {
        Self("latest".into())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_form!(ChannelName);

/// What the subject of a group begins with.
const GROUP: &str = "group:";

/// Who acts: a user, a token's owner or a workflow, as authentication named it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(Box<str>);

impl Subject {
    /// Parses a subject: 1 to 200 visible characters without white space.
    pub fn parse(text: &str) -> Result<Self, InvalidHubName> {
        let refuse = |reason| Err(InvalidHubName::new(text, "a subject", reason));
        if text.is_empty() || text.chars().count() > 200 {
            return refuse("must have 1 to 200 characters");
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return refuse("must not hold white space or control characters");
        }
        Ok(Self(text.into()))
    }

    /// Returns the subject that stands for every caller in a grant: `*`.
    pub fn everyone() -> Self {
        Self("*".into())
    }

    /// Returns the group with this name: `group:payments`.
    pub fn group(name: &str) -> Result<Self, InvalidHubName> {
        Self::parse(&format!("{GROUP}{name}"))
    }

    /// Whether this stands for the members of a group.
    pub fn is_group(&self) -> bool {
        self.0.starts_with(GROUP)
    }

    /// Returns the subject as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_form!(Subject);

/// A skill of the hub: `acme/refunds`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId {
    /// The namespace the skill belongs to.
    pub namespace: NamespaceName,
    /// The skill's own name.
    pub name: SkillName,
}

impl SkillId {
    /// Joins a namespace and a name.
    pub fn new(namespace: NamespaceName, name: SkillName) -> Self {
        Self { namespace, name }
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for SkillId {
    type Err = InvalidHubName;

    fn from_str(text: &str) -> Result<Self, InvalidHubName> {
        let refuse = |reason| InvalidHubName::new(text, "a skill of a hub", reason);
        let (namespace, name) =
            text.split_once('/').ok_or_else(|| refuse("must be `NAMESPACE/NAME`"))?;
        let name = SkillName::parse(name).map_err(|_| {
            refuse("must end with a name of 1 to 64 of a-z, 0-9 and single hyphens between them")
        })?;
        Ok(Self { namespace: NamespaceName::parse(namespace)?, name })
    }
}

impl Serialize for SkillId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SkillId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// One version of a skill: `acme/refunds@1.2.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionRef {
    /// The skill.
    pub skill: SkillId,
    /// The version.
    pub version: Version,
}

impl VersionRef {
    /// Joins a skill and a version.
    pub fn new(skill: SkillId, version: Version) -> Self {
        Self { skill, version }
    }
}

impl fmt::Display for VersionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.skill, self.version)
    }
}

impl FromStr for VersionRef {
    type Err = InvalidHubName;

    fn from_str(text: &str) -> Result<Self, InvalidHubName> {
        let refuse = |reason| InvalidHubName::new(text, "a version of a skill", reason);
        let (skill, version) =
            text.split_once('@').ok_or_else(|| refuse("must be `NAMESPACE/NAME@VERSION`"))?;
        let version = parse_version(version)
            .map_err(|_| refuse("must end with a version such as `1.2.0`"))?;
        Ok(Self { skill: skill.parse()?, version })
    }
}

impl Serialize for VersionRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VersionRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_other_letters_lengths_or_hyphens_are_refused() {
        for bad in ["", "a", "1a", "-ab", "ab-", "a--b", "Ab", "a_b", "_v", "é1", &"a".repeat(40)]
        {
            assert!(NamespaceName::parse(bad).is_err(), "{bad}");
        }
        assert!(NamespaceName::parse("acme-2").is_ok());
        for bad in ["", "1.2.0", "2", "Stable", "a b", &"a".repeat(33)] {
            assert!(ChannelName::parse(bad).is_err(), "{bad}");
        }
        for bad in ["", "a b", "a\n", "a\u{1b}", &"a".repeat(201)] {
            assert!(Subject::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_skill_and_a_version_are_read_back_from_their_text() {
        let version: VersionRef = "acme/refunds@1.2.0-rc.1".parse().unwrap();
        assert_eq!(version.to_string(), "acme/refunds@1.2.0-rc.1");
        assert_eq!(version.skill.to_string().parse(), Ok(version.skill.clone()));
        for bad in ["refunds", "acme/", "/refunds", "acme/a/b", "acme/refunds@", "acme/refunds"] {
            assert!(bad.parse::<VersionRef>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refused_name_is_shown_without_acting_on_a_terminal() {
        let error = NamespaceName::parse("a\u{1b}[2J").unwrap_err();
        let text = "`a\\u{1b}[2J` is not a namespace: it may hold only a-z, 0-9 and single hyphens, \
                    and must not end with one.";
        assert_eq!(error.to_string(), text);
    }
}
