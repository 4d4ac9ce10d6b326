//! The commands `list`, `approve` and `load`.

use skillwire_testkit::DocumentedDialect as D;

use super::{AFTER, BEFORE, EMAIL, Scene};

async fn walk(dialect: D) {
    let scene = Scene::new(dialect).await;
    let Scene { user, server } = &scene;
    let handle = scene.handle();
    if scene.is_listed() {
        let listed = user.run_json(&["list", "--json"]).await;
        assert_eq!(listed["skills"][0]["handle"], handle, "{listed}");
        assert_eq!(listed["servers"][0]["dialect"], format!("{dialect:?}"), "{listed}");
    } else {
        let shown = user.run_ok(&["list", "--server", "acme", "--browse"]).await;
        assert!(shown.contains("skill://docs/{product}/SKILL.md"), "{shown}");
    }
    user.run(&["load", handle]).await.assert_refused(4, "not_approved");
    user.run_ok(&["approve", handle, "--yes"]).await;
    let loaded = user.run_ok(&["load", handle]).await;
    assert!(loaded.contains(BEFORE) && !loaded.contains(AFTER), "{loaded}");
    if scene.has_files() {
        let read = user.run_ok(&["load", handle, "--read", "examples/email.md"]).await;
        assert!(read.contains(EMAIL), "{read}");
    }
    server.change();
    user.run(&["load", handle]).await.assert_refused(4, "changed");
}

#[tokio::test]
async fn d1_command_line_lists_approves_loads_reads_notices() {
    walk(D::D1).await;
}

#[tokio::test]
async fn d2_command_line_lists_approves_loads_reads_notices() {
    walk(D::D2).await;
}

#[tokio::test]
async fn d3_command_line_lists_approves_loads_reads_notices() {
    walk(D::D3).await;
}

#[tokio::test]
async fn d4_command_line_lists_approves_loads_reads_notices() {
    walk(D::D4).await;
}

#[tokio::test]
async fn d5_command_line_lists_approves_loads_reads_notices() {
    walk(D::D5).await;
}

#[tokio::test]
async fn d6_command_line_lists_approves_loads_reads_notices() {
    walk(D::D6).await;
}

#[tokio::test]
async fn d7_command_line_lists_approves_loads_reads_notices() {
    walk(D::D7).await;
}

#[tokio::test]
async fn d8_command_line_lists_approves_loads_reads_notices() {
    walk(D::D8).await;
}

#[tokio::test]
async fn d9_command_line_lists_approves_loads_reads_notices() {
    walk(D::D9).await;
}

/// reads: the guide is one resource and has no other file
#[tokio::test]
async fn d10_command_line_lists_approves_loads_notices() {
    walk(D::D10).await;
}

#[tokio::test]
async fn d11_command_line_lists_approves_loads_reads_notices() {
    walk(D::D11).await;
}

/// The templates are listed (`--browse`), and the skill is named by its URI.
#[tokio::test]
async fn d12_command_line_lists_approves_loads_reads_notices() {
    walk(D::D12).await;
}
