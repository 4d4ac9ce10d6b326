//! The keys that an identity provider publishes, fetched when they are needed and not too often.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;
use skillwire_client::{ClientError, Limits, RestClient, ServerUrl};
use tokio::{sync::Mutex, time::Instant};

use crate::token::{self, IssuerKey};

/// The shortest time between two fetches. A caller that sends tokens with invented key ids must not make
/// the server ask the issuer for each of them.
const FLOOR: Duration = Duration::from_secs(30);

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_hours(1);

/// How long keys stay in use while the issuer does not answer. A key that the issuer withdrew meanwhile
/// counts for so long at most.
const STALE: Duration = Duration::from_hours(24);

/// The most bytes of a document of an issuer.
const MAX_BYTES: usize = 512 * 1024;

/// How long an issuer may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why keys could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysUnavailable {
    /// The address cannot be asked.
    #[error("the address `{0}` cannot be used")]
    Address(String),
    /// The issuer did not answer.
    #[error("`{url}` did not answer")]
    Unreachable {
        /// What was asked for.
        url: String,
        /// The reason.
        #[source]
        source: ClientError,
    },
    /// The issuer answered with something else.
    #[error("`{url}` sent something that cannot be used: {problem}")]
    Document {
        /// What was asked for.
        url: String,
        /// What is wrong with the answer.
        problem: String,
    },
}

/// Where the documents of an issuer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerPlace {
    /// At public addresses over `https`: another user named the issuer.
    Public,
    /// Anywhere: the operator named it.
    Anywhere,
}

/// Keys, with the time at which they were fetched.
#[derive(Debug)]
struct Known {
    keys: Arc<[IssuerKey]>,
    fetched: Instant,
}

/// The keys of one issuer.
#[derive(Debug)]
pub struct IssuerKeys {
    issuer: String,
    place: IssuerPlace,
    known: ArcSwapOption<Known>,
    /// When the issuer was last asked. Held while it is asked: callers without keys wait here and share one
    /// answer.
    tried: Mutex<Option<Instant>>,
}

impl IssuerKeys {
    /// Makes the keys of an issuer, of which nothing is fetched yet.
    pub fn new(issuer: impl Into<String>, place: IssuerPlace) -> Self {
        let known = ArcSwapOption::empty();
        let tried = Mutex::default();
        Self { issuer: issuer.into(), place, known, tried }
    }

    /// Returns the keys; `again` asks for newer ones, because none of the known keys fits.
    ///
    /// While an issuer does not answer, its last keys stay in use for a day.
    pub async fn keys(&self, again: bool) -> Result<Arc<[IssuerKey]>, KeysUnavailable> {
        let known = self.usable();
        if let Some(known) = &known
            && !again
        {
            // Keys that are known are used at once, and one caller renews them.
            let Ok(tried) = self.tried.try_lock() else { return Ok(Arc::clone(&known.keys)) };
            if known.fetched.elapsed() < FRESH {
                return Ok(Arc::clone(&known.keys));
            }
            return self.renew(tried).await;
        }
        let asked = Instant::now();
        let tried = self.tried.lock().await;
        match self.usable() {
            // Another caller fetched them while this one waited.
            Some(known) if known.fetched > asked => Ok(Arc::clone(&known.keys)),
            _ => self.renew(tried).await,
        }
    }

    fn usable(&self) -> Option<Arc<Known>> {
        self.known.load_full().filter(|known| known.fetched.elapsed() < STALE)
    }

