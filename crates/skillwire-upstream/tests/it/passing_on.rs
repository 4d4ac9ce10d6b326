//! Entries and files, as they come through.

use skillwire_testkit::hostile::HostileServer;

use crate::support::Gateway;

#[tokio::test]
async fn gw_05_a_skill_is_listed_and_read_under_a_uri_that_names_its_server() {
    let server = HostileServer::new().skill("team/refunds", [("references/x.md", "Details.")]);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.uris().await, ["skill://acme/team/refunds/SKILL.md"]);
    let text = gateway.text("skill://acme/team/refunds/references/x.md").await;
    assert_eq!(text, "Details.");
}
