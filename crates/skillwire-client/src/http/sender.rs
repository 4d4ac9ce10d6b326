//! Sending HTTP requests: pooled connections, no redirects, no proxy.

use std::{error::Error as _, time::Duration};

use bytes::Bytes;
use http::{Request, Response, Uri, uri::Scheme};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};

use crate::error::ClientError;

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(30);

/// Sends requests to servers of one scheme.
pub(crate) enum Sender {
    Plain(Client<HttpConnector, Full<Bytes>>),
    #[cfg(feature = "tls")]
    Tls(Client<hyper_rustls::HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl Sender {
    /// Creates a sender for a URL; reads the system's certificates only if the URL needs them.
    pub(crate) fn new(url: &Uri, connect_timeout: Duration) -> Result<Self, ClientError> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(connect_timeout));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        if url.scheme() == Some(&Scheme::HTTP) {
            return Ok(Self::Plain(builder.build(connector)));
        }
        #[cfg(feature = "tls")]
        {
            connector.enforce_http(false);
            let https = hyper_rustls::HttpsConnectorBuilder::new()
                .with_tls_config(crate::tls::config().map_err(ClientError::Unreachable)?)
                .https_only()
                .enable_http1()
                .wrap_connector(connector);
            Ok(Self::Tls(builder.build(https)))
        }
        #[cfg(not(feature = "tls"))]
        Err(ClientError::Unreachable("this program was built without TLS".to_owned()))
    }

    /// Sends one request and waits for the head of its response.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let response = match self {
            Self::Plain(client) => client.request(request),
            #[cfg(feature = "tls")]
            Self::Tls(client) => client.request(request),
        };
        response.await.map_err(|error| {
            // The causes say what failed; none of them contains the request.
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            if error.is_connect() {
                ClientError::Unreachable(text)
            } else {
                ClientError::Closed(text)
            }
        })
    }
}
