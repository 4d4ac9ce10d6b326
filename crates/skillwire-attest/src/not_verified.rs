//! Why a signature does not vouch for a skill.

use crate::files::ContentDifference;

/// Why a signature does not vouch for a skill; the text continues "the signature".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotVerified {
    /// There is more to read than a signature of a skill needs.
    #[error("has {actual} {what}, more than {most}")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// The most that is read.
        most: usize,
        /// How many there are.
        actual: usize,
    },
    /// The bytes are not of a known format.
    #[error("cannot be read: {what} {problem}")]
    Malformed {
        /// The part that cannot be read.
        what: Box<str>,
        /// What is wrong, as a clause that follows the part.
        problem: Box<str>,
        /// The error of the parser.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The format is known, but something in it cannot be checked here.
    #[error("cannot be checked: {0} is not supported")]
    Unsupported(Box<str>),
    /// The statement is about something else than the files of a skill.
    #[error("is not over the files of a skill: its predicate type is `{}`", .0.escape_debug())]
    WrongPredicate(Box<str>),
    /// No signature in the envelope was made with a key that is trusted.
    #[error("was not made with {0}")]
    WrongKey(Box<str>),
    /// The signature was made with another key than its certificate has, or over other bytes.
    #[error("does not fit its certificate: the statement was changed, or another key signed it")]
    BadSignature,
    /// A trusted signer of this kind needs a certificate, and the signature has none.
    #[error("has no certificate")]
    NoCertificate,
    /// A certificate is not valid any more.
    #[error("has a certificate that expired, and nothing proves that it was made before")]
    CertificateExpired,
    /// A certificate is not valid yet.
    #[error("has a certificate that is not valid yet")]
    CertificateNotYetValid,
    /// The certificates do not lead to a trusted root.
    #[error("has a certificate that no trusted root issued")]
    UntrustedRoot,
    /// The certificate breaks another rule.
    #[error("has a certificate that cannot be used: {problem}")]
    CertificateUnusable {
        /// What is wrong.
        problem: Box<str>,
        /// The error of the certificate library.
        #[source]
        source: Option<webpki::Error>,
    },
    /// The certificate names another signer than the trusted one.
    #[error("is by `{}` and not by `{}`", .actual.escape_debug(), .expected.escape_debug())]
    WrongIdentity {
        /// The trusted identity or issuer.
        expected: Box<str>,
        /// The one in the certificate.
        actual: Box<str>,
    },
    /// The entry of the transparency log is missing or does not prove anything.
    #[error("has no valid entry of a transparency log: {0}")]
    LogEntry(Box<str>),
    /// A timestamp does not prove when the signature was made.
    #[error("has no valid timestamp: {0}")]
    Timestamp(Box<str>),
    /// The statement lists other files than the skill has.
    #[error("is for other content: {0}")]
    Content(ContentDifference),
    /// No signer is trusted, so no signature can be verified.
    #[error("cannot be checked: no signer is trusted")]
    NoTrustedSigner,
}

impl NotVerified {
    /// Returns the stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "signature_too_large",
            Self::Malformed { .. } => "signature_malformed",
            Self::Unsupported(_) => "signature_unsupported",
            Self::WrongPredicate(_) => "wrong_predicate",
            Self::WrongKey(_) => "wrong_key",
            Self::BadSignature => "bad_signature",
            Self::NoCertificate => "no_certificate",
            Self::CertificateExpired => "certificate_expired",
            Self::CertificateNotYetValid => "certificate_not_yet_valid",
            Self::UntrustedRoot => "untrusted_root",
            Self::CertificateUnusable { .. } => "certificate_unusable",
            Self::WrongIdentity { .. } => "wrong_identity",
            Self::LogEntry(_) => "log_entry_invalid",
            Self::Timestamp(_) => "timestamp_invalid",
            Self::Content(_) => "content_differs",
            Self::NoTrustedSigner => "no_trusted_signer",
        }
    }

    pub(crate) fn malformed(what: impl Into<Box<str>>, problem: impl Into<Box<str>>) -> Self {
        Self::Malformed { what: what.into(), problem: problem.into(), source: None }
    }

    pub(crate) fn unsupported(what: impl Into<Box<str>>) -> Self {
        Self::Unsupported(what.into())
    }

    /// Orders errors by how far the check came, so that of several trusted signers the one that
    /// nearly fits is reported.
    pub(crate) fn progress(&self) -> u8 {
        match self {
            Self::NoTrustedSigner => 0,
            Self::NoCertificate | Self::WrongKey(_) => 1,
            Self::UntrustedRoot | Self::Unsupported(_) => 2,
            Self::LogEntry(_) | Self::Timestamp(_) => 3,
            Self::CertificateUnusable { .. } => 4,
            Self::CertificateExpired | Self::CertificateNotYetValid => 5,
            Self::WrongIdentity { .. } => 6,
            Self::BadSignature => 7,
            Self::TooLarge { .. } | Self::Malformed { .. } => 8,
            Self::WrongPredicate(_) | Self::Content(_) => 9,
        }
    }
}

/// Refuses more than `most` of something.
pub(crate) fn at_most(what: &'static str, actual: usize, most: usize) -> Result<(), NotVerified> {
    if actual > most { Err(NotVerified::TooLarge { what, most, actual }) } else { Ok(()) }
}
