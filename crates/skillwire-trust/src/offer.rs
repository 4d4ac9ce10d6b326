//! Refusals for promises of an older dialect that a server breaks.

use skillwire_core::{ResourceUri, received::EntryProblem};
use skillwire_dialects::{BrokenPromise, RefusedBecause, RefusedEntry, SkillOffer};

use crate::{
    origin::{Origin, SkillId},
    refusal::{Reason, Refusal},
};

/// Compares the bytes of a file with what the server promised about it.
pub fn check_promise(
    skill: &SkillId,
    offer: &SkillOffer,
    file: &ResourceUri,
    bytes: &[u8],
) -> Result<(), Refusal> {
    let refuse = |reason| Refusal::new(reason).about(skill).file(file);
    offer.check(file, bytes).map_err(|broken| match broken {
        BrokenPromise::Size { promised, actual } => refuse(Reason::SizeMismatch)
            .expected(format!("{promised} bytes"))
            .actual(format!("{actual} bytes")),
        BrokenPromise::Digest { promised, actual } => {
            refuse(Reason::DigestMismatch).expected(promised).actual(actual)
        }
    })
}

impl From<EntryProblem> for Reason {
    fn from(problem: EntryProblem) -> Self {
        match problem {
            EntryProblem::Malformed => Self::EntryMalformed,
            EntryProblem::Uri => Self::UriInvalid,
            EntryProblem::Frontmatter => Self::FrontmatterInvalid,
            EntryProblem::Name => Self::NameInvalid,
            EntryProblem::NameMismatch => Self::NameMismatch,
            EntryProblem::Resources => Self::ResourcesInvalid,
            EntryProblem::SkillFileNotListed => Self::SkillFileNotListed,
            EntryProblem::Duplicate => Self::ResourceDuplicate,
            EntryProblem::Outside => Self::ResourceOutside,
            EntryProblem::Digest => Self::DigestInvalid,
            EntryProblem::Size => Self::SizeInvalid,
            EntryProblem::TooManyFiles => Self::TooManyFiles,
            EntryProblem::TooLarge => Self::SkillTooLarge,
        }
    }
}

impl Refusal {
    /// Refuses an entry of a listing. The refusal names the skill if the entry says which one it
    /// is, and otherwise the origin.
    pub fn of_entry(origin: &Origin, refused: RefusedEntry) -> Self {
        let reason = match refused.because {
            RefusedBecause::Entry(problem) => problem.into(),
            RefusedBecause::AddressForbidden => Reason::AddressForbidden,
            RefusedBecause::DigestMismatch => Reason::DigestMismatch,
        };
        let RefusedEntry { skill, file, expected, actual, .. } = refused;
        let refusal = Self { file, expected, actual, ..Self::new(reason) };
        match skill {
            Some(uri) => refusal.about(SkillId { origin: origin.clone(), uri }),
            None => refusal.about(origin),
        }
    }
}
