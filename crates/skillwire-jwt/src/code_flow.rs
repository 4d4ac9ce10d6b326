//! Signing a user in at an issuer: the authorization code flow of OAuth 2.1, with PKCE and an ID token.
//!
//! Nothing is kept between the two requests of a browser. State, nonce and verifier follow from a secret
//! that only the browser has, in a cookie, and from the issuer's name. An answer that another browser, or
//! another issuer, began does not fit.

use std::time::SystemTime;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use http::{HeaderValue, Method, StatusCode, header};
use ring::digest;
use serde::Deserialize;
use serde_json::Value;
use skillwire_client::Secret;

use crate::{
    issuer_keys::{IssuerPlace, KeysUnavailable, client, get, place_at},
    token::InvalidJwt,
    trusted_issuer::{NotAdmitted, TokenCaller, TrustedIssuer},
};

/// A program that the issuer knows, in whose name users are signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignInClient {
    /// Its identifier at the issuer.
    pub id: String,
    /// Its secret, if the issuer gave it one.
    pub secret: Option<Secret>,
}

impl SignInClient {
    /// Names the program by its identifier at the issuer.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None }
    }

    /// Sets the secret that the issuer gave it.
    #[must_use]
    pub fn with_secret(self, secret: impl Into<Option<Secret>>) -> Self {
        Self { secret: secret.into(), ..self }
    }
}

/// Why a user is not signed in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotSignedIn {
    /// The issuer has no client for users to sign in.
    #[error("users do not sign in at this issuer")]
    NoClient,
    /// The documents of the issuer cannot be had or used.
    #[error(transparent)]
    Unavailable(#[from] KeysUnavailable),
    /// The issuer did not take the code.
    #[error("the issuer did not take the code: {0}")]
    Refused(String),
    /// The token of the issuer names no user here.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// The token answers another question.
    #[error("the token of the issuer answers another sign-in")]
    OtherSignIn,
}

/// What ties the two requests of one sign-in together.
#[derive(Debug)]
pub struct SignInFlow {
    state: String,
    nonce: String,
    verifier: String,
    back: String,
}

impl SignInFlow {
    /// Derives everything from the secret of a browser; `back` is where the issuer leads it.
    pub fn new(secret: &str, issuer: &str, back: &str) -> Self {
        let derived = |purpose: &str| encoded(&format!("{purpose}\n{issuer}\n{secret}"));
        Self {
            state: derived("state"),
            nonce: derived("nonce"),
            verifier: derived("verifier"),
            back: back.to_owned(),
        }
    }

    /// Tells whether an answer belongs to this sign-in.
    pub fn is_answered_by(&self, state: &str) -> bool {
        same(&self.state, state)
    }
}

fn encoded(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
}

fn same(one: &str, two: &str) -> bool {
    // Digests have one length, and an attacker cannot choose where two of them differ.
    encoded(one) == encoded(two)
}

