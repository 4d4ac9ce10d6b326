//! Skills that a bridge passes on through the extension's own methods and through older dialects.

use std::sync::{Arc, OnceLock};

use serde_json::json;
use skillwire_core::Digest;
use skillwire_host::{
    Host,
    local::{self, ProjectTrust},
};
use skillwire_testkit::{HostileServer, ScriptedReply, SkillFolder};
use skillwire_trust::SkillId;

use super::support::{self, Bridged, NONE, done, load, refunds, yes};

const TEXT: &str = "---\nname: ledger\ndescription: \"Keeps: books\"\nmetadata:\n  b: \"2\"\n  a: \"1\"\n\
                    x-own: [3, 1]\n---\n# Ledger\n";

/// The URI under which the skill of these tests is passed on.
const URI: &str = "skill://local/.agents/skills/ledger/SKILL.md";

fn home() -> SkillFolder {
    let home = SkillFolder::new();
    home.file(".agents/skills/ledger/SKILL.md", TEXT);
    home.file(".agents/skills/ledger/scripts/sum.sh", "echo 1\n");
    home
}

fn host(home: &SkillFolder) -> Host {
    let host = Host::builder().build();
    host.set_folders(local::discover(Some(home.path()), None));
    host
}

#[tokio::test]
async fn a_skill_of_a_folder_is_passed_on_with_its_frontmatter_and_digests_gw_04() {
    let home = home();
    let bridged = Bridged::over(host(&home));
    let mut client = bridged.modern(false);
    client.until_listed(&[URI.to_owned()]).await;
    let got = client.request("skills/get", json!({ "uri": URI })).await["result"]["skill"].clone();
    let frontmatter = r#"{"name":"ledger","description":"Keeps: books","metadata":{"b":"2","a":"1"},"x-own":[3,1]}"#;
    assert_eq!(got["frontmatter"].to_string(), frontmatter, "{got}");
    let digests: Vec<_> =
        got["resources"].as_array().unwrap().iter().map(|file| &file["digest"]).collect();
    let expected = [TEXT, "echo 1\n"].map(|text| json!(Digest::of(text.as_bytes()).to_string()));
    assert_eq!(digests, expected.iter().collect::<Vec<_>>(), "{got}");
    for (path, text) in [("SKILL.md", TEXT), ("scripts/sum.sh", "echo 1\n")] {
        let uri = URI.replace("SKILL.md", path);
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["result"]["contents"][0]["text"], text, "{read}");
    }
    // No skill has a file at a URI that leads out of the skill, or at a folder's own URI.
    for uri in [
        "skill://local/.agents/skills/ledger/../../../.ssh/id",
        "skill://local/+local/.agents/skills/ledger/SKILL.md",
        "local://.agents/skills/ledger/SKILL.md",
        "skill://project/.agents/skills/ledger/SKILL.md",
    ] {
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert!(read.get("error").is_some(), "{uri}: {read}");
    }
}

#[tokio::test]
async fn bytes_that_changed_since_the_folder_was_read_are_not_sent_as_those_that_are_listed_h_31() {
    let home = home();
    let bridged = Bridged::over(host(&home));
    let mut client = bridged.modern(false);
    client.until_listed(&[URI.to_owned()]).await;
    home.file(".agents/skills/ledger/scripts/sum.sh", "echo 2\n");
    let uri = URI.replace("SKILL.md", "scripts/sum.sh");
    let read = client.request("resources/read", json!({ "uri": uri })).await;
    // The bytes from before the change may still be cached; these match the listing.
    let text = &read["result"]["contents"][0]["text"];
    assert!(read.get("error").is_some() || text == "echo 1\n", "{read}");
}

#[tokio::test]
async fn a_folder_that_is_read_again_and_a_skill_that_is_switched_off_are_followed() {
    let home = home();
    let host = host(&home);
    let bridged = Bridged::over(host.clone());
    let mut client = bridged.modern(false);
    client.until_listed(&[URI.to_owned()]).await;
    home.file(".agents/skills/more/SKILL.md", "---\nname: more\ndescription: More.\n---\n");
    host.set_folders(local::discover(Some(home.path()), None));
    bridged.bridge.look_again();
    let more = "skill://local/.agents/skills/more/SKILL.md".to_owned();
    client.until_listed(&[URI.to_owned(), more.clone()]).await;
    let ledger = host.in_folders().into_iter().find(|listed| listed.name().as_str() == "ledger");
    host.set_enabled(ledger.expect("it is there").id(), false).expect("memory can be written");
    bridged.bridge.look_again();
    client.until_listed(&[more]).await;
}

#[tokio::test]
async fn a_project_that_is_not_trusted_is_not_passed_on() {
    let project = home();
    let host = Host::builder().build();
    let untrusted = (project.path(), ProjectTrust::Untrusted);
    // The user's own skill is passed on, so that the test can tell when the bridge is ready.
    let own = home();
    let [own_uri, project_uri] = ["local", "project"]
        .map(|origin| format!("skill://{origin}/.agents/skills/ledger/SKILL.md"));
    host.set_folders(local::discover(Some(own.path()), Some(untrusted)));
    let bridged = Bridged::over(host.clone());
    let mut client = bridged.modern(false);
    client.until_listed(std::slice::from_ref(&own_uri)).await;
    let trusted = (project.path(), ProjectTrust::Trusted);
    host.set_folders(local::discover(Some(own.path()), Some(trusted)));
    bridged.bridge.look_again();
    client.until_listed(&[own_uri, project_uri]).await;
}

