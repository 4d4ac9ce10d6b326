//! The bytes that may be shown as a skill's content.

use skillwire_core::{Digest, ResourceUri};
use skillwire_trust::{SkillId, VerifiedFile};

use crate::window::FileContent;

/// Seals [`SkillContent`], so that no other crate can pass unverified bytes off as skill content.
pub(crate) mod sealed {
    /// Only this crate can implement it.
    pub trait Sealed {}
}

/// Bytes of a skill's file that this crate has obtained and answers for.
pub trait SkillContent: sealed::Sealed {
    /// Returns the skill that the file belongs to.
    fn skill(&self) -> &SkillId;

    /// Returns the URI of the file.
    fn uri(&self) -> &ResourceUri;

    /// Returns the bytes.
    fn bytes(&self) -> &[u8];

    /// Returns how the bytes were verified.
    fn assurance(&self) -> Assurance;
}

/// How bytes were verified; no variant means that they can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assurance {
    /// They have the listed size and this listed digest.
    MatchesListing(Digest),
    /// They have this digest, the same as when the host first read them.
    FirstSeen(Digest),
    /// The server gives no digests, so they could differ on each read.
    NoDigests,
}

impl sealed::Sealed for VerifiedFile {}

impl SkillContent for VerifiedFile {
    fn skill(&self) -> &SkillId {
        VerifiedFile::skill(self)
    }

    fn uri(&self) -> &ResourceUri {
        VerifiedFile::uri(self)
    }

    fn bytes(&self) -> &[u8] {
        VerifiedFile::bytes(self)
    }

    fn assurance(&self) -> Assurance {
        Assurance::MatchesListing(self.listed().digest)
    }
}

impl sealed::Sealed for FileContent {}

impl SkillContent for FileContent {
    fn skill(&self) -> &SkillId {
        FileContent::skill(self)
    }

    fn uri(&self) -> &ResourceUri {
        FileContent::uri(self)
    }

    fn bytes(&self) -> &[u8] {
        FileContent::bytes(self)
    }

    fn assurance(&self) -> Assurance {
        match self {
            Self::Verified(file) => file.assurance(),
            Self::FirstSeen(seen) => Assurance::FirstSeen(seen.file().listed().digest),
            Self::Dynamic(_) => Assurance::NoDigests,
        }
    }
}
