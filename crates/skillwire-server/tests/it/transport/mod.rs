//! Streamable HTTP.

mod framing;
mod limits;
mod messages;
mod origins;
mod stalls;

use serde_json::json;
use skillwire_server::http::ConnectionLimits;
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, modern_request};

pub(super) async fn server() -> (SkillFolder, TestServer) {
    limited(ConnectionLimits::default()).await
}

pub(super) async fn limited(limits: ConnectionLimits) -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a"]);
    let options = TestOptions { limits, ..Default::default() };
    let server = TestServer::with(folder.path(), options).await;
    (folder, server)
}

/// A body that lists skills.
pub(super) fn list_body() -> String {
    modern_request(1, "skills/list", json!({})).to_string()
}
