//! JSON-RPC errors.

use serde::Serialize;
use serde_json::{Value, json};
use skillwire_core::visible::truncated;

use crate::version;

/// The error codes that servers send and clients tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorCode {
    /// The body is not JSON.
    Parse = -32700,
    /// The JSON is not one JSON-RPC message.
    InvalidRequest = -32600,
    /// There is no such method.
    MethodNotFound = -32601,
    /// The parameters name nothing that is served, or are malformed.
    InvalidParams = -32602,
    /// The server failed.
    Internal = -32603,
    /// The legacy code for a resource that is not served.
    LegacyResourceNotFound = -32002,
    /// The legacy code for a script that could not be run.
    LegacyScriptFailed = -32003,
    /// The legacy code for a file that a skill does not have.
    LegacyReferenceNotFound = -32004,
    /// HTTP headers and body disagree.
    HeaderMismatch = -32020,
    /// The client did not declare a capability that the request needs.
    MissingCapability = -32021,
    /// The revision is not served.
    UnsupportedVersion = -32022,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 11] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::LegacyResourceNotFound,
        Self::LegacyScriptFailed,
        Self::LegacyReferenceNotFound,
        Self::HeaderMismatch,
        Self::MissingCapability,
        Self::UnsupportedVersion,
    ];

    /// Returns the number on the wire.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Returns the code of a number that a peer sent, if it is one of these.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|code| i64::from(code.number()) == number)
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.number())
    }
}

/// An error as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The kind of the error.
    pub code: ErrorCode,
    /// A sentence for people. The peer sees it, so it never holds local paths.
    pub message: String,
    /// Details for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Makes an error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Makes an invalid-parameters error.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// Makes a method-not-found error.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(ErrorCode::MethodNotFound, format!("There is no method `{}`.", truncated(method)))
    }

    /// Makes the error for an internal failure. It does not name the cause, which belongs in the
    /// log.
    pub fn internal() -> Self {
        Self::new(ErrorCode::Internal, "The server could not answer; its log says why.")
    }

    /// Makes the error for a revision that is not served.
    pub fn unsupported_version(requested: &str) -> Self {
        Self {
            code: ErrorCode::UnsupportedVersion,
            message: format!("Protocol version `{}` is not supported.", truncated(requested)),
            data: Some(
                json!({ "supported": version::SUPPORTED, "requested": truncated(requested) }),
            ),
        }
    }

    /// Adds details for programs.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_back_from_their_numbers() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_number(code.number().into()), Some(code));
        }
        assert_eq!(ErrorCode::InvalidParams.number(), -32602);
        for other in [0, -32_000, -32_099, i64::MIN] {
            assert_eq!(ErrorCode::from_number(other), None);
        }
    }
}
