//! What the bytes of a skill's files are compared with.

use skillwire_dialects::Dialect;

/// What the bytes of a skill's files are compared with before a model sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Integrity {
    /// The skill's manifest lists a digest for every file.
    Manifest,
    /// The server lists no digest for some file: the file is held to the bytes that were read first.
    FirstSeen,
    /// The server lists no digests at all, so nothing can be compared.
    Dynamic,
}

impl Integrity {
    /// Tells whether files are held to the bytes that were read first.
    pub fn is_first_seen(self) -> bool {
        self == Self::FirstSeen
    }

    /// Tells whether nothing can be compared.
    pub fn is_dynamic(self) -> bool {
        self == Self::Dynamic
    }
}

/// What an approval is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalBinding {
    /// The whole manifest: a skill with any other file is another skill.
    Manifest,
    /// The files that were read so far from a server of this dialect; more may be added as they are
    /// read for the first time.
    FirstSeen(Dialect),
}

impl ApprovalBinding {
    /// The dialect whose files are held to the bytes that were read first.
    pub fn first_seen_in(self) -> Option<Dialect> {
        match self {
            Self::Manifest => None,
            Self::FirstSeen(dialect) => Some(dialect),
        }
    }
}
