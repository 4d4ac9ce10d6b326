//! A client of the bridge asks the user about the packages that a script lists.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};
use skillwire_testkit::{RpcReply, modern_meta, modern_request};

use super::{
    ScriptUser,
    environments::{UV, open_folders},
};
use crate::support::StdioServer;

const INLINE: &str = "# /// script\n# dependencies = [\"mine>=1\"]\n# ///\n\
                      try:\n    import mine\n    print(mine.WORD)\n\
                      except ImportError:\n    print('without packages')\n";

/// A client that shows forms, and a bridge that finds a stand-in for `uv`.
struct Client {
    bridge: StdioServer,
    id: i64,
}

impl Client {
    fn of(user: &ScriptUser) -> Self {
        let mut command = user.user.command(&["bridge"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", user.user.home.join("bin").display()));
        Self { bridge: StdioServer::start(command), id: 0 }
    }

    /// Calls the script, with the answer to a question of the call before.
    async fn send(&mut self, answer: Option<(&str, &Value, Value)>) -> RpcReply {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} } });
        let mut params = json!({
            "name": "run_skill_script", "_meta": meta,
            "arguments": { "name": "acme:tools", "script": "inline.py" },
        });
        if let Some((key, asked, answer)) = answer {
            assert_eq!(asked["resultType"], "input_required", "{asked}");
            params["requestState"] = asked["requestState"].clone();
            params["inputResponses"] = json!({ key: answer });
        }
        self.id += 1;
        self.bridge.request(&modern_request(self.id, "tools/call", params)).await
    }

    async fn run(&mut self) -> Value {
        self.send(None).await.result().clone()
    }

    async fn answer(&mut self, key: &str, asked: &Value, answer: Value) -> Value {
        self.send(Some((key, asked, answer))).await.result().clone()
    }
}

fn accept(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

fn form<'a>(asked: &'a Value, key: &str) -> &'a str {
    asked["inputRequests"][key]["params"]["message"].as_str().unwrap_or_default()
}

fn install_uv(folder: &Path, text: &str) {
    let uv = folder.join("uv");
    fs::write(&uv, text).unwrap();
    fs::set_permissions(&uv, fs::Permissions::from_mode(0o755)).unwrap();
}

async fn user() -> ScriptUser {
    let user = ScriptUser::new(&[("inline.py", INLINE)]).await;
    open_folders(&user);
    let programs = user.user.home.join("bin");
    fs::create_dir(&programs).unwrap();
    install_uv(&programs, UV);
    user
}

#[tokio::test]
async fn a_granted_script_gets_packages_after_a_form_that_names_each_with_its_version() {
    let user = user().await;
    let mut client = Client::of(&user);
    let asked = client.run().await;
    for words in [
        "Install 1 package for `inline.py` of the skill acme:tools?",
        "`inline.py` lists 1 package, to be installed:\n  mine 1.2.3\n",
        "has the digest sha256:",
        "exactly this content: sha256:",
    ] {
        assert!(form(&asked, "packages").contains(words), "{words}: {asked}");
    }
    // Declining stops this run. To say no to the packages alone runs the script without them.
    let declined = client.answer("packages", &asked, json!({ "action": "decline" })).await;
    assert!(declined.to_string().contains("user_declined"), "{declined}");
    let asked = client.run().await;
    let no = client.answer("packages", &asked, accept(&json!({ "install": false }))).await;
    assert!(no.to_string().contains("without packages"), "{no}");
    assert!(no.to_string().contains("`skillwire run "), "{no}");

    let asked = client.run().await;
    let yes = accept(&json!({ "install": true }));
    let ran = client.answer("packages", &asked, yes).await;
    assert!(ran.to_string().contains("from a package"), "{ran}");
    let again = client.run().await;
    assert!(again.to_string().contains("from a package"), "no second question: {again}");
    client.bridge.close().await.assert_exit(0);
    let log = user.user.run_ok(&["audit", "--json"]).await;
    assert!(log.contains("packages agreed to") && log.contains("packages_digest"), "{log}");
}

#[tokio::test]
async fn the_form_that_asks_for_a_run_asks_for_its_packages_as_well() {
    let user = user().await;
    user.user.run_ok(&["revoke", "acme:tools"]).await;
    user.user.approve("acme:tools").await;
    let mut client = Client::of(&user);
    let asked = client.run().await;
    assert!(form(&asked, "run").starts_with("Run `inline.py` of the skill acme:tools"), "{asked}");
    assert!(form(&asked, "run").contains("  mine 1.2.3\n"), "{asked}");
    let fields = &asked["inputRequests"]["run"]["params"]["requestedSchema"];
    assert_eq!(fields["properties"]["install"]["default"], false, "{asked}");
    assert_eq!(fields["required"], json!(["run"]), "{asked}");
    // To let the script run is not to let packages be installed.
    let ran = client.answer("run", &asked, accept(&json!({ "run": true }))).await;
    assert!(ran.to_string().contains("without packages"), "{ran}");
    let asked = client.run().await;
    let both = accept(&json!({ "run": true, "install": true }));
    let ran = client.answer("run", &asked, both).await;
    assert!(ran.to_string().contains("from a package"), "{ran}");
    client.bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn an_answer_about_packages_counts_for_the_versions_that_were_shown() {
    let user = user().await;
    let mut client = Client::of(&user);
    let asked = client.run().await;
    install_uv(&user.user.home.join("bin"), &UV.replace("mine==1.2.3", "mine==6.6.6"));
    let yes = accept(&json!({ "install": true }));
    let again = client.answer("packages", &asked, yes).await;
    assert_eq!(again["resultType"], "input_required", "{again}");
    assert!(form(&again, "packages").contains("  mine 6.6.6\n"), "{again}");
    client.bridge.close().await.assert_exit(0);
}
