//! The one HTTP client of this crate.
//!
//! MCP servers, web origins and authorization servers are all reached through [`HttpClient`]. It
//! decides for all of them which addresses may be connected to, which certificates are trusted and
//! how long a connection may take. It uses no proxy, accepts no compressed body, and follows no
//! redirect unless the caller asks for those within one origin.

mod address;
mod body;
#[cfg(feature = "tls")]
mod certificates;
mod lookup;

use std::{error::Error as _, sync::OnceLock, time::Duration};

use bytes::Bytes;
use http::{Request, Response, Uri, header, uri::Scheme};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;

#[cfg(feature = "oauth")]
pub(crate) use self::address::is_on_private_network;
use self::lookup::CheckedLookup;
pub(crate) use self::{
    address::{Destinations, is_loopback, is_private, is_same_origin, resolve},
    body::{BodyChunks, collect},
};
use crate::{
    endpoint::Limits,
    error::{ClientError, with_causes},
};

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(30);

/// The most redirects that are followed, all of them within one origin.
const MAX_REDIRECTS: usize = 3;

type CheckedConnector = HttpConnector<CheckedLookup>;
type ConnectionPool<C> = Client<C, Full<Bytes>>;

/// A request with its whole body.
pub(crate) type HttpRequest = Request<Full<Bytes>>;

/// What happens to a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// The caller gets it as it is.
    #[cfg_attr(
        not(feature = "oauth"),
        expect(dead_code, reason = "logins judge redirects themselves")
    )]
    Returned,
    /// It is followed if it stays within the origin, and is an error otherwise.
    WithinOrigin,
}

/// Sends HTTP requests over pooled connections.
pub(crate) struct HttpClient {
    destinations: Destinations,
    connect_timeout: Duration,
    plain: OnceLock<ConnectionPool<CheckedConnector>>,
    #[cfg(feature = "tls")]
    tls: OnceLock<ConnectionPool<hyper_rustls::HttpsConnector<CheckedConnector>>>,
}

impl HttpClient {
    /// Creates a client; it opens connections and reads certificates when a request needs them.
    pub(crate) fn new(destinations: Destinations, connect_timeout: Duration) -> Self {
        Self {
            destinations,
            connect_timeout,
            plain: OnceLock::new(),
            #[cfg(feature = "tls")]
            tls: OnceLock::new(),
        }
    }

    /// Sends one request and waits for the head of its response; a redirect is not followed.
    pub(crate) async fn send(
        &self,
        request: HttpRequest,
    ) -> Result<Response<Incoming>, ClientError> {
        self.destinations.check(request.uri())?;
        let sent = if request.uri().scheme() == Some(&Scheme::HTTP) {
            self.plain().request(request).await
        } else {
            #[cfg(feature = "tls")]
            {
                self.tls()?.request(request).await
            }
            #[cfg(not(feature = "tls"))]
            return Err(ClientError::unreachable("this program was built without TLS"));
        };
        sent.map_err(failure)
    }

    /// Sends a request and reads the whole response, within limits.
    pub(crate) async fn fetch(
        &self,
        request: HttpRequest,
        limits: Limits,
        redirects: Redirects,
    ) -> Result<Response<Bytes>, ClientError> {
        let late = |_| Err(ClientError::Timeout(limits.timeout));
        let fetched = self.follow(request, limits.bytes, redirects);
        timeout(limits.timeout, fetched).await.unwrap_or_else(late)
    }

    async fn follow(
        &self,
        mut request: HttpRequest,
        most: usize,
        redirects: Redirects,
    ) -> Result<Response<Bytes>, ClientError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(request.clone()).await?;
            if redirects == Redirects::WithinOrigin && response.status().is_redirection() {
                *request.uri_mut() = redirected(request.uri(), &response)?;
                continue;
            }
            let (head, body) = response.into_parts();
            return Ok(Response::from_parts(head, collect(body, most).await?.into()));
        }
        Err(ClientError::protocol(format!("it sent more than {MAX_REDIRECTS} redirects")))
    }

    fn plain(&self) -> &ConnectionPool<CheckedConnector> {
        self.plain.get_or_init(|| pool(self.connector()))
    }

    #[cfg(feature = "tls")]
    fn tls(
        &self,
    ) -> Result<&ConnectionPool<hyper_rustls::HttpsConnector<CheckedConnector>>, ClientError> {
        if let Some(pool) = self.tls.get() {
            return Ok(pool);
        }
        let mut connector = self.connector();
        connector.enforce_http(false);
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(certificates::config()?)
            .https_only()
            .enable_http1()
            .wrap_connector(connector);
        Ok(self.tls.get_or_init(|| pool(https)))
    }

    fn connector(&self) -> CheckedConnector {
        let mut connector = HttpConnector::new_with_resolver(CheckedLookup::new(self.destinations));
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(self.connect_timeout));
        connector
    }
}

fn pool<C>(connector: C) -> ConnectionPool<C>
where
    C: hyper_util::client::legacy::connect::Connect + Clone,
{
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
    builder.build(connector)
}

/// Returns the target of a redirect, which must be on the origin that sent it.
fn redirected(from: &Uri, response: &Response<Incoming>) -> Result<Uri, ClientError> {
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let to = location.and_then(|location| resolve(&from.to_string(), location));
    let target = to.as_deref().and_then(|to| to.parse::<Uri>().ok());
    let stays = target.filter(|target| is_same_origin(from, target));
    stays.ok_or_else(|| {
        let to = to.as_deref().or(location).unwrap_or("nowhere");
        ClientError::Redirected(to.escape_debug().to_string())
    })
}

/// Converts an error of the HTTP stack; none of its causes contains the request.
fn failure(error: Error) -> ClientError {
    #[cfg(feature = "tls")]
    if let Some(problem) = certificates::problem(&error) {
        return ClientError::Certificate { problem, source: None }.caused_by(error);
    }
    // The error itself only says that a client had one while it connected; its causes say which.
    let text = error.source().map_or_else(|| error.to_string(), with_causes);
    let failure =
        if error.is_connect() { ClientError::unreachable(text) } else { ClientError::closed(text) };
    failure.caused_by(error)
}
