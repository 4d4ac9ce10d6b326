//! A hub as its users have it: the real program serves, publishes and decides.

mod access;
mod api;
mod auditing;
mod limits;
mod operating;
mod publishing;
mod reviewing;
mod serving;
mod workflows;

use std::path::PathBuf;

use serde_json::{Value, json};
use skillwire_testkit::{HttpConnection, HttpReply, SkillFolder};

use crate::support::{CommandResult, HttpServer, command, run};

/// A hub in a folder, and the process that serves it.
pub(super) struct TestHub {
    pub(super) folder: SkillFolder,
    pub(super) server: HttpServer,
    pub(super) token: String,
}

impl TestHub {
    /// Makes a hub with the namespace `acme`, serves it and logs in as its administrator.
    pub(super) async fn start() -> Self {
        Self::configured(|text| text).await
    }

    /// The same with another `hub.toml` than the one that `hub init` writes.
    pub(super) async fn configured(change: impl FnOnce(String) -> String) -> Self {
        let folder = SkillFolder::new();
        folder.directory(".git");
        let made = run(&folder, &["hub", "init", "hub", "--json"]).await.assert_exit(0).json();
        let file = folder.join("hub/hub.toml");
        let text = change(std::fs::read_to_string(&file).unwrap());
        std::fs::write(&file, text).unwrap();
        let token = made["token"].as_str().unwrap().to_owned();
        folder.file("token", &token);
        run(&folder, &["hub", "namespace", "new", "acme", "--hub", "hub"]).await.assert_exit(0);
        let server = Self::serve(&folder).await;
        let hub = Self { folder, server, token };
        let url = hub.url();
        hub.run(&["login", &url, "--token-file", "token"]).await.assert_exit(0);
        hub
    }

    /// Serves the hub of a folder.
    pub(super) async fn serve(folder: &SkillFolder) -> HttpServer {
        let arguments = ["hub", "serve", "hub", "--listen", "127.0.0.1:0"];
        HttpServer::start(command(folder, &arguments)).await
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Runs a command with the administrator's login.
    pub(super) async fn run(&self, arguments: &[&str]) -> CommandResult {
        run(&self.folder, arguments).await
    }

    /// Publishes a skill of the folder into `acme`.
    pub(super) async fn publish(&self, path: &str) -> Value {
        let arguments = ["publish", path, "--namespace", "acme", "--yes", "--json"];
        self.run(&arguments).await.assert_exit(0).json()
    }

    /// Makes a token for a subject.
    pub(super) async fn new_token(&self, subject: &str, more: &[&str]) -> String {
        let arguments = [&["hub", "token", "new", subject, "--json"], more].concat();
        let made = self.run(&arguments).await.assert_exit(0).json();
        made["token"].as_str().unwrap().to_owned()
    }

    /// Sends a request to the API with the administrator's token.
    pub(super) async fn api(&self, method: &str, path: &str, body: &[u8]) -> HttpReply {
        self.api_as(&self.token, method, path, body).await
    }

    /// Sends a request to the API with a token; an empty one is left out.
    pub(super) async fn api_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> HttpReply {
        let bearer = format!("Bearer {token}");
        let headers: &[(&str, &str)] =
            if token.is_empty() { &[] } else { &[("Authorization", &bearer)] };
        let mut connection = HttpConnection::open(self.server.address).await;
        connection.send(method, &format!("/api/v1{path}"), headers, body).await;
        connection.reply().await
    }

    /// The URIs that a channel lists to the holder of a token; `/mcp` is the channel `latest`.
    pub(super) async fn uris(&self, mount: &str, token: &str) -> Vec<String> {
        let reply = self.mcp(mount, token, "skills/list", Value::Null).await;
        crate::support::uris(&reply.message())
    }

    /// Reads a file over MCP.
    pub(super) async fn read(&self, mount: &str, token: &str, uri: &str) -> Value {
        let reply = self.mcp(mount, token, "resources/read", json!({"uri": uri})).await;
        serde_json::from_slice(&reply.body).unwrap()
    }

    /// Sends a modern request to a mount.
    pub(super) async fn mcp(
        &self,
        mount: &str,
        token: &str,
        method: &str,
        params: Value,
    ) -> HttpReply {
        let bearer = format!("Bearer {token}");
        let mut headers = skillwire_testkit::modern_headers(method);
        if !token.is_empty() {
            headers.push(("Authorization", &bearer));
        }
        if let Some(uri) = params.get("uri").and_then(Value::as_str) {
            headers.push(("Mcp-Name", uri));
        }
        let body = skillwire_testkit::modern_request(1, method, params.clone()).to_string();
        let mut connection = HttpConnection::open(self.server.address).await;
        connection.send("POST", mount, &headers, body.as_bytes()).await;
        connection.reply().await
    }

    /// The folder of the stored bytes.
    pub(super) fn blobs(&self) -> PathBuf {
        self.folder.join("hub/blobs")
    }
}
