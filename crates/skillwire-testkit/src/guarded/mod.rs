//! A server that wants a login, and the authorization server that speaks for it, on one port.
//!
//! It is a real one as far as a client can see: metadata, registration, codes that are bound to a
//! challenge, tokens that end and refresh tokens that work once. What may be wrong about it is a
//! [`Trouble`].

mod authorization;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};

use self::authorization::Issued;
use crate::{
    hostile::{
        HostileServer, Listening,
        http::{Connection, Gone, Received},
    },
    http,
};

/// What may be wrong about a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The authorization server calls itself something else.
    OtherIssuer,
    /// The browser comes back with the name of another authorization server.
    OtherIssuerInAnswer,
    /// The metadata is about another server.
    OtherResource,
    /// Tokens would be sent in the clear to another machine.
    TokensInTheClear,
    /// Nobody can register.
    NoRegistration,
    /// There is no metadata at all.
    NoMetadata,
    /// The user says no.
    Declined,
    /// Tokens are not of the kind `bearer`.
    OtherTokenType,
    /// Refresh tokens are refused.
    NoRefresh,
    /// Clients get a secret.
    ClientSecret,
    /// No token opens the server.
    OpensToNobody,
}

/// One request that came, as far as tests want to know it.
#[derive(Debug, Clone)]
pub struct Came {
    /// The path, without the query.
    pub path: String,
    /// The parameters of the query or the form.
    pub parameters: BTreeMap<String, String>,
    /// What stood in `Authorization`.
    pub authorization: Option<String>,
}

/// A server that wants a login; it listens until this value goes away.
pub struct GuardedServer {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    address: SocketAddr,
    behind: Listening,
    troubles: Mutex<Vec<Trouble>>,
    issued: Mutex<Issued>,
    came: Mutex<Vec<Came>>,
}

impl Drop for GuardedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl GuardedServer {
    /// Puts a guard before a server.
    pub async fn before(server: &HostileServer, troubles: &[Trouble]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let state = Arc::new(State {
            address,
            behind: server.http().await,
            troubles: Mutex::new(troubles.to_vec()),
            issued: Mutex::default(),
            came: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let mut connection = Connection::new(stream);
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

    /// Lets tokens that are given from now on live that many seconds.
    pub fn tokens_live(&self, seconds: u64) {
        lock(&self.state.issued).lifetime = seconds;
    }

    /// Ends every access token that was given.
    pub fn end_tokens(&self) {
        lock(&self.state.issued).access.clear();
    }

    /// Adds something that is wrong from now on.
    pub fn trouble(&self, trouble: Trouble) {
        lock(&self.state.troubles).push(trouble);
    }

    /// Every request that came, in order.
    pub fn came(&self) -> Vec<Came> {
        lock(&self.state.came).clone()
    }

    /// The requests to one path.
    pub fn came_to(&self, path: &str) -> Vec<Came> {
        self.came().into_iter().filter(|came| came.path == path).collect()
    }

    /// Does what a browser does with an address: goes there, and on to where it is sent.
    pub async fn browse(&self, url: &str) -> http::HttpReply {
        let path = url.strip_prefix(&format!("http://{}", self.address));
        let path = path.unwrap_or_else(|| panic!("{url} is not at {}", self.address));
        let mut connection = http::Connection::open(self.address).await;
        connection.send("GET", path, &[], b"").await;
        let reply = connection.reply().await;
        let Some(location) = reply.header("location") else { return reply };
        let rest = location.strip_prefix("http://").expect("it leads to loopback");
        let (address, path) = rest.split_once('/').expect("it has a path");
        let address = address.parse().expect("it leads to loopback");
        let mut connection = http::Connection::open(address).await;
        connection.send("GET", &format!("/{path}"), &[], b"").await;
        connection.reply().await
    }
}

/// What is answered: a status, headers, a body.
struct Answer(u16, Vec<(String, String)>, Vec<u8>);

impl Answer {
    fn json(status: u16, value: &serde_json::Value) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Self(status, headers, value.to_string().into_bytes())
    }

    fn error(code: &str) -> Self {
        Self::json(400, &json!({ "error": code, "error_description": "hush" }))
    }
}

impl State {
    fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    fn url(&self) -> String {
        format!("{}/mcp", self.base())
    }

    fn has(&self, trouble: Trouble) -> bool {
        lock(&self.troubles).contains(&trouble)
    }

    async fn respond(&self, connection: &mut Connection, received: &Received) -> Result<(), Gone> {
        let (path, query) = received.target.split_once('?').unwrap_or((&received.target, ""));
        let authorization = received.headers.iter().find(|(name, _)| name == "authorization");
        let authorization = authorization.map(|(_, value)| value.clone());
        let form = String::from_utf8_lossy(&received.body).into_owned();
        let parameters = match received.method.as_str() {
            "POST" if path == "/token" => authorization::parameters(&form),
            _ => authorization::parameters(query),
        };
        let came = Came { path: path.to_owned(), parameters, authorization };
        lock(&self.came).push(came.clone());
        let Answer(status, headers, body) = match path {
            "/mcp" => self.endpoint(&came, received).await,
            _ => self.authorize(&came),
        };
        connection.respond(status, &headers, &body).await
    }

    /// Lets a request with a token through to the server behind.
    async fn endpoint(&self, came: &Came, received: &Received) -> Answer {
        let token = came.authorization.as_deref().and_then(|text| text.strip_prefix("Bearer "));
        let is_open = token.is_some_and(|token| lock(&self.issued).access.contains(token));
        if !is_open || self.has(Trouble::OpensToNobody) {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.base());
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            let headers = vec![("WWW-Authenticate".to_owned(), challenge)];
            return Answer(401, headers, Vec::new());
        }
        let mut connection = http::Connection::open(self.behind.address).await;
        let passed: Vec<(&str, &str)> = received
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length"))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        connection.send(&received.method, "/mcp", &passed, &received.body).await;
        let reply = connection.reply().await;
        let kept = |(name, _): &(String, String)| name != "content-length";
        Answer(reply.status, reply.headers.into_iter().filter(kept).collect(), reply.body)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
