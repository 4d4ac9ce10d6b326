//! One address for everything: MCP, the API, the well-known address and what operators watch.

use std::sync::Arc;

use axum::{Router, response::IntoResponse as _};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use skillwire_hub_replica::{Replica, StartError};
use skillwire_server::http::{
    ConnectionPeer, ENDPOINT, HttpHandler, HttpService, ProtectedResource, RateRefusal,
    ResponseBody,
};
use tower_service::Service as _;

use crate::{
    api::{self, ProblemKind},
    api_access::{ApiRequest, too_often},
    readers::HubReaders,
};

/// The path of the documents that say where clients get tokens; the path of a mount follows.
const PROTECTED: &str = "/.well-known/oauth-protected-resource";

/// The path of the channels that clients name.
const CHANNELS: &str = "/mcp/c/";

/// The path of the addresses of single upstreams.
const UPSTREAMS: &str = "/mcp/u/";

/// Answers the requests of a hub's listener; clones share everything.
#[derive(Clone)]
pub struct HubService {
    replica: Arc<Replica>,
    /// The service of the channel `latest`, which always exists.
    latest: HttpService,
    api: Router,
    /// The API, for clients that need a token.
    api_resource: ProtectedResource,
    /// The other end of the connection.
    peer: Option<Arc<ConnectionPeer>>,
    readers: HubReaders,
}

impl HubService {
    pub(crate) fn new(
        replica: Arc<Replica>,
        api: Router,
        api_resource: ProtectedResource,
        readers: HubReaders,
    ) -> Self {
        let latest = replica.latest_service();
        Self { replica, latest, api, api_resource, readers, peer: None }
    }

    /// Readers of a face that keeps sessions of its own, such as a page.
    pub fn readers(&self) -> &HubReaders {
        &self.readers
    }

    /// Looks at the configuration about callers again; what it allows is shown before this returns.
    pub async fn reload_access(&self) -> Result<(), StartError> {
        self.replica.reload_access().await
    }

    /// Signs what is served with the keys of now.
    pub async fn reload_keys(&self) -> Result<(), StartError> {
        self.replica.reload_keys().await
    }

    /// Says where clients get tokens for a mount (RFC 9728).
    fn protected_resource(&self, request: &Request<Incoming>) -> Response<ResponseBody> {
        let path = request.uri().path().strip_prefix(PROTECTED).unwrap_or_default();
        if path.starts_with(api::ROOT) {
            return self.latest.describe(&self.api_resource, request);
        }
        match self.mount(path) {
            Some(http) => http.protected_resource(request),
            None => self.latest.protected_resource(request),
        }
    }

    /// The service of a channel or an upstream, by the path of its address.
    fn mount(&self, path: &str) -> Option<HttpService> {
        if let Some(name) = path.strip_prefix(CHANNELS) {
            return self.replica.channel_service(name);
        }
        let label = path.strip_prefix(UPSTREAMS)?;
        self.replica.upstream_service(label)
    }

    async fn mcp(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        let path = request.uri().path();
        if path == ENDPOINT {
            return self.latest.endpoint(request).await;
        }
        match self.mount(path) {
            Some(http) => http.of_peer(self.peer.as_ref()).endpoint(request).await,
            None => plain(StatusCode::NOT_FOUND, "There is no such channel or upstream.\n"),
        }
    }

