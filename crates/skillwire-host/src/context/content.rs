//! Which bytes may be shown as a skill's content.

use skillwire_core::{Digest, ResourceUri};
use skillwire_trust::{SkillId, VerifiedFile};

use crate::window::FileContent;

/// Closes [`SkillContent`] to other crates, so that no other crate can pass unchecked bytes off as it.
pub(crate) mod sealed {
    /// Only this crate can implement it.
    pub trait Sealed {}
}

/// Bytes of a skill's file that this crate answers for.
pub trait SkillContent: sealed::Sealed {
    /// The skill the file belongs to.
    fn skill(&self) -> &SkillId;

    /// Where the file is.
    fn uri(&self) -> &ResourceUri;

    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// What is known about the bytes.
    fn assurance(&self) -> Assurance;
}

/// What is known about bytes; neither says that they can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assurance {
    /// They have the size and this digest, as listed.
    MatchesListing(Digest),
    /// They have this digest, as they had when they were first seen.
    FirstSeen(Digest),
    /// The server gives no digests, so they could be different each time.
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
