//! How much a client may send and open: V-24, V-25.

use serde_json::json;
use skillwire_server::http::ConnectionLimits;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{limited, list_body, server};
use crate::peers::{listen, read_until, request_bytes, statuses, tasks, until_closed};

#[tokio::test]
async fn connections_beyond_the_cap_wait_for_their_turn_v_24() {
    let (_folder, server) = limited(ConnectionLimits::default().connections(2)).await;
    let filter = json!({ "resourcesListChanged": true });
    let (first, _) = listen(&server, filter.clone()).await;
    let (second, _) = listen(&server, filter).await;
    let before = tasks();
    let mut third = server.connect().await;
    third.write(request_bytes("", &list_body(), "skills/list")).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks(), before, "a third connection was taken");
    drop(first);
    assert_eq!(third.reply().await.status, 200);
    drop(second);
}

#[tokio::test]
async fn headers_have_limits_v_25() {
    let (_folder, server) = server().await;
    let body = list_body();
    let many = "X-Many: 1\r\n".repeat(5_000);
    let large = format!("X-Large: {}\r\n", "x".repeat(1 << 20));
    let name = format!("{}: 1\r\n", "X".repeat(1 << 17));
    for extra in [many, large, name] {
        let text = until_closed(&server, request_bytes(&extra, &body, "skills/list")).await;
        assert!(matches!(*statuses(&text), [] | [431]), "{text}");
    }
    let target = format!("POST /{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "x".repeat(1 << 20));
    let text = until_closed(&server, target).await;
    assert!(matches!(*statuses(&text), [] | [414 | 431]), "{text}");
    assert_eq!(server.modern_with(&[], "skills/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_refused_before_it_is_sent_v_25_v_10() {
    let (_folder, server) = server().await;
    for length in ["4194305", "1073741824", "9223372036854775807"] {
        let mut connection = server.connect().await;
        connection
            .write(format!(
                "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                 Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
            ))
            .await;
        let reply = connection.reply().await;
        assert_eq!((reply.status, reply.message().code()), (413, -32600), "{length}");
    }
}

#[tokio::test]
async fn a_body_that_grows_too_large_is_refused_v_25_v_10() {
    let (_folder, server) = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 18, " ".repeat(1 << 18));
    // Exactly one byte too many: unread bytes would make the system reset the connection and drop
    // the answer.
    for _ in 0..16 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    stream.write_all(b"1\r\n \r\n").await.unwrap();
    assert_eq!(statuses(&read_until(&mut stream, "}}").await), [413]);
}

#[tokio::test]
async fn compressed_bodies_are_not_taken_v_25() {
    let (_folder, server) = server().await;
    for coding in ["gzip", "deflate", "br", "zstd", "identity, gzip", "x"] {
        let extra = [("Content-Encoding", coding)];
        let reply = server.modern_with(&extra, "skills/list", json!({})).await;
        assert_eq!(reply.status, 415, "{coding}");
    }
    let extra = [("Content-Encoding", "identity")];
    assert_eq!(server.modern_with(&extra, "skills/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn small_bodies_never_wait_for_large_ones_however_they_are_sent_v_24() {
    let (_folder, server) = server().await;
    let head = |length: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: skills/list\r\n{length}\r\n\r\n"
        )
    };
    let chunk = |body: &str| format!("{:x}\r\n{body}\r\n", body.len());
    // Half of the permits are held by bodies that announce their size, half by bodies that do not.
    let mut senders = Vec::new();
    for number in 0..20 {
        let mut connection = server.connect().await;
        if number % 2 == 0 {
            connection.write(head("Content-Length: 1000000")).await;
        } else {
            connection
                .write(head("Transfer-Encoding: chunked") + &chunk(&" ".repeat(70_000)))
                .await;
        }
        senders.push(connection);
    }
    let body = list_body();
    let whole = request_bytes("", &body, "skills/list");
    let halves = body.split_at(body.len() / 2);
    let chunked =
        head("Transfer-Encoding: chunked") + &chunk(halves.0) + &chunk(halves.1) + "0\r\n\r\n";
    for request in [whole, chunked] {
        let mut connection = server.connect().await;
        connection.write(request).await;
        assert_eq!(connection.reply().await.status, 200);
    }
    // A large body is accepted as soon as another one is done.
    let large = format!("{body}{}", " ".repeat(100_000));
    let mut waiting = server.connect().await;
    waiting.write(request_bytes("", &large, "skills/list")).await;
    drop(senders);
    assert_eq!(waiting.reply().await.status, 200);
}
