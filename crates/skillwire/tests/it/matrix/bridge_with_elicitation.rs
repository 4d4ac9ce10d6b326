//! The bridge, in a client that asks its user.

use skillwire_testkit::DocumentedDialect as D;

use super::{
    AFTER, Scene,
    bridge::{BridgeClient, text},
};

async fn walk(dialect: D) {
    let scene = Scene::new(dialect).await;
    let mut client = BridgeClient::of(&scene, true);
    client.lists(&scene).await;
    let (words, loaded) = client.load_and_agree(&scene).await;
    assert!(!words.contains("has changed"), "{words}");
    client.shows_and_passes_on(&scene, &loaded).await;
    scene.server.change();
    let (words, loaded) = client.load_and_agree(&scene).await;
    assert!(words.contains("changed since you approved it"), "{words}");
    assert!(text(&loaded).contains(AFTER), "{loaded}");
}

#[tokio::test]
async fn d1_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D1).await;
}

#[tokio::test]
async fn d2_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D2).await;
}

#[tokio::test]
async fn d3_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D3).await;
}

#[tokio::test]
async fn d4_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D4).await;
}

#[tokio::test]
async fn d5_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D5).await;
}

#[tokio::test]
async fn d6_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D6).await;
}

#[tokio::test]
async fn d7_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D7).await;
}

#[tokio::test]
async fn d8_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D8).await;
}

#[tokio::test]
async fn d9_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D9).await;
}

/// reads: the guide is one resource and has no other file
#[tokio::test]
async fn d10_bridge_with_elicitation_lists_approves_loads_notices() {
    walk(D::D10).await;
}

#[tokio::test]
async fn d11_bridge_with_elicitation_lists_approves_loads_reads_notices() {
    walk(D::D11).await;
}

/// lists: nothing lists it; the user or the model names it by its URI
#[tokio::test]
async fn d12_bridge_with_elicitation_approves_loads_reads_notices() {
    walk(D::D12).await;
}
