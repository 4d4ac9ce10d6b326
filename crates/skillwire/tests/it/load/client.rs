//! A client with one interface for both eras.

use std::net::SocketAddr;

use serde_json::{Value, json};
use skillwire_testkit::{
    HttpConnection, HttpReply, LEGACY_HEADERS, initialize_params, legacy_request, modern_headers,
    modern_request,
};

use crate::support::StdioServer;

/// A client that keeps its connection.
pub(super) enum LoadClient {
    Modern(HttpConnection),
    Legacy(HttpConnection, String),
    StdioServer(Box<StdioServer>),
}

/// The answer to a request: a result, or an error code.
pub(super) type LoadAnswer = Result<Value, i64>;

impl LoadClient {
    /// A modern client over HTTP.
    pub(super) async fn modern(address: SocketAddr) -> Self {
        Self::Modern(HttpConnection::open(address).await)
    }

    /// A legacy client over HTTP with a session of its own.
    pub(super) async fn legacy(address: SocketAddr) -> Self {
        let mut connection = HttpConnection::open(address).await;
        let body = legacy_request(0, "initialize", initialize_params("2025-11-25")).to_string();
        connection.send("POST", "/mcp", &LEGACY_HEADERS, body.as_bytes()).await;
        let reply = connection.reply().await;
        let session = reply.header("mcp-session-id").expect("a session is opened").to_owned();
        Self::Legacy(connection, session)
    }

    /// Sends a request and reads its answer.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> LoadAnswer {
        let answer = match self {
            Self::Modern(connection) => {
                let name = params["uri"].as_str().map(str::to_owned);
                let mut headers = modern_headers(method);
                if let Some(name) = name.as_deref().filter(|_| method == "resources/read") {
                    headers.push(("Mcp-Name", name));
                }
                let body = modern_request(1, method, params).to_string();
                connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
                connection.reply().await.message().0
            }
            Self::Legacy(connection, session) => {
                let body = legacy_request(1, method, params).to_string();
                legacy_post(connection, session, &body).await.message().0
            }
            Self::StdioServer(server) => server.modern(method, params).await.0,
        };
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => {
                Err(answer["error"]["code"].as_i64().expect("an answer is a result or an error"))
            }
        }
    }

    /// Lists every entry, page by page.
    pub(super) async fn list(&mut self) -> Vec<Value> {
        let (mut entries, mut params) = (Vec::new(), json!({}));
        loop {
            let page = self.ask("skills/list", params).await.expect("a listing never fails");
            entries.extend(page["skills"].as_array().expect("a page has skills").iter().cloned());
            match page.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return entries,
            }
        }
    }
}

/// Posts a message within a session.
pub(super) async fn legacy_post(
    connection: &mut HttpConnection,
    session: &str,
    body: &str,
) -> HttpReply {
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.extend([("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]);
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
    connection.reply().await
}
