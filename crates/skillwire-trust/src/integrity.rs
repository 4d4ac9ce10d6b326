//! How the bytes of a skill's files are verified.

use skillwire_dialects::Dialect;

/// What the host compares the bytes of a skill's files with before a model sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Integrity {
    /// The skill's manifest lists a digest for every file.
    Manifest,
    /// The server lists no digest for some file; the host holds the file to the bytes it read
    /// first.
    FirstSeen,
    /// The server lists no digests at all, so the host cannot compare anything.
    Dynamic,
}

impl Integrity {
    /// Returns the code under which it is written where it must stay the same.
    pub fn code(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::FirstSeen => "first-seen",
            Self::Dynamic => "dynamic",
        }
    }

    /// Tells whether the host holds files to the bytes it read first.
    pub fn is_first_seen(self) -> bool {
        self == Self::FirstSeen
    }

    /// Tells whether the host cannot compare anything.
    pub fn is_dynamic(self) -> bool {
        self == Self::Dynamic
    }
}

/// What an approval is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalBinding {
    /// The whole manifest: a skill with any other file is another skill.
    Manifest,
    /// The files that the host has read so far from a server of this dialect; it adds others when
    /// it first reads them.
    FirstSeen(Dialect),
}

impl ApprovalBinding {
    /// Returns the dialect, if the approval is bound to the bytes that the host read first.
    pub fn first_seen_in(self) -> Option<Dialect> {
        match self {
            Self::Manifest => None,
            Self::FirstSeen(dialect) => Some(dialect),
        }
    }
}
