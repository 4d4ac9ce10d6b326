//! An MCP server that requires a login, with its authorization server, on one port.
//!
//! To a client it looks like a real one: metadata, registration, codes that are bound to a
//! challenge, tokens that expire and refresh tokens that work once. A [`LoginFault`] makes it
//! misbehave.

mod oauth;

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};

use self::oauth::IssuedTokens;
use crate::{
    hostile::{
        HostileServer, ListeningServer,
        http::{Disconnected, HttpRequest, RawConnection},
    },
    http_client::{HttpConnection, HttpReply},
};

/// One way in which the login misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginFault {
    /// The authorization server calls itself something else.
    OtherIssuer,
    /// The browser comes back with the name of another authorization server.
    OtherIssuerInAnswer,
    /// The metadata is about another server.
    OtherResource,
    /// Tokens would be sent in the clear to another machine.
    TokensInTheClear,
    /// Clients cannot register.
    NoRegistration,
    /// There is no metadata at all.
    NoMetadata,
    /// The user declines.
    Declined,
    /// Tokens are not of the kind `bearer`.
    OtherTokenType,
    /// Refresh tokens are refused.
    NoRefresh,
    /// Clients get a secret when they register.
    ClientSecret,
    /// The server refuses every token.
    RefusesEveryToken,
    /// The metadata of the authorization server has two megabytes.
    HugeMetadata,
    /// The metadata of the authorization server is said to be at another origin.
    RedirectsMetadata,
    /// Requests for metadata are never answered.
    NeverAnswers,
}

/// One request that the login server received.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The path, without the query.
    pub path: String,
    /// The parameters of the query or the form.
    pub parameters: BTreeMap<String, String>,
    /// The `Authorization` header.
    pub authorization: Option<String>,
}

/// An MCP server that requires a login; it listens until this value is dropped.
pub struct LoginServer {
    address: SocketAddr,
    state: Arc<LoginState>,
    task: JoinHandle<()>,
}

struct LoginState {
    address: SocketAddr,
    behind: ListeningServer,
    faults: Mutex<Vec<LoginFault>>,
    issued: Mutex<IssuedTokens>,
    requests: Mutex<Vec<LoginRequest>>,
}

impl Drop for LoginServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LoginServer {
    /// Starts a login server in front of another server.
    pub async fn in_front_of(server: &HostileServer, faults: &[LoginFault]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let state = Arc::new(LoginState {
            address,
            behind: server.http().await,
            faults: Mutex::new(faults.to_vec()),
            issued: Mutex::default(),
            requests: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let mut connection = RawConnection::new(stream);
                    while let Some(received) = connection.receive().await {
                        if state.respond(&mut connection, &received).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, state, task }
    }

    /// The URL of the endpoint.
    pub fn url(&self) -> String {
        self.state.url()
    }

    /// Sets how many seconds the tokens that are issued from now on are valid.
    pub fn set_token_lifetime(&self, seconds: u64) {
        self.state.issued.lock().lifetime = seconds;
    }

    /// Revokes every access token that was issued.
    pub fn revoke_tokens(&self) {
        self.state.issued.lock().access.clear();
    }

    /// Adds a fault while the server runs.
    pub fn set_fault(&self, fault: LoginFault) {
        self.state.faults.lock().push(fault);
    }

    /// Every request that the server received, in order.
    pub fn requests(&self) -> Vec<LoginRequest> {
        self.state.requests.lock().clone()
    }

    /// The requests to one path.
    pub fn requests_to(&self, path: &str) -> Vec<LoginRequest> {
        self.requests().into_iter().filter(|request| request.path == path).collect()
    }

    /// Does what a browser does with an address: opens it and follows the redirect.
    pub async fn browse(&self, url: &str) -> HttpReply {
        let path = url.strip_prefix(&format!("http://{}", self.address));
        let path = path.unwrap_or_else(|| panic!("{url} is not at {}", self.address));
        let mut connection = HttpConnection::open(self.address).await;
        connection.send("GET", path, &[], b"").await;
        let reply = connection.reply().await;
        let Some(location) = reply.header("location") else { return reply };
        let rest = location.strip_prefix("http://").expect("it leads to loopback");
        let (address, path) = rest.split_once('/').expect("it has a path");
        let address = address.parse().expect("it leads to loopback");
        let mut connection = HttpConnection::open(address).await;
        connection.send("GET", &format!("/{path}"), &[], b"").await;
        connection.reply().await
    }
}

/// An HTTP response: status, headers, body.
struct HttpAnswer(u16, Vec<(String, String)>, Vec<u8>);

impl HttpAnswer {
    fn json(status: u16, value: &serde_json::Value) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Self(status, headers, value.to_string().into_bytes())
    }

    fn error(code: &str) -> Self {
        Self::json(400, &json!({ "error": code, "error_description": "hush" }))
    }
}

impl LoginState {
    fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    fn url(&self) -> String {
        format!("{}/mcp", self.base())
    }

    fn has(&self, fault: LoginFault) -> bool {
        self.faults.lock().contains(&fault)
    }

    async fn respond(
        &self,
        connection: &mut RawConnection,
        received: &HttpRequest,
    ) -> Result<(), Disconnected> {
        let (path, query) = received.target.split_once('?').unwrap_or((&received.target, ""));
        let authorization = received.headers.iter().find(|(name, _)| name == "authorization");
        let authorization = authorization.map(|(_, value)| value.clone());
        let form = String::from_utf8_lossy(&received.body).into_owned();
        let parameters = match received.method.as_str() {
            "POST" if path == "/token" => oauth::parameters(&form),
            _ => oauth::parameters(query),
        };
        let request = LoginRequest { path: path.to_owned(), parameters, authorization };
        self.requests.lock().push(request.clone());
        if path.starts_with("/.well-known/") && self.has(LoginFault::NeverAnswers) {
            return std::future::pending().await;
        }
        let HttpAnswer(status, headers, body) = match path {
            "/mcp" => self.endpoint(&request, received).await,
            _ => self.authorize(&request),
        };
        connection.respond(status, &headers, &body).await
    }

    /// Forwards a request with a valid token to the server behind.
    async fn endpoint(&self, request: &LoginRequest, received: &HttpRequest) -> HttpAnswer {
        let token = request.authorization.as_deref().and_then(|text| text.strip_prefix("Bearer "));
        let is_open = token.is_some_and(|token| self.issued.lock().access.contains(token));
        if !is_open || self.has(LoginFault::RefusesEveryToken) {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.base());
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            let headers = vec![("WWW-Authenticate".to_owned(), challenge)];
            return HttpAnswer(401, headers, Vec::new());
        }
        let mut connection = HttpConnection::open(self.behind.address).await;
        let passed: Vec<(&str, &str)> = received
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length"))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        connection.send(&received.method, "/mcp", &passed, &received.body).await;
        let reply = connection.reply().await;
        let kept = |(name, _): &(String, String)| name != "content-length";
        HttpAnswer(reply.status, reply.headers.into_iter().filter(kept).collect(), reply.body)
    }
}
