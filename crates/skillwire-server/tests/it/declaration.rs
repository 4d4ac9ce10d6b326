//! Declaration and negotiation: SRV-01 to SRV-10.

use serde_json::json;
use skillwire_testkit::{fixture::SkillFolder, server::TestServer};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

#[tokio::test]
async fn srv_01_extension_is_declared_as_an_object_on_both_eras() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let discovered = server.call("server/discover", json!({})).await;
    let (_, initialized) = server.initialize("2025-11-25").await;
    for result in [discovered, initialized] {
        let capabilities = &result["capabilities"];
        assert!(capabilities["extensions"][EXTENSION].is_object(), "{capabilities}");
        assert!(capabilities.get("experimental").is_none());
    }
}
