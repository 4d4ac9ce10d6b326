//! Requests that no honest client sends.

mod messages;
mod uris;

use skillwire_server::Config;
use skillwire_testkit::{SkillFolder, TestOptions, TestServer};

pub(super) async fn server() -> (SkillFolder, TestServer) {
    with(Config::default()).await
}

pub(super) async fn with(config: Config) -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["s", "acme/t"]);
    folder.file("s/a/b.md", "text").file("s/x", "text").file("outside.md", "outside");
    let server =
        TestServer::with(folder.path(), TestOptions { config, ..Default::default() }).await;
    (folder, server)
}
