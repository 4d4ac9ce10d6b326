//! Dialects older than the extension, as projections of one catalogue.

mod aliases;
mod archives;
mod by_name;
mod declared;
mod equality;
mod index;
mod listing;
mod news;
mod strict;
mod templates;
mod tools;
mod well_known;

use serde_json::{Value, json};
use skillwire_server::{Config, dialect::Dialects};
use skillwire_testkit::{RpcReply, SkillFolder, TestOptions, TestServer, reference_skills};

/// The legacy error code for something that does not exist.
const LEGACY_NOT_FOUND: i64 = -32002;

/// The URI of the skill with several files.
const REFUNDS: &str = "skill://acme/billing/refunds/SKILL.md";

/// A server and a legacy session with it.
struct Legacy {
    server: TestServer,
    session: String,
    /// The result of `initialize`.
    opened: Value,
}

/// Returns the usual dialects with these switches.
fn dialects(switches: &[&str]) -> Dialects {
    switches.iter().fold(Dialects::default(), |dialects, switch| {
        dialects.with(&switch.parse().expect("a switch"))
    })
}

fn options(switches: &[&str]) -> TestOptions {
    let config = Config::default().dialects(dialects(switches));
    TestOptions { config, ..TestOptions::default() }
}

impl Legacy {
    async fn start(folder: &SkillFolder, switches: &[&str]) -> Self {
        Self::with(folder, options(switches)).await
    }

    async fn with(folder: &SkillFolder, options: TestOptions) -> Self {
        let server = TestServer::with(folder.path(), options).await;
        let (session, opened) = server.initialize("2025-11-25").await;
        Self { server, session, opened }
    }

    async fn send(&self, method: &str, params: Value) -> RpcReply {
        self.server.legacy(&self.session, method, params).await.message()
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        self.send(method, params).await.result().clone()
    }

    async fn read(&self, uri: &str) -> Value {
        self.call("resources/read", json!({ "uri": uri })).await
    }

    /// Reads the text at a URI.
    async fn text(&self, uri: &str) -> String {
        String::from_utf8(crate::support::content(&self.read(uri).await)).expect("text")
    }

    async fn json(&self, uri: &str) -> Value {
        serde_json::from_str(&self.text(uri).await).expect("JSON")
    }

    async fn code(&self, method: &str, params: Value) -> i64 {
        self.send(method, params).await.code()
    }

    /// Lists all items of a listing, page by page.
    async fn all(&self, method: &str, params: Value, member: &str) -> Vec<Value> {
        let (mut found, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..1_000 {
            let mut params = params.clone();
            if let Some(cursor) = cursor.take() {
                params["cursor"] = cursor;
            }
            let page = self.call(method, params).await;
            found.extend(page[member].as_array().expect("items").iter().cloned());
            match page.get("nextCursor") {
                Some(next) => cursor = Some(next.clone()),
                None => return found,
            }
        }
        panic!("{method} has no end");
    }

    async fn listed(&self) -> Vec<String> {
        let all = self.all("resources/list", json!({}), "resources").await;
        all.iter().map(|item| crate::support::text(&item["uri"])).collect()
    }
}

/// Serves the fixture catalogue.
async fn fixture(switches: &[&str]) -> (SkillFolder, Legacy) {
    let folder = reference_skills::folder();
    let legacy = Legacy::start(&folder, switches).await;
    (folder, legacy)
}

/// Creates two skills that share a name, and one with another name.
fn twins() -> SkillFolder {
    SkillFolder::with_skills(&["billing/refunds", "support/refunds", "other"])
}