    async fn renew(
        &self,
        mut tried: tokio::sync::MutexGuard<'_, Option<Instant>>,
    ) -> Result<Arc<[IssuerKey]>, KeysUnavailable> {
        let known = self.usable();
        if tried.is_some_and(|at| at.elapsed() < FLOOR) {
            return known.map(|known| Arc::clone(&known.keys)).ok_or_else(|| {
                let problem = "it did not answer a moment ago; try again later".to_owned();
                KeysUnavailable::Document { url: self.issuer.clone(), problem }
            });
        }
        *tried = Some(Instant::now());
        match (self.fetch().await, known) {
            (Ok(keys), _) => {
                let keys: Arc<[IssuerKey]> = keys.into();
                let fetched = Instant::now();
                self.known.store(Some(Arc::new(Known { keys: Arc::clone(&keys), fetched })));
                Ok(keys)
            }
            (Err(error), Some(known)) => {
                tracing::warn!(issuer = self.issuer, %error, "keys of an issuer could not be renewed");
                Ok(Arc::clone(&known.keys))
            }
            (Err(error), None) => Err(error),
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
        let found: Discovery = serde_json::from_slice(&get(&url, self.place).await?)
            .map_err(|error| refused(&url, &error.to_string()))?;
        if found.issuer != self.issuer {
            return Err(refused(&url, "it names another issuer"));
        }
        let url = found.jwks_uri;
        let place = place_at(&url, base, self.place);
        let keys = token::read_keys(&get(&url, place).await?);
        keys.ok_or_else(|| refused(&url, "it is not a set of keys"))
    }
}

/// Tells whether the documents of an issuer may be asked for, as far as its address shows.
pub fn may_be_asked(issuer: &str, place: IssuerPlace) -> bool {
    client(issuer, place).is_ok()
}

/// Where an address may be that a document of an issuer names.
///
/// Trust boundary: what a document names is its author's choice. An issuer of the operator may have
/// addresses on its own origin, wherever that is, and elsewhere only public ones.
pub(crate) fn place_at(url: &str, issuer: &str, place: IssuerPlace) -> IssuerPlace {
    let origin = |url: &str| url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    match place {
        IssuerPlace::Anywhere if origin(url) == origin(issuer) => IssuerPlace::Anywhere,
        _ => IssuerPlace::Public,
    }
}

pub(crate) fn client(url: &str, place: IssuerPlace) -> Result<RestClient, KeysUnavailable> {
    let address = || KeysUnavailable::Address(url.to_owned());
    let parsed = ServerUrl::parse(url).map_err(|_| address())?;
    let limits = Limits::default().with_bytes(MAX_BYTES).with_timeout(PATIENCE);
    let client = match place {
        IssuerPlace::Public => RestClient::of_stranger(&parsed, limits),
        IssuerPlace::Anywhere => RestClient::new(&parsed, None, limits),
    };
    client.map_err(|_| address())
}

pub(crate) async fn get(url: &str, place: IssuerPlace) -> Result<Bytes, KeysUnavailable> {
    let client = client(url, place)?;
    let answer = client.send(Method::GET, "", &[], Bytes::new()).await;
    let answer =
        answer.map_err(|source| KeysUnavailable::Unreachable { url: url.to_owned(), source })?;
    if answer.status() != StatusCode::OK {
        let problem = format!("HTTP status {}", answer.status().as_u16());
        return Err(KeysUnavailable::Document { url: url.to_owned(), problem });
    }
    Ok(answer.into_body())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// An issuer that counts how often its keys are fetched, and fails when it is told to.
    async fn issuer(fetched: Arc<AtomicUsize>, fails: Arc<AtomicBool>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let base = url.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (base, fetched, fails) =
                    (base.clone(), Arc::clone(&fetched), Arc::clone(&fails));
                tokio::spawn(async move {
                    let mut request = vec![0; 4096];
                    let length = stream.read(&mut request).await.unwrap();
                    let request = String::from_utf8_lossy(&request[..length]).into_owned();
                    let body = if request.starts_with("GET /.well-known/") {
                        format!(r#"{{"issuer":"{base}","jwks_uri":"{base}/keys"}}"#)
                    } else {
                        fetched.fetch_add(1, Ordering::SeqCst);
                        r#"{"keys":[]}"#.to_owned()
                    };
                    let status = if fails.load(Ordering::SeqCst) { "500 No" } else { "200 OK" };
                    let answer = format!(
                        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(answer.as_bytes()).await.unwrap();
                });
            }
        });
        url
    }

    #[tokio::test]
    async fn keys_are_fetched_once_and_invented_key_ids_do_not_fetch_them_again() {
        let fetched = Arc::default();
        let fails = Arc::default();
        let url = issuer(Arc::clone(&fetched), Arc::clone(&fails)).await;
        let keys = Arc::new(IssuerKeys::new(&url, IssuerPlace::Anywhere));
        let many = (0..20).map(|_| {
            let keys = Arc::clone(&keys);
            tokio::spawn(async move { keys.keys(false).await.map(|keys| keys.len()) })
        });
        for one in many.collect::<Vec<_>>() {
            assert_eq!(one.await.unwrap().unwrap(), 0);
        }
        for _ in 0..100 {
            keys.keys(true).await.unwrap();
        }
        assert_eq!(fetched.load(Ordering::SeqCst), 1);
        // What an issuer has is used while it fails.
        fails.store(true, Ordering::SeqCst);
        assert!(keys.keys(true).await.is_ok() && keys.keys(false).await.is_ok());
    }

    #[tokio::test]
    async fn an_issuer_that_fails_is_not_asked_by_every_caller() {
        let fetched = Arc::default();
        let fails = Arc::new(AtomicBool::new(false));
        fails.store(true, Ordering::SeqCst);
        let url = issuer(fetched, Arc::clone(&fails)).await;
        let keys = IssuerKeys::new(&url, IssuerPlace::Anywhere);
        assert!(keys.keys(false).await.unwrap_err().to_string().contains("HTTP status 500"));
        fails.store(false, Ordering::SeqCst);
        assert!(keys.keys(false).await.unwrap_err().to_string().contains("a moment ago"));
    }

    #[tokio::test]
    async fn issuers_that_another_user_named_are_public_ones() {
        let fetched = Arc::default();
        let fails = Arc::default();
        let url = issuer(Arc::clone(&fetched), fails).await;
        assert!(IssuerKeys::new(&url, IssuerPlace::Public).keys(false).await.is_err());
        assert_eq!(fetched.load(Ordering::SeqCst), 0);
        assert!(!may_be_asked(&url, IssuerPlace::Public));
        assert!(may_be_asked(&url, IssuerPlace::Anywhere));
    }
}
