//! More clients than a server takes at once, clients that do not read, and clients that disconnect.

use std::net::SocketAddr;

use serde_json::{Value, json};
use skillwire_testkit::{HttpConnection, legacy_request, modern_headers, modern_request};
use tokio::io::AsyncWriteExt;

use super::client::{LoadClient, legacy_post};
use crate::support::StdioServer;

/// Sends a modern request and does not read its answer.
pub(super) async fn send_without_reading(
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

/// Opens more connections than the server takes at once, each with a request. Each gets its answer.
pub(super) async fn crowd(address: SocketAddr, connections: usize) {
    let mut waiting = Vec::new();
    for _ in 0..connections {
        let mut connection = HttpConnection::open(address).await;
        send_without_reading(&mut connection, "server/discover", None, json!({})).await;
        waiting.push(connection);
    }
    for mut connection in waiting {
        // Closing the connection makes room for the next one.
        assert_eq!(connection.reply().await.status, 200);
    }
}

/// Opens connections that request large files and never read, and returns them.
pub(super) async fn stalled(
    address: SocketAddr,
    connections: usize,
    uri: impl Fn(usize) -> String,
) -> Vec<HttpConnection> {
    let mut silent = Vec::new();
    for number in 0..connections {
        let mut connection = HttpConnection::open(address).await;
        for next in 0..8 {
            let uri = uri(number + next);
            send_without_reading(
                &mut connection,
                "resources/read",
                Some(&uri),
                json!({ "uri": uri }),
            )
            .await;
        }
        silent.push(connection);
    }
    silent
}

/// Requests files and disconnects before the answers, many times.
pub(super) async fn gone(address: SocketAddr, requests: usize, uris: &[String]) {
    for uri in uris.iter().cycle().take(requests) {
        let mut connection = HttpConnection::open(address).await;
        send_without_reading(&mut connection, "resources/read", Some(uri), json!({ "uri": uri }))
            .await;
    }
}

/// Sends requests in a legacy session and cancels them.
pub(super) async fn cancel_over_http(address: SocketAddr, requests: usize, uris: &[String]) {
    let LoadClient::Legacy(mut connection, session) = LoadClient::legacy(address).await else {
        unreachable!("it is a legacy client");
    };
    for (id, uri) in uris.iter().cycle().take(requests).enumerate() {
        let request = legacy_request(id, "resources/read", json!({ "uri": uri })).to_string();
        // The answer may arrive before the cancellation is sent, which must make no difference.
        assert_eq!(legacy_post(&mut connection, &session, &request).await.status, 200);
        assert_eq!(legacy_post(&mut connection, &session, &cancel(id)).await.status, 202);
    }
    end(&mut connection, &session).await;
}

/// Sends requests over stdio and cancels them at once. Every answer belongs to a request.
pub(super) async fn taken_back_on_a_pipe(
    server: &mut StdioServer,
    requests: usize,
    uris: &[String],
) {
    let mut input = server.input.take().expect("standard input is open");
    // Reads while it writes. Otherwise client and server could each wait for the other to read.
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
