//! The bridge, in a client that cannot ask: the user approves in a terminal.

use std::time::Instant;

use serde_json::Value;
use skillwire_testkit::DocumentedDialect as D;

use super::{
    Scene,
    bridge::{BridgeClient, refusal},
};
use crate::support::TEST_TIMEOUT;

async fn walk(dialect: D) {
    let scene = Scene::new(dialect).await;
    let mut client = BridgeClient::of(&scene, false);
    client.lists(&scene).await;
    assert_eq!(refusal(&client.load(&scene).await), "not_approved");
    scene.user.approve(scene.handle()).await;
    let loaded = client.load(&scene).await;
    client.shows_and_passes_on(&scene, &loaded).await;
    scene.server.change();
    // A server that announces changes is asked when its announcement has come. A load that falls between
    // its answers, an old index and a new archive, is refused for that.
    let start = Instant::now();
    let mut now = client.load(&scene).await;
    let is_old = |now: &Value| now.get("isError").is_none() || refusal(now) == "digest_mismatch";
    while is_old(&now) && start.elapsed() < TEST_TIMEOUT {
        now = client.load(&scene).await;
    }
    assert_eq!(refusal(&now), "changed");
}

#[tokio::test]
async fn d1_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D1).await;
}

#[tokio::test]
async fn d2_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D2).await;
}

#[tokio::test]
async fn d3_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D3).await;
}

#[tokio::test]
async fn d4_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D4).await;
}

#[tokio::test]
async fn d5_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D5).await;
}

#[tokio::test]
async fn d6_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D6).await;
}

#[tokio::test]
async fn d7_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D7).await;
}

#[tokio::test]
async fn d8_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D8).await;
}

#[tokio::test]
async fn d9_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D9).await;
}

/// reads: the guide is one resource and has no other file
#[tokio::test]
async fn d10_bridge_without_elicitation_lists_approves_loads_notices() {
    walk(D::D10).await;
}

#[tokio::test]
async fn d11_bridge_without_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D11).await;
}

/// lists: nothing lists it; the user or the model names it by its URI
#[tokio::test]
async fn d12_bridge_without_elicitation_approves_loads_reads_notices() {
    walk(D::D12).await;
}
