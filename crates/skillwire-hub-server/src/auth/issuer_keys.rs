//! The keys that an identity provider publishes, fetched when they are needed and not too often.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;
use skillwire_client::{ClientError, Limits, RestClient, ServerUrl};
use tokio::sync::Mutex;

use super::jwt::{self, IssuerKey};

/// The shortest time between two fetches. A caller that sends tokens with invented key ids must not make
/// the hub ask the issuer for each of them.
const FLOOR: Duration = Duration::from_secs(30);

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_hours(1);

/// The most bytes of a document of an issuer.
const MAX_BYTES: usize = 512 * 1024;

/// How long an issuer may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysUnavailable {
    #[error("the address `{0}` cannot be used")]
    Address(String),
    #[error("`{url}` did not answer")]
    Unreachable {
        url: String,
        #[source]
        source: ClientError,
    },
    #[error("`{url}` sent something that cannot be used: {problem}")]
    Document { url: String, problem: String },
}

/// The keys of one issuer.
#[derive(Debug)]
pub(crate) struct IssuerKeys {
    issuer: String,
    state: Mutex<KeysState>,
}

#[derive(Debug, Default)]
struct KeysState {
    keys: Arc<[IssuerKey]>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

impl IssuerKeys {
    pub(crate) fn new(issuer: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), state: Mutex::default() }
    }

    /// Returns the keys; `again` asks for newer ones, because none of the known keys fits.
    ///
    /// While an issuer does not answer, its last keys stay in use.
    pub(crate) async fn keys(&self, again: bool) -> Result<Arc<[IssuerKey]>, KeysUnavailable> {
        let mut state = self.state.lock().await;
        let is_fresh = state.fetched.is_some_and(|at| at.elapsed() < FRESH);
        let too_soon = state.tried.is_some_and(|at| at.elapsed() < FLOOR);
        if (is_fresh && !again) || (too_soon && state.fetched.is_some()) {
            return Ok(Arc::clone(&state.keys));
        }
        if too_soon {
            let problem = "it did not answer a moment ago; try again later".to_owned();
            return Err(KeysUnavailable::Document { url: self.issuer.clone(), problem });
        }
        state.tried = Some(Instant::now());
        match self.fetch().await {
            Ok(keys) => {
                state.keys = keys.into();
                state.fetched = Some(Instant::now());
                Ok(Arc::clone(&state.keys))
            }
            Err(error) if state.fetched.is_some() => {
                tracing::warn!(issuer = self.issuer, %error, "keys of an issuer could not be renewed");
                Ok(Arc::clone(&state.keys))
            }
            Err(error) => Err(error),
        }
    }

    async fn fetch(&self) -> Result<Vec<IssuerKey>, KeysUnavailable> {
        #[derive(Deserialize)]
        struct Discovery {
            issuer: String,
            jwks_uri: String,
        }
        let refused = |url: &str, problem: &str| KeysUnavailable::Document {
            url: url.to_owned(),
            problem: problem.to_owned(),
        };
        let base = self.issuer.trim_end_matches('/');
        let url = format!("{base}/.well-known/openid-configuration");
        let found: Discovery = serde_json::from_slice(&get(&url).await?)
            .map_err(|error| refused(&url, &error.to_string()))?;
        if found.issuer != self.issuer {
            return Err(refused(&url, "it names another issuer"));
        }
        let url = found.jwks_uri;
        let keys = jwt::read_keys(&get(&url).await?);
        keys.ok_or_else(|| refused(&url, "it is not a set of keys"))
    }
}

async fn get(url: &str) -> Result<Bytes, KeysUnavailable> {
    let address = || KeysUnavailable::Address(url.to_owned());
    let parsed = ServerUrl::parse(url).map_err(|_| address())?;
    let limits = Limits::default().with_bytes(MAX_BYTES).with_timeout(PATIENCE);
    let client = RestClient::new(&parsed, None, limits).map_err(|_| address())?;
    let answer = client.send(Method::GET, "", &[], Bytes::new()).await;
    let answer =
        answer.map_err(|source| KeysUnavailable::Unreachable { url: url.to_owned(), source })?;
    if answer.status() != StatusCode::OK {
        let problem = format!("HTTP status {}", answer.status().as_u16());
        return Err(KeysUnavailable::Document { url: url.to_owned(), problem });
    }
    Ok(answer.into_body())
}