#[tokio::test]
async fn older_shapes_show_what_is_approved_and_fetch_nothing_for_it() {
    let server = refunds().skill("pdf", NONE);
    let bridged = Bridged::over(support::host(&server));
    bridged.settled(&["acme:refunds", "acme:pdf"]).await;
    let mut client = bridged.modern(true);
    let (_, loaded) = client.call_and_answer("load_skill", load(), yes()).await;
    done(&loaded);
    client.until_listed(&["skill://acme/acme/refunds/SKILL.md".to_owned()]).await;
    let fetched = server.count("resources/read");
    let mut older = bridged.legacy(false).await;
    let index = older.request("resources/read", json!({ "uri": "skill://index.json" })).await;
    let index = index["result"]["contents"][0]["text"].as_str().unwrap_or_default();
    assert!(index.contains("refunds") && !index.contains("pdf"), "{index}");
    let listed = older.request("skills/list", json!({})).await["result"].to_string();
    assert!(listed.contains("refunds") && !listed.contains("pdf"), "{listed}");
    let unapproved = older.request("skills/get", json!({ "name": "pdf" })).await;
    assert!(unapproved.get("error").is_some(), "{unapproved}");
    assert_eq!(server.count("resources/read"), fetched, "an index is made from what is listed");
}

/// A server that has the approval of a skill withdrawn whenever a file is read, once the skill and
/// its host are set.
fn revoking_server() -> (HostileServer, Arc<OnceLock<(Host, SkillId)>>) {
    let revoking: Arc<OnceLock<(Host, SkillId)>> = Arc::default();
    let revoke = Arc::clone(&revoking);
    let server = refunds().on("resources/read", move |_, _| {
        if let Some((host, skill)) = revoke.get() {
            host.revoke(skill).expect("the records are in memory");
        }
        ScriptedReply::Honest
    });
    (server, revoking)
}

const PASSED_ON: &str = "skill://acme/acme/refunds/SKILL.md";

#[tokio::test]
async fn reads_under_the_extension_stop_with_the_approval_sec_14() {
    let bridged = Bridged::over(support::host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    done(&client.call_and_answer("load_skill", load(), yes()).await.1);
    client.until_listed(&[PASSED_ON.to_owned()]).await;
    let mut legacy = bridged.legacy(false).await;
    let files = ["SKILL.md", "references/x.md"].map(|path| PASSED_ON.replace("SKILL.md", path));
    for uri in &files {
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    }
    let host = bridged.bridge.host();
    // The bridge is not told, as if another process had done this.
    host.revoke(host.open_windows()[0].skill()).unwrap();
    for uri in &files {
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["error"]["code"], -32602, "{read}");
        let read = legacy.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["error"]["code"], -32002, "{read}");
    }
    let by_name = legacy.request("skills/get", json!({ "name": "refunds" })).await;
    assert!(by_name.get("error").is_some(), "{by_name}");
}

#[tokio::test]
async fn a_read_that_is_under_way_when_the_approval_ends_is_refused_sec_14() {
    let (server, revoking) = revoking_server();
    let bridged = Bridged::over(support::host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    done(&client.call_and_answer("load_skill", load(), yes()).await.1);
    client.until_listed(&[PASSED_ON.to_owned()]).await;
    let host = bridged.bridge.host().clone();
    let skill = host.open_windows()[0].skill().clone();
    assert!(revoking.set((host.clone(), skill.clone())).is_ok());
    let uri = PASSED_ON.replace("SKILL.md", "references/x.md");
    let under_way = client.request("resources/read", json!({ "uri": uri })).await;
    assert_eq!(under_way["error"]["code"], -32602, "{under_way}");
    assert!(host.revocations(&skill).unwrap() > 0, "the server was asked");
}

#[tokio::test]
async fn a_file_that_is_read_for_a_model_when_the_approval_ends_is_refused_sec_14() {
    let (server, revoking) = revoking_server();
    let bridged = Bridged::over(support::host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    done(&client.call_and_answer("load_skill", load(), yes()).await.1);
    let host = bridged.bridge.host().clone();
    let skill = host.open_windows()[0].skill().clone();
    assert!(revoking.set((host, skill)).is_ok());
    let file = client.call("read_skill_file", support::read("references/x.md")).await;
    assert_eq!(support::refused(&file), "not_approved");
}

#[tokio::test]
async fn reads_of_a_folders_skill_stop_when_it_is_switched_off_sec_14() {
    let home = home();
    let bridged = Bridged::over(host(&home));
    let mut client = bridged.modern(false);
    client.until_listed(&[URI.to_owned()]).await;
    let read = client.request("resources/read", json!({ "uri": URI })).await;
    assert_eq!(read["result"]["contents"][0]["text"], TEXT, "{read}");
    let host = bridged.bridge.host();
    let skill = host.in_folders()[0].id().clone();
    host.set_enabled(&skill, false).unwrap();
    let read = client.request("resources/read", json!({ "uri": URI })).await;
    assert_eq!(read["error"]["code"], -32602, "{read}");
}
