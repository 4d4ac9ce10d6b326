//! The one identity of a skill's content.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

use crate::{
    digest::{Digest, InvalidDigest},
    path::RelPath,
};

/// Identifies the files of a skill by their bytes and their paths, wherever they are.
///
/// It is the SHA-256 digest over one line for each file, `<hex sha-256> <size> <path>` and a line
/// feed, sorted bytewise by path. Paths are relative to the skill's root, so the identity survives
/// a change of URIs, an archive, git, and a copy in a client's folder. Approvals stay keyed by the
/// server's label and the URI as well: equal content at another place is not approved by that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(Digest);

/// The reason why files have no identity; the text continues "the content".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoContentId {
    /// A control character could split a path into several lines, or act on a terminal.
    #[error("has a path with a control character: `{}`", .0.escape_debug())]
    ControlCharacter(Box<str>),
    /// One path has two contents.
    #[error("has the path `{}` twice", .0.escape_debug())]
    RepeatedPath(Box<str>),
    /// A URI that is not below the skill's root has no relative path.
    #[error("has a file outside the skill: `{}`", .0.escape_debug())]
    OutsideSkill(Box<str>),
}

impl ContentId {
    /// Identifies files, given in any order with their digest and size.
    pub fn of(
        files: impl IntoIterator<Item = (RelPath, Digest, u64)>,
    ) -> Result<Self, NoContentId> {
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
        if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(NoContentId::RepeatedPath(pair[0].0.as_str().into()));
        }
        let mut hasher = Sha256::new();
        for (path, digest, size) in &files {
            if path.as_str().contains(char::is_control) {
                return Err(NoContentId::ControlCharacter(path.as_str().into()));
            }
            hasher.update(digest.hex().as_bytes());
            hasher.update(format!(" {size} {path}\n"));
        }
        Ok(Self(Digest::from_bytes(hasher.finalize().into())))
    }

    /// Returns the digest that makes up the identity.
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ContentId {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        text.parse().map(Self)
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> (RelPath, Digest, u64) {
        (RelPath::parse(path).unwrap(), Digest::of(content.as_bytes()), content.len() as u64)
    }

    #[test]
    fn the_order_in_which_files_come_does_not_count() {
        let one = ContentId::of([file("SKILL.md", "s"), file("a/b", "1"), file("a-b", "2")]);
        let two = ContentId::of([file("a-b", "2"), file("a/b", "1"), file("SKILL.md", "s")]);
        assert_eq!(one, two);
        assert!(one.is_ok());
    }

    #[test]
    fn bytes_size_and_path_each_count() {
        let id = |path, digest: &str, size| {
            let path = RelPath::parse(path).unwrap();
            ContentId::of([(path, Digest::of(digest.as_bytes()), size)]).unwrap()
        };
        let one = id("a", "x", 1);
        for other in [id("b", "x", 1), id("a", "y", 1), id("a", "x", 2)] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn the_text_form_is_read_back() {
        let id = ContentId::of([file("SKILL.md", "s")]).unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<ContentId>(&json).unwrap(), id);
        assert!("sha256:00".parse::<ContentId>().is_err());
        assert!(serde_json::from_str::<ContentId>("\"md5:0\"").is_err());
    }

    #[test]
    fn a_refused_path_is_named_without_acting() {
        let error = ContentId::of([file("a\u{1b}[2J", "x")]).unwrap_err();
        assert_eq!(error.to_string(), "has a path with a control character: `a\\u{1b}[2J`");
    }
}
