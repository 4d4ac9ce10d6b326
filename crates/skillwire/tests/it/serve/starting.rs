//! The time between the first connection and the first snapshot.
//!
//! Every address of 127.0.0.0/8 is this machine. So each test has an address of its own, and knows
//! it before the server prints it.
#![cfg(target_os = "linux")]

use std::{
    fs::File,
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::Value;
use skillwire_testkit::{HttpConnection, SkillFolder};
use tokio::net::TcpStream;

use crate::support::{ServerProcess, command, post, uris};

/// A folder that takes a while to read.
fn large() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    for name in ["a", "b"] {
        let file = File::create(folder.join(&format!("{name}/large.bin"))).unwrap();
        file.set_len(8 * 1024 * 1024).unwrap();
    }
    folder
}

/// Starts a server and connects as soon as it listens.
async fn starting(folder: &SkillFolder, test: u8) -> (ServerProcess, SocketAddr) {
    let id = std::process::id().to_be_bytes();
    let address = SocketAddr::from(([127, 100 + test, id[2], id[3]], 8640));
    let process =
        ServerProcess::start(command(folder, &["serve", ".", "--http", &address.to_string()]));
    let start = Instant::now();
    while TcpStream::connect(address).await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "nothing listens");
        tokio::task::yield_now().await;
    }
    (process, address)
}

#[tokio::test]
async fn requests_that_arrive_before_the_first_snapshot_wait_for_it() {
    let folder = large();
    let (mut process, address) = starting(&folder, 0).await;
    let mut probe = HttpConnection::open(address).await;
    probe.send("GET", "/healthz", &[], b"").await;
    assert!(matches!(probe.reply().await.status, 200 | 503));
    let reply = post(address, &[], "skills/list", Value::Null).await;
    assert_eq!(reply.status, 200);
    assert_eq!(uris(&reply.message()), ["skill://a/SKILL.md", "skill://b/SKILL.md"]);
    assert_eq!(
        process.wait_for_line("listening").await,
        format!("listening on http://{address}/mcp"),
        "the line is printed when the first snapshot answers"
    );
    probe.send("GET", "/healthz", &[], b"").await;
    assert_eq!(probe.reply().await.status, 200);
}

#[tokio::test]
async fn a_signal_to_reload_does_not_end_a_server_that_starts() {
    let folder = large();
    let (mut process, address) = starting(&folder, 1).await;
    process.signal("HUP");
    process.wait_for_line("listening").await;
    process.wait_for_line("reading all folders again").await;
    assert_eq!(post(address, &[], "skills/list", Value::Null).await.status, 200);
}

#[tokio::test]
async fn a_signal_to_stop_ends_a_server_that_starts_in_order() {
    let folder = large();
    let (process, _) = starting(&folder, 2).await;
    process.signal("TERM");
    process.wait().await.assert_exit(0);
}
