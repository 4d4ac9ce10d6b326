//! The declarations of a server, for clients of each era.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_server::{
    Config,
    dialect::{NotRun, RunScripts, Script, Usage},
};
use skillwire_testkit::{SkillFolder, TestOptions};

use super::{Legacy, REFUNDS, dialects, fixture, options};
use crate::support::{METHOD_NOT_FOUND, keys};

#[tokio::test]
async fn legacy_declares_two_keys_and_strict_one_c_01_c_02() {
    let (_folder, legacy) = fixture(&[]).await;
    let declared = &legacy.opened["capabilities"];
    assert_eq!(declared["skills"], json!({ "listChanged": true }));
    let extension = &declared["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(*extension, json!({ "directoryRead": true }));
    let modern = legacy.server.call("server/discover", json!({})).await;
    assert!(modern["capabilities"].get("skills").is_none(), "{modern}");
    assert_eq!(modern["capabilities"]["extensions"], declared["extensions"]);
}

#[tokio::test]
async fn without_names_there_is_nothing_to_declare_c_01() {
    let (_folder, legacy) = fixture(&["sep-2076=off", "skills-page=off"]).await;
    assert!(legacy.opened["capabilities"].get("skills").is_none());
    let listed = legacy.call("skills/list", json!({})).await;
    assert_eq!(keys(&listed["skills"][0]), ["frontmatter", "resources", "uri"]);
}

#[derive(Debug)]
struct Echo;

impl RunScripts for Echo {
    fn run(&self, script: Script) -> BoxFuture<'static, Result<Value, NotRun>> {
        let text = format!("{} {:?}", script.path, script.arguments);
        let refused = script.arguments == Some(json!({ "refuse": true }));
        async move {
            if refused {
                return Err(NotRun("It is too late.".to_owned()));
            }
            Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": false }))
        }
        .boxed()
    }
}

#[tokio::test]
async fn scripts_are_declared_only_where_they_can_be_run_c_03() {
    let (_folder, legacy) = fixture(&[]).await;
    let run = json!({ "name": "refunds", "script": "calc" });
    assert_eq!(legacy.code("skills/execute", run.clone()).await, METHOD_NOT_FOUND);

    let folder = skillwire_testkit::reference_skills::folder();
    let running = TestOptions { scripts: Some(Arc::new(Echo)), ..options(&[]) };
    let legacy = Legacy::with(&folder, running).await;
    assert_eq!(legacy.opened["capabilities"]["skills"]["scripts"], true);
    let ran = legacy.call("skills/execute", run).await;
    assert_eq!(ran["content"][0]["text"], "scripts/calc.py None");
    let refused = json!({ "name": "refunds", "script": "calc", "arguments": { "refuse": true } });
    let reply = legacy.send("skills/execute", refused).await;
    assert_eq!(reply.code(), -32003);
    assert_eq!(reply.0["error"]["data"]["reason"], "It is too late.");
    let email = json!({ "name": "refunds", "script": "email.md" });
    assert_eq!(legacy.code("skills/execute", email).await, -32003, "it is no script");
}

#[tokio::test]
async fn strict_has_no_method_of_the_skills_page_c_04() {
    let (_folder, legacy) = fixture(&[]).await;
    for method in ["skills/read", "skills/read_reference", "skills/execute"] {
        let params = json!({ "name": "refunds", "reference": "email.md", "script": "calc" });
        let reply = legacy.server.modern(method, params).await;
        assert_eq!(reply.code(), METHOD_NOT_FOUND, "{method}");
    }
}

#[tokio::test]
async fn forced_on_strict_the_page_answers_with_codes_of_the_base_c_28() {
    let (_folder, legacy) = fixture(&["strict:skills-page=on"]).await;
    let server = &legacy.server;
    let read = server.call("skills/read", json!({ "name": "refunds" })).await;
    assert_eq!(read["resultType"], "complete");
    let unknown = server.modern("skills/read", json!({ "name": "nope" })).await;
    assert_eq!((unknown.code(), &unknown.0["error"]["data"]["name"]), (-32602, &json!("nope")));
    let asked = json!({ "name": "refunds", "reference": "nope" });
    let missing = server.modern("skills/read_reference", asked).await;
    assert_eq!(missing.code(), -32602);
    assert_eq!(missing.0["error"]["data"]["reference"], "nope");
}

#[tokio::test]
async fn the_guide_is_pointed_at_by_its_canonical_uri_c_46_d10() {
    let folder = skillwire_testkit::reference_skills::folder();
    let mut options = options(&["usage=on"]);
    let (server, skill) = ("crm".to_owned(), "acme/billing/refunds".to_owned());
    options.config.usage = Some(Usage { server, skill });
    let legacy = Legacy::with(&folder, options).await;
    let instructions = legacy.opened["instructions"].as_str().unwrap();
    assert!(instructions.ends_with(&format!("read `{REFUNDS}`.")), "{instructions}");
    assert!(!instructions.contains("usage"));
    let guide = legacy.text("skill://crm/usage").await;
    assert!(guide.starts_with("# Refunds\n"), "the body alone: {guide}");
    assert!(legacy.listed().await.contains(&"skill://crm/usage".to_owned()));
}

#[tokio::test]
async fn a_real_file_or_directory_keeps_its_address_from_the_guide_c_25() {
    let folder = SkillFolder::with_skills(&["crm", "acme/usage", "guide"]);
    folder.file("crm/usage", "a real file");
    for (server, file) in [("crm", true), ("acme", false)] {
        let usage = Some(Usage { server: server.to_owned(), skill: "guide".to_owned() });
        let config = Config::default().dialects(dialects(&["usage=on"])).usage(usage);
        let legacy = Legacy::with(&folder, TestOptions { config, ..Default::default() }).await;
        let uri = format!("skill://{server}/usage");
        if file {
            assert_eq!(legacy.text(&uri).await, "a real file");
        } else {
            let reply = legacy.send("resources/read", json!({ "uri": uri })).await;
            assert!(reply.message().contains("is a directory"), "{}", reply.message());
        }
    }
}
