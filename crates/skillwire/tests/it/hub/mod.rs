//! A hub as its users have it: the real program serves, publishes and decides.

mod access;
mod api;
mod auditing;
mod limits;
mod operating;
mod origins;
mod publishing;
mod reviewing;
mod serving;
mod upstream_tools;
mod workflows;

use std::path::PathBuf;

use serde_json::{Value, json};
use skillwire_hub_store::{BlobLocation, DatabaseLocation, S3Location, StoreOptions};
use skillwire_testkit::{HttpConnection, HttpReply, HubPlace, SkillFolder};

use crate::support::{CommandResult, HttpServer, command, run};

/// The variable that has every hub of this process on PostgreSQL and an S3 server.
const ON_SERVERS: &str = "SKILLWIRE_TEST_HUB_ON_SERVERS";

#[expect(clippy::disallowed_methods, reason = "how the tests are told that they run again")]
fn on_servers() -> bool {
    std::env::var_os(ON_SERVERS).is_some()
}

/// Runs the tests of this module again in a process of their own, with every hub on PostgreSQL and an S3 server.
#[test]
fn every_test_of_a_hub_holds_on_postgres_and_an_s3_server() {
    if on_servers() || !HubPlace::are_there() {
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let ran = again.args(["hub::", "--test-threads", "2"]).env(ON_SERVERS, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    assert!(said.matches(" ... ok").count() > 40, "{said}");
}

/// A hub in a folder, and the process that serves it.
pub(super) struct TestHub {
    pub(super) folder: SkillFolder,
    pub(super) server: HttpServer,
    pub(super) token: String,
    /// Where it keeps everything, unless that is its folder.
    pub(super) place: Option<HubPlace>,
}

/// A configuration that keeps everything in a place in place of the folder of the hub.
pub(super) fn moved(text: &str, place: &HubPlace) -> String {
    let database = format!("url = {:?}", place.database);
    let blobs = format!(
        "url = \"s3://{}/skills\"\nendpoint = {:?}\naccess-key = {:?}\nsecret-key = {:?}",
        place.bucket, place.endpoint, place.access_key, place.secret_key
    );
    text.replace("url = \"hub.db\"", &database).replace("url = \"blobs\"", &blobs)
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
        let init = ["hub", "init", "hub", "--json"];
        let mut made = run(&folder, &init).await.assert_exit(0).json();
        let file = folder.join("hub/hub.toml");
        let mut text = change(std::fs::read_to_string(&file).unwrap());
        let place = on_servers().then(|| HubPlace::new().expect("the engines are there"));
        if let Some(place) = &place {
            text = moved(&text, place);
        }
        std::fs::write(&file, text).unwrap();
        if place.is_some() {
            std::fs::remove_file(folder.join("hub/hub.db")).unwrap();
            made = run(&folder, &init).await.assert_exit(0).json();
        }
        let token = made["token"].as_str().unwrap().to_owned();
        folder.file("token", &token);
        run(&folder, &["hub", "namespace", "new", "acme", "--hub", "hub"]).await.assert_exit(0);
        let server = Self::serve(&folder).await;
        let hub = Self { folder, server, token, place };
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
        let name = params.get("uri").or_else(|| params.get("name"));
        if let Some(name) = name.and_then(Value::as_str) {
            headers.push(("Mcp-Name", name));
        }
        let body = skillwire_testkit::modern_request(1, method, params.clone()).to_string();
        let mut connection = HttpConnection::open(self.server.address).await;
        connection.send("POST", mount, &headers, body.as_bytes()).await;
        connection.reply().await
    }

    /// The folder of the stored bytes.
    pub(super) fn blobs(&self) -> PathBuf {
        match &self.place {
            Some(place) => place.bucket_folder.join("skills"),
            None => self.folder.join("hub/blobs"),
        }
    }

    /// Lets another hub in a folder keep everything in a place of its own.
    pub(super) fn give_place(&self, folder: &str) {
        if let Some(old) = &self.place {
            let text = std::fs::read_to_string(self.folder.join("hub/hub.toml")).unwrap();
            let new = HubPlace::new().expect("the engines are there");
            let text = text.replace(&old.database, &new.database).replace(&old.bucket, &new.bucket);
            self.folder.file(&format!("{folder}/hub.toml"), text);
        }
    }

    /// The store that it keeps everything in.
    pub(super) fn store(&self) -> StoreOptions {
        let (database, blobs) = match &self.place {
            Some(place) => {
                let s3 = S3Location::new(&place.bucket)
                    .with_endpoint(&place.endpoint)
                    .with_prefix("skills")
                    .with_keys(place.access_key, place.secret_key);
                (DatabaseLocation::Postgres(place.database.clone()), BlobLocation::S3(s3))
            }
            None => (
                DatabaseLocation::Sqlite(self.folder.join("hub/hub.db")),
                BlobLocation::Folder(self.folder.join("hub/blobs")),
            ),
        };
        StoreOptions::new(database, blobs)
    }
}
