//! Errors between a client and a server.

use std::time::Duration;

use skillwire_protocol::{ErrorCode, truncated};

/// Why a request has no result.
///
/// No variant repeats a header, an environment value or a configured URL. Text from a server is
/// shortened and its control characters are escaped.
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
    /// The server violated the protocol.
    #[error("The server broke the protocol: {0}.")]
    Protocol(String),
    /// The server answered with an error.
    #[error("The server answered with error {code}: {message}")]
    Rpc {
        /// The JSON-RPC error code.
        code: i64,
        /// The server's message.
        message: String,
    },
    /// The server asks for input before it answers, and this client never gives any.
    #[error("The server wants input before it answers.")]
    InputRequired,
    /// The server answered with an HTTP status instead of a message.
    #[error("The server answered with HTTP status {0}.")]
    HttpStatus(u16),
    /// The server requires a login, or no longer accepts the current one.
    #[error("The server wants a login: {0}.")]
    LoginRequired(String),
    /// The server redirects elsewhere, where the client must not send the configured headers.
    #[error("The server redirects to {0}; configure that address if you trust it.")]
    Redirected(String),
    /// The server did not declare what the method needs, so the client sent nothing.
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

    /// Returns the code of the server's error, if this client knows its meaning.
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

    /// Tells whether the server reported that it has no skill or file of that name, in the dialects
    /// that address skills by name.
    pub fn is_missing_name(&self) -> bool {
        self.is_not_found() || self.code() == Some(ErrorCode::LegacyReferenceNotFound)
    }

    /// Tells whether the server reported that something does not exist, in either era's error
    /// codes.
    pub fn is_not_found(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::InvalidParams | ErrorCode::LegacyResourceNotFound))
    }
}
