//! `serve --upstream`: the skill in the form of the released extension, for a host that has its own rules.

use std::time::Instant;

use serde_json::{Value, json};
use skillwire_testkit::DocumentedDialect as D;

use super::{AFTER, BEFORE, EMAIL, Scene};
use crate::support::{StdioServer, TEST_TIMEOUT};

async fn read(gateway: &mut StdioServer, uri: &str) -> Value {
    gateway.modern("resources/read", json!({ "uri": uri })).await.0
}

fn content(read: &Value) -> &str {
    read["result"]["contents"][0]["text"].as_str().unwrap_or_default()
}

async fn walk(dialect: D) {
    let scene = Scene::new(dialect).await;
    let mut gateway = StdioServer::start(scene.user.command(&["serve", "--upstream", "acme"]));
    let uri = scene.passed_on();
    if scene.is_listed() {
        gateway.until_listed(&[uri]).await;
    }
    let got = gateway.modern("skills/get", json!({ "uri": uri })).await.0;
    assert_eq!(got["result"]["skill"]["uri"], uri, "{got}");
    let loaded = read(&mut gateway, uri).await;
    assert!(content(&loaded).contains(BEFORE), "{loaded}");
    if scene.has_files() {
        let email = uri.replace("SKILL.md", "examples/email.md");
        let file = read(&mut gateway, &email).await;
        assert!(content(&file).contains(EMAIL), "{file}");
    }
    if dialect == D::D11 {
        return;
    }
    scene.server.change();
    let start = Instant::now();
    loop {
        let now = read(&mut gateway, uri).await;
        if content(&now).contains(AFTER) {
            break;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "the change does not arrive: {now}");
    }
    gateway.close().await.assert_exit(0);
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d1_upstream_lists_loads_reads_notices() {
    walk(D::D1).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d2_upstream_lists_loads_reads_notices() {
    walk(D::D2).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d3_upstream_lists_loads_reads_notices() {
    walk(D::D3).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d4_upstream_lists_loads_reads_notices() {
    walk(D::D4).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d5_upstream_lists_loads_reads_notices() {
    walk(D::D5).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d6_upstream_lists_loads_reads_notices() {
    walk(D::D6).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d7_upstream_lists_loads_reads_notices() {
    walk(D::D7).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d8_upstream_lists_loads_reads_notices() {
    walk(D::D8).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d9_upstream_lists_loads_reads_notices() {
    walk(D::D9).await;
}

/// reads: the guide is one resource and has no other file
/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d10_upstream_lists_loads_notices() {
    walk(D::D10).await;
}

/// approves: passing on needs no approval; the host that gets the skill asks its own user
/// notices: a web origin announces nothing; it is listed again once a minute
#[tokio::test]
async fn d11_upstream_lists_loads_reads() {
    walk(D::D11).await;
}

/// lists: nothing lists it; the user or the model names it by its URI
/// approves: passing on needs no approval; the host that gets the skill asks its own user
#[tokio::test]
async fn d12_upstream_loads_reads_notices() {
    walk(D::D12).await;
}
