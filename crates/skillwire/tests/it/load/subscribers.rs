//! Hundreds of thousands of subscriptions, which the server accepts or refuses.

use std::net::SocketAddr;

use serde_json::json;
use skillwire_testkit::{HttpConnection, legacy_request, modern_request};

use super::{
    client::{LoadClient, legacy_post},
    crowd::{end, send_without_reading},
};
use crate::support::StdioServer;

/// How many files one legacy session subscribes to.
pub(super) const FILES_PER_SESSION: usize = 4_000;

/// Opens streams that each subscribe to some of the files.
pub(super) async fn streams(
    address: SocketAddr,
    streams: usize,
    uris: &[String],
) -> Vec<HttpConnection> {
    let mut open = Vec::new();
    for _ in 0..streams {
        let mut connection = HttpConnection::open(address).await;
        let params = json!({ "notifications": { "resourceSubscriptions": uris } });
        send_without_reading(&mut connection, "subscriptions/listen", None, params).await;
        assert_eq!(connection.head().await.expect("an answer").0, 200);
        let first = connection.event().await.expect("an acknowledgment");
        let honoured = &first["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(honoured.as_array().map(Vec::len), Some(uris.len()), "all are held");
        open.push(connection);
    }
    open
}

/// Asserts that every stream is notified of a change of this file.
pub(super) async fn all_hear(streams: &mut [HttpConnection], uri: &str) {
    for stream in streams {
        while stream.event().await.expect("the stream lives")["params"]["uri"] != uri {}
    }
}

/// Legacy sessions, each with its connection.
#[derive(Default)]
pub(super) struct LegacySessions(Vec<(HttpConnection, String)>);

impl LegacySessions {
    /// Subscribes to files, [`FILES_PER_SESSION`] in each session. Returns how many subscriptions
    /// the server accepted before it refused one.
    pub(super) async fn subscribe(
        &mut self,
        address: SocketAddr,
        wanted: usize,
        uris: &[String],
    ) -> usize {
        assert!(uris.len() >= FILES_PER_SESSION, "{} files are too few", uris.len());
        let mut held = 0;
        while held < wanted {
            let LoadClient::Legacy(mut connection, session) = LoadClient::legacy(address).await
            else {
                unreachable!("it is a legacy client");
            };
            let mut refused = false;
            for uri in uris.iter().take(FILES_PER_SESSION.min(wanted - held)) {
                let body = legacy_request(1, "resources/subscribe", json!({ "uri": uri }));
                let reply = legacy_post(&mut connection, &session, &body.to_string()).await;
                let message = reply.message();
                if message.0.get("error").is_some() {
                    assert_eq!(message.code(), -32602, "{}", message.0);
                    refused = true;
                    break;
                }
                held += 1;
            }
            self.0.push((connection, session));
            if refused {
                break;
            }
        }
        held
    }

    /// Ends every session.
    pub(super) async fn end(self) {
        for (mut connection, session) in self.0 {
            end(&mut connection, &session).await;
        }
    }
}

/// Requests more subscriptions than a stdio client may have. Returns how many the server accepted
/// and how many it refused.
pub(super) async fn on_a_pipe(server: &mut StdioServer, wanted: usize) -> (usize, usize) {
    let (mut held, mut refused) = (0, 0);
    for id in 0..wanted {
        let filter = json!({ "notifications": { "resourcesListChanged": true } });
        let answer = server.request(&modern_request(id, "subscriptions/listen", filter)).await;
        if answer.0.get("error").is_some() {
            assert_eq!(answer.code(), -32600);
            refused += 1;
        } else {
            assert_eq!(answer.0["method"], "notifications/subscriptions/acknowledged");
            held += 1;
        }
    }
    (held, refused)
}
