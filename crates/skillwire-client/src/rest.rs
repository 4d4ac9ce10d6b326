//! Plain HTTP requests to one server that the user named, with the user's token.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::Full;

use crate::{
    config::{InvalidServer, ServerUrl},
    endpoint::Limits,
    error::ClientError,
    http_client::{Destinations, HttpClient, Redirects, is_loopback},
    secret::Secret,
};

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests to one server: over `https`, or over `http` to this machine.
///
/// The token goes nowhere else: a redirect to another origin is an error.
pub struct RestClient {
    base: String,
    authorization: Option<HeaderValue>,
    http: HttpClient,
    limits: Limits,
}

impl RestClient {
    /// Creates a client of the server at a URL; paths of requests are appended to it.
    pub fn new(
        base: &ServerUrl,
        token: Option<&Secret>,
        limits: Limits,
    ) -> Result<Self, InvalidServer> {
        let url: Uri =
            base.reveal().parse().map_err(|_| InvalidServer::new("`url` is not a URL"))?;
        if url.query().is_some() {
            return Err(InvalidServer::new("`url` has a query"));
        }
        let authorization = token.map(|token| {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            let mut value = value
                .map_err(|_| InvalidServer::new("the token holds a character that no token has"))?;
            value.set_sensitive(true);
            Ok::<_, InvalidServer>(value)
        });
        let this_machine = url.host().is_some_and(is_loopback);
        // The user, or the operator of a hub, typed the address.
        let destinations = Destinations::Confidential { this_machine, private_network: true };
        Ok(Self {
            base: base.reveal().trim_end_matches('/').to_owned(),
            authorization: authorization.transpose()?,
            http: HttpClient::new(destinations, CONNECT_TIMEOUT),
            limits,
        })
    }

    /// Creates a client of a server that another party named: only over `https`, and only at addresses of
    /// the public internet, also after its name was looked up. It has no token.
    pub fn of_stranger(base: &ServerUrl, limits: Limits) -> Result<Self, InvalidServer> {
        let client = Self::new(base, None, limits)?;
        let url: Uri =
            base.reveal().parse().map_err(|_| InvalidServer::new("`url` is not a URL"))?;
        Destinations::Public.check(&url).map_err(|_| {
            InvalidServer::new("`url` is not an `https` address of the public internet")
        })?;
        Ok(Self { http: HttpClient::new(Destinations::Public, CONNECT_TIMEOUT), ..client })
    }

    /// Sends a request and reads the whole response, within limits.
    #[tracing::instrument(skip_all, fields(%method, path))]
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Response<Bytes>, ClientError> {
        let url = format!("{}{path}", self.base);
        let url: Uri =
            url.parse().map_err(|_| ClientError::protocol("the address is not a URL"))?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = url;
        for (name, value) in headers {
            request.headers_mut().insert(name, value.clone());
        }
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        self.http.fetch(request, self.limits, Redirects::WithinOrigin).await
    }
}

impl std::fmt::Debug for RestClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestClient").field("base", &self.base).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_another_party_names_is_public_and_encrypted() {
        let client =
            |url: &str| RestClient::of_stranger(&ServerUrl::parse(url).unwrap(), Limits::default());
        assert!(client("https://issuer.example").is_ok());
        for refused in
            ["http://issuer.example", "http://127.0.0.1:80", "https://10.0.0.1", "https://[::1]"]
        {
            assert!(client(refused).is_err(), "{refused}");
        }
    }
}
