//! A server in the test's own process, on a port of its own.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use skillwire_catalog::{Refreshed, SnapshotOptions};
use skillwire_server::{
    Config, Engine, Skills,
    dialect::RunScripts,
    http::{self, ConnectionLimits, HttpOptions, Tokens, Workers},
    offer::Offers,
};
use skillwire_source::{
    DirectoryOptions, DirectorySource, GroupId, InspectedSkill, PathPatterns, ScanRequest,
    SkillLookup, SkillSource,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::{
    http_client::{HttpConnection, HttpReply},
    rpc::{RpcReply, initialize_params, legacy_request, modern_request},
};

/// The settings of a [`TestServer`]; the default ones serve everything to every client.
#[derive(Debug, Default)]
pub struct TestOptions {
    /// Which skills and files are listed.
    pub snapshot: SnapshotOptions,
    /// The configuration of the engine.
    pub config: Config,
    /// The options for scanning the folder.
    pub directory: DirectoryOptions,
    /// The options of the HTTP transport.
    pub http: HttpOptions,
    /// The text of a token file; without it, clients need no token.
    pub tokens: Option<String>,
    /// Skills that are published under `/.well-known/`.
    pub public: Vec<String>,
    /// The limits of connections.
    pub limits: ConnectionLimits,
    /// The tools and prompts that the server offers.
    pub offers: Offers,
    /// Looks up skills that the sources do not report.
    pub lookup: Option<Arc<dyn SkillLookup>>,
    /// Runs scripts of skills.
    pub scripts: Option<Arc<dyn RunScripts>>,
}

/// A running server; it stops when the value is dropped.
#[derive(Debug)]
pub struct TestServer {
    /// The address it listens on.
    pub address: SocketAddr,
    skills: Skills,
    following: Option<JoinHandle<()>>,
    known: BTreeMap<GroupId, Vec<InspectedSkill>>,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl TestServer {
    /// Serves one folder with the usual settings.
    pub async fn start(folder: &Path) -> Self {
        Self::with(folder, TestOptions::default()).await
    }

    /// Serves one folder.
    pub async fn with(folder: &Path, options: TestOptions) -> Self {
        let source =
            DirectorySource::new(folder, options.directory.clone()).expect("the folder is there");
        Self::with_sources(vec![Box::new(source)], options).await
    }

    /// Serves any sources.
    pub async fn with_sources(sources: Vec<Box<dyn SkillSource>>, options: TestOptions) -> Self {
        let mut server = Self::not_ready(sources, options).await;
        server.refresh();
        server
    }

    /// Listens, but has no snapshot until [`refresh`](Self::refresh).
    pub async fn not_ready(sources: Vec<Box<dyn SkillSource>>, options: TestOptions) -> Self {
        let mut skills = Skills::builder()
            .listing(options.snapshot)
            .config(options.config)
            .offers(options.offers)
            .sources(sources)
            .on_notice(|_| {});
        if let Some(text) = &options.tokens {
            skills = skills.tokens(Tokens::parse(text).expect("tokens are well formed"));
        }
        if !options.public.is_empty() {
            let public = PathPatterns::parse(&options.public).expect("patterns are well formed");
            skills = skills.public(public);
        }
        if let Some(lookup) = options.lookup {
            skills = skills.lookup(lookup);
        }
        if let Some(scripts) = options.scripts {
            skills = skills.scripts(scripts);
        }
        let skills = skills.prepare().expect("a test server can be put together");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let service = skills.http_service(options.http);
        let (stop, stopped) = oneshot::channel::<()>();
        let task =
            tokio::spawn(http::run(listener, service, Workers::here(), options.limits, async {
                let _ = stopped.await;
            }));
        Self {
            address,
            skills,
            known: BTreeMap::new(),
            following: None,
            stop: Some(stop),
            task: Some(task),
        }
    }

    /// Reads every file of the sources again, and returns every group, changed or not.
    pub fn refresh(&mut self) -> Refreshed {
        assert!(self.following.is_none(), "what is followed refreshes by itself");
        let mut refreshed = self.skills.refresh(&ScanRequest::everything().force_read());
        for site in &refreshed.gone {
            self.known.remove(site);
        }
        self.known.extend(std::mem::take(&mut refreshed.sites));
        refreshed.sites = self.known.clone().into_iter().collect();
        refreshed
    }

    /// Scans the sources once, and from then on whenever they change, as a real server does.
    pub async fn follow(&mut self) {
        assert!(self.following.is_none(), "it is followed once");
        let follower = Arc::clone(self.skills.follower());
        follower.look(ScanRequest::everything()).await.expect("looking does not panic");
        self.following = Some(tokio::spawn(async move {
            follower.follow(async || std::future::pending().await).await;
        }));
    }

    /// The engine, for stdio tests in the same process.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(self.skills.engine())
    }

    /// Stops the server gracefully and waits until it has ended.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(task) = self.task.take() {
            task.await.expect("the server ends in order");
        }
    }

    /// Opens a connection.
    pub async fn connect(&self) -> HttpConnection {
        HttpConnection::open(self.address).await
    }

    /// Posts a body with exactly these headers besides `Host` and `Content-Length`.
    pub async fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> HttpReply {
        let mut connection = self.connect().await;
        connection.send("POST", http::ENDPOINT, headers, body).await;
        connection.reply().await
    }

    /// Sends a modern request with all headers as they should be, and extra ones.
    pub async fn modern_with(
        &self,
        extra: &[(&str, &str)],
        method: &str,
        params: Value,
    ) -> HttpReply {
        let name = params["uri"].as_str().or(params["name"].as_str()).map(header_text);
        let body = modern_request(1, method, params).to_string();
        let mut headers = modern_headers(method);
        let named = matches!(method, "resources/read" | "tools/call" | "prompts/get");
        if let Some(name) = name.as_deref().filter(|_| named) {
            headers.push(("Mcp-Name", name));
        }
        headers.extend_from_slice(extra);
        self.post(&headers, body.as_bytes()).await
    }

    /// Sends a modern request and returns the message that came back.
    pub async fn modern(&self, method: &str, params: Value) -> RpcReply {
        self.modern_with(&[], method, params).await.message()
    }

    /// Sends a modern request that must succeed.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        self.modern(method, params).await.result().clone()
    }

    /// Opens a legacy session and returns its id.
    pub async fn initialize(&self, version: &str) -> (String, Value) {
        let body = legacy_request(0, "initialize", initialize_params(version)).to_string();
        let reply = self.post(&LEGACY_HEADERS, body.as_bytes()).await;
        let session = reply.header("mcp-session-id").expect("a session is opened").to_owned();
        (session, reply.message().result().clone())
    }

    /// Sends a request within a legacy session.
    pub async fn legacy(&self, session: &str, method: &str, params: Value) -> HttpReply {
        let mut headers = LEGACY_HEADERS.to_vec();
        headers.extend([("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]);
        self.post(&headers, legacy_request(1, method, params).to_string().as_bytes()).await
    }

    /// Walks a paginated modern listing to its end, following at most `limit` pages.
    pub async fn pages(
        &self,
        method: &str,
        params: Value,
        member: &str,
        limit: usize,
    ) -> Vec<Value> {
        let (mut items, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..limit {
            let mut params = params.clone();
            if let Some(cursor) = cursor.take() {
                params["cursor"] = cursor;
            }
            let result = self.call(method, params).await;
            items.extend(result[member].as_array().expect("a page has items").iter().cloned());
            match result.get("nextCursor") {
                Some(next) => cursor = Some(next.clone()),
                None => return items,
            }
        }
        panic!("{method} has more than {limit} pages");
    }

    /// Every entry that is listed.
    pub async fn skills(&self) -> Vec<Value> {
        self.pages("skills/list", json!({}), "skills", 1_000).await
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(following) = &self.following {
            following.abort();
        }
    }
}

/// Writes a name as a header value, encoded if it holds characters that a header cannot.
pub(crate) fn header_text(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.starts_with("=?") {
        name.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(name))
    }
}

/// The headers of a legacy request outside a session.
pub const LEGACY_HEADERS: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// The headers every modern request has.
pub fn modern_headers(method: &str) -> Vec<(&str, &str)> {
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.extend([
        ("MCP-Protocol-Version", skillwire_protocol::version::MODERN),
        ("Mcp-Method", method),
    ]);
    headers
}
