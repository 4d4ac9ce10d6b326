//! Tokens from an authorization server.

use std::time::{Duration, SystemTime};

use rmcp::transport::auth::OAuthTokenResponse;
use serde_json::{Value, json};

use super::LoginProblem;
use crate::secret::Secret;

/// The tokens of one response.
pub(super) struct TokenResponse {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) expires_at: Option<SystemTime>,
}

impl TokenResponse {
    /// Reads bearer tokens that fit into a header.
    pub(super) fn read(response: &OAuthTokenResponse) -> Result<Self, LoginProblem> {
        let unusable = || LoginProblem::new("the authorization server gave no usable token");
        let fields = serde_json::to_value(response).map_err(|_| unusable())?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(LoginProblem::new("the authorization server gave no bearer token"));
        }
        let access = text("access_token")
            .filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
        let lifetime = fields.get("expires_in").and_then(Value::as_u64).map(Duration::from_secs);
        Ok(Self {
            access: Secret::new(access.ok_or_else(unusable)?),
            refresh: text("refresh_token").map(Secret::new),
            expires_at: lifetime.and_then(|lifetime| SystemTime::now().checked_add(lifetime)),
        })
    }
}

/// Converts tokens to the form that the SDK renews.
pub(super) fn to_renew(access: &Secret, refresh: &Secret) -> Option<OAuthTokenResponse> {
    let fields = json!({
        "access_token": access.reveal(),
        "token_type": "bearer",
        "refresh_token": refresh.reveal(),
    });
    serde_json::from_value(fields).ok()
}
