//! Requests whose end a proxy could see elsewhere: SEC-08.

use super::{list_body, server};
use crate::peers::{request_bytes, statuses, until_closed};

/// A request with these lines about its length, and a body.
fn framed(lines: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: skills/list\r\n{lines}\r\n{body}"
    )
}

fn chunked(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

#[tokio::test]
async fn a_request_with_two_possible_ends_is_refused_before_it_is_handled_sec_08() {
    let (_folder, server) = server().await;
    let body = list_body();
    let length = format!("Content-Length: {}\r\n", body.len());
    let chunks = chunked(&body);
    let coding = "Transfer-Encoding: chunked\r\n";
    let bare_line = request_bytes("", &body, "skills/list").replacen(
        "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1\n",
        1,
    );
    for (what, request) in [
        ("length and coding", framed(&format!("{length}{coding}"), &chunks)),
        ("coding and length", framed(&format!("{coding}{length}"), &chunks)),
        ("the same length twice", framed(&format!("{length}{length}"), &body)),
        ("two codings", framed("Transfer-Encoding: gzip, chunked\r\n", &chunks)),
        ("a bare line feed", bare_line.clone()),
        ("only bare line feeds", request_bytes("", &body, "skills/list").replace("\r\n", "\n")),
        ("a bare line feed in chunks", framed(coding, &chunks.replacen("\r\n", "\n", 1))),
    ] {
        let text = until_closed(&server, &request).await;
        assert_eq!(statuses(&text), [400], "{what}: {text}");
        // The same behind an honest request on the connection.
        let honest = request_bytes("", &body, "skills/list");
        let text = until_closed(&server, format!("{honest}{request}")).await;
        assert_eq!(statuses(&text), [200, 400], "{what}, second: {text}");
    }
}

#[tokio::test]
async fn honest_requests_pass_however_they_are_framed_sec_08() {
    let (_folder, server) = server().await;
    let body = list_body();
    let plain = request_bytes("", &body, "skills/list");
    let chunks = framed("Transfer-Encoding: chunked\r\n", &chunked(&body));
    let last = request_bytes("Connection: close\r\n", &body, "skills/list");
    let text = until_closed(&server, format!("{plain}{chunks}\r\n{plain}{chunks}{last}")).await;
    assert_eq!(statuses(&text), [200; 5], "{text}");
}
