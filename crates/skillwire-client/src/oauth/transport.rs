//! The transport for the SDK's requests: checked addresses, no redirects, bounded responses.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use parking_lot::Mutex;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde::Deserialize;

use super::LoginProblem;
use crate::{
    endpoint::Limits,
    error::ClientError,
    http_client::{Destinations, HttpClient, Redirects, is_loopback, is_on_private_network},
};

/// The size limit for metadata, registrations and tokens.
const MAX_BYTES: usize = 256 * 1024;

/// The time limit of one exchange.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends requests for one login.
pub(super) struct OAuthTransport {
    client: HttpClient,
    destinations: Destinations,
    /// The OAuth error code of the last refusal, if it had a plain one.
    error_code: Mutex<Option<String>>,
}

impl OAuthTransport {
    /// Creates the transport for a server, whose address must be `https` or on this machine.
    pub(super) async fn new(server: &str, connect_timeout: Duration) -> Result<Self, LoginProblem> {
        let uri: Uri =
            server.parse().map_err(|_| LoginProblem::new("the server's URL is malformed"))?;
        let private_network = is_on_private_network(&uri).await;
        Self::within(&uri, private_network, connect_timeout)
    }

    /// Creates the transport for a server. Other addresses may be on this machine only if the
    /// server is, and on a private network only if the server is on one.
    fn within(
        uri: &Uri,
        private_network: bool,
        connect_timeout: Duration,
    ) -> Result<Self, LoginProblem> {
        let this_machine = uri.host().is_some_and(is_loopback);
        let destinations = Destinations::Confidential { this_machine, private_network };
        destinations.check(uri).map_err(|_| {
            LoginProblem::new("the server is not at an `https` URL")
                .hint("A token that is sent over `http` can be read on the way.")
        })?;
        let client = HttpClient::new(destinations, connect_timeout);
        Ok(Self { client, destinations, error_code: Mutex::default() })
    }

    /// Refuses an address that no token and no user may be sent to, with a clause about it.
    pub(super) fn check(&self, address: &str) -> Result<(), &'static str> {
        let uri: Uri = address.parse().map_err(|_| "it is malformed")?;
        match self.destinations.check(&uri) {
            Ok(()) => Ok(()),
            Err(ClientError::Forbidden(reason)) => Err(reason),
            Err(_) => Err("it may not be reached"),
        }
    }

    /// Returns the error code of the authorization server's last refusal.
    pub(super) fn error_code(&self) -> Option<String> {
        self.error_code.lock().clone()
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let limits = Limits::default().with_bytes(MAX_BYTES).with_timeout(PATIENCE);
        let response = self.client.fetch(request, limits, Redirects::Returned).await?;
        if response.status().is_client_error() {
            *self.error_code.lock() = error_code(response.body());
        }
        Ok(response.map(Into::into))
    }
}

impl OAuthHttpClient for OAuthTransport {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { Ok(self.send(request.request).await?) })
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
    fn a_token_is_not_sent_where_it_can_be_read_on_the_way() {
        let wait = Duration::from_secs(1);
        let within = |server: &str| OAuthTransport::within(&server.parse().unwrap(), false, wait);
        assert!(within("http://skills.example.com/mcp").is_err());
        let outside = within("https://skills.example.com/mcp").unwrap();
        assert_eq!(outside.check("https://id.example.com/token"), Ok(()));
        for other in ["http://id.example.com/token", "https://localhost/token", "file:", ""] {
            assert!(outside.check(other).is_err(), "{other}");
        }
    }

    #[test]
    fn an_authorization_server_on_a_private_network_is_for_servers_on_one_sec_20() {
        let wait = Duration::from_secs(1);
        let address = "https://10.0.0.1/token";
        for (server, private_network) in
            [("https://skills.example.com/mcp", false), ("https://10.0.0.2/mcp", true)]
        {
            let uri = server.parse().unwrap();
            let transport = OAuthTransport::within(&uri, private_network, wait).unwrap();
            assert_eq!(transport.check(address).is_ok(), private_network, "{server}");
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
