//! Errors between a client and a server.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use skillwire_protocol::{ErrorCode, truncated};

use crate::masking::SecretMask;

/// Why a request has no result.
///
/// No variant repeats a header, an environment value or a configured URL. What a server wrote is
/// shortened, its control characters are escaped, and configured secrets in it are masked. The
/// message of an error holds our own words; [`ClientError::server_text`] has the server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server cannot be reached.
    #[error("The server cannot be reached: {problem}.")]
    Unreachable {
        /// What failed, as a clause.
        problem: String,
        /// The error of the system or of the HTTP stack.
        source: Option<Cause>,
    },
    /// The server's certificate is not trusted.
    #[error("The server's certificate is not trusted: {problem}.")]
    Certificate {
        /// What is wrong with the certificate, as a clause.
        problem: String,
        /// The error of the TLS stack.
        source: Option<Cause>,
    },
    /// The address is not one that the client may send this request to.
    #[error("The address is not one that may be asked: {0}.")]
    Forbidden(&'static str),
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
    #[error("The server answered with error {code}.")]
    Rpc {
        /// The JSON-RPC error code.
        code: i64,
        /// The server's message, which is as untrusted as anything it sends.
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
    /// The server refuses the token that the user configured.
    #[error("The server refuses the configured token.")]
    TokenRefused,
    /// The server redirects elsewhere, where the client must not send the configured headers.
    #[error("The server redirects to {0}; configure that address if you trust it.")]
    Redirected(String),
    /// The server did not declare what the method needs, so the client sent nothing.
    #[error("The server does not offer `{0}`.")]
    NotOffered(String),
    /// The connection has ended.
    #[error("The connection has ended: {problem}.")]
    Closed {
        /// Why it ended, as a clause.
        problem: String,
        /// The last lines that a server process wrote to its standard error.
        stderr: Option<String>,
        /// The error of the HTTP stack.
        source: Option<Cause>,
    },
}

impl ClientError {
    pub(crate) fn unreachable(problem: impl Into<String>) -> Self {
        Self::Unreachable { problem: problem.into(), source: None }
    }

    pub(crate) fn closed(problem: impl Into<String>) -> Self {
        Self::Closed { problem: problem.into(), stderr: None, source: None }
    }

    pub(crate) fn protocol(problem: impl Into<String>) -> Self {
        Self::Protocol(problem.into())
    }

    pub(crate) fn rpc(code: i64, message: &str) -> Self {
        Self::Rpc { code, message: truncated(message) }
    }

    /// Keeps the error that caused this one, if this kind of error has causes.
    pub(crate) fn caused_by(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        if let Self::Unreachable { source, .. }
        | Self::Certificate { source, .. }
        | Self::Closed { source, .. } = &mut self
        {
            *source = Some(Cause(Arc::new(cause)));
        }
        self
    }

    /// Masks configured secrets wherever the server's words may repeat them.
    pub(crate) fn masked(mut self, secrets: &SecretMask) -> Self {
        match &mut self {
            Self::Unreachable { problem: text, .. }
            | Self::Certificate { problem: text, .. }
            | Self::Protocol(text)
            | Self::Rpc { message: text, .. }
            | Self::LoginRequired(text)
            | Self::Redirected(text) => *text = secrets.mask(text),
            Self::Closed { problem, stderr, .. } => {
                *problem = secrets.mask(problem);
                *stderr = stderr.as_deref().map(|text| secrets.mask(text));
            }
            Self::Forbidden(_)
            | Self::Timeout(_)
            | Self::TooLarge(_)
            | Self::InputRequired
            | Self::HttpStatus(_)
            | Self::TokenRefused
            | Self::NotOffered(_) => {}
        }
        self
    }

    /// Returns what the server itself wrote about the failure: the message of its error, or its
    /// last lines on standard error. This is for people who look for the cause, never for models.
    pub fn server_text(&self) -> Option<&str> {
        match self {
            Self::Rpc { message, .. } if !message.is_empty() => Some(message),
            Self::Closed { stderr, .. } => stderr.as_deref(),
            _ => None,
        }
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

/// The error that caused a [`ClientError`]. Every request that fails with one connection gets a
/// clone, so the cause is shared.
#[derive(Debug, Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Two causes are equal if they say the same.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Cause {}

/// Returns the messages of an error and of its causes in one clause.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
