//! JSON-RPC errors.

use serde::Serialize;
use serde_json::{Value, json};
pub use skillwire_core::foreign::truncated;

use crate::version;

/// The error codes this project sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The body is not JSON.
    Parse,
    /// The JSON is not one JSON-RPC message.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The parameters name nothing that is served, or are malformed.
    InvalidParams,
    /// Something broke here.
    Internal,
    /// The legacy code for a resource that is not served.
    LegacyResourceNotFound,
    /// The legacy code for a script that could not be run.
    LegacyScriptFailed,
    /// The legacy code for a file that a skill does not have.
    LegacyReferenceNotFound,
    /// HTTP headers and body disagree.
    HeaderMismatch,
    /// The revision is not served.
    UnsupportedVersion,
}

impl ErrorCode {
    /// The number on the wire.
    pub fn number(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::LegacyResourceNotFound => -32002,
            Self::LegacyScriptFailed => -32003,
            Self::LegacyReferenceNotFound => -32004,
            Self::HeaderMismatch => -32020,
            Self::UnsupportedVersion => -32022,
        }
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
    /// What kind of error it is.
    pub code: ErrorCode,
    /// A sentence for people; never holds local paths.
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

    /// Makes the error for something that broke here; the cause belongs in the log.
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
