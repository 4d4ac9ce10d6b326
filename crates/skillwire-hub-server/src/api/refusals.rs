//! Refusals of the rules and failures of the store, as problem documents.

use skillwire_hub::Refusal;
use skillwire_hub_store::StoreError;

use super::{Problem, ProblemKind};

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = match &refusal {
            refusal if refusal.is_unknown() => ProblemKind::NotFound,
            refusal if refusal.is_forbidden() => ProblemKind::Forbidden,
            Refusal::ContentDiffers { .. } | Refusal::DigestDiffers { .. } => {
                ProblemKind::DigestMismatch
            }
            Refusal::OverQuota { .. } => ProblemKind::QuotaExceeded,
            Refusal::VersionsDiffer { .. }
            | Refusal::DeclaredVersion(_)
            | Refusal::NoNextVersion(_)
            | Refusal::NoIdentity(_)
            | Refusal::NoSkillFile => ProblemKind::InvalidSkill,
            Refusal::BadText { .. }
            | Refusal::NoReason
            | Refusal::InThePast { .. }
            | Refusal::BadUpstream(_)
            | Refusal::NotAPerson(_) => ProblemKind::Malformed,
            _ => ProblemKind::Conflict,
        };
        let problem = kind.because(refusal.to_string()).coded(refusal.code());
        match &refusal {
            Refusal::ContentDiffers { claimed, actual } => {
                problem.compared(claimed.to_string(), actual.to_string())
            }
            Refusal::DigestDiffers { claimed, actual, .. } => {
                problem.compared(claimed.to_string(), actual.to_string())
            }
            Refusal::ContentMoved { decided, actual } => {
                problem.compared(decided.to_string(), actual.to_string())
            }
            _ => problem,
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(refusal) => refusal.into(),
            StoreError::Cursor(error) => ProblemKind::Malformed.because(error.to_string()),
            error if error.is_unavailable() => {
                tracing::warn!(error = source_text(&error), "the store is away");
                ProblemKind::Unavailable.because(error.to_string())
            }
            error if error.is_full() => {
                tracing::error!(error = source_text(&error), "the store is full");
                ProblemKind::QuotaExceeded.because(error.to_string()).coded("full")
            }
            error @ (StoreError::BlobDamaged { .. } | StoreError::BlobMissing { .. }) => {
                tracing::error!(%error, "a stored file cannot be used");
                ProblemKind::Internal.because(error.to_string()).coded("blob")
            }
            error => {
                tracing::error!(error = source_text(&error), "a request failed");
                ProblemKind::Internal.because("The hub failed; its log says why.")
            }
        }
    }
}

/// An error with its causes, for the log.
fn source_text(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
