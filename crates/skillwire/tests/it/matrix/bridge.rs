//! A client of the bridge, with or without forms.

use std::time::Instant;

use serde_json::{Value, json};
use skillwire_testkit::{modern_meta, modern_request};

use super::{AFTER, BEFORE, EMAIL, Scene};
use crate::support::{StdioServer, TEST_TIMEOUT};

pub(super) struct BridgeClient {
    bridge: StdioServer,
    forms: bool,
    id: i64,
}

impl BridgeClient {
    pub(super) fn of(scene: &Scene, forms: bool) -> Self {
        Self { bridge: StdioServer::start(scene.user.command(&["bridge"])), forms, id: 0 }
    }

    pub(super) async fn request(&mut self, method: &str, mut params: Value) -> Value {
        let mut meta = modern_meta();
        if self.forms {
            meta["io.modelcontextprotocol/clientCapabilities"] =
                json!({ "elicitation": { "form": {} } });
        }
        params["_meta"] = meta;
        self.id += 1;
        self.bridge.request(&modern_request(self.id, method, params)).await.0
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await["result"].clone()
    }

    pub(super) async fn load(&mut self, scene: &Scene) -> Value {
        self.call("load_skill", json!({ "name": scene.handle() })).await
    }

    /// Loads the skill and answers the form with yes; returns the words of the form and the result.
    pub(super) async fn load_and_agree(&mut self, scene: &Scene) -> (String, Value) {
        let arguments = json!({ "name": scene.handle() });
        // A server that announces changes is asked when its announcement has come.
        let start = Instant::now();
        let mut asked = self.call("load_skill", arguments.clone()).await;
        while asked["resultType"] == "complete" && start.elapsed() < TEST_TIMEOUT {
            asked = self.call("load_skill", arguments.clone()).await;
        }
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let form = &asked["inputRequests"]["approve"]["params"];
        let words = form["message"].as_str().unwrap().to_owned();
        // Every field of the form is answered with yes.
        let fields = form["requestedSchema"]["properties"].as_object().unwrap();
        let agreed: serde_json::Map<String, Value> =
            fields.iter().map(|(name, field)| (name.clone(), agreement(field))).collect();
        let params = json!({
            "name": "load_skill",
            "arguments": arguments,
            "requestState": asked["requestState"],
            "inputResponses": { "approve": { "action": "accept", "content": agreed } },
        });
        let loaded = self.request("tools/call", params).await;
        (words, loaded["result"].clone())
    }

    /// Expects the skill in `list_skills`, if its server lists it.
    pub(super) async fn lists(&mut self, scene: &Scene) {
        if scene.is_listed() {
            let listed = self.call("list_skills", json!({})).await;
            assert!(text(&listed).contains(scene.handle()), "{listed}");
        }
    }

    /// Expects the text of the skill as it was at first, the skill under the methods of the extension
    /// if its server lists it, and its file if it has one.
    pub(super) async fn shows_and_passes_on(&mut self, scene: &Scene, loaded: &Value) {
        let shown = text(loaded);
        assert!(shown.contains(BEFORE) && !shown.contains(AFTER), "{shown}");
        if scene.is_listed() {
            self.bridge.until_listed(&[scene.passed_on()]).await;
        }
        if scene.has_files() {
            let read = self.read(scene, loaded, "examples/email.md").await;
            assert!(read.contains(EMAIL), "{read}");
        }
    }

    /// Reads a file of the loaded skill.
    async fn read(&mut self, scene: &Scene, loaded: &Value, path: &str) -> String {
        let window = text(loaded).split("Window: ").nth(1).unwrap_or_default();
        let window = window.split(['.', ' ', '\n']).next().unwrap_or_default();
        let file = json!({ "name": scene.handle(), "window": window, "path": path });
        let read = self.call("read_skill_file", file).await;
        text(&read).to_owned()
    }
}

/// The answer to a field that agrees: true, or the first choice of a list.
fn agreement(field: &Value) -> Value {
    match field["type"].as_str() {
        Some("boolean") => true.into(),
        _ => field["enum"][0].clone(),
    }
}

pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// The code of a refusal.
pub(super) fn refusal(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["refusal"]["reason"].as_str().unwrap()
}
