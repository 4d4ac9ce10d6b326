//! Errors of the API, as problem documents (RFC 9457).

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was refused, in a form that programs and people read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// `urn:skillwire:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// What the hub expected and what it got, where that says more.
    #[serde(flatten, skip_serializing_if = "Option::is_none", default)]
    pub compared: Option<Box<Compared>>,
}

/// What was expected, and what came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Compared {
    /// What the hub expected.
    pub expected: String,
    /// What it got.
    pub actual: String,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// The request cannot be understood.
    Malformed,
    /// The request has no valid token.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// There is no such thing, or the caller may not know of it.
    NotFound,
    /// The address does not take the method.
    Method,
    /// The state of the hub does not allow it.
    Conflict,
    /// The bytes are not what the request says they are.
    DigestMismatch,
    /// The skill breaks a rule.
    InvalidSkill,
    /// The body is too large.
    TooLarge,
    /// The namespace has no room left.
    QuotaExceeded,
    /// The body did not arrive in time or as a whole.
    Incomplete,
    /// The caller asks too often.
    TooOften,
    /// The store is away.
    Unavailable,
    /// The hub failed.
    Internal,
}

impl ProblemKind {
    fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::Method => "method",
            Self::Conflict => "conflict",
            Self::DigestMismatch => "digest-mismatch",
            Self::InvalidSkill => "invalid-skill",
            Self::TooLarge => "too-large",
            Self::QuotaExceeded => "quota-exceeded",
            Self::Incomplete => "incomplete",
            Self::TooOften => "too-often",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Malformed => "The request cannot be understood.",
            Self::Unauthorized => "A valid bearer token is required.",
            Self::Forbidden => "The caller may not do this.",
            Self::NotFound => "There is no such thing.",
            Self::Method => "The address does not take this method.",
            Self::Conflict => "The state of the hub does not allow this.",
            Self::DigestMismatch => "The bytes are not what the request says.",
            Self::InvalidSkill => "The skill breaks a rule.",
            Self::TooLarge => "The upload is too large.",
            Self::QuotaExceeded => "The namespace has no room left.",
            Self::Incomplete => "The upload is incomplete.",
            Self::TooOften => "The caller asks too often.",
            Self::Unavailable => "The hub cannot reach its store.",
            Self::Internal => "The hub failed.",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Malformed | Self::Incomplete => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::DigestMismatch | Self::InvalidSkill => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::QuotaExceeded => StatusCode::INSUFFICIENT_STORAGE,
            Self::TooOften => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Makes the problem document.
    pub(crate) fn because(self, detail: impl Into<String>) -> Problem {
        Problem {
            kind: format!("urn:skillwire:problem:{}", self.code()),
            title: self.title().to_owned(),
            status: self.status().as_u16(),
            detail: detail.into(),
            compared: None,
        }
    }
}

impl Problem {
    /// Gives the type a more exact code.
    #[must_use]
    pub(crate) fn coded(mut self, code: &str) -> Self {
        self.kind = format!("urn:skillwire:problem:{code}");
        self
    }

    /// Adds what was expected and what came.
    #[must_use]
    pub(crate) fn compared(
        mut self,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) -> Self {
        let compared = Compared { expected: expected.into(), actual: actual.into() };
        self.compared = Some(Box::new(compared));
        self
    }

    /// Returns the last part of the type, such as `not-found`.
    pub fn code(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or(&self.kind)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let unauthorized = status == StatusCode::UNAUTHORIZED;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media_type);
        if unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
