//! The transport for the SDK's requests: checked addresses, no redirects, bounded responses.

use std::{
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde::Deserialize;
use tokio::time::timeout;

use super::Problem;
use crate::{
    error::ClientError,
    http::{Sender, collect},
    web::address::is_loopback,
};

/// The size limit for metadata, registrations and tokens.
const MAX_BYTES: usize = 256 * 1024;

/// The time limit of one exchange.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends requests for one login.
pub(super) struct Transport {
    /// Whether the server is on this machine. Only then may other addresses be on this machine.
    loopback: bool,
    connect_timeout: Duration,
    plain: OnceLock<Sender>,
    tls: OnceLock<Sender>,
    /// The OAuth error code of the last refusal, if it had a plain one.
    error_code: Mutex<Option<String>>,
}

impl Transport {
    /// Creates the transport for a server, whose address must be `https` or on this machine.
    pub(super) fn new(server: &str, connect_timeout: Duration) -> Result<Self, Problem> {
        let uri: Uri = server.parse().map_err(|_| Problem::new("the server's URL is malformed"))?;
        let loopback = uri.host().is_some_and(is_loopback);
        if uri.scheme_str() != Some("https") && !loopback {
            return Err(Problem::new("the server is not at an `https` URL")
                .hint("A token that is sent over `http` can be read on the way."));
        }
        Ok(Self {
            loopback,
            connect_timeout,
            plain: OnceLock::new(),
            tls: OnceLock::new(),
            error_code: Mutex::default(),
        })
    }

    /// Tells whether a token or a user may be sent to an address.
    pub(super) fn may_reach(&self, scheme: &str, host: &str) -> bool {
        match (is_loopback(host), scheme) {
            (true, "http" | "https") => self.loopback,
            (false, "https") => true,
            _ => false,
        }
    }

    /// Returns the error code of the authorization server's last refusal.
    pub(super) fn error_code(&self) -> Option<String> {
        self.error_code.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn sender(&self, uri: &Uri) -> Result<&Sender, ClientError> {
        let slot = if uri.scheme_str() == Some("http") { &self.plain } else { &self.tls };
        if let Some(sender) = slot.get() {
            return Ok(sender);
        }
        let sender = Sender::new(uri, self.connect_timeout)?;
        Ok(slot.get_or_init(|| sender))
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        let uri = request.uri();
        if !self.may_reach(uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default()) {
            let why = "an address is neither `https` nor on the server's own machine";
            return Err(ClientError::Unreachable(why.to_owned()));
        }
        let sender = self.sender(request.uri())?;
        let response = sender.send(request.map(|body| Full::new(Bytes::from(body)))).await?;
        let (head, body) = response.into_parts();
        let body = collect(body, MAX_BYTES).await?;
        if head.status.is_client_error() {
            *self.error_code.lock().unwrap_or_else(PoisonError::into_inner) = error_code(&body);
        }
        Ok(Response::from_parts(head, body))
    }
}

impl OAuthHttpClient for Transport {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let late = |_| Err(ClientError::Timeout(PATIENCE));
            Ok(timeout(PATIENCE, self.send(request.request)).await.unwrap_or_else(late)?)
        })
    }
}

/// Returns the error code of a response if it looks like one; nothing else of it is repeated.
fn error_code(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    let Refused { error } = serde_json::from_slice(body).ok()?;
    let plain = error.len() <= 40 && error.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    plain.then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_to_https_and_to_this_machine_only_from_this_machine() {
        let wait = Duration::from_secs(1);
        let outside = Transport::new("https://skills.example.com/mcp", wait).unwrap();
        let inside = Transport::new("http://127.0.0.1:1/mcp", wait).unwrap();
        assert!(Transport::new("http://skills.example.com/mcp", wait).is_err());
        for (scheme, host, from_outside, from_inside) in [
            ("https", "id.example.com", true, true),
            ("http", "id.example.com", false, false),
            ("http", "127.0.0.1", false, true),
            ("https", "localhost", false, true),
            ("http", "[::1]", false, true),
            ("javascript", "127.0.0.1", false, false),
            ("file", "", false, false),
        ] {
            assert_eq!(outside.may_reach(scheme, host), from_outside, "{scheme}://{host}");
            assert_eq!(inside.may_reach(scheme, host), from_inside, "{scheme}://{host}");
        }
    }

    #[test]
    fn only_what_looks_like_the_name_of_an_error_is_repeated() {
        assert_eq!(error_code(br#"{"error":"invalid_grant"}"#).as_deref(), Some("invalid_grant"));
        for other in [r#"{"error":"Bearer x"}"#, r#"{"error":{}}"#, "{}", "<html>"] {
            assert_eq!(error_code(other.as_bytes()), None, "{other}");
        }
    }
}
