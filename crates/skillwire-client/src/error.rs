//! What can go wrong between a client and a server.

use std::time::Duration;

use skillwire_protocol::{ErrorCode, truncated};

/// Why a request has no result.
///
/// Nothing here repeats a header, an environment value or a URL; what a server said is shortened and
/// its control characters are escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server cannot be reached.
    #[error("The server cannot be reached: {0}.")]
    Unreachable(String),
    /// The server did not answer in time.
    #[error("The server did not answer within {0:?}.")]
    Timeout(Duration),
    /// The server sent more than was allowed.
    #[error("The server sent more than {0} bytes.")]
    TooLarge(usize),
    /// The server broke the protocol.
    #[error("The server broke the protocol: {0}.")]
    Protocol(String),
    /// The server answered with an error.
    #[error("The server answered with error {code}: {message}")]
    Rpc {
        /// The code.
        code: i64,
        /// What the server says about it.
        message: String,
    },
    /// The server wants input before it answers, which this client never gives.
    #[error("The server wants input before it answers.")]
    InputRequired,
    /// The server answered with an HTTP status instead of a message.
    #[error("The server answered with HTTP status {0}.")]
    HttpStatus(u16),
    /// The server wants a login, or no longer takes the one there is.
    #[error("The server wants a login: {0}.")]
    LoginRequired(String),
    /// The server points elsewhere, where the configured headers must not be sent.
    #[error("The server redirects to {0}; configure that address if you trust it.")]
    Redirected(String),
    /// The server did not declare what the method needs, so nothing was sent.
    #[error("The server does not offer `{0}`.")]
    NotOffered(String),
    /// The connection has ended.
    #[error("The connection has ended: {0}.")]
    Closed(String),
}

impl ClientError {
    pub(super) fn protocol(problem: impl Into<String>) -> Self {
        Self::Protocol(problem.into())
    }

    pub(super) fn rpc(code: i64, message: &str) -> Self {
        Self::Rpc { code, message: truncated(message) }
    }

    /// The code of the server's error, if it is one that has a meaning here.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Rpc { code, .. } => ErrorCode::from_number(*code),
            _ => None,
        }
    }

    /// Tells whether the server does not know the method.
    pub fn is_unknown_method(&self) -> bool {
        self.code() == Some(ErrorCode::MethodNotFound)
    }

    /// Tells whether the server has no skill or file of a name, in the words of the dialects that
    /// address by name.
    pub fn is_missing_name(&self) -> bool {
        self.is_not_found() || self.code() == Some(ErrorCode::LegacyReferenceNotFound)
    }

    /// Tells whether the server said that there is no such thing, in the words of either era.
    pub fn is_not_found(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::InvalidParams | ErrorCode::LegacyResourceNotFound))
    }
}
