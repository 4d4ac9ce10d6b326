//! The authorization server: metadata, registration, codes and tokens.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use skillwire_core::{digest::Digest, uri::decode_or_keep};

use super::{Answer, Came, State, Trouble, lock};

const CLIENT: &str = "client-1";
const CLIENT_SECRET: &str = "hush-client";

/// What was given to whom.
#[derive(Debug)]
pub(super) struct Issued {
    /// How long tokens live, as they are told.
    pub(super) lifetime: u64,
    /// The access tokens that open the server.
    pub(super) access: BTreeSet<String>,
    /// The codes that were not used yet, with the challenge and the address each is for.
    codes: BTreeMap<String, (String, String)>,
    refresh: Option<String>,
    count: usize,
}

impl Default for Issued {
    fn default() -> Self {
        let (access, codes) = (BTreeSet::new(), BTreeMap::new());
        Self { lifetime: 3600, access, codes, refresh: None, count: 0 }
    }
}

impl State {
    pub(super) fn authorize(&self, came: &Came) -> Answer {
        match came.path.as_str() {
            path if path.starts_with("/.well-known/") && !self.has(Trouble::NoMetadata) => {
                self.metadata(path)
            }
            "/register" if !self.has(Trouble::NoRegistration) => self.register(),
            "/authorize" => self.ask_the_user(came),
            "/token" => self.token(came),
            _ => Answer(404, Vec::new(), Vec::new()),
        }
    }

    fn issuer(&self) -> String {
        if self.has(Trouble::OtherIssuer) { "https://evil.test".to_owned() } else { self.base() }
    }

    fn metadata(&self, path: &str) -> Answer {
        let base = self.base();
        match path {
            "/.well-known/oauth-protected-resource/mcp" => {
                let other = self.has(Trouble::OtherResource);
                let resource = if other { "https://evil.test/mcp".to_owned() } else { self.url() };
                let metadata = json!({
                    "resource": resource,
                    "authorization_servers": [base],
                    "scopes_supported": ["skills"],
                });
                Answer::json(200, &metadata)
            }
            "/.well-known/oauth-authorization-server" => {
                let clear = self.has(Trouble::TokensInTheClear);
                let tokens = if clear { "http://evil.test" } else { base.as_str() };
                let mut metadata = json!({
                    "issuer": self.issuer(),
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{tokens}/token"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                if !self.has(Trouble::NoRegistration) {
                    metadata["registration_endpoint"] = format!("{base}/register").into();
                }
                Answer::json(200, &metadata)
            }
            _ => Answer(404, Vec::new(), Vec::new()),
        }
    }

    fn register(&self) -> Answer {
        let mut client = json!({ "client_id": CLIENT, "redirect_uris": [] });
        if self.has(Trouble::ClientSecret) {
            client["client_secret"] = CLIENT_SECRET.into();
        }
        Answer::json(201, &client)
    }

    /// The user, who agrees at once unless told otherwise, and is sent back.
    fn ask_the_user(&self, came: &Came) -> Answer {
        let of = |name: &str| came.parameters.get(name).cloned().unwrap_or_default();
        let redirect = of("redirect_uri");
        let is_right = of("resource") == self.url()
            && of("response_type") == "code"
            && of("code_challenge_method") == "S256"
            && redirect.starts_with("http://127.0.0.1:");
        if !is_right {
            return Answer::error("invalid_request");
        }
        let other = self.has(Trouble::OtherIssuerInAnswer);
        let speaker = if other { "https%3A%2F%2Fevil.test".to_owned() } else { self.base() };
        let answer = if self.has(Trouble::Declined) {
            "error=access_denied".to_owned()
        } else {
            let mut issued = lock(&self.issued);
            issued.count += 1;
            let code = format!("hush-code-{}", issued.count);
            issued.codes.insert(code.clone(), (of("code_challenge"), redirect.clone()));
            format!("code={code}")
        };
        let location = format!("{redirect}?{answer}&state={}&iss={speaker}", of("state"));
        Answer(302, vec![("Location".to_owned(), location)], Vec::new())
    }

    fn token(&self, came: &Came) -> Answer {
        let of = |name: &str| came.parameters.get(name).cloned().unwrap_or_default();
        let mut issued = lock(&self.issued);
        if of("resource") != self.url() {
            return Answer::error("invalid_target");
        }
        if self.has(Trouble::ClientSecret) && came.authorization.is_none() {
            return Answer::error("invalid_client");
        }
        let is_granted = match of("grant_type").as_str() {
            "authorization_code" => {
                let verifier = Digest::of(of("code_verifier").as_bytes());
                let challenge = URL_SAFE_NO_PAD.encode(verifier.as_bytes());
                issued.codes.remove(&of("code")) == Some((challenge, of("redirect_uri")))
            }
            "refresh_token" => {
                let is_current = issued.refresh.take() == Some(of("refresh_token"));
                is_current && !self.has(Trouble::NoRefresh)
            }
            _ => false,
        };
        if !is_granted {
            return Answer::error("invalid_grant");
        }
        issued.count += 1;
        let access = format!("hush-access-{}", issued.count);
        let refresh = format!("hush-refresh-{}", issued.count);
        issued.access.insert(access.clone());
        issued.refresh = Some(refresh.clone());
        let other = self.has(Trouble::OtherTokenType);
        Answer::json(
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