#[derive(Deserialize)]
struct Endpoints {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

impl TrustedIssuer {
    /// Returns the address at which a user signs in.
    #[tracing::instrument(skip_all, fields(issuer = %self.rules().issuer))]
    pub async fn sign_in_address(&self, flow: &SignInFlow) -> Result<String, NotSignedIn> {
        let known = self.rules().client.as_ref().ok_or(NotSignedIn::NoClient)?;
        let found = self.endpoints().await?;
        let address = found.authorization_endpoint;
        let is_web = address.starts_with("https://") || address.starts_with("http://");
        if !is_web || address.contains('#') || !address.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(KeysUnavailable::Address(address).into());
        }
        let scope = match &self.rules().required_scope {
            Some(scope) => format!("openid {scope}"),
            None => "openid".to_owned(),
        };
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &known.id)
            .append_pair("redirect_uri", &flow.back)
            .append_pair("scope", &scope)
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &encoded(&flow.verifier))
            .append_pair("code_challenge_method", "S256")
            .finish();
        let mark = if address.contains('?') { '&' } else { '?' };
        Ok(format!("{address}{mark}{query}"))
    }

    /// Exchanges a code for the user whom the issuer names.
    #[tracing::instrument(skip_all, fields(issuer = %self.rules().issuer))]
    pub async fn signed_in(
        &self,
        flow: &SignInFlow,
        code: &str,
    ) -> Result<TokenCaller, NotSignedIn> {
        #[derive(Deserialize)]
        struct Tokens {
            id_token: String,
            scope: Option<String>,
        }
        let known = self.rules().client.as_ref().ok_or(NotSignedIn::NoClient)?;
        let answer = self.exchange(known, flow, code).await?;
        let tokens: Tokens = serde_json::from_slice(&answer)
            .map_err(|_| NotSignedIn::Refused("it sent no ID token".to_owned()))?;
        if let (Some(needed), Some(granted)) = (&self.rules().required_scope, &tokens.scope)
            && !granted.split(' ').any(|scope| scope == needed)
        {
            return Err(NotAdmitted::Scope(needed.clone()).into());
        }
        let audiences = [known.id.as_str()];
        let claims = self.claims(&tokens.id_token, &audiences, SystemTime::now()).await?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if !same(text("nonce").unwrap_or_default(), &flow.nonce) {
            return Err(NotSignedIn::OtherSignIn);
        }
        // A token for several programs says which of them it was issued to.
        let is_shared =
            claims.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
        let is_ours = match text("azp") {
            Some(party) => party == known.id,
            None => !is_shared,
        };
        if !is_ours {
            return Err(NotAdmitted::from(InvalidJwt::Audience(format!("`{}`", known.id))).into());
        }
        Ok(self.named(&claims)?)
    }

    async fn exchange(
        &self,
        known: &SignInClient,
        flow: &SignInFlow,
        code: &str,
    ) -> Result<Bytes, NotSignedIn> {
        let found = self.endpoints().await?;
        let mut pairs = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &flow.back),
            ("client_id", &known.id),
            ("code_verifier", &flow.verifier),
        ];
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        let mut headers = vec![
            (header::CONTENT_TYPE, form_type),
            (header::ACCEPT, HeaderValue::from_static("application/json")),
        ];
        if let Some(secret) = &known.secret {
            let methods = &found.token_endpoint_auth_methods_supported;
            let takes = |name: &str| methods.iter().any(|method| method == name);
            if takes("client_secret_post") && !takes("client_secret_basic") {
                pairs.push(("client_secret", secret.reveal()));
            } else {
                let quoted = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", quoted(&known.id), quoted(secret.reveal()));
                let value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)));
                let mut value = value
                    .map_err(|_| NotSignedIn::Refused("its secret cannot be sent".to_owned()))?;
                value.set_sensitive(true);
                headers.push((header::AUTHORIZATION, value));
            }
        }
        let url = found.token_endpoint;
        // Trust boundary: the code and the secret go to the issuer's own origin, or to a public one.
        let place = place_at(&url, &self.rules().issuer, IssuerPlace::Anywhere);
        let form = Serializer::new(String::new()).extend_pairs(pairs).finish();
        let body = Bytes::from(form);
        let answer = client(&url, place)?.send(Method::POST, "", &headers, body).await;
        let answer =
            answer.map_err(|source| KeysUnavailable::Unreachable { url: url.clone(), source })?;
        if answer.status() != StatusCode::OK {
            let status = answer.status().as_u16();
            return Err(NotSignedIn::Refused(format!("HTTP status {status}")));
        }
        Ok(answer.into_body())
    }

    async fn endpoints(&self) -> Result<Endpoints, KeysUnavailable> {
        let issuer = &self.rules().issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let refused = |problem: String| KeysUnavailable::Document { url: url.clone(), problem };
        let text = get(&url, IssuerPlace::Anywhere).await?;
        let found: Endpoints =
            serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
        if found.issuer != *issuer {
            return Err(refused("it names another issuer".to_owned()));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_fits_the_browser_and_the_issuer_that_it_was_asked_for() {
        let flow = |secret: &str, issuer: &str| SignInFlow::new(secret, issuer, "http://hub/back");
        let begun = flow("one", "https://a.example");
        assert!(begun.is_answered_by(&flow("one", "https://a.example").state));
        for other in [flow("two", "https://a.example"), flow("one", "https://b.example")] {
            assert!(!begun.is_answered_by(&other.state));
        }
        assert!(!begun.is_answered_by(""));
        let all = [&begun.state, &begun.nonce, &begun.verifier];
        assert!(all.iter().all(|text| text.len() == 43), "a verifier has 43 characters at least");
        assert!(begun.state != begun.nonce && begun.nonce != begun.verifier);
    }
}
