//! The authorization server: metadata, registration, codes and tokens.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use skillwire_core::{Digest, percent::decode_or_keep};

use super::{HttpAnswer, LoginFault, LoginRequest, LoginState};

const CLIENT: &str = "client-1";
const CLIENT_SECRET: &str = "hush-client";

/// The codes and tokens that were issued.
#[derive(Debug)]
pub(super) struct IssuedTokens {
    /// The lifetime of tokens in seconds, as clients are told.
    pub(super) lifetime: u64,
    /// The access tokens that are valid.
    pub(super) access: BTreeSet<String>,
    /// Unused codes, with the challenge and the redirect address of each.
    codes: BTreeMap<String, (String, String)>,
    refresh: Option<String>,
    count: usize,
}

impl Default for IssuedTokens {
    fn default() -> Self {
        Self {
            lifetime: 3600,
            access: BTreeSet::new(),
            codes: BTreeMap::new(),
            refresh: None,
            count: 0,
        }
    }
}

impl LoginState {
    pub(super) fn authorize(&self, request: &LoginRequest) -> HttpAnswer {
        match request.path.as_str() {
            path if path.starts_with("/.well-known/") && !self.has(LoginFault::NoMetadata) => {
                self.metadata(path)
            }
            "/register" if !self.has(LoginFault::NoRegistration) => self.register(),
            "/authorize" => self.ask_the_user(request),
            "/token" => self.token(request),
            _ => HttpAnswer(404, Vec::new(), Vec::new()),
        }
    }

    fn issuer(&self) -> String {
        if self.has(LoginFault::OtherIssuer) { "https://evil.test".to_owned() } else { self.base() }
    }

    fn metadata(&self, path: &str) -> HttpAnswer {
        let base = self.base();
        match path {
            "/.well-known/oauth-protected-resource/mcp" => {
                let other = self.has(LoginFault::OtherResource);
                let resource = if other { "https://evil.test/mcp".to_owned() } else { self.url() };
                let metadata = json!({
                    "resource": resource,
                    "authorization_servers": [base],
                    "scopes_supported": ["skills"],
                });
                HttpAnswer::json(200, &metadata)
            }
            "/.well-known/oauth-authorization-server"
                if self.has(LoginFault::RedirectsMetadata) =>
            {
                // The same machine under another name is another origin.
                let other = base.replace("127.0.0.1", "localhost");
                let elsewhere = vec![("Location".to_owned(), format!("{other}/elsewhere"))];
                HttpAnswer(302, elsewhere, Vec::new())
            }
            "/.well-known/oauth-authorization-server" => {
                let clear = self.has(LoginFault::TokensInTheClear);
                let tokens = if clear { "http://evil.test" } else { base.as_str() };
                let mut metadata = json!({
                    "issuer": self.issuer(),
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{tokens}/token"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                if !self.has(LoginFault::NoRegistration) {
                    metadata["registration_endpoint"] = format!("{base}/register").into();
                }
                if self.has(LoginFault::HugeMetadata) {
                    metadata["padding"] = "x".repeat(2 << 20).into();
                }
                HttpAnswer::json(200, &metadata)
            }
            _ => HttpAnswer(404, Vec::new(), Vec::new()),
        }
    }

    fn register(&self) -> HttpAnswer {
        let mut client = json!({ "client_id": CLIENT, "redirect_uris": [] });
        if self.has(LoginFault::ClientSecret) {
            client["client_secret"] = CLIENT_SECRET.into();
        }
        HttpAnswer::json(201, &client)
    }

    /// Redirects back at once: the user agrees, unless a fault says otherwise.
    fn ask_the_user(&self, request: &LoginRequest) -> HttpAnswer {
        let of = |name: &str| request.parameters.get(name).cloned().unwrap_or_default();
        let redirect = of("redirect_uri");
        let is_right = of("resource") == self.url()
            && of("response_type") == "code"
            && of("code_challenge_method") == "S256"
            && redirect.starts_with("http://127.0.0.1:");
        if !is_right {
            return HttpAnswer::error("invalid_request");
        }
        let other = self.has(LoginFault::OtherIssuerInAnswer);
        let answered_by = if other { "https%3A%2F%2Fevil.test".to_owned() } else { self.base() };
        let answer = if self.has(LoginFault::Declined) {
            "error=access_denied".to_owned()
        } else {
            let mut issued = self.issued.lock();
            issued.count += 1;
            let code = format!("hush-code-{}", issued.count);
            issued.codes.insert(code.clone(), (of("code_challenge"), redirect.clone()));
            format!("code={code}")
        };
        let location = format!("{redirect}?{answer}&state={}&iss={answered_by}", of("state"));
        HttpAnswer(302, vec![("Location".to_owned(), location)], Vec::new())
    }

    fn token(&self, request: &LoginRequest) -> HttpAnswer {
        let of = |name: &str| request.parameters.get(name).cloned().unwrap_or_default();
        let mut issued = self.issued.lock();
        if of("resource") != self.url() {
            return HttpAnswer::error("invalid_target");
        }
        if self.has(LoginFault::ClientSecret) && request.authorization.is_none() {
            return HttpAnswer::error("invalid_client");
        }
        let is_granted = match of("grant_type").as_str() {
            "authorization_code" => {
                let verifier = Digest::of(of("code_verifier").as_bytes());
                let challenge = URL_SAFE_NO_PAD.encode(verifier.as_bytes());
                issued.codes.remove(&of("code")) == Some((challenge, of("redirect_uri")))
            }
            "refresh_token" => {
                let is_current = issued.refresh.take() == Some(of("refresh_token"));
                is_current && !self.has(LoginFault::NoRefresh)
            }
            _ => false,
        };
        if !is_granted {
            return HttpAnswer::error("invalid_grant");
        }
        issued.count += 1;
        let access = format!("hush-access-{}", issued.count);
        let refresh = format!("hush-refresh-{}", issued.count);
        issued.access.insert(access.clone());
        issued.refresh = Some(refresh.clone());
        let other = self.has(LoginFault::OtherTokenType);
        HttpAnswer::json(
            200,
            &json!({
                "access_token": access,
                "token_type": if other { "mac" } else { "Bearer" },
                "refresh_token": refresh,
                "expires_in": issued.lifetime,
            }),
        )
    }
}

/// Reads `a=b&c=d`.
pub(super) fn parameters(text: &str) -> BTreeMap<String, String> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    decode_or_keep(&text.replace('+', " "))
}
