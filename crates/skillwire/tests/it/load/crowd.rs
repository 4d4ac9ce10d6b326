//! More clients than a server takes at once, clients that do not read, clients that go away.

use std::net::SocketAddr;

use serde_json::{Value, json};
use skillwire_testkit::{HttpConnection, legacy_request, modern_headers, modern_request};
use tokio::io::AsyncWriteExt;

use super::client::{Client, legacy_post};
use crate::support::Piped;

/// Sends a modern request and leaves the answer where it is.
pub(super) async fn begin(
    connection: &mut HttpConnection,
    method: &str,
    name: Option<&str>,
    params: Value,
) {
    let body = modern_request(1, method, params).to_string();
    let mut headers = modern_headers(method);
    headers.extend(name.map(|name| ("Mcp-Name", name)));
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
}

/// Opens more connections than there may be, all with a request; each is answered in its turn.
pub(super) async fn crowd(address: SocketAddr, connections: usize) {
    let mut waiting = Vec::new();
    for _ in 0..connections {
        let mut connection = HttpConnection::open(address).await;
        begin(&mut connection, "server/discover", None, json!({})).await;
        waiting.push(connection);
    }
    for mut connection in waiting {
        // Going away afterwards is what lets the next one in.
        assert_eq!(connection.reply().await.status, 200);
    }
}

/// Opens connections that ask for a large file many times and never read; returns them.
pub(super) async fn stalled(
    address: SocketAddr,
    connections: usize,
    uri: &str,
) -> Vec<HttpConnection> {
    let mut silent = Vec::new();
    for _ in 0..connections {
        let mut connection = HttpConnection::open(address).await;
        for _ in 0..8 {
            begin(&mut connection, "resources/read", Some(uri), json!({ "uri": uri })).await;
        }
        silent.push(connection);
    }
    silent
}

/// Asks for files and is gone before the answer, again and again.
pub(super) async fn gone(address: SocketAddr, requests: usize, uris: &[String]) {
    for uri in uris.iter().cycle().take(requests) {
        let mut connection = HttpConnection::open(address).await;
        begin(&mut connection, "resources/read", Some(uri), json!({ "uri": uri })).await;
    }
}

/// Asks within a session and takes it back, again and again.
pub(super) async fn taken_back(address: SocketAddr, requests: usize, uris: &[String]) {
    let Client::Legacy(mut connection, session) = Client::legacy(address).await else {
        unreachable!("it is a legacy client");
    };
    for (id, uri) in uris.iter().cycle().take(requests).enumerate() {
        let request = legacy_request(id, "resources/read", json!({ "uri": uri })).to_string();
        // The answer is there before the cancellation, which must not matter.
        assert_eq!(legacy_post(&mut connection, &session, &request).await.status, 200);
        assert_eq!(legacy_post(&mut connection, &session, &cancel(id)).await.status, 202);
    }
    end(&mut connection, &session).await;
}

/// Asks on a pipe and takes it back at once, again and again; what is answered is what was asked.
pub(super) async fn taken_back_on_a_pipe(server: &mut Piped, requests: usize, uris: &[String]) {
    let mut input = server.input.take().expect("standard input is open");
    // A client that writes without reading would wait for a server that waits for it.
    let writing = async {
        for (id, uri) in uris.iter().cycle().take(requests).enumerate() {
            let request = modern_request(id, "resources/read", json!({ "uri": uri }));
            let both = format!("{request}\n{}\n", cancel(id));
            input.write_all(both.as_bytes()).await.expect("the server reads");
        }
        let last = modern_request("last", "server/discover", json!({}));
        input.write_all(format!("{last}\n").as_bytes()).await.expect("the server reads");
    };
    let reading = async {
        let mut answered = 0;
        loop {
            let answer = server.next().await.expect("the server answers");
            assert!(answer.get("result").is_some(), "{answer}");
            if answer["id"] == "last" {
                return answered;
            }
            answered += 1;
        }
    };
    let ((), answered) = tokio::join!(writing, reading);
    assert!(answered <= requests, "{answered}");
    server.input = Some(input);
}

/// Ends a session.
pub(super) async fn end(connection: &mut HttpConnection, session: &str) {
    connection.send("DELETE", "/mcp", &[("Mcp-Session-Id", session)], b"").await;
    assert_eq!(connection.head().await.expect("an answer").0, 204);
}

fn cancel(id: usize) -> String {
    let params = json!({ "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()
}