    async fn api(&self, mut request: Request<Incoming>) -> Response<ResponseBody> {
        let mut noted = ApiRequest::begin(&self.latest, &mut request);
        let headers = request.headers().clone();
        let response = self.api_answer(request, &mut noted).await;
        noted.finish(&self.latest, self.peer.as_deref(), response.status());
        let (mut head, body) = response.into_parts();
        if head.status == StatusCode::UNAUTHORIZED {
            let sent = headers.contains_key(header::AUTHORIZATION).then_some("invalid_token");
            let challenge = self.api_resource.challenge(&headers, sent);
            let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
            head.headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        // Answers of the API are made in memory, so that collecting one does not wait.
        let body =
            body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let body = if body.is_empty() { Vec::new() } else { vec![body] };
        Response::from_parts(head, ResponseBody::ready(body))
    }

    /// Answers a request to the API, unless it is refused before the API sees it.
    async fn api_answer(
        &self,
        request: Request<Incoming>,
        noted: &mut ApiRequest,
    ) -> Response<axum::body::Body> {
        // Trust boundary: without this check, a web page that points a name of its own at this
        // machine could read what the hub shows without a token.
        if let Err(text) = self.latest.check_access(&request) {
            noted.is_foreign();
            return ProblemKind::Forbidden.because(text).coded("foreign-host").into_response();
        }
        if let Err(refusal) = self.latest.charge_request(request.headers()) {
            return too_often(refusal);
        }
        // A request to a database that is away would wait for as long as a statement may take.
        if !self.replica.freshness().is_reachable() {
            let detail = "The hub cannot reach its database now. Try again later.";
            return ProblemKind::Unavailable.because(detail).into_response();
        }
        match self.api.clone().call(request.map(axum::body::Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    fn readiness(&self) -> Response<ResponseBody> {
        let freshness = self.replica.freshness();
        if freshness.is_reachable() {
            return plain(StatusCode::OK, "ready\n");
        }
        let seconds = freshness.age().as_secs();
        let text = format!("The database did not answer for {seconds} seconds.\n");
        plain(StatusCode::SERVICE_UNAVAILABLE, &text)
    }
}

impl std::fmt::Debug for HubService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubService").finish_non_exhaustive()
    }
}

impl HttpHandler for HubService {
    async fn handle(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        let path = request.uri().path();
        if path.starts_with(api::ROOT) {
            return Box::pin(self.api(request)).await;
        }
        if path.starts_with(PROTECTED) {
            return self.protected_resource(&request);
        }
        match path {
            "/healthz" => return plain(StatusCode::OK, "ok\n"),
            "/readyz" => return self.readiness(),
            "/metrics" => return Box::pin(self.latest.handle(request)).await,
            _ => {}
        }
        if !self.replica.freshness().may_serve() {
            let text = "The hub cannot reach its database, and what it knows is too old.\n";
            return plain(StatusCode::SERVICE_UNAVAILABLE, text);
        }
        if path.starts_with(ENDPOINT) {
            return self.mcp(request).await;
        }
        Box::pin(self.latest.handle(request)).await
    }

    fn of_peer(&self, peer: Arc<ConnectionPeer>) -> Self {
        let latest = self.latest.of_peer(Some(&peer));
        Self { latest, peer: Some(peer), ..self.clone() }
    }

    fn charge_request(&self, headers: &HeaderMap) -> Result<(), RateRefusal> {
        self.latest.charge_request(headers)
    }

    fn stop(&self) {
        self.replica.stop();
    }

    fn metrics(&self) -> &skillwire_server::Metrics {
        self.latest.metrics()
    }
}

fn plain(status: StatusCode, text: &str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::ready(vec![Bytes::from(text.to_owned())]));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, time::Duration};

    use skillwire_hub_store::{BlobLocation, DatabaseLocation, HubStore, StoreOptions};
    use skillwire_server::http::{ConnectionLimits, Workers, run};
    use skillwire_testkit::{HttpConnection, HttpReply};
    use tokio::net::TcpListener;

    use super::*;
    use crate::{HubIdentity, ServingOptions};

    /// A hub without anything that never asks its database by itself.
    async fn hub(folder: &std::path::Path) -> (HubService, SocketAddr) {
        let database = DatabaseLocation::Sqlite(folder.join("hub.db"));
        let blobs = BlobLocation::Folder(folder.join("blobs"));
        let store = HubStore::open(StoreOptions::new(database, blobs)).await.unwrap();
        let options = ServingOptions::default().poll(Duration::from_hours(1));
        let identity = HubIdentity::new("hub", "hub");
        let (service, _) = crate::start(store, identity, options).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (served, never) = (service.clone(), std::future::pending());
        tokio::spawn(run(listener, served, Workers::here(), ConnectionLimits::default(), never));
        (service, address)
    }

    async fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> HttpReply {
        let mut connection = HttpConnection::open(address).await;
        connection.send("GET", path, headers, b"").await;
        connection.reply().await
    }

    #[tokio::test]
    async fn the_api_refuses_hosts_and_origins_that_the_endpoint_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let (_service, address) = hub(folder.path()).await;
        let own = format!("http://{address}");
        for (headers, status) in [
            (&[("Host", "evil.example"), ("Origin", "http://evil.example")][..], 403),
            (&[("Host", "evil.example")], 403),
            (&[("Origin", "http://evil.example")], 403),
            (&[("Host", own.trim_start_matches("http://")), ("Origin", &own)], 200),
            (&[], 200),
        ] {
            for path in ["/api/v1/hub", "/api/v1/skills", "/api/v1/openapi.json"] {
                let reply = get(address, path, headers).await;
                assert_eq!(reply.status, status, "{path} {headers:?}: {}", reply.text());
            }
        }
        let refused = get(address, "/api/v1/skills", &[("Host", "evil.example")]).await;
        assert!(refused.text().contains("urn:skillwire:problem:foreign-host"), "{refused:?}");
    }

    #[tokio::test]
    async fn requests_to_the_api_fail_at_once_while_the_database_is_away() {
        let folder = tempfile::tempdir().unwrap();
        let (service, address) = hub(folder.path()).await;
        assert_eq!(get(address, "/api/v1/skills", &[]).await.status, 200);
        // The database is well, so that only what the replica knows of it can be the reason.
        service.replica.freshness().lost();
        let refused = get(address, "/api/v1/skills", &[]).await;
        assert_eq!(refused.status, 503);
        assert!(refused.text().contains("urn:skillwire:problem:unavailable"), "{refused:?}");
    }
}
